package slotqueue

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/internal/housetest"
)

// source draws numbers below n: from rapid, or from the bytes of a fuzzer.
type source func(n int) int

// anyCommand draws from few ids and values, so that commands concern the same slots. Revisions
// of the market grow most of the time.
func anyCommand(draw source, s State) Command {
	id, index := request(byte(draw(4)+1)), uint64(draw(4))
	var indices []uint64
	for range draw(5) {
		indices = append(indices, uint64(draw(4)))
	}
	var revision uint64
	if draw(2) == 0 {
		revision = s.LastMarketRevision() + uint64(draw(3))
	}
	switch draw(14) {
	case 0, 1, 2:
		c := Queue{
			At: start, RequestID: id, SlotIndices: indices, MarketRevision: revision,
			Terms: Terms{
				DatasetSize: events.Bytes(draw(2)), Profitability: amount(uint64(draw(3))),
				Collateral: amount(uint64(draw(2))), Expiry: start.Add(time.Duration(draw(2)) * time.Hour),
				Repair: draw(2) == 0,
			},
		}
		if c.Terms.Expiry.Equal(start) {
			c.Terms.Expiry = time.Time{}
		}
		if draw(5) == 0 {
			c.Refusal = &Refusal{[]string{"price", "size"}[draw(2)], "numbers"}
		}
		return c
	case 3, 4, 5:
		return Take{start, draw(4)}
	case 6, 7:
		if taken := s.Taken(); len(taken) > 0 {
			it := taken[draw(len(taken))]
			id, index = it.RequestID, it.SlotIndex
		}
		c := Release{
			At: start, RequestID: id, SlotIndex: index, Outcome: "done", Requeue: draw(3) > 0,
			Criterion: []string{"", "price", "window"}[draw(3)],
		}
		if c.Criterion == "window" {
			c.RetryAt = start.Add(time.Duration(draw(3)) * time.Minute)
		}
		return c
	case 8:
		return Remove{start, id, indices, "filled", revision}
	case 9:
		c := Wake{At: start.Add(time.Duration(draw(3)) * time.Minute), Reason: "space", Early: draw(2) == 1}
		for _, criterion := range []string{"price", "window", CriterionClient} {
			if draw(2) == 0 {
				c.Criteria = append(c.Criteria, criterion)
			}
		}
		return c
	case 10:
		return Pause{start, "operator"}
	case 12:
		if taken := s.Taken(); len(taken) > 0 {
			it := taken[draw(len(taken))]
			id, index = it.RequestID, it.SlotIndex
		}
		return HandOut{
			start, id, index, []events.Member{"north", "south"}[draw(2)], amount(uint64(draw(3))),
			[]Unpaid{{id, uint64(draw(3)), amount(uint64(draw(2)))}},
			amount(uint64(draw(5))),
		}
	case 11:
		at := start.Add(time.Duration(draw(2)) * time.Minute)
		return Avoid{at, events.Address{byte(draw(4))}, at.Add(time.Duration(draw(3)) * time.Minute), "data"}
	}
	return Resume{start, "operator"}
}

func TestEveryCommandIsDrawn(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 1))
	var drawn []Command
	for range 1000 {
		drawn = append(drawn, anyCommand(chance.IntN, New(Limits{})))
	}
	housetest.Complete(t, ".", "command", drawn, "commands that anyCommand draws")
}

// fatal is what rapid's and testing's T have in common.
type fatal interface {
	Helper()
	Fatalf(format string, args ...any)
}

// model holds the live queue, one that is folded from stored events, and
// the plain list.
type model struct {
	limits         Limits
	live, replayed State
	plain          plain
	codec          *events.Codec
}

func newMachine() *model {
	l := Limits{MaxItems: 5, MaxRefused: 2, MaxAvoided: 2}
	return &model{l, New(l), New(l), plain{limit: l.MaxItems}, events.NewCodec(Table())}
}

// do decides a command, twice, and checks everything that must always hold.
func (m *model) do(t fatal, c Command) {
	t.Helper()
	before := m.live.Snapshot()
	m.plain.after(c, m.live)
	out, err := Decide(m.live, c)
	if h, ok := c.(HandOut); ok && errors.Is(err, ErrNotYours) {
		free := func(it Item) bool {
			return it.RequestID == h.RequestID && it.SlotIndex == h.SlotIndex && (it.Member == "" || it.Member == h.Member)
		}
		if slices.ContainsFunc(m.live.Taken(), free) {
			t.Fatalf("%+v: %v", c, err)
		}
	} else if ok && len(out)+number(err != nil) > 0 {
		promised := m.live.Promised().Add(h.Collateral)
		for _, u := range h.Unpaid {
			counts := func(it Item) bool {
				own := it.RequestID == h.RequestID && it.SlotIndex == h.SlotIndex
				return it.RequestID == u.RequestID && it.SlotIndex == u.SlotIndex && (own || !it.Promise.IsZero())
			}
			if !slices.ContainsFunc(m.live.Taken(), counts) {
				promised = promised.Add(u.Collateral)
			}
		}
		if enough := promised.Cmp(h.Balance) <= 0; enough == errors.Is(err, ErrPromised) {
			t.Fatalf("%+v with %s promised: %v", c, m.live.Promised(), err)
		}
	} else if err != nil {
		t.Fatalf("%+v: %v", c, err)
	}
	if diff := difference(before, m.live.Snapshot()); diff != "" {
		t.Fatalf("%+v: Decide changed the state:\n%s", c, diff)
	}
	for _, e := range out {
		m.live = Evolve(m.live, e)
		m.replayed = Evolve(m.replayed, m.stored(t, e))
	}
	if err := m.live.Check(); err != nil {
		t.Fatalf("after %+v: %v", c, err)
	}
	now := m.live.Snapshot()
	if diff := difference(now, m.replayed.Snapshot()); diff != "" {
		t.Fatalf("after %+v the replayed queue differs (-live +replayed):\n%s", c, diff)
	}
	if diff := difference(now, restored(t, m.live, m.limits).Snapshot()); diff != "" {
		t.Fatalf("after %+v the restored queue differs (-live +restored):\n%s", c, diff)
	}
	list := Snapshot{Items: slices.Clip(slices.Concat(m.plain.queued))}
	if diff := difference(Snapshot{Items: now.Items}, list); diff != "" {
		t.Fatalf("after %+v the queue is not the sorted list (-queue +list):\n%s", c, diff)
	}
	m.checkOrderOfTop(t)
	switch c := c.(type) {
	case Take: // Each Take takes another slot.
		return
	case Queue: // Without a revision, what was evicted may be offered again.
		if c.MarketRevision == 0 && len(out) > 1 {
			return
		}
	case Release, Remove, Wake, Pause, Resume, Avoid, HandOut:
	}
	if again, twice := Decide(m.live, c); len(again) > 0 || (twice == nil) != (err == nil) {
		t.Fatalf("%+v given twice: %s, %v", c, tellAll(again), err)
	}
}

func (m *model) stored(t fatal, e Event) Event {
	name, version, data, err := m.codec.Encode(e)
	if err != nil {
		t.Fatalf("store %T: %v", e, err)
	}
	back, err := m.codec.Decode(events.Recorded{Type: name, Data: data, Meta: events.Metadata{Version: version}})
	if err != nil {
		t.Fatalf("read %T: %v", e, err)
	}
	return back.(Event)
}

// checkOrderOfTop compares the worst of the queue with the end of the list.
func (m *model) checkOrderOfTop(t fatal) {
	t.Helper()
	n := len(m.plain.queued)
	for i, it := range m.live.worst.top(n) {
		if want := m.plain.queued[n-1-i]; !is(want.RequestID, want.SlotIndex)(it.view()) {
			t.Fatalf("the worst but %d is %+v, want %+v", i, it.view(), want)
		}
	}
}

func TestQueueHoldsForAllCommandsInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine()
		below := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "draw") }
		for range rapid.IntRange(1, 60).Draw(t, "commands") {
			m.do(t, anyCommand(below, m.live))
		}
	})
}

// TestEverySlotIsLookedAtBeforeTheQueuePauses holds whatever came before.
func TestEverySlotIsLookedAtBeforeTheQueuePauses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine()
		below := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "draw") }
		for range rapid.IntRange(1, 40).Draw(t, "commands") {
			m.do(t, anyCommand(below, m.live))
		}
		for _, it := range m.live.Taken() {
			m.do(t, Release{At: start, RequestID: it.RequestID, SlotIndex: it.SlotIndex, Outcome: "done", Requeue: false})
		}
		m.do(t, Resume{start, "operator"})
		for n := range m.live.Len() {
			m.do(t, Take{start, 1})
			taken := m.live.Taken()
			if len(taken) != 1 {
				t.Fatalf("look %d: %d taken, want one", n, len(taken))
			}
			m.do(t, Release{At: start, RequestID: taken[0].RequestID, SlotIndex: taken[0].SlotIndex, Outcome: "nothing fits", Requeue: true})
		}
		m.do(t, Take{start, 1})
		if _, _, paused := m.live.Paused(); paused != (m.live.Len() > 0) {
			t.Fatalf("paused %v with %d slots", paused, m.live.Len())
		}
	})
}

func FuzzReplay(f *testing.F) {
	f.Add([]byte{0, 0, 200, 0, 70, 130, 200, 255, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 90, 200, 0, 0, 0, 128, 150})
	f.Fuzz(func(t *testing.T, script []byte) {
		script = script[:min(len(script), 500)] // A longer one finds no more.
		m := newMachine()
		below := func(n int) int {
			if len(script) == 0 {
				return 0
			}
			b := script[0]
			script = script[1:]
			return int(b) * n / 256
		}
		for len(script) > 0 {
			m.do(t, anyCommand(below, m.live))
		}
	})
}

// FuzzEvolve folds events that no queue would write, in any order: nothing panics.
func FuzzEvolve(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6}, uint64(2), uint64(7))
	f.Fuzz(func(t *testing.T, order []byte, index, revision uint64) {
		order = order[:min(len(order), 100)]
		l := Limits{MaxItems: 3, MaxRefused: 1, MaxAvoided: 1}
		s := New(l)
		for i, b := range order {
			e := Table()[int(b)%len(Table())].Example.(Event)
			mutate(e, index+uint64(i%4), revision)
			s = Evolve(s, e)
		}
		now := s.Snapshot()
		again, err := RestorePieces(l, s.Pieces())
		if err != nil {
			t.Fatal(err)
		}
		if diff := difference(now, again.Snapshot()); diff != "" {
			t.Fatalf("the restored queue differs:\n%s", diff)
		}
		s.faults, s.limits.MaxItems = 0, len(order)*3
		if err := s.Check(); err != nil {
			t.Fatal(err)
		}
	})
}
