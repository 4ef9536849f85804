package actors

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/actors/ledger"
	"github.com/hostnode/hostnode/actors/queue"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/actors/shell/shelltest"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/messages"
)

var snapshotHost = events.Address{0x51}

// bareBase is the part of a host that loading and saving need.
func bareBase(store events.Store) *shell.Base {
	b := &shell.Base{
		SnapshotEvery: 1, Store: store, Clock: shelltest.Clock{},
		Log: shelltest.QuietLog(), Codec: catalog.Codec(), Me: snapshotHost,
	}
	b.StoreWatch = shell.NewStoreWatch(b.Clock, b.Log, shelltest.NoYield)
	return b
}

// saverOf saves a list of living sales.
func saverOf(b *shell.Base, living *livingSales) *livingSalesSaver {
	return &livingSalesSaver{hostRecord: newHostRecord(b), living: living}
}

// damagedStore flips bits of what is read from snapshot streams.
type damagedStore struct {
	events.Store
	damage func([]byte) []byte
}

func (s damagedStore) ReadStream(
	ctx context.Context, stream string, q events.ReadStream,
) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		for e, err := range s.Store.ReadStream(ctx, stream, q) {
			if events.IsSnapshot(stream) && err == nil {
				e.Data = s.damage(e.Data)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// life is one machine with its whole past, saved at random places.
type life[S any, E proto.Message] struct {
	stream string
	empty  func() S
	evolve func(S, E) S
	plain  func(S) any
	keeper func(*shell.Base) *shell.Keeper[S]
	// next decides something on a state.
	next func(*rapid.T, S) []E
}

// check runs a machine that is saved at random places: whatever is damaged among the snapshots,
// a snapshot and the events after it equal the full replay.
func (l life[S, E]) check(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		store := storetest.NewMemory()
		e := bareBase(store)
		state, stored, last := l.empty(), uint64(0), events.EventID{}
		k := l.keeper(e)
		k.Now = func() (shell.Fold[S], bool) { return shell.Fold[S]{State: state, Events: stored, Last: last}, true }
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			if stored > 0 && rapid.IntRange(0, 5).Draw(t, "save") == 0 {
				if err := k.Save(t.Context(), stored, last, k.Pieces(state)); err != nil {
					t.Fatal(err)
				}
			}
			for _, ev := range l.next(t, state) {
				name, version, data, err := e.Codec.Encode(ev)
				if err != nil {
					t.Fatal(err)
				}
				last = events.NewEventID(l.stream, "test", int(stored))
				_, err = store.Append(t.Context(), l.stream, events.ExpectNext(stored), []events.NewEvent{{
					ID: last, Type: name, Data: data, Meta: events.Metadata{Version: version},
				}})
				if err != nil {
					t.Fatal(err)
				}
				state, stored = l.evolve(state, ev), stored+1
			}
		}
		rot := rapid.IntRange(0, 3).Draw(t, "rot")
		e.Store = damagedStore{store, func(data []byte) []byte {
			if rapid.IntRange(0, 3).Draw(t, "spoilt") >= rot {
				return data
			}
			data = bytes.Clone(data)
			data[rapid.IntRange(0, len(data)-1).Draw(t, "at")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
			return data
		}}
		j := shell.Journal[S, int, E]{
			Machine: shell.Machine[S, int, E]{
				Empty: l.empty, Evolve: l.evolve,
				Restore: k.Load,
			},
			Stream: l.stream, Store: e.Store, Codec: e.Codec, StoreWatch: e.StoreWatch,
		}
		m, err := j.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n := m.From.Events + uint64(len(m.Events)); n != stored || stored > 0 && m.Last != last {
			t.Fatalf("%d events end with %v, want %d that end with %v", n, m.Last, stored, last)
		}
		for _, ev := range m.Events {
			m.From.State, m.From.Ahead = l.evolve(m.From.State, ev), l.evolve(m.From.Ahead, ev)
		}
		replayed := l.replay(t, store, e.Codec)
		for name, got := range map[string]S{"durable": m.From.State, "speculative": m.From.Ahead, "live": state} {
			if diff := cmp.Diff(l.plain(replayed), l.plain(got), sameAmounts); diff != "" {
				t.Fatalf("%s state (-replayed +loaded):\n%s", name, diff)
			}
		}
	})
}

// replay folds all that was ever stored.
func (l life[S, E]) replay(t *rapid.T, store events.Store, codec *events.Codec) S {
	state := l.empty()
	for r, err := range store.ReadAll(t.Context(), 0, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Stream == l.stream {
			ev, err := shell.DecodeAs[E](codec, r)
			if err != nil {
				t.Fatal(err)
			}
			state = l.evolve(state, ev)
		}
	}
	return state
}

var sameAmounts = cmp.Comparer(func(a, b events.Amount) bool { return a == b })

func TestQueueFromSnapshotAndTailIsTheReplayedOneWhateverIsDamaged(t *testing.T) {
	at := events.Unix(1_700_000_000)
	life[slotqueue.State, slotqueue.Event]{
		stream: events.SlotQueueStream(snapshotHost), evolve: slotqueue.Evolve,
		empty: func() slotqueue.State { return slotqueue.New(slotqueue.Limits{MaxItems: 5}) },
		plain: func(s slotqueue.State) any { return s.Snapshot() },
		keeper: func(e *shell.Base) *shell.Keeper[slotqueue.State] {
			return queue.NewKeeper(e, slotqueue.Limits{MaxItems: 5})
		},
		next: func(t *rapid.T, s slotqueue.State) []slotqueue.Event {
			draw := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "n") }
			id, index := events.RequestID{byte(draw(3))}, uint64(draw(3))
			var c slotqueue.Command
			switch draw(7) {
			case 0, 1:
				c = slotqueue.Queue{At: at, RequestID: id, SlotIndices: []uint64{index, 3}, Terms: slotqueue.Terms{
					Profitability: events.NewAmount(uint64(draw(4))),
				}}
			case 2:
				c = slotqueue.Take{At: at, MaxWorkers: 3}
			case 3:
				c = slotqueue.Release{At: at, RequestID: id, SlotIndex: index, Outcome: "done", Requeue: draw(2) == 0}
			case 4:
				c = slotqueue.Remove{At: at, RequestID: id, Reason: "filled"}
			case 5:
				c = slotqueue.Pause{At: at, Reason: "operator"}
			default:
				c = slotqueue.Resume{At: at, Reason: "operator"}
			}
			out, err := slotqueue.Decide(s, c)
			if err != nil {
				t.Fatal(err)
			}
			return out
		},
	}.check(t)
}

func TestLedgerFromSnapshotAndTailIsTheReplayedOneWhateverIsDamaged(t *testing.T) {
	at := events.Unix(1_700_000_000)
	life[capacity.State, capacity.Event]{
		stream: events.CapacityStream(snapshotHost), evolve: capacity.Evolve, empty: capacity.New,
		plain: func(s capacity.State) any { return s.Snapshot() }, keeper: func(b *shell.Base) *shell.Keeper[capacity.State] { return ledger.NewKeeper(b, "") },
		next: func(t *rapid.T, s capacity.State) []capacity.Event {
			draw := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "n") }
			slot := events.SlotID{byte(draw(4))}
			var c capacity.Command
			switch draw(5) {
			case 0:
				c = capacity.SetQuota{At: at, Bytes: events.Bytes(1000 + draw(1000))}
			case 1:
				c = capacity.Create{At: at, ID: events.AvailabilityID{byte(draw(2))}, Now: capacity.Offer{
					Size: 400, Duration: time.Hour, MinPrice: events.NewAmount(1), Collateral: events.NewAmount(1000), Enabled: true,
				}}
			case 2:
				c = capacity.Reserve{At: at, Slot: slot, Attempt: 1, Ask: capacity.Ask{
					SlotSize: 100, Duration: time.Hour, PricePerBytePerSecond: events.NewAmount(2),
					CollateralPerByte: events.NewAmount(1), RequestEnd: at.Add(time.Hour),
				}}
			case 3:
				c = capacity.Release{At: at, Reservation: capacity.ReservationIDOf(slot, 1), TotalStored: events.Bytes(draw(100))}
			default:
				c = capacity.Settle{At: at, Slot: slot, Attempt: 1, CollateralReturned: events.NewAmount(100)}
			}
			out, err := capacity.Decide(s, c)
			if err != nil {
				return nil // A refusal; nothing follows.
			}
			return out
		},
	}.check(t)
}

// saleLog appends the beginnings and ends of sales, of this host and another.
func saleLog(t *rapid.T, store events.Store, codec *events.Codec, counts map[string]uint64) {
	host := []events.Address{snapshotHost, {0x52}}[rapid.IntRange(0, 1).Draw(t, "host")]
	slot := events.SlotID{byte(rapid.IntRange(0, 4).Draw(t, "slot"))}
	stream := events.SaleStream(host, slot)
	examples := map[string]proto.Message{}
	for e := range codec.Entries() {
		examples[e.Name] = e.Example
	}
	name := rapid.SampledFrom([]string{
		"SaleStarted", "SaleStarted", "SaleSettled", "ProofSubmitted", "CapacityReserved", "SlotTaken",
	}).Draw(t, "event")
	m := proto.CloneOf(examples[name])
	switch m := m.(type) {
	case *messages.SaleStarted:
		m.SlotId, m.SlotIndex = slot.String(), uint64(slot[0])
	case *messages.SlotTaken:
		stream = events.SlotQueueStream(host)
	}
	stored, version, data, err := codec.Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	_, err = store.Append(t.Context(), stream, events.ExpectNext(counts[stream]), []events.NewEvent{{
		ID: events.NewEventID(stream, "test", int(counts[stream])), Type: stored, Data: data,
		Meta: events.Metadata{Version: version},
	}})
	if err != nil {
		t.Fatal(err)
	}
	counts[stream]++
}

// notOver folds all sales from their streams, one by one, with the core.
func notOver(t *rapid.T, store events.Store, codec *events.Codec) []events.SlotID {
	states := map[events.SlotID]sale.State{}
	for r, err := range store.ReadAll(t.Context(), 0, 0) {
		if err != nil {
			t.Fatal(err)
		}
		host, slot, err := events.ParseSaleStream(r.Stream)
		if err != nil || host != snapshotHost {
			continue
		}
		ev, err := shell.DecodeAs[sale.Event](codec, r)
		if err != nil {
			t.Fatal(err)
		}
		if states[slot].Phase == sale.Unknown && r.Type != "SaleStarted" {
			continue // The fold of a sale that never began means nothing.
		}
		states[slot] = sale.Evolve(states[slot], ev)
	}
	var list []events.SlotID
	for slot, st := range states {
		if !st.Over() {
			list = append(list, slot)
		}
	}
	slices.SortFunc(list, events.SlotID.Compare)
	return list
}

func TestAStartFindsTheSalesThatAreNotOverWhateverIsDamaged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		store := storetest.NewMemory()
		e := bareBase(store)
		counts := map[string]uint64{}
		w := saverOf(e, newLivingSales(e))
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			saleLog(t, store, e.Codec, counts)
			if rapid.IntRange(0, 4).Draw(t, "save") > 0 {
				continue
			}
			s, err := readLivingSales(t.Context(), e) // A start, and a snapshot some time after.
			if err != nil {
				t.Fatal(err)
			}
			w.living = s
			if err := w.Finish(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		rot := rapid.IntRange(0, 3).Draw(t, "rot")
		damaged := damagedStore{store, func(data []byte) []byte {
			if rapid.IntRange(0, 3).Draw(t, "spoilt") >= rot {
				return data
			}
			data = bytes.Clone(data)
			data[rapid.IntRange(0, len(data)-1).Draw(t, "at")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
			return data
		}}
		got, err := LivingSales(t.Context(), damaged, snapshotHost)
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(got, events.SlotID.Compare)
		if want := notOver(t, store, e.Codec); !slices.Equal(got, want) {
			t.Fatalf("a start finds %v, the record says %v", got, want)
		}
	})
}

func TestAStoreThatIsAwayCostsASnapshotAndNothingElse(t *testing.T) {
	store := storetest.NewMemory()
	e := bareBase(store)
	k := ledger.NewKeeper(e, "")
	k.Now = func() (shell.Fold[capacity.State], bool) {
		return shell.Fold[capacity.State]{State: capacity.New(), Events: 1, Last: events.EventID{1}}, true
	}
	e.Savers = map[string]shell.Saver{"ledger": k, "living sales": saverOf(e, newLivingSales(e))}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if err := k.Finish(t.Context()); !errors.Is(err, events.ErrClosed) {
		t.Fatalf("%v", err)
	}
	e.SaveAll(t.Context()) // It logs the failure, and goes on.
}
