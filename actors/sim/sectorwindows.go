package sim

import (
	"slices"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sector"
)

// sectorMargin is how many blocks before the end of a window a proof must be on its way.
const sectorMargin = 6

// sectorWindow is a window that a sector owes.
type sectorWindow struct {
	open uint64 // for so many blocks in a row it could be proven
	had  bool   // that was long enough
}

// checkWindows: a host that could prove a sector for some blocks of its window has proven it. What
// was missed the contract says. It checks once per block, on a chain without reorganisations.
func (s *simulator) checkWindows() error {
	if s.Sectors.Chance == 0 {
		return nil
	}
	s.world.mu.Lock()
	tip := s.world.tip()
	s.world.mu.Unlock()
	if tip.head.Number == s.looked {
		return nil
	}
	s.looked = tip.head.Number
	c := tip.state.provider
	able := s.running() != nil && !s.stopping && s.undisturbed()
	next := blockContext{tip.head.Number + 1, tip.head.Time, func(uint64) events.Hash { return events.Hash{} }}
	w := c.windowIn(next)
	for n, on := range c.sectors {
		p := sectorPeriod{n, w.Period}
		faulty := on.Faulty && w.Period >= on.FaultyFrom && on.RecoverAt != w.Period
		if !on.Active || on.Deadline != w.Deadline || on.NextPeriod > w.Period || faulty || on.Activation >= w.Opens {
			continue
		}
		o := s.windows[p]
		if o == nil {
			o = &sectorWindow{}
			s.windows[p] = o
		}
		st := s.audit.sectors[n]
		if !able || s.harmed[n] || !provable(st) || !s.acknowledged(events.SectorStream(me, n)) ||
			next.number+sectorMargin > w.Closes {
			o.open = 0
			continue
		}
		o.open++
		o.had = o.had || o.open > s.Sectors.Chance
	}
	for p, o := range s.windows {
		if o.had && c.missed[p] {
			return broken(SectorsAreProven, "sector %d was not proven in period %d, and the host could for %d blocks",
				p.sector, p.period, s.Sectors.Chance)
		}
	}
	return nil
}

// provable reports whether the data of a sector is there, by its record.
func provable(st sector.Info) bool {
	return slices.Contains([]sector.State{
		sector.CommitWait, sector.FinalizeSector, sector.FinalizeFailed, sector.Proving, sector.RecoveryReported,
		sector.Terminating, sector.TerminateWait, sector.TerminateFailed,
	}, st.State)
}

// undisturbed reports whether no lasting trouble is between the host and a proof of a sector.
func (s *simulator) undisturbed() bool {
	for _, trouble := range []string{chainDown, providerDown, nodeLags, sealerAway, sealerHangs, sealerLies, storeAway, diskFull} {
		if s.in(trouble) {
			return false
		}
	}
	return !s.bus.delays(s.height())
}
