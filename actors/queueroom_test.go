package actors_test

import (
	"testing"

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

// letGo are the requests that the queue says it let go, in the record.
func letGo(r *rig) map[string]bool {
	out := map[string]bool{}
	for _, e := range all[*messages.SlotsRefused](r) {
		out[e.GetRequestId()] = e.GetCriterion() == slotqueue.QueueFull
	}
	for _, e := range all[*messages.SlotRemoved](r) {
		out[e.GetRequestId()] = out[e.GetRequestId()] || e.GetCriterion() == slotqueue.QueueFull
	}
	return out
}

func TestWhatAFullQueueLetGoComesBackWhenThereIsRoom(t *testing.T) {
	const offered, room = 20, 4
	inWorld(t, func(r *rig) {
		r.cfg.MaxQueued, r.cfg.MaxWorkers = room, 1
		r.start()
		r.offer(256 * events.BlockSize)
		r.world.PostAll(manyRequests(offered))
		r.mineUntil("all slots are filled", func() bool { return r.count("SlotFilled") == offered })
		if len(letGo(r)) == 0 { // How many depends on how the agents' turns fall.
			r.Fatal("the queue was never full")
		}
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
