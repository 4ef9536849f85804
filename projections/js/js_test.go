package js_test

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/cargo"
	"github.com/hostnode/hostnode/events/content"
	"github.com/hostnode/hostnode/events/deal"
	"github.com/hostnode/hostnode/events/downtime"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/projections/js"
)

func TestEveryProjectionSaysWhatItIs(t *testing.T) {
	var names []string
	for _, p := range js.All() {
		names = append(names, p.Name)
		if p.Version < 1 || !strings.HasSuffix(p.About, ".") && !strings.HasSuffix(p.About, ",") {
			t.Errorf("%s: version %d: %q", p.Name, p.Version, p.About)
		}
		again, err := js.Parse(p.Query)
		if err != nil || again != p {
			t.Errorf("%s is read as %s: %v", p.Name, again.Name, err)
		}
	}
	want := []string{
		"hostnode-aggregation", "hostnode-availability", "hostnode-node", "hostnode-reservation", "hostnode-sector", "hostnode-sectors",
		"hostnode-slot",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Fatal(diff)
	}
	for _, foreign := range []string{
		"", "fromAll()", "// hostnode-slot, version 0\n//\n// x\n", "// hostnode-slot, version 99999999999999999999\n//\n// x\n",
	} {
		if p, err := js.Parse(foreign); err == nil {
			t.Errorf("%q is taken for %s", foreign, p.Name)
		}
	}
}

// TestEveryEventHasAHandler fails when a core gets an event, or a newer schema,
// that the server's projections do not know.
func TestEveryEventHasAHandler(t *testing.T) {
	names := func(table []events.Entry) []string {
		var all []string
		for _, e := range table {
			all = append(all, e.Name)
		}
		slices.Sort(all)
		return all
	}
	versions := regexp.MustCompile(`\nvar SCHEMA = (\d+);`)
	for i, want := range [][]events.Entry{
		slices.Concat(content.Table(), cargo.Table(), deal.Table()), capacity.Table(), downtime.Table(), nil, sector.Table(), sector.Table(), sale.Table(),
	} {
		p := js.All()[i]
		h, err := compile(p.Query)
		if err != nil {
			t.Fatal(err)
		}
		delete(h.handlers, "$init")
		got := slices.Sorted(maps.Keys(h.handlers))
		if want == nil {
			continue // It follows the reservations.
		}
		if diff := cmp.Diff(names(want), got); diff != "" {
			t.Errorf("%s (-core +handlers):\n%s", p.Name, diff)
		}
		for _, e := range want {
			if found := versions.FindStringSubmatch(p.Query); found == nil || found[1] != "1" || e.Version != 1 {
				t.Errorf("%s has version %d, %s knows %v", e.Name, e.Version, p.Name, found)
			}
		}
	}
}

// TestBothProjectionsOfSectorsHaveTheSameTable compares the part of their sources that must be
// the same.
func TestBothProjectionsOfSectorsHaveTheSameTable(t *testing.T) {
	table := regexp.MustCompile(`(?s)\nvar TO = .*?\n};\n\nfunction next.*?\n}\n`)
	one, other := table.FindString(js.All()[4].Query), table.FindString(js.All()[5].Query)
	if diff := cmp.Diff(one, other); diff != "" || one == "" {
		t.Fatalf("(-sector.js +sectors.js):\n%s", diff)
	}
}

// TestTheRecordedHistoriesHaveEveryEvent fails when a golden answer is missing
// for an event.
func TestTheRecordedHistoriesHaveEveryEvent(t *testing.T) {
	missing := map[string]bool{}
	for _, e := range slices.Concat(
		capacity.Table(), downtime.Table(), sale.Table(), sector.Table(), content.Table(), cargo.Table(), deal.Table(),
	) {
		missing[e.Name] = true
	}
	paths, err := filepath.Glob("testdata/histories/*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range readEvents(t, string(text)) {
			delete(missing, e.EventType)
		}
	}
	if len(missing) > 0 {
		t.Fatalf("no history has %v", slices.Sorted(maps.Keys(missing)))
	}
}

const (
	ledgerStream = "capacity-0xaa00000000000000000000000000000000000000"
	anID         = "0xa100000000000000000000000000000000000000000000000000000000000000"
	anotherID    = "0xa200000000000000000000000000000000000000000000000000000000000000"
)

func ledgerEvent(n int, kind, data string) event {
	return event{
		EventType: kind, StreamID: ledgerStream, SequenceNumber: uint64(n), IsJSON: true,
		Data: json.RawMessage(strings.NewReplacer("ID1", anID, "ID2", anotherID).Replace(data)),
	}
}

func passedOver(t *testing.T, h *harness, partition string) string {
	t.Helper()
	var state struct {
		PassedOver json.Number `json:"passedOver"`
	}
	decode(t, h.states[partition], &state)
	return state.PassedOver.String()
}

// TestWhatContradictsTheLedgerChangesNothing feeds events that no ledger of ours writes.
func TestWhatContradictsTheLedgerChangesNothing(t *testing.T) {
	const offer = `{"availabilityId":"ID1","totalSize":"10","minPricePerBytePerSecond":"1","totalCollateral":"20"}`
	const reservation = `{"availabilityId":"ID1","reservationId":"ID2","bytes":"4","collateral":"8"}`
	good := []event{
		ledgerEvent(0, "QuotaSet", `{"bytes":"100"}`),
		ledgerEvent(1, "AvailabilityCreated", offer),
		ledgerEvent(2, "ReservationCreated", reservation),
	}
	newer := ledgerEvent(3, "QuotaSet", `{"bytes":"7"}`)
	newer.Metadata = json.RawMessage(`{"schemaVersion":2}`)
	bad := []event{
		newer,
		ledgerEvent(4, "AvailabilityCreated", offer),
		ledgerEvent(5, "AvailabilityUpdated", strings.Replace(offer, "ID1", "ID2", 1)),
		ledgerEvent(6, "AvailabilityDeleted", `{"availabilityId":"ID1"}`),
		ledgerEvent(7, "AvailabilityDeleted", `{"availabilityId":"ID2"}`),
		ledgerEvent(8, "ReservationCreated", reservation),
		ledgerEvent(9, "BytesReleased", `{"reservationId":"ID2","bytes":"5"}`),
		ledgerEvent(10, "ReservationDeleted", `{"reservationId":"ID2","collateralReturned":"8","collateralLost":"1"}`),
	}
	for _, p := range []js.Projection{js.All()[1], js.All()[3]} {
		h := compiled(t, p.Query)
		var partition, before string
		for _, e := range good {
			s, err := h.feed(e)
			if err != nil {
				t.Fatal(err)
			}
			partition, before = s.Partition, s.State
		}
		counted := 0
		for _, e := range bad {
			s, err := h.feed(e)
			if err != nil {
				t.Fatal(err)
			}
			if s.Skipped == "" && s.Partition == partition {
				counted++
			}
		}
		var was, is map[string]any
		decode(t, before, &was)
		decode(t, h.states[partition], &is)
		delete(was, "passedOver")
		delete(is, "passedOver")
		if diff := cmp.Diff(was, is); diff != "" || counted == 0 || passedOver(t, h, partition) != json.Number(itoa(counted)).String() {
			t.Errorf("%s: %d events, %s passed over (-before +after):\n%s", p.Name, counted, passedOver(t, h, partition), diff)
		}
	}
}

func itoa(n int) string { text, _ := json.Marshal(n); return string(text) }

// TestStreamsOfOthersAreNotLookedAt feeds events of our types in streams that are not ours, and
// events that are no JSON.
func TestStreamsOfOthersAreNotLookedAt(t *testing.T) {
	for _, p := range js.All() {
		h := compiled(t, p.Query)
		for _, stream := range []string{
			"$$" + ledgerStream, "capacity-1", "capacity-0xAA00000000000000000000000000000000000000",
			"sale-0xaa00000000000000000000000000000000000000", "orders-1", "$ce-capacity", ledgerStream + "-", ledgerStream + "--1",
			"sector-0xaa00000000000000000000000000000000000000", "sector-0xaa00000000000000000000000000000000000000-01",
			"node-0xaa00000000000000000000000000000000000000", "node-0xaa00000000000000000000000000000000000000-North",
			"node-0xaa00000000000000000000000000000000000000-0xAA00000000000000000000000000000000000000",
			"cargo-1", "content-0xaa00000000000000000000000000000000000000", "deal-0xaa00000000000000000000000000000000000000-x",
		} {
			for kind := range h.handlers {
				e := event{EventType: kind, StreamID: stream, IsJSON: true, Data: json.RawMessage(`{"reservationId":"` + anID + `"}`)}
				if s, err := h.feed(e); err != nil || s.Skipped != "no-partition" && kind != "$init" {
					t.Fatalf("%s: %s in %s: %+v, %v", p.Name, kind, stream, s, err)
				}
			}
		}
		e := ledgerEvent(0, "ReservationCreated", "raw")
		e.IsJSON = false
		if s, err := h.feed(e); err != nil || s.Skipped != "non-json" {
			t.Fatalf("%s: %+v, %v", p.Name, s, err)
		}
	}
}

func TestAnEventThatTakesTooLongEndsTheProjection(t *testing.T) {
	h, err := compile(`fromAll().when({ A: function (s) { for (;;) {} } })`)
	if err != nil {
		t.Fatal(err)
	}
	h.limit = eventLimit
	for range 2 { // It stays where it is.
		if _, err := h.feed(event{EventType: "A", StreamID: "a", IsJSON: true}); !errors.Is(err, errFaulted) ||
			!strings.Contains(err.Error(), "longer than 250ms") {
			t.Fatalf("error %v", err)
		}
	}
}

func TestTheHarnessRefusesWhatItDoesNotKnow(t *testing.T) {
	for _, query := range []string{
		`fromAll().when({ $deleted: function () {} })`, `fromAll().when({ A: 1 })`, `fromAll(); fromAll()`,
		`options({ biState: true })`, `fromAll().partitionBy("a")`,
	} {
		if _, err := compile(query); err == nil {
			t.Errorf("%s is compiled", query)
		}
	}
	for _, do := range []string{`emit("a", "B", {})`, `linkTo("a", e)`, `fromAll()`} {
		h, err := compile(`fromAll().when({ A: function (s, e) { ` + do + ` } })`)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.feed(event{EventType: "A", StreamID: "a", IsJSON: true}); !errors.Is(err, errFaulted) {
			t.Errorf("%s: %v", do, err)
		}
	}
}

func TestAStateThatIsTooLargeEndsTheProjection(t *testing.T) {
	h := compiled(t, `fromAll().when({ A: function (s) { s.x = "x".repeat(17 << 20); return s; } })`)
	if _, err := h.feed(event{EventType: "A", StreamID: "a", IsJSON: true}); err == nil ||
		!strings.Contains(err.Error(), "the limit is 16777216") {
		t.Fatalf("error %v", err)
	}
}
