package actors_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostnode/hostnode/actors/sim"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
)

var errSource = errors.New("the source is away")

func TestAFailingCallIsTriedAgainAndTold(t *testing.T) {
	inWorld(t, func(r *rig) {
		s := r.disturb()
		var at []time.Time
		s.download = func(context.Context, events.DownloadJob) error {
			if at = append(at, time.Now()); len(at) <= 5 {
				return errSource
			}
			return nil
		}
		r.start()
		r.offer(64 * events.BlockSize)
		r.world.Post(sim.Offer(1, 1))
		r.world.Mine(1)
		synctest.Wait()
		trouble := r.status().Sales[0].Trouble
		if trouble.Tries != 1 || trouble.Error == "" || trouble.Since.IsZero() {
			r.Fatalf("after the first failure the trouble is %+v", trouble)
		}
		r.mineUntil("the slot is stored", r.has("SlotStored"))
		if trouble := r.status().Sales[0].Trouble; trouble.Tries != 0 {
			r.Fatalf("after its success the trouble is %+v", trouble)
		}
		for i := 2; i < len(at); i++ {
			if earlier, pause := at[i-1].Sub(at[i-2]), at[i].Sub(at[i-1]); pause > 30*time.Second || pause < earlier/2 {
				r.Fatalf("the pauses do not grow within their bound: %v", at)
			}
		}
	})
}

func TestNothingIsDeletedUnderARunningCall(t *testing.T) {
	inWorld(t, func(r *rig) {
		s := r.disturb()
		gate := make(chan struct{})
		s.download = func(context.Context, events.DownloadJob) error { // It does not notice that it is cancelled.
			<-gate
			return errSource
		}
		r.start()
		r.offer(64 * events.BlockSize)
		r.world.Post(sim.Offer(1, 1))
		r.mineUntil("the request expires", r.has("SaleCancelled"))
		r.mine(20)
		if slices.Contains(s.noted(), "delete") {
			r.Fatal("the data was deleted while the download ran")
		}
		close(gate)
		r.mineUntil("the sale is settled", r.has("SaleSettled"))
		if n := slices.Index(s.noted(), "delete"); n < 0 {
			r.Fatal("the data was not deleted")
		}
	})
}

func TestARestartedSaleLooksAtTheChainBeforeItActs(t *testing.T) {
	inWorld(t, func(r *rig) {
		s := r.disturb()
		r.start()
		r.offer(64 * events.BlockSize)
		r.world.Post(sim.Offer(1, 1))
		r.mineUntil("it proves", func() bool { return r.phase() == sale.InitialProving || r.has("SlotFilled")() })
		r.mineUntil("it is filled", r.has("SlotFilled"))
		r.host.Kill()
		before := len(s.noted())
		r.start()
		r.mine(1)
		calls := s.noted()[before:]
		if len(calls) == 0 || calls[0] != "slot" {
			r.Fatalf("after the restart it called %v", calls)
		}
	})
}

func TestASaleThatKeepsPanickingIsQuarantinedAndTheHostLivesOn(t *testing.T) {
	inWorld(t, func(r *rig) {
		r.cfg.Cores.NextSale = func(s sale.State) []sale.Effect {
			if s.Index == 0 && s.Phase == sale.Downloading {
				panic("a bug in the rules")
			}
			return sale.Next(s)
		}
		r.start()
		r.offer(64 * events.BlockSize)
		r.world.Post(sim.Offer(1, 2))
		r.mineUntil("one is quarantined", func() bool {
			return slices.ContainsFunc(r.quarantined(), func(q string) bool { return q != "" })
		})
		r.mineUntil("the other one is over", r.has("SaleSettled"))
		select {
		case <-r.host.Done():
			r.Fatalf("the host ended: %v", r.host.Err())
		default:
		}
	})
}

func (r *rig) quarantined() (reasons []string) {
	for _, s := range r.status().Sales {
		reasons = append(reasons, s.Quarantined)
	}
	return reasons
}

func TestASecondAttemptBeginsAfterTheFirstIsSettled(t *testing.T) {
	inWorld(t, func(r *rig) {
		s := r.disturb()
		begins := time.Now()
		s.download = func(context.Context, events.DownloadJob) error {
			if time.Since(begins) > time.Minute {
				return nil
			}
			return errors.Join(events.ErrContentUnavailable, events.ErrNoSource)
		}
		r.cfg.GiveUpDownload = 20 * time.Second
		r.start()
		r.offer(64 * events.BlockSize)
		r.world.Post(long(1, 1))
		r.mineUntil("the worker lets go", r.has("SaleIgnored"))
		r.mineUntil("the second attempt is filled", r.has("SlotFilled"))
		var order []string
		for _, n := range r.names() {
			if n == "SaleStarted" || n == "SaleSettled" {
				order = append(order, n)
			}
		}
		if want := []string{"SaleStarted", "SaleSettled", "SaleStarted"}; !slices.Equal(order, want) {
			r.Fatalf("the record: %v", order)
		}
	})
}

func TestTheMarketIsReadOnFromWhereTheRecordEnds(t *testing.T) {
	inWorld(t, func(r *rig) {
		r.start()
		r.world.Post(sim.Offer(1, 1))
		r.mine(3)
		r.host.Kill()
		r.world.Post(sim.Offer(2, 1)) // While nobody looks.
		r.world.Mine(3)
		r.start()
		r.mine(2)
		if n := r.count("ChainStorageRequested"); n != 2 {
			r.Fatalf("%d requests are in the record, want each once", n)
		}
		if n := r.count("SlotsRefused"); n != 2 {
			r.Fatalf("the queue looked at %d requests", n)
		}
	})
}

func TestAReorganisationIsInTheRecordBeforeWhatReplacesIt(t *testing.T) {
	inWorld(t, func(r *rig) {
		r.start()
		r.mine(3)
		r.world.Post(sim.Offer(1, 1))
		r.mine(2)
		r.world.Reorganize(5) // The request is gone.
		synctest.Wait()
		r.world.Post(sim.Offer(1, 1))
		r.mine(2)
		var market []string
		for _, n := range r.names() {
			if n == "ChainStorageRequested" || n == "ChainReorganized" {
				market = append(market, n)
			}
		}
		want := []string{"ChainStorageRequested", "ChainReorganized", "ChainStorageRequested"}
		if !slices.Equal(market, want) {
			r.Fatalf("the market's record is %v, want %v", market, want)
		}
	})
}
