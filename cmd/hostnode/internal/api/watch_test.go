package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
)

// browser is one who watches: the other end of a stream of server-sent events.
type browser struct {
	mu       sync.Mutex
	header   http.Header
	code     int
	text     bytes.Buffer
	deadline time.Time
	stuck    bool // it reads nothing
	done     chan struct{}
	leave    context.CancelFunc
}

func (b *browser) Header() http.Header             { return b.header }
func (b *browser) WriteHeader(code int)            { b.code = code }
func (b *browser) Flush()                          {}
func (b *browser) SetReadDeadline(time.Time) error { return nil }

func (b *browser) SetWriteDeadline(t time.Time) error {
	b.deadline = t
	return nil
}

// Write fails at the deadline when the browser reads nothing; then net/http ends the request.
func (b *browser) Write(text []byte) (int, error) {
	if b.stuck {
		time.Sleep(time.Until(b.deadline))
		b.leave()
		return 0, os.ErrDeadlineExceeded
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(text)
}

// open has a browser watch, in a bubble of fake time. Without a last id it begins now.
func open(t *testing.T, h http.Handler, query, lastID string, stuck bool) *browser {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	b := &browser{header: http.Header{}, done: make(chan struct{}), leave: leave, stuck: stuck}
	r := httptest.NewRequest("GET", "/api/v1/events/live"+query, nil).WithContext(ctx)
	if lastID != "" {
		r.Header.Set("Last-Event-ID", lastID)
	}
	go func() {
		defer close(b.done)
		h.ServeHTTP(b, r)
	}()
	synctest.Wait()
	return b
}

// told is what a browser was told: the positions of events, with the reasons for reloading and refusals between them,
// and the last id.
func (b *browser) told(t *testing.T) (all []string, last string) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for block := range strings.SplitSeq(b.text.String(), "\n\n") {
		fields := map[string]string{}
		for line := range strings.Lines(block) {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
			fields[name] = value
		}
		if id := fields["id"]; id != "" {
			last = id
		}
		var data struct {
			Position events.Position `json:"position"`
			Type     string          `json:"type"`
			Reason   string          `json:"reason"`
			Code     string          `json:"code"`
		}
		if fields["data"] == "" {
			continue
		}
		if err := json.Unmarshal([]byte(fields["data"]), &data); err != nil {
			t.Fatalf("%v in %q", err, block)
		}
		if fields["event"] == "" {
			if fields["id"] != fmt.Sprint(data.Position) {
				t.Errorf("the id %s of position %d", fields["id"], data.Position)
			}
			all = append(all, data.Type)
			continue
		}
		all = append(all, fields["event"]+": "+data.Reason+data.Code)
	}
	return all, last
}

func TestAWatcherMissesNothingAndHearsNothingTwiceAlsoAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storetest.NewMemory()
		live, _, kill := runningOn(t, store)
		add := func() {
			t.Helper()
			if _, err := live.AddAvailability(t.Context(), offer()); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		first := open(t, api.Handler(live, silent()), "?machine=capacity", "", false)
		add()
		first.leave()
		all, seen := first.told(t)
		if len(all) != 1 || all[0] != "AvailabilityCreated" {
			t.Fatalf("%q", all)
		}
		add() // Nobody watches.
		kill()
		live, _, _ = runningOn(t, store)
		second := open(t, api.Handler(live, silent()), "?machine=capacity", seen, false)
		add()
		time.Sleep(time.Minute)
		second.leave()
		synctest.Wait()
		all, end := second.told(t)
		if len(all) != 2 || all[0] != "AvailabilityCreated" || all[1] != all[0] {
			t.Errorf("after the restart it heard %q", all)
		}
		last, err := store.Head(t.Context())
		if at, _ := strconv.Atoi(end); err != nil || events.Position(at) != last {
			t.Errorf("it heard that all until %s was told, and the record ends at %d: %v", end, last, err)
		}
	})
}

func TestWhoMissedTooMuchOrSawAnotherRecordLoadsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storetest.NewMemory()
		stream := events.SaleStream(me, events.SlotID{1})
		for n := range api.MaxMissed/100 + 1 {
			batch := make([]events.NewEvent, 100)
			for i := range batch {
				batch[i] = events.NewEvent{ID: events.NewEventID(stream, "test", n*100+i), Type: "Unheard", Data: []byte(`{}`)}
			}
			if _, err := store.Append(t.Context(), stream, events.Any(), batch); err != nil {
				t.Fatal(err)
			}
		}
		live, _, _ := runningOn(t, store)
		h := api.Handler(live, silent())
		for id, want := range map[string]string{
			"1":           fmt.Sprintf("reload: more than %d events were missed", api.MaxMissed),
			"99999999":    "reload: this record has no such position",
			"in the past": "refused: bad-request",
		} {
			b := open(t, h, "", id, false)
			all, _ := b.told(t)
			if len(all) == 0 || all[len(all)-1] != want {
				t.Errorf("%s: %.200q, want %q at last", id, all, want)
			}
			b.leave()
		}
		synctest.Wait()
	})
}

func TestTheHostHasSoManyWatchersAndCutsOffSlowOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live, _, _ := runningOn(t, storetest.NewMemory())
		h := api.Handler(live, silent())
		var all []*browser
		for i := range api.MaxWatchers {
			all = append(all, open(t, h, "", "", i%2 == 0))
		}
		beyond := open(t, h, "", "", false)
		if told, _ := beyond.told(t); len(told) != 1 || told[0] != "refused: too-many" {
			t.Fatalf("one more was told %q", told)
		}
		time.Sleep(time.Minute)
		for i, b := range all {
			select {
			case <-b.done:
				if !b.stuck {
					t.Fatalf("watcher %d was cut off, and reads all", i)
				}
			default:
				if b.stuck {
					t.Fatalf("watcher %d reads nothing, and is there still", i)
				}
			}
		}
		if told, _ := open(t, h, "", "", false).told(t); len(told) != 0 {
			t.Errorf("after that one was told %q", told)
		}
		live.End()
		for _, b := range all {
			<-b.done
		}
	})
}

func TestNobodyWatchesAHostThatDoesNotRun(t *testing.T) {
	status, code, _ := request(api.Handler(offline(t, me), silent()), "GET", "/api/v1/events/live", "")
	if status != 503 || code != "host-not-running" {
		t.Errorf("%d %s", status, code)
	}
}

func TestEachMachineIsShownAndItsEvents(t *testing.T) {
	direct := offline(t, me)
	for range 3 {
		if _, err := direct.AddAvailability(t.Context(), offer()); err != nil {
			t.Fatal(err)
		}
	}
	b := served(t, direct)
	machines, err := api.ListMachines.Ask(t.Context(), b.Backend, api.Then{})
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]int{}
	for _, m := range machines.Machines {
		rows[m.Machine] = m.Rows
	}
	if rows["capacity"] != 1 || rows["sale"] != 0 || len(rows) < 10 {
		t.Errorf("%v", rows)
	}
	page, err := api.ListRows.Ask(t.Context(), b.Backend, api.RowsQuestion{
		Machine: "capacity", Paging: api.Paging{Limit: 5}, Then: api.Then{At: "@2"},
	})
	if err != nil || len(page.Rows) != 1 || !strings.Contains(string(page.Rows[0].Row), `"availabilities":[{`) {
		t.Errorf("%s, %v", page.Rows, err)
	}
	var types []string
	for q := (api.EventsQuestion{Stream: "capacity-" + me.String()[:6], Limit: 2}); ; {
		some, err := api.ListEvents.Ask(t.Context(), b.Backend, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range some.Events {
			types = append(types, e.Type)
		}
		if q.From = some.Next; some.Next == 0 {
			break
		}
	}
	if got := strings.Join(types, " "); got != "QuotaSet AvailabilityCreated AvailabilityCreated AvailabilityCreated" {
		t.Error(got)
	}
	all, err := api.ListRecord.Ask(t.Context(), b.Backend, api.RecordQuestion{After: 2, Machine: "capacity", Limit: 9})
	if err != nil || len(all.Events) != 2 || all.Next != 0 || all.Events[0].Position != 3 {
		t.Errorf("%+v, %v", all, err)
	}
	for path, want := range map[string]string{
		"machines/none": "not-found", "streams/capacity-0x99/events": "stream-unknown",
		"events?limit=0": "bad-request", "machines/capacity?cursor=x": "bad-request", "events?machine=none": "not-found",
	} {
		if _, code, _ := request(api.Handler(direct, silent()), "GET", "/api/v1/"+path, ""); code != want {
			t.Errorf("%s: %s, want %s", path, code, want)
		}
	}
}

func TestWhatHasNotChangedIsNotSentAgain(t *testing.T) {
	direct := offline(t, me)
	if _, err := direct.AddAvailability(t.Context(), offer()); err != nil {
		t.Fatal(err)
	}
	h := api.Handler(direct, silent())
	get := func(path, have string) *httptest.ResponseRecorder {
		t.Helper()
		r, w := httptest.NewRequest("GET", path, nil), httptest.NewRecorder()
		r.Header.Set("If-None-Match", have)
		h.ServeHTTP(w, r)
		return w
	}
	for _, path := range []string{"/api/v1/machines/capacity", "/api/v1/machines", "/openapi.json"} {
		first := get(path, "")
		tag := first.Header().Get("ETag")
		if again := get(path, tag); first.Code != 200 || tag == "" || again.Code != 304 || again.Body.Len() > 0 {
			t.Errorf("%s: %d with tag %q, then %d with %d bytes", path, first.Code, tag, again.Code, again.Body.Len())
		}
	}
	tag := get("/api/v1/machines", "").Header().Get("ETag")
	if _, err := direct.AddAvailability(t.Context(), offer()); err != nil {
		t.Fatal(err)
	}
	if changed := get("/api/v1/machines", tag); changed.Code != 200 {
		t.Errorf("after a change: %d", changed.Code)
	}
}

func TestProbesSayWhatIsInTheWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live, _, _ := runningOn(t, storetest.NewMemory(), func(cfg *api.LiveConfig) {
			cfg.Traffic = func() map[string]rpc.Traffic { return map[string]rpc.Traffic{"ws://node": {Messages: 5, Failed: 2}} }
			cfg.Requests = func() map[string]uint64 { return map[string]uint64{"eth_call": 9} }
		})
		h := api.Handler(live, silent())
		get := func(path string) (int, string) {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
			return w.Code, w.Body.String()
		}
		if code, _ := get("/healthz"); code != 200 {
			t.Errorf("healthz: %d", code)
		}
		code, text := get("/readyz")
		if code != 200 || !strings.Contains(text, `"ready":true,"selling":false`) || !strings.Contains(text, `"hint":`) {
			t.Errorf("readyz: %d %s", code, text)
		}
		code, text = get("/metrics")
		for _, want := range []string{
			`hostnode_rows{machine="host",state=""} 1`, `hostnode_ready 1`, `hostnode_selling 0`, `hostnode_chain_up 1`,
			`hostnode_obstacles{code="nothing-offered",severity="obstacle"} 1`, `hostnode_balance_coins 7e-18`,
			`hostnode_node_messages_total{endpoint="ws://node"} 5`, `hostnode_node_failures_total{endpoint="ws://node"} 2`,
			`hostnode_node_calls_total{method="eth_call"} 9`, `hostnode_chain_head_block 300`, `hostnode_store_up 1`,
		} {
			if code != 200 || !strings.Contains(text, "\n"+want+"\n") {
				t.Errorf("metrics: %d, no %s in %s", code, want, text)
			}
		}
		if strings.Contains(text, "\nhostnode_balance_tokens ") {
			t.Error("a balance in a token whose decimals are not known")
		}
		standby := api.NewStandby(api.StandbyConfig{Facts: func() health.Facts { return health.Facts{Stage: health.Starting} }})
		h = api.Handler(standby, silent())
		if code, text := get("/metrics"); code != 200 || !strings.Contains(text, "\nhostnode_ready 0\n") ||
			strings.Contains(text, "hostnode_rows") {
			t.Errorf("metrics while nothing is read: %d %s", code, text)
		}
		if code, text := get("/readyz"); code != 503 || !strings.Contains(text, `"ready":false`) {
			t.Errorf("while it starts: %d %s", code, text)
		}
		if code, _ := get("/healthz"); code != 200 {
			t.Errorf("healthz while it starts: %d", code)
		}
	})
}

func TestWhatNeedsAPersonIsListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live, _, _ := runningOn(t, storetest.NewMemory(), func(cfg *api.LiveConfig) {
			cfg.Alerts = func() []health.Alert { return []health.Alert{{Text: "first"}, {Text: "second"}} }
		})
		all, err := api.ListAlerts.Ask(t.Context(), live, api.None{})
		if err != nil || len(all.Now) == 0 || all.Now[0].Hint == "" || len(all.Raised) != 2 || all.Raised[0].Text != "second" {
			t.Errorf("%+v, %v", all, err)
		}
	})
}
