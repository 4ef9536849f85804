package sim

import (
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/sectors"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sector"
)

// Faults of sectors with random numbers of their own: a sector is terminated when the contract has no more than its
// precommit, the node that answers for the contract lies, and a reorganisation takes back what was final.

const (
	providerLies = "contract of sectors lies"
	earlyEnd     = "terminated when precommitted"
	beyondFinal  = "reorganisation beyond what is final"
)

// terminateEarly may order the end of a sector that is precommitted and not proven.
func (s *simulator) terminateEarly(ctx context.Context, h *actors.Host) bool {
	if s.Sectors.Early == 0 || s.calm() || s.early.IntN(1000) >= s.Sectors.Early {
		return false
	}
	s.world.mu.Lock()
	var numbers []uint64
	for n, on := range s.world.tip().state.provider.sectors {
		if st := s.audit.sectors[n]; on.PreCommitted && !st.Over() && st.State != sector.Removing && st.State != sector.Removed {
			numbers = append(numbers, n)
		}
	}
	s.world.mu.Unlock()
	if len(numbers) == 0 {
		return false
	}
	slices.Sort(numbers)
	n := numbers[s.early.IntN(len(numbers))]
	s.trouble(earlyEnd, "world", "sector %d is terminated before it is proven", n)
	s.order(ctx, "order", func() error {
		_, err := h.OrderSector(ctx, sectors.Terminate{Number: n, By: "operator", Reason: "too early"})
		return err
	})
	return true
}

// lieOfSectors may make the contract of sectors lie for a while.
func (s *simulator) lieOfSectors() {
	if s.Sectors.ProviderLies > 0 && !s.in(providerLies) && s.forger.IntN(1000) < s.Sectors.ProviderLies {
		s.until[providerLies] = s.steps + 50 + s.forger.IntN(550)
		s.trouble(providerLies, "world", "the contract of sectors lies until step %d", s.until[providerLies])
	}
}

// dropFinalBlocks may drop more blocks than the host takes back: what it recorded as final is undone. Sales rely on
// what is final, so only blocks are dropped in which nothing happened on the market, and when no sale runs.
func (s *simulator) dropFinalBlocks() {
	if s.Sectors.BeyondFinal == 0 || s.depths.IntN(1000) >= s.Sectors.BeyondFinal || len(s.posted) < s.Requests {
		return
	}
	n := int(s.finality()) + 1 + s.depths.IntN(20)
	again := s.depths.IntN(2) == 0
	s.world.mu.Lock()
	free := s.world.marketIsStill(n)
	s.world.mu.Unlock()
	for _, st := range s.audit.sales {
		free = free && st.Over()
	}
	if !free {
		return
	}
	for _, n := range slices.Sorted(maps.Keys(s.audit.sectors)) {
		if st := s.audit.sectors[n]; st.Settled || !st.SettleMsg.Zero() {
			s.undone[n] = true
		}
	}
	s.trouble(beyondFinal, "world", "reorganize %d, more than is taken back, again: %t", n, again)
	s.world.reorganize(n, again)
}

// marketIsStill reports whether no request runs, and nothing happened on the market in the newest n blocks.
func (b *blockchain) marketIsStill(n int) bool {
	tip := b.tip()
	for _, r := range tip.state.requests {
		if tip.state.requestState(r, tip.head.Time) <= events.RequestStarted {
			return false
		}
	}
	return !slices.ContainsFunc(b.blocks[len(b.blocks)-n-1:], func(old block) bool {
		return slices.ContainsFunc(old.txs, func(tx *transaction) bool { return !tx.ofSectors })
	})
}

// falseOfSectors is an impossible answer of the contract of sectors.
func falseOfSectors(answer any, n uint64) any {
	switch a := answer.(type) {
	case drawn:
		if n%2 == 0 {
			return drawn{value: a.value, epoch: math.MaxUint64 - n%3}
		}
		return drawn{epoch: a.epoch}
	case events.SectorOnChain:
		return falseSector(a, n)
	case []events.SectorOnChain:
		if len(a) == 0 || n%8 == 7 {
			return a[:len(a)-min(1, len(a))]
		}
		a = slices.Clone(a)
		at := n / 8 % uint64(len(a))
		a[at] = falseSector(a[at], n/64)
		return a
	case events.SectorWindow:
		return falseWindow(a, n)
	case events.Amount:
		return events.MaxAmount()
	}
	return answer
}

// falseSector is a sector in a state that it cannot have.
func falseSector(s events.SectorOnChain, n uint64) events.SectorOnChain {
	none := s == events.SectorOnChain{Block: s.Block}
	switch n % 8 {
	case 0:
		s.Block = falseHead(s.Block, n/8)
	case 1:
		s.Block.Time, s.Block.Number = s.Block.Time.Add(-time.Hour), s.Block.Number+1000 // Time goes back.
	case 2:
		s.Deposit = events.MaxAmount()
	case 3:
		s.Active, s.PreCommitted = true, true
	case 4:
		s.Faulty, s.Active = true, false
	case 5:
		s.SeedEpoch, s.Deadline = math.MaxUint64, 1<<63
	case 6:
		s.Active, s.Terminated, s.Activation = true, none, 1<<50
	case 7:
		s = events.SectorOnChain{Block: s.Block, Size: sectorSize, Deposit: s.Deposit}
	}
	return s
}

func falseWindow(w events.SectorWindow, n uint64) events.SectorWindow {
	switch n % 4 {
	case 0:
		w.Period = math.MaxUint64 - n%3
	case 1:
		w.Deadline = 1 << 40
	case 2:
		w.Closes = w.Opens
	case 3:
		w.Opens, w.Closes = 1<<62, 1<<62+1
	}
	return w
}
