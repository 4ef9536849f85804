package outage

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
)

var (
	me    = events.Address{1}
	terms = events.ProofConfig{
		Period: 20 * time.Second, Timeout: 10 * time.Second, DowntimeProduct: 67, KeyHash: "keys",
	}
)

// world is a chain with a block each second of fake time, a contract that gives slots to an
// account, and a prover.
type world struct {
	mu      sync.Mutex
	blocks  []events.Head
	branch  byte // of the blocks that come
	moved   chan struct{}
	owned   []events.OwnedSlot
	facts   map[events.SlotID]events.SlotFacts
	taken   map[events.SlotID]map[uint64]int // how often a proof was handed in, by period
	fail    map[string]error                 // what a method answers; nil: it works
	proving time.Duration                    // how long a proof takes
	atOnce  int                              // proofs that are being made
	most    int                              // at once
	made    map[events.Challenge]int
	told    health.OutageFacts
	alerts  []health.Alert
}

// newWorld has some slots that owe a proof in each period.
func newWorld(slots int) *world {
	w := &world{
		moved: make(chan struct{}), facts: map[events.SlotID]events.SlotFacts{},
		taken: map[events.SlotID]map[uint64]int{}, fail: map[string]error{}, made: map[events.Challenge]int{},
		proving: time.Second,
	}
	for range 300 {
		w.mine()
	}
	for i := range slots {
		r := events.Request{ID: events.RequestID{byte(i + 1)}, Ask: events.Ask{ProofProbability: events.NewAmount(1)}}
		o := events.OwnedSlot{Slot: events.SlotIDOf(r.ID, 0), Request: r}
		w.owned = append(w.owned, o)
		w.facts[o.Slot] = events.SlotFacts{SlotState: events.SlotFilled, Host: me}
		w.taken[o.Slot] = map[uint64]int{}
	}
	return w
}

// mine adds a block.
func (w *world) mine() {
	n := uint64(len(w.blocks))
	h := events.Head{Number: n, Time: events.Unix(1_000_000 + n)}
	binary.BigEndian.PutUint64(h.Hash[:], n+1)
	h.Hash[31] = w.branch
	if n > 0 {
		h.Parent = w.blocks[n-1].Hash
	}
	w.blocks = append(w.blocks, h)
	close(w.moved)
	w.moved = make(chan struct{})
}

func (w *world) do(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

// failing makes a method fail, until it is called with nil.
func (w *world) failing(method string, err error) { w.do(func() { w.fail[method] = err }) }

func (w *world) head() events.Head { return w.blocks[len(w.blocks)-1] }

func (w *world) period() uint64 { return duty.Period(terms, w.head().Time) }

func answer[T any](w *world, method string, give func() (T, error)) (T, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.fail[method]; err != nil {
		var none T
		return none, err
	}
	return give()
}

func (w *world) Account() events.Address { return me }

func (w *world) Config(context.Context) (events.MarketConfig, error) {
	return answer(w, "Config", func() (events.MarketConfig, error) { return events.MarketConfig{Proofs: terms}, nil })
}

func (w *world) Head(context.Context) (events.Head, error) {
	return answer(w, "Head", func() (events.Head, error) { return w.head(), nil })
}

func (w *world) HeadsBetween(_ context.Context, first, last uint64) ([]events.Head, error) {
	return answer(w, "HeadsBetween", func() ([]events.Head, error) { return slices.Clone(w.blocks[first : last+1]), nil })
}

func (w *world) BlockTime() (time.Duration, bool) { return time.Second, true }

func (w *world) MySlots(context.Context) ([]events.OwnedSlot, error) {
	return answer(w, "MySlots", func() ([]events.OwnedSlot, error) { return slices.Clone(w.owned), nil })
}

func (w *world) Slot(_ context.Context, r events.RequestID, index uint64) (events.SlotFacts, error) {
	return answer(w, "Slot", func() (events.SlotFacts, error) { return w.facts[events.SlotIDOf(r, index)], nil })
}

func (w *world) TakenProofs(_ context.Context, slot events.SlotID, from uint64) ([]events.TakenProof, error) {
	return answer(w, "TakenProofs", func() (taken []events.TakenProof, err error) {
		for period := range w.taken[slot] {
			if period >= from {
				taken = append(taken, events.TakenProof{Period: period})
			}
		}
		return taken, nil
	})
}

// SubmitProof takes what is right for the next block, a block later.
func (w *world) SubmitProof(
	ctx context.Context, call events.SlotCall, period uint64, proof events.Proof,
) (events.Receipt, error) {
	_, err := answer(w, "SubmitProof", func() (none struct{}, err error) {
		n, now := w.head().Number+1, w.head().Time.Add(time.Second)
		at, _ := duty.ChallengeBlock(n, duty.Pointer(terms, call.Slot, n, period))
		wants := duty.Challenge(w.blocks[at].Hash)
		switch {
		case w.facts[call.Slot].Host != me:
			return none, events.ErrNotOurSlot
		case proof != proofOf(wants) || call.Challenge != wants || duty.Period(terms, now) != period:
			return none, events.ErrInvalidProof
		}
		w.taken[call.Slot][period]++
		return none, nil
	})
	return events.Receipt{}, errors.Join(err, pause(ctx, time.Second))
}

// proofOf is what stands for the proof of a challenge.
func proofOf(c events.Challenge) events.Proof { return events.Proof{c} }

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *world) KeyHash() string { return "keys" }

func (w *world) Prove(ctx context.Context, job events.ProofJob) (events.ProofResult, error) {
	takes, err := answer(w, "Prove", func() (time.Duration, error) {
		w.atOnce++
		w.most = max(w.most, w.atOnce)
		w.made[job.Challenge]++
		return w.proving, nil
	})
	if err != nil {
		return events.ProofResult{}, err
	}
	err = pause(ctx, takes)
	w.do(func() { w.atOnce-- })
	return events.ProofResult{Proof: proofOf(job.Challenge), Challenge: job.Challenge}, err
}

// FollowHeads is Follow, which has no logs either.
func (w *world) FollowHeads(
	ctx context.Context, from events.Cursor, deliver func(context.Context, events.ChainUpdate) error,
) error {
	return w.Follow(ctx, from, deliver)
}

// Follow delivers the newest block.
func (w *world) Follow(
	ctx context.Context, _ events.Cursor, deliver func(context.Context, events.ChainUpdate) error,
) error {
	for {
		w.mu.Lock()
		head, moved := w.head(), w.moved
		w.mu.Unlock()
		if err := deliver(ctx, events.ChainUpdate{Head: head, Live: true}); err != nil {
			return err
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// during runs the keeper, with so many proofs at once, while a story runs.
func (w *world) during(t *testing.T, proofs int, story func()) {
	t.Helper()
	log := logrus.New()
	log.SetOutput(io.Discard)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- Run(ctx, Config{
			Margin: duty.Margin{Blocks: 3}, Proofs: proofs, Log: logrus.NewEntry(log),
			Tell:  func(f health.OutageFacts) { w.do(func() { w.told = f }) },
			Alert: func(a health.Alert) { w.do(func() { w.alerts = append(w.alerts, a) }) },
		}, Ports{Market: w, Feed: w, Prover: w})
	}()
	story()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}

// blocksCome lets so many seconds pass with a block each.
func (w *world) blocksCome(n int) {
	for range n {
		time.Sleep(time.Second)
		w.do(w.mine)
		synctest.Wait()
	}
}

// periods lets whole periods pass, from the beginning of the next one, except the end of the
// last, where the following one is visible already. It returns the first and the last.
func (w *world) periods(n int) (first, last uint64) {
	first = w.period() + 1
	for w.period() < first {
		w.blocksCome(1)
	}
	w.blocksCome(n*int(terms.Period/time.Second) - 4)
	return first, first + uint64(n) - 1
}

// handedIn says for each slot how often a proof of these periods was handed in.
func (w *world) handedIn(first, last uint64) (all []string) {
	for _, o := range w.owned {
		of := ""
		for p := first; p <= last; p++ {
			of += fmt.Sprint(w.taken[o.Slot][p])
		}
		all = append(all, of)
	}
	return all
}
