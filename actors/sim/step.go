package sim

import (
	"context"
	"maps"
	"strings"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/slotqueue"
)

// step lets one thing happen.
func (s *simulator) step(ctx context.Context) {
	// Towards the end nothing goes wrong any more: what is left must come to an
	// end by itself.
	if calm := s.steps > s.MaxSteps*2/3; !calm && s.disturb(ctx) {
		return
	} else if calm && s.paused {
		s.pause(ctx)
		return
	}
	if s.storeDown > 0 {
		s.storeDown--
	}
	if s.away > 0 {
		if s.away--; s.away == 0 {
			s.note("start")
			s.stopping = false
			s.start(ctx)
			return
		}
	}
	keys := s.bus.keys()
	switch {
	case s.posted < s.Requests && s.chance(20):
		s.post()
	case len(keys) == 0 || s.chance(s.Block):
		s.note("block")
		s.world.mine()
		time.Sleep(time.Second)
	case s.chance(50):
		time.Sleep(time.Second)
	default:
		s.answer(keys)
	}
}

// answer releases one of the parked calls.
func (s *simulator) answer(keys []string) {
	i := s.rng.IntN(len(keys))
	v := proceed
	switch {
	case s.storeDown > 0 && strings.HasPrefix(keys[i], "store."):
		v = fail
	case s.steps > s.MaxSteps*2/3:
	case s.chance(s.Fail):
		v = fail
	case s.chance(s.Lose):
		v = lostMind
	}
	s.note("%s %s", keys[i], v)
	s.bus.release(i, v)
}

// disturb lets something go wrong, or not.
func (s *simulator) disturb(ctx context.Context) bool {
	up := s.running() != nil && !s.stopping
	switch {
	case up && s.chance(s.Crash):
		s.note("crash")
		s.crashes++
		s.crash()
		s.start(ctx)
	case up && s.chance(s.Stop):
		s.stop(ctx)
	case up && !s.forgot && s.chance(s.Forget) && s.hosts():
		s.forget(ctx)
	case up && s.offered && s.chance(s.Pause):
		s.pause(ctx)
	case s.chance(s.Reorganize):
		n := 1 + s.rng.IntN(6)
		s.note("reorganize %d", n)
		s.world.reorganize(n)
		s.owed = map[period]bool{} // Proofs that counted may no longer count.
	case s.chance(s.Rival):
		s.note("rival")
		s.world.rival(s.rng.IntN(16))
	case s.chance(s.Repeat):
		s.note("repeat")
		s.world.mu.Lock()
		s.world.again = true
		s.world.mu.Unlock()
	case s.storeDown == 0 && s.chance(s.StoreDown):
		s.storeDown = 50 + s.rng.IntN(200)
		s.note("the store fails for %d steps", s.storeDown)
	default:
		return false
	}
	return true
}

// stop stops the host in good order and leaves it stopped for a while.
func (s *simulator) stop(ctx context.Context) {
	s.away = 50 + s.rng.IntN(200)
	s.note("stop for %d steps", s.away)
	s.crashes++
	s.stopping = true
	h := s.running()
	s.setHost(nil)
	s.forgive()
	go func() {
		_ = h.Stop(ctx) // The record may miss that it stopped; the next start says so by its epoch.
		s.world.mu.Lock()
		defer s.world.mu.Unlock()
		s.world.unheard = map[string]bool{}
		s.world.hashes = map[uint64]bool{}
	}()
}

// forgive drops the duties that a host which does not run cannot record.
func (s *simulator) forgive() {
	maps.DeleteFunc(s.owed, func(p period, _ bool) bool { return s.audit.closed[p] == "" })
}

// pause lets the operator pause the queue, or resume it.
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
		if err := h.Queue(ctx, cmd); err != nil {
			s.world.mu.Lock()
			defer s.world.mu.Unlock()
			s.paused = !s.paused // It did not happen; the operator sees that.
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

// forget loses record and disk. The slots that the chain counts as ours are
// all that is left; the new record accounts for their collateral as well.
func (s *simulator) forget(ctx context.Context) {
	s.note("forget")
	s.forgot = true
	s.crashes++
	s.crash()
	s.world.mu.Lock()
	s.world.repo = map[events.SlotID]*stored{}
	here, full := s.world.ours()
	s.world.mu.Unlock()
	s.newRecord(here.Add(full))
	s.start(ctx)
}

func (s *simulator) post() {
	s.posted++
	r := events.Request{
		ID: events.RequestID{byte(s.posted), 0x51}, Client: events.Address{7},
		Ask: events.Ask{
			ProofProbability: events.NewAmount(1), PricePerBytePerSecond: events.NewAmount(uint64(1 + s.rng.IntN(3))),
			CollateralPerByte: events.NewAmount(1), Slots: s.Slots, SlotSize: 4 * events.BlockSize,
			Duration: 400 * time.Second, MaxSlotLoss: 1,
		},
		Content: events.Content{CID: "cid", MerkleRoot: events.Root{1}},
		Expiry:  time.Duration(120+s.rng.IntN(60)) * time.Second,
	}
	if s.posted%2 == 0 {
		switch {
		case s.BadContent:
			r.Nonce[0] = liar
		case s.NoClient:
			r.Nonce[0] = silent
		}
	}
	s.note("post %s", r.ID.Short())
	s.world.post(r)
}
