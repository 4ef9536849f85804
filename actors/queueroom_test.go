package actors_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/messages"
)

// manyRequests are requests of one slot each, each worth more than the one before.
func manyRequests(n int) []events.Request {
	out := make([]events.Request, n)
	for i := range out {
		out[i] = long(byte(i+1), 1)
		out[i].Ask.PricePerBytePerSecond = events.NewAmount(uint64(1 + i))
		out[i].Ask.ProofProbability = events.NewAmount(1_000_000) // So that the prover is no bound.
	}
	return out
}

// letGo returns the requests that the queue recorded as dropped.
func letGo(r *rig) map[string]bool {
	out := map[string]bool{}
	for _, e := range all[*messages.SlotsRefused](r) {
		if e.GetCriterion() == slotqueue.QueueFull {
			out[e.GetRequestId()] = true
		}
	}
	for _, e := range all[*messages.SlotRemoved](r) {
		if e.GetCriterion() == slotqueue.QueueFull {
			out[e.GetRequestId()] = true
		}
	}
	return out
}

func TestWhatAFullQueueLetGoComesBackWhenThereIsRoom(t *testing.T) {
	const offered, room, workers = 20, 4, 1
	inWorld(t, func(r *rig) {
		data := make(chan struct{}) // Until the data is here, no worker is done with its slot.
		s := r.disturb()
		s.download = func(ctx context.Context, _ events.DownloadJob) error {
			select {
			case <-data:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		r.cfg.MaxQueued, r.cfg.MaxWorkers = room, workers
		r.start()
		r.offer(256 * events.BlockSize)
		r.world.PostAll(manyRequests(offered))
		synctest.Wait()
		// Whatever neither the queue nor a worker holds was dropped, in whatever order it came.
		// It may be more, because dropped slots come back when a worker makes room.
		if n := len(letGo(r)); n < offered-room-workers {
			r.Fatalf("%d of %d were let go, with room for %d and %d at work", n, offered, room, workers)
		}
		if n := r.count("SlotFilled"); n != 0 {
			r.Fatalf("%d slots are filled without data", n)
		}
		close(data)
		r.mineUntil("all slots are filled", func() bool { return r.count("SlotFilled") == offered })
	})
}

func TestWhatAFullQueueLetGoComesBackAfterARestart(t *testing.T) {
	const offered, room = 12, 4
	inWorld(t, func(r *rig) {
		s := r.disturb()
		s.download = withheld
		r.cfg.MaxQueued, r.cfg.MaxWorkers = room, 1
		r.start()
		r.offer(256 * events.BlockSize)
		r.world.PostAll(manyRequests(offered))
		r.mine(2)
		if err := r.host.Stop(r.Context()); err != nil {
			r.Fatal(err)
		}
		s.download = nil
		r.start()
		r.mineUntil("all slots are filled", func() bool { return r.count("SlotFilled") == offered })
	})
}
