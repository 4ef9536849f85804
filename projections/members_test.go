package projections

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/projections/internal/history"
)

const (
	north = events.Member("north")
	south = events.Member("south")
)

// members is a host of two members.
func members(t testing.TB) (*storetest.Memory, *history.Writer) {
	store := storetest.NewMemory()
	w := history.New(t, store, me)
	w.Members()
	return store, w
}

func TestLedgersOfMembersAreKeptApartAndSummedUp(t *testing.T) {
	store, _ := members(t)
	v := built(t, store)
	all := v.Ledgers().Ledgers
	if len(all) != 1 || len(all[0].Members) != 2 {
		t.Fatalf("ledgers %+v", all)
	}
	sum, one, two := all[0], all[0].Members[0], all[0].Members[1]
	if one.Member != north || two.Member != south || sum.Member != "" {
		t.Fatalf("members %q and %q, the sum is of %q", one.Member, two.Member, sum.Member)
	}
	const slot = events.BlockSize
	offered := 4 * slot
	want := Ledger{
		Host: me.String(), Member: north, HostLedger: true, Quota: 2*offered + 4*history.Overhead,
		Unallocated: offered + 3*history.Overhead, Free: 3 * slot, Stored: slot, Overhead: history.Overhead,
		Deposits: Deposits{"0", "0", "0", "0"},
	}
	if diff := cmp.Diff(want, one); diff != "" {
		t.Errorf("north (-want +got):\n%s", diff)
	}
	want.Member, want.HostLedger = south, false
	if cmp.Diff(want, two) != "" { // Each hosts one slot.
		t.Errorf("south (-want +got):\n%s", cmp.Diff(want, two))
	}
	if sum.Quota != one.Quota+two.Quota || sum.Free != one.Free+two.Free || sum.Stored != 2*slot ||
		sum.Unallocated != 2*one.Unallocated || sum.Overhead != 2*history.Overhead {
		t.Errorf("the sum is %+v", sum)
	}
	var offers []events.Member
	for _, a := range sum.Availabilities {
		offers = append(offers, a.Member)
	}
	if diff := cmp.Diff([]events.Member{north, south}, offers); diff != "" {
		t.Errorf("availabilities (-want +got):\n%s", diff)
	}
}

func TestRowsOfReservationsAndSalesNameTheirMember(t *testing.T) {
	store, w := members(t)
	v := built(t, store)
	slot := func(n uint64) string { return events.SlotIDOf(w.Request(n).ID, 1).String() }
	want := map[string]events.Member{slot(2): south, slot(3): north, slot(4): south, slot(5): north}
	got := map[string]events.Member{}
	for _, s := range v.Sales().Sales {
		if s.Member != "" { // The first sale was that of a host of one process.
			got[s.Slot] = s.Member
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sales (-want +got):\n%s", diff)
	}
	want[slot(1)], got = north, map[string]events.Member{} // What the host reserved then is in north's ledger now.
	all := v.Reservations()
	for _, r := range all.Open {
		got[r.Slot] = r.Member
	}
	for _, r := range all.Closed {
		got[r.Slot] = r.Member
	}
	if diff := cmp.Diff(want, got); diff != "" || len(all.Open) != 2 {
		t.Errorf("reservations, %d of them open (-want +got):\n%s", len(all.Open), diff)
	}
	taken := v.Queues().Queues[0].Taken
	if len(taken) != 1 || taken[0].Member != south {
		t.Errorf("taken slots %+v", taken)
	}
}

func TestEachRunOfAMemberHasItsOwnSignsOfLife(t *testing.T) {
	store, _ := members(t)
	h := built(t, store).Hosts().Hosts[0]
	var of []events.Member
	for _, run := range h.Runs {
		of = append(of, run.Member)
	}
	if diff := cmp.Diff([]events.Member{"", north, south, north}, of); diff != "" {
		t.Fatalf("runs (-want +got):\n%s", diff)
	}
	if h.Epoch != 4 || h.Starts != 4 || h.Stops != 2 || h.Stopped {
		t.Errorf("host %+v", h)
	}
	for i, stopped := range []bool{true, true, false, false} {
		if h.Runs[i].StoppedAt.IsZero() == stopped {
			t.Errorf("run %d stopped at %s", i, h.Runs[i].StoppedAt)
		}
	}
	if south := h.Runs[2]; !south.HeardAt.After(h.Runs[3].StartedAt) {
		t.Errorf("south was heard at %s, and took a term after north had started again", south.HeardAt)
	}
	var terms []events.Member
	for i, one := range h.Terms {
		terms = append(terms, one.Member)
		newest := i == len(h.Terms)-1
		if one.Term != uint64(i)+1 || one.Ended.IsZero() != newest || !newest && one.Ended.Before(one.Since) {
			t.Errorf("term %+v", one)
		}
	}
	if diff := cmp.Diff([]events.Member{north, south, north, south}, terms); diff != "" {
		t.Errorf("terms (-want +got):\n%s", diff)
	}
	if first := h.Terms[0]; !first.Ended.Before(h.Terms[1].Since) {
		t.Errorf("north gave its first term back at %s, and south took the next at %s", first.Ended, h.Terms[1].Since)
	}
}

func TestAHostHasStoppedWhenTheLastRunOfEachMemberHas(t *testing.T) {
	run := func(member events.Member, stopped bool) Run {
		r := Run{Member: member}
		if stopped {
			r.StoppedAt = time.Unix(1, 0)
		}
		return r
	}
	for _, test := range []struct {
		name string
		runs []Run
		want bool
	}{
		{"none", nil, false},
		{"crashed once, stopped then", []Run{run("", false), run("", true)}, true},
		{"one of two runs", []Run{run(north, false), run(south, true)}, false},
		{"both have stopped", []Run{run(north, false), run(south, true), run(north, true)}, true},
		{"it crashed before it had members", []Run{run("", false), run(north, true)}, true},
		{"it has no members any more", []Run{run(north, false), run("", true)}, true},
	} {
		if got := (&starts{Runs: test.runs}).stopped(); got != test.want {
			t.Errorf("%s: stopped %t", test.name, got)
		}
	}
}

func TestSavedViewsOfMembersAreTheSame(t *testing.T) {
	store, _ := members(t)
	v := built(t, store)
	if diff := alike(v, reloaded(t, v)); diff != "" {
		t.Fatalf("(-saved +loaded):\n%s", diff)
	}
}

func TestLedgersOfMembersAreAmongTheStreamsOfTheirHost(t *testing.T) {
	store, w := members(t)
	foreign := events.CapacityStream(me) + "-Not_A_Member"
	w.Append(foreign, "", &messages.QuotaSet{Bytes: 1, At: events.TimeToMessage(w.Now)})
	handed := 0
	p := open(t, choosing{store, &handed}, Config{Scope: Scope{Host: me}})
	if got := p.Ledgers().Ledgers; len(got) != 1 || len(got[0].Members) != 2 {
		t.Errorf("ledgers %+v", got)
	}
	if _, n := built(t, store).Problems(); n > 0 {
		t.Errorf("%d problems", n)
	}
	ledger := events.LedgerStream(me, south)
	begins := func(prefix string) bool { return strings.HasPrefix(ledger, prefix) }
	if !slices.ContainsFunc(Scope{Host: me}.Prefixes(), begins) {
		t.Errorf("no prefix of %s", ledger)
	}
}
