package sim

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/events/storetest"
)

// crowd is how many parked calls slow down the blocks: only one call is answered per step, and
// real nodes and disks do not fall behind the chain for ever.
const crowd = 6

// step lets one thing happen.
func (s *simulator) step(ctx context.Context) {
	if s.BitRot > 0 && !s.calm() && s.decay.IntN(1000) < s.BitRot {
		s.rot()
	}
	if s.Lies > 0 && !s.calm() {
		s.lieSome()
	}
	if s.Cluster > 0 {
		s.moveCluster()
	}
	if s.Older > 0 {
		s.goOn(ctx)
	}
	if s.Sectors.Begin > 0 {
		s.workSectors(ctx)
	}
	if s.Aggregation.Cars > 0 {
		s.workAggregation(ctx, s.world, s.running())
	}
	if s.Alerts {
		s.workAlerts(ctx)
	}
	if s.Panic > 0 || s.Poison > 0 {
		s.panicSome()
		s.restartHost(ctx)
		if s.steps%512 == 0 || s.calm() && s.steps%64 == 0 {
			s.retryQuarantined(ctx)
		}
	}
	if !s.calm() && s.disturb(ctx) {
		return
	} else if s.calm() && s.paused {
		s.pause(ctx)
		return
	}
	s.follow()
	if s.away > 0 {
		if s.away--; s.away == 0 {
			s.note("start")
			s.stopping = false
			s.start(ctx)
			return
		}
	}
	ready := s.bus.ready(s.height())
	switch {
	case len(s.posted) < s.Requests && s.chance(20):
		s.post()
	case len(ready) == 0 || s.chance(s.Block*crowd/max(crowd, len(ready))):
		s.note("block")
		s.world.mine()
		time.Sleep(time.Second)
	case s.chance(50):
		time.Sleep(time.Second)
	default:
		s.answer(ctx, ready)
	}
}

// stop stops the host in good order and leaves it stopped for a while.
func (s *simulator) stop(ctx context.Context) {
	s.away = 50 + s.rng.IntN(200)
	s.trouble("stop", "world", "stop for %d steps", s.away)
	s.crashes++
	s.stopping = true
	h := s.running()
	s.setHost(nil)
	s.forgive()
	clear(s.answered)
	go func() {
		_ = h.Stop(ctx) // The record may lack the stop; the next start shows it by its epoch.
		s.world.mu.Lock()
		defer s.world.mu.Unlock()
		s.world.forgetHost()
	}()
}

// forgive drops the duties that a host cannot record while it is down.
func (s *simulator) forgive() {
	maps.DeleteFunc(s.owed, func(p period, _ bool) bool { return s.audit.closed[p] == "" })
}

// pause makes the operator pause or resume the queue.
func (s *simulator) pause(ctx context.Context) {
	h := s.running()
	if h == nil {
		return
	}
	s.paused = !s.paused
	s.note("pause %t", s.paused)
	var cmd slotqueue.Command = slotqueue.Resume{At: time.Now(), Reason: "operator"}
	if s.paused {
		cmd = slotqueue.Pause{At: time.Now(), Reason: "operator"}
	}
	go func() {
		err := h.Queue(ctx, cmd)
		for errors.Is(err, shell.ErrStoreAway) { // It may take effect; repeating it is harmless.
			time.Sleep(time.Second)
			s.bus.yield(ctx, "operator pauses")
			err = h.Queue(ctx, cmd)
		}
		if err != nil {
			s.world.mu.Lock()
			defer s.world.mu.Unlock()
			s.paused = !s.paused // It did not happen, and the operator sees that.
		}
	}()
}

// hosts reports whether a slot is ours on chain.
func (s *simulator) hosts() bool {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	_, locked := s.world.ours()
	return !locked.IsZero()
}

// forget loses record and disk. Only the slots that the chain counts as ours are left; the new
// record accounts for their collateral too.
func (s *simulator) forget(ctx context.Context) {
	s.trouble("record lost", "world", "forget")
	s.forgot = true
	s.crashes++
	s.crash()
	s.world.mu.Lock()
	s.world.repo = map[events.SlotID]*stored{}
	here, full := s.world.ours()
	s.world.mu.Unlock()
	s.newRecord(storetest.NewMemory(), here.Add(full))
	s.start(ctx)
}

func (s *simulator) post() {
	r := events.Request{
		ID: events.RequestID{byte(len(s.posted) + 1), 0x51}, Client: events.Address{7},
		Ask: events.Ask{
			ProofProbability: events.NewAmount(1), PricePerBytePerSecond: events.NewAmount(uint64(1 + s.rng.IntN(3))),
			CollateralPerByte: events.NewAmount(1), Slots: s.Slots, SlotSize: 4 * events.BlockSize,
			Duration: 400 * time.Second, MaxSlotLoss: s.Slots,
		},
		Content: events.Content{CID: "cid", MerkleRoot: events.Root{1}},
		Expiry:  time.Duration(120+s.rng.IntN(60)) * time.Second,
	}
	if s.SlotLoss > 0 && len(s.posted)%2 == 0 {
		r.Ask.MaxSlotLoss = s.SlotLoss
	}
	s.posted = append(s.posted, r)
	if len(s.posted)%2 == 0 {
		switch {
		case s.BadContent:
			r.Nonce[0] = liar
		case s.NoClient:
			r.Nonce[0] = silent
		}
		if s.BadClients {
			r.Client[0]++
		}
	}
	s.note("post %s", r.ID.Short())
	if err := s.world.post(r); err != nil {
		panic(err) // A mistake of the simulation.
	}
}
