package sim

import (
	"slices"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sector"
)

// sectorMargin is how many blocks before the end of a window a proof must have been sent.
const sectorMargin = 6

// sectorWindow is a window in which a sector must be proven.
type sectorWindow struct {
	open uint64 // for how many blocks in a row the host could prove it
	had  bool   // it could for long enough
}

// checkWindows checks that a host has proven a sector if it could for Chance blocks of its window. The
// contract says what was missed. It checks once per block, on a chain without reorganisations.
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
			return broken(SectorsAreProven, "sector %d was not proven in period %d, although the host could for %d blocks",
				p.sector, p.period, s.Sectors.Chance)
		}
	}
	return nil
}

// provable reports whether by its record the data of a sector is there.
func provable(st sector.Info) bool {
	return slices.Contains([]sector.State{
		sector.CommitWait, sector.FinalizeSector, sector.FinalizeFailed, sector.Proving, sector.RecoveryReported,
		sector.Terminating, sector.TerminateWait, sector.TerminateFailed,
	}, st.State)
}

// undisturbed reports whether no lasting trouble keeps the host from proving sectors.
func (s *simulator) undisturbed() bool {
	for _, trouble := range []string{chainDown, providerDown, nodeLags, sealerAway, sealerHangs, sealerLies, storeAway, diskFull} {
		if s.in(trouble) {
			return false
		}
	}
	return !s.bus.delays(s.height())
}
