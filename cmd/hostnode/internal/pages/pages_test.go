package pages_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/machines"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/page"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/page/pagetest"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/pages"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/embedded"
	"github.com/hostnode/hostnode/messages"
)

var (
	me    = events.Address{0xc0, 1}
	began = time.Date(2025, 6, 15, 15, 6, 40, 0, time.UTC) // when the sale of the history does
)

// shown opens the pages of a host that has sold two slots, one of which it hosts, and refused one. In its record each
// text that comes from outside is said.
func shown(t testing.TB, said string) pagetest.Browser {
	t.Helper()
	dir := t.TempDir()
	cfg := api.OfflineConfig{
		Source: api.Source{
			DataDir: dir, Account: me, Now: func() time.Time { return began.Add(time.Hour) }, Machines: machines.API(),
			Settings: []config.Setting{{Key: "sales.maxWorkers", Value: said, Source: "file", About: "How many slots at once."}},
		},
		Quota: 10 << 30, Create: true, Changes: true, Node: "test",
	}
	first, err := api.OpenOffline(t.Context(), cfg)
	if err == nil {
		_, err = api.AddAvailability.Ask(t.Context(), first, api.Send(api.Offer{
			ID: offered, Size: 1 << 30, DurationSeconds: 86400, MinPrice: "2", Collateral: "1000000",
		}))
	}
	if err == nil {
		err = first.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	store, _, err := embedded.Open(datadir.At(dir).Events(), embedded.Config{})
	if err != nil {
		t.Fatal(err)
	}
	record{t, store}.write(said)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	host, err := api.OpenOffline(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = host.Close() })
	return pagetest.Open(t, host)
}

const offered = "0xa100000000000000000000000000000000000000000000000000000000000000"

// record writes events.
type record struct {
	testing.TB
	store *embedded.Store
}

func (r record) add(stream string, all ...events.NewEvent) {
	r.Helper()
	for i := range all {
		all[i].ID = events.NewEventID(stream, "pages", i)
	}
	if _, err := r.store.Append(r.Context(), stream, events.Any(), all); err != nil {
		r.Fatal(err)
	}
}

func (r record) event(m proto.Message) events.NewEvent {
	name, version, data, err := catalog.Codec().Encode(m)
	if err != nil {
		r.Fatal(err)
	}
	return events.NewEvent{Type: name, Data: data, Meta: events.Metadata{Version: version, Epoch: 1}}
}

func requestOf(n byte) events.RequestID { return events.RequestID{0x4e, n} }
func slotOf(n byte) events.SlotID       { return events.SlotIDOf(requestOf(n), 1) }

func at(after time.Duration) *timestamppb.Timestamp { return events.TimeToMessage(began.Add(after)) }

// life is the history of a sale, up to the last event of a type, with another slot and with what is said.
func (r record) life(n byte, until, said string) (all []events.NewEvent) {
	text, err := os.ReadFile("../../../../events/sale/testdata/history/complete.jsonl")
	if err != nil {
		r.Fatal(err)
	}
	inJSON, _ := json.Marshal(said)
	text = []byte(strings.NewReplacer(
		"0x5107000000000000000000000000000000000000000000000000000000000000", slotOf(n).String(),
		"0x4e9e000000000000000000000000000000000000000000000000000000000000", requestOf(n).String(),
		`"the host was down"`, string(inJSON),
	).Replace(string(text)))
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e struct {
			Type    string
			Version uint32
			Data    json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			r.Fatal(err)
		}
		all = append(all, events.NewEvent{Type: e.Type, Data: e.Data, Meta: events.Metadata{Version: e.Version, Node: said}})
		if e.Type == until {
			break
		}
	}
	return all
}

func (r record) write(said string) {
	r.add(events.HostStream(me), r.event(&messages.HostStarted{
		At: at(0), Epoch: 1, ChainId: 31337, Genesis: events.Hash{1}.String(), Contract: events.Address{0xcc}.String(),
		Version: said, Node: said,
	}), r.event(&messages.SettingsChanged{At: at(0), Epoch: 1, Version: said, Changes: []*messages.SettingChange{
		{Key: "sales.maxWorkers", Before: "4", After: said, Source: "file"},
	}}))
	r.add(events.SaleStream(me, slotOf(1)), r.life(1, "SaleSettled", said)...)
	r.add(events.SaleStream(me, slotOf(2)), r.life(2, "CollateralChecked", said)...)
	failed := fmt.Sprintf("fill:%s:1", slotOf(2))
	r.add(events.TxStream(me),
		r.event(&messages.TxIntended{Key: failed, At: at(0), To: me.String(), Data: "0x"}),
		r.event(&messages.TxMined{Key: failed, At: at(1), Error: said, Receipt: &messages.Receipt{
			TxHash: events.Hash{1}.String(), Block: 7, BlockHash: events.Hash{2}.String(), FeeWei: "5", GasUsed: 1, Time: at(1),
		}}),
		r.event(&messages.TxIntended{Key: said, At: at(2), To: me.String(), Data: "0x"}))
	r.add(events.SlotQueueStream(me),
		r.event(&messages.SlotsRefused{
			At: at(0), RequestId: requestOf(3).String(), SlotIndices: []uint64{1}, Criterion: "price", Reason: said,
		}),
		r.event(&messages.SlotsRefused{
			At: at(0), RequestId: requestOf(5).String(), SlotIndices: []uint64{1}, Criterion: "collateral-at-risk",
			Reason: said,
		}),
		r.event(&messages.SlotsQueued{
			At: at(0), RequestId: requestOf(4).String(), SlotIndices: []uint64{1}, SlotSize: 1 << 20, DatasetSize: 1 << 22,
			Profitability: "1000", Collateral: "5", Expiry: at(time.Hour), MarketRevision: 1,
		}),
		r.event(&messages.ClientAvoided{At: at(0), Client: me.String(), Until: at(time.Hour), Reason: said}),
		r.event(&messages.QueuePaused{At: at(0), Reason: said, ByOperator: true}))
}

// addresses are those of all pages, each about something that is there.
func addresses() (all []string) {
	fill := strings.NewReplacer("{slot}", slotOf(2).String(), "{id}", offered, "{machine}", events.CategorySale,
		"{stream}", events.SaleStream(me, slotOf(1)))
	for _, p := range pages.All(machines.Pages()) {
		if at := fill.Replace(p.Path); !strings.Contains(at, "{") {
			all = append(all, page.Root+at)
		}
	}
	return append(all, page.To("sales", slotOf(1).String()), page.To("sales", slotOf(3).String()), page.To("sales", slotOf(5).String()),
		page.To("queue")+"?slot="+slotOf(3).String(), page.To("earnings")+"?by=slot", page.To("earnings")+"?by=availability",
		page.To("earnings.csv")+"?by=slot", page.To("proofs")+"?outcome=missed", page.To("transactions")+"?outcome=failed",
		page.To("settings")+"?key=sales.maxWorkers", page.To("machines", events.CategorySlotQueue),
		page.To("streams", events.TxStream(me)), page.To("sales")+"?state=Proving&request="+requestOf(2).String())
}

func TestPagesSayWhatIsSo(t *testing.T) {
	b := shown(t, "the disk was slow")
	short := func(id fmt.Stringer) string { return id.String()[:10] }
	for path, wants := range map[string][]string{
		"overview": {"Needs you", "Money of this month", "paused"},
		"sales": {
			short(slotOf(1)), short(slotOf(2)), "Finished", "Proving", "1 of 2, 1 missed", "the end at 2025-06-15", "131,072 base units",
		},
		"sales?state=Finished": {short(slotOf(1))},
		"sales/" + slotOf(2).String(): {
			"Waits for", "1 submitted", "The newest first", "the disk was slow", "Collateral slashed Problem 26,214 base units",
			"as it is stored", `"period": "14583342"`, "Problem",
		},
		"sales/" + slotOf(3).String(): {"Not sold", "the disk was slow", "refused"},
		"queue": {
			"yes, until you resume it: the disk was slow", "Resume the queue", short(slotOf(4)), "price", "Avoided client",
		},
		"queue?slot=" + slotOf(3).String(): {"The whole story of the slot", "the disk was slow"},
		"queue?slot=0x12345678":            {"Warning", "0x12345678"},
		"availabilities":                   {"0xa1000000", "on offer", "1 GiB", "2 base units/byte/s", "Put space on offer"},
		"availabilities?size=1GiB&duration=1h&price=1&collateral=5&until=never": {"It would match 0 of 0 requests"},
		"availabilities?size=1GiB&price=0.5":                                    {"price: without a token's symbol", "Warning"},
		"availabilities/" + offered:                                             {"now 1 GiB; empty: as it is", "Sell nothing new from it"},
		"proofs":                                                                {"Missed proofs", "14583342", "the disk was slow", "All slots, period by period", "1.2 s"},
		"earnings":                                                              {"Net", "973,786 base units", "2025-06-15", "Save this list as CSV"},
		"earnings?by=slot":                                                      {"By slot", short(slotOf(1)), "1,000,000 base units"},
		"transactions":                                                          {"failed", "the disk was slow", "fill:"},
		"ledger":                                                                {"At stake", "10 GiB", "the host"},
		"members":                                                               {"the host", "silent", "the disk was slow"},
		"settings":                                                              {"sales.maxWorkers", "How many slots at once.", "- removed: 4 + added: the disk was slow"},
		"system":                                                                {"Event store", "31337", "No work is left alone"},
	} {
		b.Shows(t, page.Root+path, wants...)
	}
}

func TestARefusalLeadsToWhatDecidedIt(t *testing.T) {
	b := shown(t, "the request pays 1, availability 0xa1000000 wants at least 2")
	refused := page.To("sales", slotOf(3).String())
	b.Shows(t, refused, "The availabilities that did not take it", "0xa1000000 refused it: price OK on offer",
		"Warning 2 base units/byte/s")
	b.Shows(t, page.To("sales", slotOf(5).String()), "What decides this", "sales.maxCollateralAtRisk")
	for path, want := range map[string]string{
		refused:                               `href="` + page.To("availabilities", offered) + `#set"`,
		page.To("sales", slotOf(5).String()):  `href="/page/settings?key=sales.maxCollateralAtRisk"`,
		page.To("availabilities", offered):    `id="set"`,
		"/page/settings?key=sales.maxWorkers": "How many slots at once.",
	} {
		if _, body := b.Get(t, path); !strings.Contains(body, want) {
			t.Errorf("%s has no %s", path, want)
		}
	}
	b.Ordered(t, page.To("availabilities"), form("do", "remove", "id", offered))
	b.Shows(t, refused, "Nothing is on offer.", "Put space on offer")
}

func TestFilteredSalesAreThoseOfTheFilter(t *testing.T) {
	b := shown(t, "slow")
	for query, want := range map[string]byte{
		"state=Finished": 1, "request=" + requestOf(2).String(): 2,
	} {
		_, body := b.Get(t, page.To("sales")+"?"+query)
		for _, n := range []byte{1, 2} {
			if got := strings.Contains(body, page.To("sales", slotOf(n).String())); got != (n == want) {
				t.Errorf("with %s sale %d is listed: %v", query, n, got)
			}
		}
	}
}

// hostile is what an outsider might write where a text is shown.
var hostile = `=HYPERLINK("x")<img src=x onerror=alert(1)>"><script>alert(2)</script>'` + "\u202e\x00\u2066" +
	strings.Repeat("long ", 2_000)

// TestWhatComesFromOutsideIsText has each page of a host whose record is full of hostile texts, and each value of an
// address, show them as text.
func TestWhatComesFromOutsideIsText(t *testing.T) {
	b := shown(t, hostile)
	all := addresses()
	for _, at := range []string{
		"sales?state=%s", "sales?request=%s", "sales?cursor=%s", "sales/%s", "queue?slot=%s", "queue?from=%s",
		"availabilities/%s", "proofs?outcome=%s", "earnings?by=%s", "earnings?by=slot&availability=%s", "earnings.csv?by=%s",
		"transactions?outcome=%s", "settings?key=%s", "machines/%s", "streams/%s", "overview?at=%s", "overview?done=%s", "%s",
	} {
		all = append(all, page.Root+fmt.Sprintf(at, url.PathEscape(hostile[:300])), page.Root+fmt.Sprintf(at, "0xabc%3Cimg%20src"))
	}
	var told int
	for _, at := range all {
		answer := b.Send(t, httptest.NewRequest(http.MethodGet, at, nil))
		status, body, head := answer.Code, answer.Body.String(), answer.Header()
		if len(body) > 300_000 {
			t.Errorf("%.100s has %d bytes", at, len(body))
		}
		if strings.HasPrefix(head.Get("Content-Type"), "text/csv") {
			continue
		}
		if status >= http.StatusInternalServerError {
			t.Errorf("%.100s: %d", at, status)
		}
		for _, bad := range []string{"<img", "<script>alert", "\u202e", "\u2066", "\x00", `onerror=alert(1)>"`} {
			if i := strings.Index(body, bad); i >= 0 {
				t.Errorf("%.100s has %q: %.200s", at, bad, body[max(0, i-100):])
			}
		}
		if strings.Contains(body, "&lt;img") {
			told++
		}
	}
	if told < 15 {
		t.Errorf("only %d pages show the text at all", told)
	}
}

func TestFilesAreNoFormulas(t *testing.T) {
	b := shown(t, "slow")
	answer := b.Send(t, httptest.NewRequest(http.MethodGet, page.To("earnings.csv")+"?by=slot", nil))
	head := answer.Header()
	if answer.Code != http.StatusOK || head.Get("Content-Disposition") != "attachment; filename=earnings-by-slot.csv" {
		t.Fatalf("%d %v", answer.Code, head)
	}
	body := answer.Body.String()
	lines := strings.Split(strings.TrimSpace(body), "\n")
	if len(lines) != 3 || !strings.Contains(body, slotOf(1).String()) || !strings.Contains(body, ",1000000,26214,") {
		t.Errorf("%s", body)
	}
}

// form are the values of a form, by pairs.
func form(fields ...string) url.Values {
	all := url.Values{}
	for i := 0; i+1 < len(fields); i += 2 {
		all.Set(fields[i], fields[i+1])
	}
	return all
}

func TestOrdersOfPagesAreDone(t *testing.T) {
	b := shown(t, "slow")
	order := func(path, done string, fields ...string) {
		t.Helper()
		if said := b.Ordered(t, page.Root+path, form(fields...)); !strings.Contains(said, done) {
			t.Errorf("%s %v does not say %q: %.400s", path, fields, done, said)
		}
	}
	const id = "0xb200000000000000000000000000000000000000000000000000000000000000"
	order("queue", "Slots are taken again.", "do", "resume")
	order("queue", "tea time", "do", "pause", "reason", "tea time")
	order("availabilities", "0xb2000000", "do", "add", "id", id, "size", "1.5GiB", "duration", "30d", "price", "7",
		"collateral", "1,000 base units", "until", "2031-12-31")
	order("availabilities/"+id, "1 GiB", "do", "set", "id", id, "size", "1GiB", "until", "never")
	order("availabilities/"+id, "disabled", "do", "disable", "id", id)
	order("availabilities/"+id, "on offer", "do", "enable", "id", id)
	order("availabilities", "It is removed.", "do", "remove", "id", id)
	if _, body := b.Get(t, page.To("availabilities")); strings.Contains(body, id) {
		t.Error("it is still listed")
	}
	for _, wrong := range [][]string{
		{"queue", "nothing", "do", "nothing"},
		{"availabilities", "price: it is empty", "do", "add", "size", "1GiB", "duration", "1h", "collateral", "5"},
		{"availabilities", "as typed", "do", "add", "id", "as typed", "size", "many", "duration", "<b>as typed"},
		{"availabilities/" + offered, "nothing is to be changed", "do", "set", "id", offered},
		{"availabilities/" + offered, "price: ", "do", "set", "id", offered, "price", "0.5"},
		{"system", "", "do", "retry", "work", "sale:none"}, // No host runs.
	} {
		status, body := b.Post(t, page.Root+wrong[0], form(wrong[2:]...))
		if status < 400 || status >= 500 && wrong[0] != "system" || !strings.Contains(html.UnescapeString(body), wrong[1]) {
			t.Errorf("%v: %d %.400s", wrong, status, pagetest.Text(body))
		}
	}
}
