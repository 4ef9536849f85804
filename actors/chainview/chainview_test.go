package chainview

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/hostnode/hostnode/actors/chainview/chainviewtest"
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
)

func TestChainViewKeepsHashesAndForgetsDroppedOnes(t *testing.T) {
	c := &chainviewtest.ChainOf{}
	v := NewView(c)
	for n := uint64(10); n <= 12; n++ {
		v.Advance(events.Head{Number: n, Hash: chainviewtest.BlockHash(n, 0), Parent: chainviewtest.BlockHash(n-1, 0)})
	}
	if h, ok := v.Hash(9); !ok || h != chainviewtest.BlockHash(9, 0) {
		t.Fatalf("the parent of the first block is %v, %t", h, ok)
	}
	ancestor := events.Head{Number: 10, Hash: chainviewtest.BlockHash(10, 0), Parent: chainviewtest.BlockHash(9, 0)}
	v.Rewind(ancestor)
	if v.Now() != ancestor {
		t.Fatalf("after the reorganisation the newest block is %+v", v.Now())
	}
	v.Advance(events.Head{Number: 14, Hash: chainviewtest.BlockHash(14, 0), Parent: chainviewtest.BlockHash(13, 0)})
	if _, ok := v.Hash(12); ok {
		t.Fatal("a dropped block is known still")
	}
	if _, ok := v.Hash(15); ok {
		t.Fatal("a block of the future is known")
	}
	if more, err := v.Fetch(t.Context()); err != nil || !more || len(c.Asked) != 1 || c.Asked[0] != 12 {
		t.Fatalf("fetched %v: %t, %v", c.Asked, more, err)
	}
	if h, ok := v.Hash(12); !ok || h != chainviewtest.BlockHash(12, 0) {
		t.Fatalf("after the fetch block 12 is %v, %t", h, ok)
	}
	if more, err := v.Fetch(t.Context()); err != nil || more {
		t.Fatalf("nothing is missing, and it fetched: %t, %v", more, err)
	}
}

func TestAHashThatAReorganisationOvertookIsNotKept(t *testing.T) {
	c := &chainviewtest.ChainOf{Branch: 1}
	v := NewView(c)
	v.Advance(events.Head{Number: 20, Hash: chainviewtest.BlockHash(20, 1)})
	c.During = func() { v.Rewind(events.Head{Number: 5}) } // The answer of the old branch is on its way.
	if _, err := v.LookUp(t.Context(), 8); !errors.Is(err, ErrOvertaken) {
		t.Fatalf("looked up: %v", err)
	}
	c.During, c.Branch = nil, 2
	if h, err := v.LookUp(t.Context(), 8); err != nil || h != chainviewtest.BlockHash(8, 2) {
		t.Fatalf("the new branch's block is %v, %v", h, err)
	}
}

func TestChainViewBoundsWhatItKeeps(t *testing.T) {
	v := NewView(&chainviewtest.ChainOf{})
	for n := uint64(1); n < 5*hashesKept; n++ {
		v.Advance(events.Head{Number: n, Hash: chainviewtest.BlockHash(n, 0), Parent: chainviewtest.BlockHash(n-1, 0)})
	}
	if len(v.hashes) > 2*hashesKept+1 {
		t.Fatalf("%d hashes are kept", len(v.hashes))
	}
	if _, ok := v.Hash(5*hashesKept - hashesKept); !ok {
		t.Fatal("a hash that a challenge may need is gone")
	}
}

func TestWaitingForABlockEndsWithItOrWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := NewView(&chainviewtest.ChainOf{})
		got := make(chan uint64, 1)
		go func() {
			h, err := v.Wait(t.Context(), func(h events.Head) bool { return h.Number >= 3 })
			if err == nil {
				got <- h.Number
			}
		}()
		for n := uint64(1); n <= 3; n++ {
			synctest.Wait()
			if len(got) != 0 {
				t.Fatalf("it woke before block %d", n)
			}
			v.Advance(events.Head{Number: n})
		}
		if n := <-got; n != 3 {
			t.Fatalf("it woke at block %d", n)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := v.Wait(ctx, func(events.Head) bool { return false }); !errors.Is(err, context.Canceled) {
			t.Fatalf("a wait without hope ended with %v", err)
		}
	})
}

// The chain is read again from where the record ends, after a start and after
// an outage; what is known of it already must not seem to be new.
func TestTheNewestBlockStaysTheNewestWhenOlderOnesAreReadAgain(t *testing.T) {
	v := NewView(&chainviewtest.ChainOf{})
	at := func(n uint64) events.Head {
		return events.Head{Number: n, Hash: chainviewtest.BlockHash(n, 0), Parent: chainviewtest.BlockHash(n-1, 0), Time: events.Unix(n)}
	}
	if !v.Advance(at(100)) || v.Advance(at(90)) || v.Now().Number != 100 {
		t.Fatalf("the newest block is %d", v.Now().Number)
	}
	if h, ok := v.Hash(90); !ok || h != chainviewtest.BlockHash(90, 0) {
		t.Fatal("the hash of the older block is not known")
	}
	v.Rewind(at(80)) // Now older ones are the newest.
	if !v.Advance(at(85)) || v.Now().Number != 85 {
		t.Fatalf("after the reorganisation the newest block is %d", v.Now().Number)
	}
	if c := v.Cursor(); c.Number != 85 || c.Hash != chainviewtest.BlockHash(85, 0) || c.Recent[84] != chainviewtest.BlockHash(84, 0) {
		t.Fatalf("the cursor is %+v", c)
	}
}

// behindMarket answers from a block.
type behindMarket struct {
	port.Market
	at *uint64
}

func (m behindMarket) Slot(context.Context, events.RequestID, uint64) (events.SlotFacts, error) {
	return events.SlotFacts{At: events.Head{Number: *m.at, Hash: chainviewtest.BlockHash(*m.at, 0), Time: events.Unix(1_000 + *m.at)}}, nil
}

func TestAnAnswerFromBeforeABlockThatWasSeenIsNone(t *testing.T) {
	at := func(n uint64) events.Head {
		return events.Head{Number: n, Hash: chainviewtest.BlockHash(n, 0), Parent: chainviewtest.BlockHash(n-1, 0), Time: events.Unix(1_000 + n)}
	}
	var from uint64
	c := New(&shell.Base{}, behindMarket{at: &from}, duty.Margin{})
	ask := func(block uint64) error {
		from = block
		_, err := c.Market.Slot(t.Context(), events.RequestID{}, 0)
		return err
	}
	c.View.Advance(at(100))
	for block, want := range map[uint64]error{99: ErrBehind, 100: nil, 101: nil} {
		if err := ask(block); !errors.Is(err, want) {
			t.Errorf("block 100 was seen, and the answer is from block %d: %v", block, err)
		}
	}
	c.View.Rewind(at(90))
	if err := ask(95); err != nil {
		t.Errorf("the chain was taken back to block 90, and the answer is from block 95: %v", err)
	}
}
