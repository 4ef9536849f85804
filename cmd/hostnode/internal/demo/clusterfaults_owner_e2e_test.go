//go:build e2e

package demo

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/requester"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/embedded"
	"github.com/hostnode/hostnode/events/esdb"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/projections/audit"
)

// Fault runs whose faults are not drawn, of what only the owner decides.

// sets gives all members a setting, with which they start again.
func (f *faultRig) sets(flag, value string) {
	f.t.Helper()
	for _, m := range f.members {
		f.must(m.killIt())
		m.args = append(m.args, flag, value)
		f.must(m.startIt())
	}
}

// recorded are the events of a kind in a store.
func recorded[E any](f *faultRig, store events.Store) (found []E) {
	f.t.Helper()
	codec := catalog.Codec()
	for r, err := range store.ReadAll(f.t.Context(), 0, 0) {
		f.must(err)
		if !catalog.Streams().InRecord(r.Stream) {
			continue
		}
		if e, err := codec.Decode(r); err == nil {
			if e, is := e.(E); is {
				found = append(found, e)
			}
		}
	}
	return found
}

// atTheEnd opens the record when all have stopped.
func (f *faultRig) atTheEnd() events.Store {
	f.t.Helper()
	store, _, err := embedded.Open(f.storeDir+"/events", embedded.Config{})
	f.must(err)
	f.t.Cleanup(func() { store.Close() })
	return store
}

// An owner that loses the event store, and nothing else, lets another member have the term.
func TestAnOwnerThatLosesOnlyTheEventStoreGivesWay(t *testing.T) {
	f := newFaultRig(t, program(t), beatOr(t, faultBeat), memberNames[:3]...)
	kinds := faultKinds()
	lost := kinds[slices.IndexFunc(kinds, func(k faultKind) bool { return k.name == "the owner loses the event store" })]
	var draws []draw // Who the owner is may not be known at once.
	for at := range 4 {
		draws = append(draws, draw{kind: lost, at: time.Duration(5+3*at) * time.Second, lasts: 40 * time.Second})
	}
	f.suffers(course{requests: 2, periods: 9, fills: 7}, draws)
	terms := recorded[*messages.TermTaken](f, f.atTheEnd())
	if len(terms) < 2 || terms[0].GetMember() == terms[1].GetMember() {
		t.Errorf("the terms: %v", terms)
	}
}

// Of a request that all members have room for, the host sells no more slots than it may.
func TestMembersSellNoMoreSlotsOfARequestThanTheHostMay(t *testing.T) {
	f := newFaultRig(t, program(t), beatOr(t, faultBeat), memberNames[:3]...)
	f.sets("--sales-max-slots-per-request", "1")
	f.suffers(course{requests: 3, periods: 6, fills: 3}, nil)
	sold := map[string]int{}
	for _, e := range recorded[*messages.SlotHandedOut](f, f.atTheEnd()) {
		sold[e.GetRequestId()]++
	}
	if len(sold) != 3 || slices.Max(slices.Collect(maps.Values(sold))) > 1 {
		t.Errorf("slots that were handed out, by request: %v", sold)
	}
}

// After the event store was restored from a backup of before the sales, or is empty, each slot is adopted by the member
// whose disk has it, although the owner starts first.
func TestMembersAdoptWhatIsOnTheirDisksAfterAnOlderStore(t *testing.T) {
	bin := program(t)
	for name, empty := range map[string]bool{"older": false, "empty": true} {
		t.Run(name, func(t *testing.T) {
			newFaultRig(t, bin, beatOr(t, faultBeat), memberNames[:3]...).goesBack(empty)
		})
	}
}

// goesBack sells a request, exchanges the event store, and checks who adopts what.
func (f *faultRig) goesBack(empty bool) {
	f.began = time.Now()
	f.lossIsKnown = true
	r := f.client.request(f.period, 1)
	r.Expiry, r.Ask.Duration = 4*f.period, 10*f.period
	f.offer(r)
	f.must(f.record.kill())
	backup, at := filepath.Join(f.t.TempDir(), "backup"), filepath.Join(f.storeDir, "events")
	f.must(os.CopyFS(backup, os.DirFS(at)))
	f.must(f.record.start())
	f.must(f.client.enter(f.t.Context(), f.rig.remote, requester.Price(r)))
	defer f.observe(f.t.Context())()
	r.ID = f.post(r)
	f.await("all slots are filled", func(ctx context.Context) bool {
		return f.logs(ctx, "SlotFilled", 0) == int(r.Ask.Slots)
	})
	f.nextProof()
	f.t.Logf("%s: all slots are filled", f.clock())
	owner, had := f.owner(), map[string]events.Member{}
	for _, m := range f.members {
		f.must(m.killIt())
		for _, slot := range m.onDisk() {
			had[slot] = m.name
		}
	}
	f.must(f.record.kill())
	f.must(os.RemoveAll(at))
	if !empty {
		f.must(os.Rename(backup, at))
	}
	f.must(f.record.start())
	f.must(owner.startIt())
	f.await("the owner to follow the chain", func(context.Context) bool { return owner.watch.able() })
	for _, m := range f.members {
		if m != owner {
			f.must(m.startIt())
		}
	}
	f.returns()
	f.adopted(had)
	f.copies()
	f.settles(r, 4*time.Minute+time.Duration(r.Ask.Duration.Seconds()*float64(f.beat)))
	f.stopsAll()
	f.effects()
	f.judge()
}

// adopted waits until all slots are, and demands that the members do which have their data.
func (f *faultRig) adopted(had map[string]events.Member) {
	f.t.Helper()
	store, err := esdb.Open(f.t.Context(), esdb.Config{URL: urlOf(f.storeAt)})
	f.must(err)
	defer store.Close()
	by := map[string]events.Member{}
	f.await("all slots to be adopted", func(context.Context) bool {
		for _, e := range recorded[*messages.SaleStarted](f, store) {
			by[e.GetSlotId()] = events.Member(e.GetMember())
		}
		return len(by) == len(had)
	})
	f.t.Logf("%s: adopted: %v", f.clock(), by)
	if !maps.Equal(by, had) {
		f.t.Errorf("the slots are adopted by %v, and their data is on the disks of %v", by, had)
	}
}

// ledgerOf is the stream of a member's ledger: that of the host, if it was the first one to start on an empty record.
func (f *faultRig) ledgerOf(store events.Store, m *faulted) string {
	f.t.Helper()
	own := events.LedgerStream(f.account, m.name)
	_, found, err := events.Last(f.t.Context(), store, own)
	if err != nil && !errors.Is(err, events.ErrStreamNotFound) {
		f.must(err)
	}
	if found {
		return own
	}
	return events.LedgerStream(f.account, "")
}

// isKnown: the run itself lost what an audit misses.
func (f *faultRig) isKnown(one audit.Finding) bool {
	return f.lossIsKnown && one.Rule == audit.RecordLost
}
