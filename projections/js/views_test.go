package js_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/projections"
	"github.com/hostnode/hostnode/projections/downtime"
	"github.com/hostnode/hostnode/projections/js"
)

// tester is what the testing packages have in common.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

// twins are our views and the server's projections over the same events.
type twins struct {
	t     tester
	views *projections.Views
	js    map[string]*harness

	compared int
}

func newTwins(t tester) *twins {
	w := &twins{t: t, views: projections.NewViews(projections.Scope{}), js: map[string]*harness{}}
	for _, p := range js.All() {
		h, err := compile(p.Query)
		if err != nil {
			t.Fatalf("%s: %v", p.Name, err)
		}
		w.js[p.Name] = h
	}
	return w
}

// apply hands an event to both and compares what it changed.
func (w *twins) apply(r events.Recorded) {
	w.t.Helper()
	w.views.Apply(r)
	for _, name := range slices.Sorted(maps.Keys(w.js)) {
		s, err := w.js[name].feed(asEvent(r))
		if err != nil {
			w.t.Fatalf("%s: %v", name, err)
		}
		if s.Skipped != "" {
			continue
		}
		var state map[string]any
		decode(w.t, s.State, &state)
		if state["passedOver"] != json.Number("0") {
			w.t.Fatalf("%s passed %s at %s revision %d over", name, r.Type, r.Stream, r.Revision)
		}
		want := w.row(name, s.Partition)
		w.compared++
		if got := w.shown(name, state); !reflect.DeepEqual(want, got) { // cmp.Diff takes several times as long.
			w.t.Fatalf("%s after %s at %s revision %d (-ours +the server's):\n%s",
				name, r.Type, r.Stream, r.Revision, cmp.Diff(want, got))
		}
	}
}

func asEvent(r events.Recorded) event {
	return event{
		EventType: r.Type, StreamID: r.Stream, SequenceNumber: r.Revision, IsJSON: !r.Binary, Data: r.Data,
		Metadata: events.EncodeMetadata(r.Meta, r.Foreign), EventID: r.ID.String(),
		Created: r.Recorded.UTC().Format(time.RFC3339Nano),
	}
}

// row is what our views say of a partition, in the plain form.
func (w *twins) row(name, partition string) any {
	switch name {
	case "hostnode-aggregation":
		return w.pipeline(partition)
	case "hostnode-availability":
		for _, l := range w.views.Ledgers().Ledgers {
			for _, one := range ledgersOf(l) {
				of := events.Must(events.ParseAddress(one.Host))
				if events.LedgerStream(of, one.Member) == "capacity-"+partition {
					return w.ledger(one)
				}
			}
		}
	case "hostnode-node":
		for host, all := range w.nodes() {
			for _, n := range all {
				if "node-"+host+"-"+n.Node == partition {
					return w.node(host, n)
				}
			}
		}
	case "hostnode-reservation":
		all := w.views.Reservations()
		for _, r := range all.Open {
			if r.Host+"-"+r.ID == partition {
				r.Member = inStream(r.Member)
				return normal(w.without(r, "phase"))
			}
		}
		for _, r := range slices.Backward(all.Closed) {
			if r.Host+"-"+r.ID == partition {
				r.Member = inStream(r.Member)
				return normal(w.without(r, "phase", "reason"))
			}
		}
	case "hostnode-sector":
		for _, p := range w.views.Sectors().Providers {
			for _, s := range p.Sectors {
				if fmt.Sprintf("sector-%s-%d", p.Host, s.SectorNumber) == partition {
					row := w.without(s)
					delete(row["LastEvent"].(map[string]any), "position")
					return normal(row)
				}
			}
		}
	case "hostnode-sectors":
		for _, p := range w.views.Sectors().Providers {
			if p.Host == partition {
				return w.provider(p)
			}
		}
	case "hostnode-slot":
		for _, s := range slices.Backward(w.views.Sales().Sales) {
			if "sale-"+s.Host+"-"+s.Slot == partition {
				row := w.without(s, "waitsFor") // The sentence is only in our views.
				delete(row["lastEvent"].(map[string]any), "position")
				return normal(row)
			}
		}
	}
	w.t.Fatalf("%s has partition %s, and our views do not", name, partition)
	return nil
}

// inStream is the name of a member in the stream of its ledger. That of the host's own has none, which in these
// histories is north's: the server's projections do not read the starts, which say it.
func inStream(member events.Member) events.Member {
	if member == "north" {
		return ""
	}
	return member
}

// ledgersOf are the rows of a host's ledgers, each with its availabilities.
func ledgersOf(host projections.Ledger) []projections.Ledger {
	if len(host.Members) == 0 {
		return []projections.Ledger{host}
	}
	all := slices.Clone(host.Members)
	for i, one := range all {
		for _, a := range host.Availabilities {
			if a.Member == one.Member {
				a.Member = "" // The ledger's says it.
				all[i].Availabilities = append(all[i].Availabilities, a)
			}
		}
		all[i].Member, all[i].HostLedger = inStream(one.Member), false
	}
	return all
}

// ledger is a row with its availabilities and open reservations by their ids.
func (w *twins) ledger(l projections.Ledger) any {
	row := w.without(l)
	availabilities, open := map[string]any{}, map[string]any{}
	for _, a := range l.Availabilities {
		availabilities[a.ID] = a
	}
	for _, r := range w.views.Reservations().Open {
		if r.Host == l.Host && inStream(r.Member) == l.Member {
			open[r.ID] = map[string]any{
				"availabilityId": r.Availability, "bytes": r.Bytes, "stored": r.Stored,
				"overhead": r.Overhead, "collateral": r.Collateral,
			}
		}
	}
	row["availabilities"], row["reservations"] = availabilities, open
	return plain(w.t, row)
}

// nodes are the rows of the nodes, by the address of who watches.
func (w *twins) nodes() map[string][]downtime.Node {
	all, _ := w.views.Of(events.CategoryNode)
	out := map[string][]downtime.Node{}
	for host, rows := range all {
		out[host] = rows.([]downtime.Node)
	}
	return out
}

// node is a row without what depends on when one asks, with the newest maintenance even if it is over.
func (w *twins) node(host string, n downtime.Node) any {
	row := w.without(n, "asOf", "document", "scored", "warning", "return", "maintenance")
	row["host"] = host
	if m := n.State.Maintenance; !m.Until.IsZero() {
		row["maintenance"] = downtime.Maintenance{From: m.From, Until: m.Until, By: m.By, Reason: m.Reason}
	}
	return plain(w.t, row)
}

// noted brings a node's state into the form of our rows.
func noted(node map[string]any) {
	node["ruleSet"] = node["rules"].(map[string]any)["ruleSet"]
	delete(node, "rules")
	if m, announced := node["maintenance"].(map[string]any); announced {
		delete(m, "at")
	}
	for _, w := range node["windows"].([]any) {
		delete(w.(map[string]any), "audits")
	}
	for _, v := range node["verdicts"].([]any) {
		verdict := v.(map[string]any)
		if score, windows := verdict["score"].(map[string]any); windows {
			verdict["ruleSet"] = score["ruleSet"]
			for _, key := range []string{"ruleSet", "from", "until"} {
				delete(score, key)
			}
		}
	}
}

// provider is a row with the sectors that wait by their numbers.
func (w *twins) provider(p projections.Provider) any {
	counts, bleeding, waiting := map[string]uint64{}, map[string]string{}, map[string]any{}
	for _, c := range p.Counts {
		counts[c.State] = c.Sectors
	}
	for _, s := range p.Sectors {
		if s.Bleeds {
			bleeding[fmt.Sprint(s.SectorNumber)] = s.State
		}
		if s.Parked == "" && s.PausedUntil.IsZero() {
			continue
		}
		row := map[string]any{"State": s.State, "Parked": s.Parked, "Actions": s.Actions}
		if s.Parked == "" {
			row = map[string]any{
				"State": s.State, "PausedUntil": s.PausedUntil, "Outage": s.Outage, "LastErr": s.LastErr,
			}
		}
		waiting[fmt.Sprint(s.SectorNumber)] = row
	}
	return plain(w.t, map[string]any{
		"host": p.Host, "counts": counts, "parked": p.Parked, "paused": p.Paused, "bleeding": bleeding,
		"waiting": waiting,
	})
}

// held adds to a sector what the other projection knows from the ledger, and leaves out what
// this one lacks.
func (w *twins) held(sector map[string]any) {
	var ledger struct {
		Holders map[string]struct{ Unsealed, Sealed, Tree, Scratch, Deposit, Lost string }
	}
	if state, ok := w.js["hostnode-availability"].states[sector["Host"].(string)]; ok {
		decode(w.t, state, &ledger)
	}
	has := ledger.Holders[sector["SectorNumber"].(string)]
	zero := func(s string) string {
		if s == "" {
			return "0"
		}
		return s
	}
	sector["Space"] = map[string]any{
		"Unsealed": zero(has.Unsealed), "Sealed": zero(has.Sealed), "Tree": zero(has.Tree), "Scratch": zero(has.Scratch),
	}
	sector["Deposit"] = zero(has.Deposit)
	if sector["inner"].(map[string]any)["settled"] == false {
		sector["DepositLost"] = zero(has.Lost)
	}
	for _, key := range []string{"PreCommit1OutBytes", "ProofBytes", "InvalidProofs", "Attempt"} {
		if sector[key] == json.Number("0") {
			delete(sector, key)
		}
	}
	if actions := sector["Actions"].([]any); len(actions) == 0 {
		delete(sector, "Actions")
	}
}

// shown is a state without what our views do not show.
func (w *twins) shown(name string, state map[string]any) any {
	switch name {
	case "hostnode-aggregation":
		piped(state)
	case "hostnode-node":
		noted(state)
	case "hostnode-sector":
		w.held(state)
	}
	hidden := map[string][]string{
		"hostnode-aggregation":  {"passedOver", "inner"},
		"hostnode-availability": {"passedOver", "holders", "pieceFiles", "withdrawals"},
		"hostnode-node":         {"passedOver", "voids"},
		"hostnode-reservation":  {"passedOver", "open", "createdAt"},
		"hostnode-sector":       {"passedOver", "inner"},
		"hostnode-sectors":      {"passedOver", "inner"},
		"hostnode-slot":         {"passedOver", "inner"},
	}
	for _, key := range hidden[name] {
		delete(state, key)
	}
	return normal(state) // It was printed and parsed already.
}

func (w *twins) without(row any, keys ...string) map[string]any {
	text, err := json.Marshal(row)
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	var object map[string]any
	decode(w.t, string(text), &object)
	for _, key := range keys {
		delete(object, key)
	}
	return object
}

func decode(t tester, text string, into any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// plain removes differences in form: a number or its digits, a point in time with or without
// zeros, an empty value or none.
func plain(t tester, v any) any {
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("%v", err)
	}
	var decoded any
	decode(t, string(text), &decoded)
	return normal(decoded)
}

func normal(v any) any {
	switch v := v.(type) {
	case json.Number:
		return v.String()
	case string:
		if at, err := time.Parse(time.RFC3339Nano, v); err == nil {
			if at.IsZero() {
				return ""
			}
			return at.UTC().Format(time.RFC3339Nano)
		}
		return v
	case []any:
		for i := range v {
			v[i] = normal(v[i])
		}
		return v
	case map[string]any:
		for key, value := range v {
			v[key] = normal(value)
			if v[key] == nil || v[key] == false || v[key] == "" {
				delete(v, key)
			}
		}
	}
	return v
}

// recordedEvents reads a history as a store would hold it.
func recordedEvents(t *testing.T, path string) []events.Recorded {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []events.Recorded
	for i, e := range readEvents(t, string(text)) {
		r := events.Recorded{
			Stream: e.StreamID, Revision: e.SequenceNumber, Position: events.Position(i + 1), Type: e.EventType,
			Data: e.Data, Binary: !e.IsJSON,
		}
		r.Meta, r.Foreign = events.DecodeMetadata(e.Metadata)
		all = append(all, r)
	}
	return all
}

// writeHistory is the reverse. Data is compacted, because its spaces mean nothing.
func writeHistory(t *testing.T, path string, all []events.Recorded) {
	t.Helper()
	var out bytes.Buffer
	for _, r := range all {
		e := asEvent(r)
		e.EventID, e.Created = "", ""
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatalf("%s %s: %v", r.Stream, r.Type, err)
		}
		fmt.Fprintf(&out, "%s\n", line)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func readAll(t *testing.T, store events.Store) []events.Recorded {
	t.Helper()
	var all []events.Recorded
	for r, err := range store.ReadAll(context.Background(), 0, 0) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// TestTheServersViewsAreOursOverRecordedHistories compares them after every event.
func TestTheServersViewsAreOursOverRecordedHistories(t *testing.T) {
	paths, err := filepath.Glob("testdata/histories/*.jsonl")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d histories, error %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			w := newTwins(t)
			for _, r := range recordedEvents(t, path) {
				w.apply(r)
			}
		})
	}
}
