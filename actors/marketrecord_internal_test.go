package actors

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/chainview/chainviewtest"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
)

// After a reorganisation a block is compared with the block that replaced the newest known one.
func TestABlockThatCannotBeIsNotTakenAfterAReorganisationEither(t *testing.T) {
	at := func(n uint64, branch byte) events.Head {
		return events.Head{Number: n, Hash: chainviewtest.BlockHash(n, branch), Time: time.Unix(int64(n), 0)}
	}
	f := &chainFollower{marketRecord: &marketRecord{Chain: chainview.New(nil, &chainviewtest.ChainOf{Branch: 2}, duty.Margin{})}}
	f.View.Advance(at(20, 1))
	for _, h := range []events.Head{at(1<<40, 2), {Number: 21, Hash: chainviewtest.BlockHash(21, 2), Time: time.Unix(19, 0)}} {
		h.Time = time.Unix(min(h.Time.Unix(), 30), 0)
		if err := f.checkHead(t.Context(), h); !errors.Is(err, events.ErrImpossible) {
			t.Errorf("block %d of %s: %v", h.Number, h.Time, err)
		}
	}
	if err := f.checkHead(t.Context(), at(18, 2)); err != nil {
		t.Error(err)
	}
}

// Whoever waits for the logs of a block is woken when they are told, which is after the block
// is known.
func TestWaitingForTheLogEndsWhenItIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &chainFollower{marketRecord: &marketRecord{Chain: chainview.New(nil, &chainviewtest.ChainOf{}, duty.Margin{})}}
		go func() {
			synctest.Wait()
			f.View.Advance(events.Head{Number: 3})
			synctest.Wait()
			f.tell(3)
		}()
		if _, err := f.View.Wait(t.Context(), func(events.Head) bool { return f.Recorded.Load() >= 3 }); err != nil {
			t.Fatal(err)
		}
	})
}
