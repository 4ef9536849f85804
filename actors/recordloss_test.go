package actors_test

import (
	"context"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/sim"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/events/witness"
	"github.com/hostnode/hostnode/messages"
)

// server is an event store whose database can be exchanged beneath a running host.
type server struct {
	events.Store // of the beginning, for what a host does not ask
	database     atomic.Pointer[storetest.Memory]
}

func (s *server) Append(
	ctx context.Context, stream string, expected events.Expected, batch []events.NewEvent,
) (events.AppendResult, error) {
	return s.database.Load().Append(ctx, stream, expected, batch)
}

func (s *server) ReadStream(
	ctx context.Context, stream string, q events.ReadStream,
) iter.Seq2[events.Recorded, error] {
	return s.database.Load().ReadStream(ctx, stream, q)
}

func (s *server) ReadAll(
	ctx context.Context, after events.Position, limit int,
) iter.Seq2[events.Recorded, error] {
	return s.database.Load().ReadAll(ctx, after, limit)
}

func (s *server) ReadBack(
	ctx context.Context, before events.Position, limit int,
) iter.Seq2[events.Recorded, error] {
	return s.database.Load().ReadBack(ctx, before, limit)
}

func (s *server) Head(ctx context.Context) (events.Position, error) {
	return s.database.Load().Head(ctx)
}

// watched puts a witness before the rig's store from the next start on.
func (r *rig) watched(path string) *server {
	r.Helper()
	inner := &server{Store: r.store}
	inner.database.Store(r.store)
	store, _, err := witness.New(r.Context(), inner, path)
	if err != nil {
		r.Fatal(err)
	}
	r.ports.Store, r.ports.Witness = store, store
	return inner
}

// upTo is a copy of the record before the first event of a type; "" makes an empty one.
func (r *rig) upTo(kind string) *storetest.Memory {
	r.Helper()
	older := storetest.NewMemory()
	for e, err := range r.store.ReadAll(r.Context(), 0, 0) {
		if err != nil {
			r.Fatal(err)
		}
		if kind == "" || e.Type == kind {
			break
		}
		if events.IsSystem(e.Stream) {
			continue
		}
		_, err := older.Append(r.Context(), e.Stream, events.ExpectNext(e.Revision),
			[]events.NewEvent{{ID: e.ID, Type: e.Type, Data: e.Data, Meta: e.Meta}})
		if err != nil {
			r.Fatal(err)
		}
	}
	return older
}

// wantHeld checks a host that was started on a record that has lost events: there is an alert,
// nothing is sold, and the slot is proven.
func (r *rig) wantHeld(slot events.SlotID, h *alertLog, lost ...string) {
	r.Helper()
	r.mineUntil("the loss is recorded", r.has("RecordWentBack"))
	if all := h.of(health.AlertWentBack); len(all) != 1 || !strings.Contains(all[0].Text, "lack events") {
		r.Fatalf("the alerts: %+v", all)
	}
	told := stored[*messages.RecordWentBack](r)
	var streams []string
	for _, s := range told[0].GetStreams() {
		streams = append(streams, events.Category(s.GetStream()))
	}
	for _, name := range lost {
		if !slices.Contains(streams, name) {
			r.Fatalf("%s is not among the streams that lack events: %v", name, streams)
		}
	}
	queue, err := r.host.ViewQueue(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	if !queue.Stopped || !strings.Contains(queue.StoppedFor, "older than this host") {
		r.Errorf("the queue is paused: %t, %q", queue.Stopped, queue.StoppedFor)
	}
	before, taken := len(r.world.Taken(slot)), r.count("SlotTaken")
	r.world.Post(sim.Offer(2, 1))
	r.mine(4 * period)
	if n := r.world.Slashed(slot); n != 0 || len(r.world.Taken(slot)) == before {
		r.Fatalf("slashed %d times, %d proofs before, %d after", n, before, len(r.world.Taken(slot)))
	}
	if r.count("SlotTaken") > taken {
		r.Fatal("it took a slot")
	}
}

func TestAStartOnAnOlderRecordProvesAndSellsWhenItIsTold(t *testing.T) {
	for until, lost := range map[string][]string{
		"":                    {"capacity", "sale", "host", "slotqueue"},
		"AvailabilityCreated": {"capacity", "sale", "slotqueue"},
		"SlotTaken":           {"capacity", "sale", "slotqueue"}, // It waits, and would be the first to be taken.
		"SlotStored":          {"sale", "slotqueue"},             // It owes proofs, and no initial one.
		"SlotFilled":          {"sale"},
		"ProofSubmitted":      {"sale"},
	} {
		t.Run("before "+until, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "seen")
			inWorld(t, func(r *rig) {
				r.cfg.Quota = 1 << 30
				h := r.listen()
				r.watched(path)
				slot := r.hosting()
				r.host.Kill()
				if len(h.of(health.AlertWentBack)) != 0 {
					r.Fatal("told without a reason")
				}
				r.store = r.upTo(until)
				r.watched(path)
				s := r.disturb()
				s.download = func(context.Context, events.DownloadJob) error { return nil }
				taken := r.count("SlotTaken")
				r.start()
				r.wantHeld(slot, h, lost...)
				if n := r.count("SlotTaken"); n > taken {
					r.Fatalf("%d slots were taken", n-taken)
				}
				if until == "SlotStored" && r.count("InitialProofMade") > 0 {
					r.Fatal("the slot was proven for a fill that it has")
				}
				told := stored[*messages.RecordWentBack](r)[0]
				offers := until == "" || until == "AvailabilityCreated"
				if (len(told.GetOffers()) == 1) != offers {
					r.Fatalf("offers that are lost: %v", told.GetOffers())
				}
				r.host.Kill() // One start raises the alert once, and the queue stays paused.
				r.watched(path)
				r.start()
				r.mine(period)
				if r.count("RecordWentBack") != 1 || len(h.of(health.AlertWentBack)) != 1 {
					r.Fatal("it is told at each start")
				}
				if offers {
					r.offer(64 * events.BlockSize)
				}
				if err := r.host.Queue(r.Context(), slotqueue.Resume{At: time.Now(), Reason: "looked at"}); err != nil {
					r.Fatal(err)
				}
				r.mineUntil("the hosted one is settled", r.has("SaleSettled"))
				if n := r.world.Slashed(slot); n != 0 || r.count("ProofMissed") != 0 {
					r.Fatalf("slashed %d times; %v", n, r.names())
				}
			})
		})
	}
}

func TestARunningHostWhoseRecordGoesBackGoesOnProving(t *testing.T) {
	for _, until := range []string{"", "SlotFilled"} {
		for _, right := range []bool{true, false} {
			path := filepath.Join(t.TempDir(), "seen")
			inWorld(t, func(r *rig) {
				r.cfg.Quota = 1 << 30
				h := r.listen()
				inner := r.watched(path)
				slot := r.hosting()
				whole := r.store
				older := r.upTo(until)
				inner.database.Store(older)
				before := len(r.world.Taken(slot))
				r.mine(6 * period)
				select {
				case <-r.host.Done():
					r.Fatalf("the host ended: %v", r.host.Err())
				default:
				}
				if n := len(r.world.Taken(slot)); n < before+3 || r.world.Slashed(slot) != 0 {
					r.Fatalf("%d proofs before, %d after, slashed %d times", before, n, r.world.Slashed(slot))
				}
				st := r.away()
				words := health.Judge(health.Facts{Stage: health.Running, Record: st})
				if !st.Away || !st.WentBack || words.Selling == health.Yes {
					r.Fatalf("the record is %+v, the host says %+v", st, words)
				}
				if right {
					inner.database.Store(whole)
					r.settled(slot)
					return
				}
				r.host.Kill()
				synctest.Wait()
				r.store = older
				r.watched(path)
				r.start()
				r.wantHeld(slot, h, "sale")
			})
		}
	}
}

// doubtfulWitness says that events are lost until it has looked again after they are found.
type doubtfulWitness struct {
	lost        events.WentBack
	found, none atomic.Bool
}

func (w *doubtfulWitness) Lost() events.WentBack {
	if w.none.Load() {
		return events.WentBack{}
	}
	return w.lost
}

func (w *doubtfulWitness) LookAgain(context.Context) error {
	w.none.Store(w.found.Load())
	return nil
}

func (w *doubtfulWitness) Settle() error { return nil }

func TestALossThatIsNoneIsNotToldOrTakenBackWithoutAPerson(t *testing.T) {
	for name, c := range map[string]struct {
		foundBefore, paused bool
	}{
		"before it is recorded": {foundBefore: true},
		"afterwards":            {},
		"afterwards, and the operator has paused the queue": {paused: true},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(r *rig) {
				h := r.listen()
				slot := r.hosting()
				r.host.Kill()
				synctest.Wait()
				w := &doubtfulWitness{lost: events.WentBack{
					Seen: time.Now(), Streams: []events.ShortStream{{Stream: events.SaleStream(r.ports.Market.Account(), slot), Had: 9, Has: 3}},
				}}
				w.found.Store(c.foundBefore)
				r.ports.Witness = w
				r.start()
				if c.foundBefore {
					r.settled(slot)
					if r.has("RecordWentBack")() || r.has("QueuePaused")() || len(h.of(health.AlertWentBack)) > 0 {
						r.Fatalf("told: %v", r.names())
					}
					return
				}
				r.mineUntil("it is recorded", r.has("RecordWentBack"))
				r.mine(4 * period)
				if told := stored[*messages.RecordWentBack](r); len(told) != 1 || told[0].GetTakenBack() {
					r.Fatalf("told: %v", told)
				}
				if c.paused {
					must(r.T, r.host.Queue(r.Context(), slotqueue.Resume{At: time.Now(), Reason: "operator"}))
					must(r.T, r.host.Queue(r.Context(), slotqueue.Pause{At: time.Now(), Reason: "operator"}))
				}
				w.found.Store(true)
				r.mine(2 * period)
				queue, err := r.host.ViewQueue(r.Context())
				must(r.T, err)
				told := stored[*messages.RecordWentBack](r)
				if queue.Stopped != c.paused || len(told) != 2 || !told[1].GetTakenBack() {
					r.Fatalf("the queue is paused: %t, %q; told: %v", queue.Stopped, queue.StoppedFor, told)
				}
				r.settled(slot) // The audit is clean.
			})
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
