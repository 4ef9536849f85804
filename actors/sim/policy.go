package sim

import (
	"slices"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/events"
)

// apply sets what a policy says in a host's configuration.
func (p Policy) apply(cfg *actors.Config) {
	cfg.AvoidClient, cfg.WalletDays = p.AvoidClient, p.WalletDays
	if p.MaxAtRisk > 0 {
		most := events.NewAmount(p.MaxAtRisk)
		cfg.MaxCollateralAtRisk = &most
	}
	if p.Dispersal {
		cfg.MayReserve = actors.ReserveInWindow
	}
}

// checkPolicy: the host keeps to what its operator allows, by what is recorded and
// by what it did since the last look.
func (s *simulator) checkPolicy(deeds []deed) error {
	if most := events.NewAmount(s.Policy.MaxAtRisk); s.Policy.MaxAtRisk > 0 && most.Less(s.audit.ledger.AtRisk()) {
		return broken(PolicyIsKept, "the sales have %s of collateral at stake, the most is %s",
			s.audit.ledger.AtRisk(), most)
	}
	if !s.Policy.Dispersal {
		return nil
	}
	for _, d := range slices.DeleteFunc(slices.Clone(deeds), func(d deed) bool { return d.kind != "reserve" }) {
		s.world.mu.Lock()
		tip := s.world.tip()
		r := tip.state.requestOf(tip.state.slots[d.slot])
		s.world.mu.Unlock()
		may := actors.ReserveInWindow(actors.MayReserve{
			Host: me, Slot: d.slot, Request: r.Request, Repair: s.audit.sales[d.slot].Repair,
			ExpiresAt: r.expiresAt, EndsAt: r.endsAt, MinFill: minFill, Now: tip.head.Time,
		})
		if !may.Open(tip.head.Time) {
			return broken(PolicyIsKept, "slot %s was reserved too early: %s", d.slot.Short(), may.Reason)
		}
	}
	return nil
}
