package actors_test

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/events"
)

// toll makes each call on a port take a second, so that time says how many calls came one
// after the other. Some of them hang altogether.
type toll struct {
	mu    sync.Mutex
	begun time.Time
	calls []string
	hangs map[string]bool
	// paid is when the first call of a kind was over, in calls since it began.
	paid map[string]int
}

func (c *toll) begin(hangs ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begun, c.calls, c.hangs, c.paid = time.Now(), nil, map[string]bool{}, map[string]int{}
	for _, name := range hangs {
		c.hangs[name] = true
	}
}

func (c *toll) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begun = time.Time{}
}

// pay is called before each call.
func (c *toll) pay(ctx context.Context, name string) {
	c.mu.Lock()
	charges, hangs := !c.begun.IsZero(), c.hangs[name]
	since := int(time.Since(c.begun) / time.Second)
	if charges {
		c.calls = append(c.calls, fmt.Sprintf("%d %s", since, name))
	}
	c.mu.Unlock()
	switch {
	case !charges:
		return
	case hangs:
		<-ctx.Done()
		return
	}
	time.Sleep(time.Second) // Fake time.
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, again := c.paid[name]; !again {
		c.paid[name] = since + 1
	}
}

func (c *toll) over(name string) (after int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	after, ok = c.paid[name]
	return after, ok
}

// Ports that take the toll. What hangs ends with its context, and fails then.
type (
	tollMarket struct {
		actors.Market
		*toll
	}
	tollProver struct {
		actors.Prover
		*toll
		held *bool // no proof is made
	}
	tollStore struct {
		*events.Memory
		*toll
	}
)

func (m tollMarket) Config(ctx context.Context) (events.MarketConfig, error) {
	m.pay(ctx, "Config")
	return m.Market.Config(ctx)
}

func (m tollMarket) Head(ctx context.Context) (events.Head, error) {
	m.pay(ctx, "Head")
	return m.Market.Head(ctx)
}

func (m tollMarket) HeadAt(ctx context.Context, n uint64) (events.Head, error) {
	m.pay(ctx, "HeadAt")
	return m.Market.HeadAt(ctx, n)
}

func (m tollMarket) HeadsBetween(ctx context.Context, first, last uint64) ([]events.Head, error) {
	m.pay(ctx, "HeadsBetween")
	return m.Market.(interface {
		HeadsBetween(ctx context.Context, first, last uint64) ([]events.Head, error)
	}).HeadsBetween(ctx, first, last)
}

func (m tollMarket) Slot(ctx context.Context, id events.RequestID, index uint64) (events.SlotFacts, error) {
	if m.pay(ctx, "Slot"); ctx.Err() != nil {
		return events.SlotFacts{}, ctx.Err()
	}
	return m.Market.Slot(ctx, id, index)
}

func (m tollMarket) MySlots(ctx context.Context) ([]events.OwnedSlot, error) {
	if m.pay(ctx, "MySlots"); ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return m.Market.MySlots(ctx)
}

func (m tollMarket) TakenProofs(ctx context.Context, slot events.SlotID, from uint64) ([]events.TakenProof, error) {
	if m.pay(ctx, "TakenProofs"); ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return m.Market.TakenProofs(ctx, slot, from)
}

func (m tollMarket) SubmitProof(
	ctx context.Context, call events.SlotCall, period uint64, p events.Proof,
) (events.Receipt, error) {
	m.pay(ctx, "SubmitProof")
	return m.Market.SubmitProof(ctx, call, period, p)
}

func (p tollProver) Prove(ctx context.Context, job events.ProofJob) (events.ProofResult, error) {
	if *p.held {
		<-ctx.Done()
		return events.ProofResult{}, ctx.Err()
	}
	p.pay(ctx, "Prove")
	return p.Prover.Prove(ctx, job)
}

func (s tollStore) Append(
	ctx context.Context, stream string, e events.Expected, batch []events.NewEvent,
) (events.AppendResult, error) {
	s.pay(ctx, "Append "+batch[0].Type)
	return s.Memory.Append(ctx, stream, e, batch)
}

func (s tollStore) ReadStream(
	ctx context.Context, stream string, q events.ReadStream,
) iter.Seq2[events.Recorded, error] {
	s.pay(ctx, "ReadStream "+events.Category(stream))
	return s.Memory.ReadStream(ctx, stream, q)
}

func (s tollStore) ReadAll(ctx context.Context, after events.Position, limit int) iter.Seq2[events.Recorded, error] {
	s.pay(ctx, "ReadAll")
	return s.Memory.ReadAll(ctx, after, limit)
}

// owing is a host with a slot and a duty that is open in the record when it is killed; or
// one that is due and was not recorded.
func (r *rig) owing(recorded bool) (*toll, events.SlotID) {
	c, held := &toll{}, false
	r.ports.Market = tollMarket{r.ports.Market, c}
	r.ports.Prover = tollProver{r.ports.Prover, c, &held}
	r.ports.Store = tollStore{r.store, c}
	slot := r.hosting()
	r.mineUntil("a proof was taken", func() bool { return len(r.world.Taken(slot)) > 0 })
	held = true
	due := r.count("ProofDue")
	r.mineUntil("the next duty is open", func() bool { return r.count("ProofDue") > due })
	if !recorded {
		r.host.Kill()
		r.mine(period) // The next one comes while the host is down.
		for r.world.Head().Time.Unix()%period != 2 {
			r.mine(1)
		}
	}
	r.host.Kill()
	held = false
	return c, slot
}

// startTolled starts a host in the background, which takes a while now.
func (r *rig) startTolled() {
	started := make(chan *actors.Host, 1)
	go func() {
		host, err := actors.Start(context.Background(), r.cfg, r.ports, silent())
		if err != nil {
			r.Error(err)
		}
		started <- host
	}()
	time.Sleep(20 * time.Second) // Fake time; no block comes.
	synctest.Wait()
	r.host = <-started
}

// A host in a crash loop gets no further than the calls before its first proof let it.
func TestTheFirstProofAfterAStartWaitsForWhatItNeedsAlone(t *testing.T) {
	for name, c := range map[string]struct {
		recorded      bool
		hangs         []string
		proven, taken int // behind how many calls at most, one after the other
	}{
		"a duty of the record":                 {true, nil, 6, 7},
		"a duty of the record, the rest hangs": {true, []string{"MySlots", "Slot", "TakenProofs"}, 6, 7},
		"a duty that is not recorded":          {false, nil, 7, 8},
		"a duty not recorded, the rest hangs":  {false, []string{"MySlots", "Slot", "TakenProofs"}, 7, 8},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(r *rig) {
				tolls, slot := r.owing(c.recorded)
				before := len(r.world.Taken(slot))
				tolls.begin(c.hangs...)
				r.startTolled()
				tolls.end()
				proven, ok := tolls.over("Prove")
				taken, sent := tolls.over("SubmitProof")
				if !ok || !sent || len(r.world.Taken(slot)) != before+1 {
					r.Fatalf("no proof, after %q", tolls.calls)
				}
				if proven > c.proven || taken > c.taken {
					r.Errorf("it was made after %d calls one after the other, most %d, and taken after %d, most %d: %q",
						proven, c.proven, taken, c.taken, tolls.calls)
				}
			})
		})
	}
}

// The proof of a slot that the contract took is in vain, and nothing wrong is recorded.
func TestAProofThatWasBegunForALostSlotIsInVain(t *testing.T) {
	inWorld(t, func(r *rig) {
		tolls, slot := r.owing(true)
		if err := r.world.TakeBack(slot); err != nil {
			r.Fatal(err)
		}
		before := r.count("ProofSubmitted")
		tolls.begin()
		r.startTolled()
		tolls.end()
		if _, proven := tolls.over("Prove"); !proven {
			r.Fatalf("no proof was begun: %q", tolls.calls)
		}
		r.mineUntil("the loss is recorded", r.has("SlotForfeited"))
		if r.count("ProofSubmitted") != before || r.world.State(slot) == events.SlotFilled {
			r.Fatalf("the record holds %v", r.names())
		}
	})
}
