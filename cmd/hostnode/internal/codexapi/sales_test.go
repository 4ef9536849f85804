package codexapi_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/requester"
	"github.com/hostnode/hostnode/events"
)

const goodOffer = `{"totalSize":1000000,"duration":3600,"minPricePerBytePerSecond":"3","totalCollateral":"1000000"}`

// fields are those of a JSON object.
func fields(t *testing.T, text string) map[string]any {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return all
}

func TestAnAvailabilityIsMadeShownAndChanged(t *testing.T) {
	r := newRig(t, nil)
	made := fields(t, r.must(t, 201, "POST", "/sales/availability", goodOffer))
	id, _ := made["id"].(string)
	want := map[string]any{
		"id": id, "totalSize": 1e6, "freeSize": 1e6, "duration": 3600., "minPricePerBytePerSecond": "3",
		"totalCollateral": "1000000", "totalRemainingCollateral": "1000000", "enabled": true, "until": 0.,
	}
	if diff := cmp.Diff(want, made); diff != "" || len(id) != 66 {
		t.Fatalf("made (-want +got):\n%s", diff)
	}
	path := "/sales/availability/" + strings.TrimPrefix(id, "0x")
	r.must(t, 204, "PATCH", path, `{"totalSize":"2000000","duration":60,"minPricePerBytePerSecond":"0x10",
		"totalCollateral":5,"enabled":false,"until":1990000000}`)
	r.must(t, 204, "PATCH", path, `{}`)
	var all []map[string]any
	if err := json.Unmarshal([]byte(r.must(t, 200, "GET", "/sales/availability", "")), &all); err != nil {
		t.Fatal(err)
	}
	want["totalSize"], want["freeSize"], want["duration"], want["minPricePerBytePerSecond"] = 2e6, 2e6, 60., "16"
	want["totalCollateral"], want["totalRemainingCollateral"], want["enabled"], want["until"] = "5", "5", false, 1990000000.
	if diff := cmp.Diff([]map[string]any{want}, all); diff != "" {
		t.Fatalf("changed (-want +got):\n%s", diff)
	}
	r.must(t, 204, "PATCH", path, `{"until":0}`)
	if says := r.must(t, 200, "GET", "/sales/availability", ""); !strings.Contains(says, `"until":0`) {
		t.Fatalf("the end is not removed: %s", says)
	}
	if says := r.must(t, 200, "GET", path+"/reservations", ""); says != "[]" {
		t.Fatalf("reservations %s", says)
	}
	r.must(t, 204, "OPTIONS", path, "")
	if says := r.must(t, 200, "GET", "/space", ""); says != fmt.Sprintf(
		`{"totalBlocks":0,"quotaMaxBytes":%d,"quotaUsedBytes":0,"quotaReservedBytes":2000000}`, quota) {
		t.Fatalf("space %s", says)
	}
}

func TestAnOfferThatCannotBeIsRefusedAsCodexDoes(t *testing.T) {
	r := newRig(t, nil)
	id, _ := fields(t, r.must(t, 201, "POST", "/sales/availability", goodOffer))["id"].(string)
	with := func(change string) string { return strings.TrimSuffix(goodOffer, "}") + "," + change + "}" }
	for _, c := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"POST", "", `{`, 400, "unexpected end of JSON input"},
		{"POST", "", `[]`, 400, "cannot unmarshal"},
		{"POST", "", with(`"totalSize":"-1"`), 400, "Parsed integer outside of valid range"},
		{"POST", "", with(`"totalSize":-1`), 400, "Parsed integer outside of valid range"},
		{"POST", "", with(`"totalCollateral":"one"`), 400, "is no amount"},
		{"POST", "", with(`"totalCollateral":-1`), 400, "is no amount"},
		{"POST", "", `{}`, 422, "Total size must be larger then zero"},
		{"POST", "", with(`"totalSize":""`), 422, "Total size must be larger then zero"},
		{"POST", "", with(`"duration":0`), 422, "duration must be larger then zero"},
		{"POST", "", with(`"minPricePerBytePerSecond":"0"`), 422, "minPricePerBytePerSecond must be larger then zero"},
		{"POST", "", with(`"totalCollateral":0`), 422, "totalCollateral must be larger then zero"},
		{"POST", "", with(`"totalSize":99999999999`), 422, "Not enough storage quota"},
		{"POST", "", with(`"until":-1`), 422, "Cannot set until to a negative value"},
		{"POST", "", with(`"until":1`), 422, "not in the future"},
		{"POST", "", with(`"until":9223372036854775807`), 422, "until is after the year 9999"},
		{"POST", "", with(`"duration":18446744073709551615`), 422, "292 years"},
		{"POST", "", `"` + strings.Repeat("x", 70_000) + `"`, 413, "longer than 65536 bytes"},
		{"PATCH", "/zz", `{}`, 400, "availability id"},
		{"PATCH", "/" + strings.Repeat("00", 32), `{}`, 404, "Availability not found"},
		{"PATCH", "/" + id, `{"freeSize":1}`, 422, "Updating freeSize is not allowed"},
		{"PATCH", "/" + id, `{"totalSize":0}`, 422, "Total size must be larger then zero"},
		{"PATCH", "/" + id, `{"duration":0}`, 422, "duration must be larger then zero"},
		{"PATCH", "/" + id, `{"totalSize":99999999999}`, 422, "Not enough storage quota"},
		{"PATCH", "/" + id, `{"until":-5}`, 422, "Cannot set until to a negative value"},
		{"GET", "/" + strings.Repeat("00", 32) + "/reservations", "", 404, "Availability not found"},
		{"GET", "/zz/reservations", "", 400, "availability id"},
	} {
		status, says := r.call(t, c.method, "/sales/availability"+c.path, c.body)
		if status != c.status || !strings.Contains(says, c.says) || strings.HasPrefix(says, "{") {
			t.Errorf("%s %.80s %.80s: %d %s, want %d %s", c.method, c.path, c.body, status, says, c.status, c.says)
		}
	}
}

func TestSlotsAreThoseOfTheContract(t *testing.T) {
	r := newRig(t, nil)
	if says := r.must(t, 200, "GET", "/sales/slots", ""); says != "[]" {
		t.Fatalf("no slots: %s", says)
	}
	r.slots = []events.OwnedSlot{{Slot: events.SlotID{1}, Index: 2, Request: events.Request{
		ID: events.RequestID{3}, Ask: events.Ask{Slots: 4, SlotSize: 1 << 20, CollateralPerByte: events.NewAmount(5)},
	}}}
	var all []struct {
		ID        string
		SlotIndex uint64
		Request   struct {
			ID  string
			Ask struct {
				Slots, SlotSize   uint64
				CollateralPerByte string
			}
		}
	}
	if err := json.Unmarshal([]byte(r.must(t, 200, "GET", "/sales/slots", "")), &all); err != nil {
		t.Fatal(err)
	}
	one := all[0]
	if one.ID != "0x01"+strings.Repeat("00", 31) || one.SlotIndex != 2 || one.Request.ID[:4] != "0x03" ||
		one.Request.Ask.Slots != 4 || one.Request.Ask.SlotSize != 1<<20 || one.Request.Ask.CollateralPerByte != "5" {
		t.Fatalf("slots %+v", all)
	}
	r.failed = errors.New("no node answers")
	if status, says := r.call(t, "GET", "/sales/slots", ""); status != 500 || says != "no node answers" {
		t.Fatalf("%d %s", status, says)
	}
	for slot, want := range map[string]int{"zz": 400, strings.Repeat("01", 32): 404} {
		if status, says := r.call(t, "GET", "/sales/slots/"+slot, ""); status != want {
			t.Errorf("slot %s: %d %s, want %d", slot, status, says, want)
		}
	}
}

func TestAPurchaseIsCheckedCodedPostedAndShown(t *testing.T) {
	r := newRig(t, nil)
	cid := r.must(t, 200, "POST", "/data", strings.Repeat("x", 3*65536+1))
	small := r.must(t, 200, "POST", "/data", "x")
	good := `{"duration":100,"proofProbability":"1","pricePerBytePerSecond":"2","collateralPerByte":"3","expiry":50`
	for _, c := range []struct {
		cid, body string
		status    int
		says      string
	}{
		{"zz", good + `}`, 400, "Incorrect Cid"},
		{cid, good, 400, "unexpected end"},
		{cid, good + `,"duration":-1}`, 400, "outside of valid range"},
		{cid, good + `,"expiry":0}`, 422, "Expiry must be greater than zero and less than the request's duration"},
		{cid, good + `,"expiry":-1}`, 422, "Expiry must be greater than zero and less than the request's duration"},
		{cid, good + `,"expiry":100}`, 422, "Expiry must be greater than zero and less than the request's duration"},
		{cid, good + `,"proofProbability":"0"}`, 422, "Proof probability must be greater than zero"},
		{cid, good + `,"proofProbability":"99999999999999999999"}`, 422, "Proof probability must be less"},
		{cid, good + `,"collateralPerByte":"0"}`, 422, "Collateral per byte must be greater than zero"},
		{cid, good + `,"pricePerBytePerSecond":""}`, 422, "Price per byte per second must be greater than zero"},
		{cid, good + `,"duration":1001}`, 422, "Duration exceeds limit of 1000 seconds"},
		{cid, good + `,"tolerance":0}`, 422, "Tolerance needs to be bigger then zero"},
		{cid, good + `,"tolerance":4}`, 422, "`tolerance` cannot be greater than `nodes`"},
		{cid, good + `,"nodes":1}`, 422, "must satify `1 < (nodes - tolerance) ≥ tolerance`"},
		{cid, good + `,"nodes":5,"tolerance":3}`, 422, "must satify `1 < (nodes - tolerance) ≥ tolerance`"},
		{cid, good + `,"nodes":18446744073709551615}`, 422, "at most 256 nodes"},
		{cid, good + `,"nodes":9}`, 422, "Dataset too small for erasure parameters, need at least 524288 bytes"},
		{small, good + `}`, 422, "Dataset too small for erasure parameters, need at least 131072 bytes"},
		{strings.Repeat("z", 3), good + `}`, 400, "Incorrect Cid"},
	} {
		status, says := r.call(t, "POST", "/storage/request/"+c.cid, c.body)
		if status != c.status || !strings.Contains(says, c.says) {
			t.Errorf("%s: %d %s, want %d %s", strings.TrimPrefix(c.body, good), status, says, c.status, c.says)
		}
	}
	id := r.must(t, 200, "POST", "/storage/request/"+cid, good+`}`)
	r.must(t, 200, "POST", "/storage/request/"+cid, good+`,"nodes":4,"tolerance":2}`)
	if len(id) != 64 || r.must(t, 200, "GET", "/storage/purchases", "") != fmt.Sprintf(`["0x%s","0x0901%s"]`, id, id[4:]) {
		t.Fatalf("purchase %q", id)
	}
	first := fields(t, r.must(t, 200, "GET", "/storage/purchases/"+id, ""))
	asked, _ := first["request"].(map[string]any)
	delete(asked, "nonce")
	want := map[string]any{
		"id": "0x" + id, "client": "0x" + strings.Repeat("0", 40), "expiry": 50.,
		"content": asked["content"], "ask": map[string]any{
			"proofProbability": "1", "pricePerBytePerSecond": "2", "collateralPerByte": "3", "slots": 3.,
			"slotSize": 131072., "duration": 100., "maxSlotLoss": 1.,
		},
	}
	if diff := cmp.Diff(want, asked); diff != "" || first["state"] != "submitted" || first["error"] != nil {
		t.Fatalf("purchase %v (-want +got):\n%s", first, diff)
	}
	bought, _ := asked["content"].(map[string]any)
	coded, _ := bought["cid"].(string)
	if says := r.must(t, 200, "GET", "/data/"+coded, ""); len(says) != 3*65536+1 {
		t.Fatalf("%d bytes of the coded dataset", len(says))
	}
	again := r.must(t, 200, "POST", "/storage/request/"+coded, good+`}`)
	if p := r.asked[events.RequestID{9, 2}]; again != strings.TrimPrefix(p.Request.ID.String(), "0x") ||
		p.Request.Content.CID != r.asked[events.RequestID{9, 0}].Request.Content.CID {
		t.Fatalf("what is coded already is coded again: %s", again)
	}
}

func TestThePurchasesStateIsCodexs(t *testing.T) {
	r := newRig(t, nil)
	for state, p := range map[string]requester.Purchase{
		"pending": {Posting: true}, "errored": {},
		"submitted": {Known: true, State: events.RequestNew}, "started": {Known: true, State: events.RequestStarted},
		"cancelled": {Known: true, State: events.RequestCancelled}, "finished": {Known: true, State: events.RequestFinished},
		"failed": {Known: true, State: events.RequestFailed},
	} {
		id := events.RequestID{7}
		r.order, r.asked[id] = []events.RequestID{id}, p
		shown := fields(t, r.must(t, 200, "GET", "/storage/purchases/"+id.String(), ""))
		if shown["state"] != state || (shown["request"] != nil) != p.Known || (shown["error"] != nil) != (state == "errored") {
			t.Errorf("%+v is %v, want %s", p, shown, state)
		}
	}
	r.must(t, 404, "GET", "/storage/purchases/"+strings.Repeat("ab", 32), "")
	r.must(t, 400, "GET", "/storage/purchases/ab", "")
}
