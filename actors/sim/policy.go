package sim

import (
	"fmt"
	"slices"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/admission"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// apply sets a policy in a host's configuration.
func (p Policy) apply(cfg *actors.Config) {
	cfg.AvoidClient, cfg.WalletDays = p.AvoidClient, p.WalletDays
	if p.MaxAtRisk > 0 {
		most := events.NewAmount(p.MaxAtRisk)
		cfg.MaxCollateralAtRisk = &most
	}
	if p.Dispersal {
		cfg.MayReserve = admission.ReserveInWindow
	}
}

// drawQuota draws the quota for the next start. Before anything is on offer, the quota is large
// enough.
func (s *simulator) drawQuota() events.Bytes {
	given := quota
	if _, offered := s.audit.ledger.Availability(offer); offered {
		given = events.Bytes(1+s.rng.IntN(8)) * quota / 8
	}
	s.note("the quota is %d", given)
	return given
}

// versionWithQuota is how the record tells which quota a start was given.
const versionWithQuota = "sim with a quota of %d"

// onStart notes which quota a start was given.
func (a *audit) onStart(m *messages.HostStarted) {
	var given events.Bytes
	if _, err := fmt.Sscanf(m.GetVersion(), versionWithQuota, &given); err == nil {
		a.quotas[m.GetEpoch()] = given
	}
}

// inQuota: no new slot is taken beyond the quota of the host that wrote the event. A slot that
// is ours already, or is kept to be filled again, is taken wherever there is room.
func (a *audit) inQuota(epoch uint64, m *messages.ReservationCreated, kept bool) error {
	given, known := a.quotas[epoch]
	slot := events.Must(events.ParseSlotID(m.GetSlotId()))
	if held := a.ledger.Book().Allocated() + events.Bytes(m.GetOverhead()); known && held > given && !kept &&
		!a.sales[slot].Adopted {
		return broken(PolicyIsKept, "slot %s was taken with %d bytes in all, the quota is %d", slot.Short(), held, given)
	}
	return nil
}

// checkPolicy: the host keeps to what its operator allows, by the record and by its actions
// since the last check.
func (s *simulator) checkPolicy(actions []action) error {
	if most := events.NewAmount(s.Policy.MaxAtRisk); s.Policy.MaxAtRisk > 0 && most.Less(s.audit.ledger.AtRisk()) {
		return broken(PolicyIsKept, "the sales have %s of collateral at stake, the most is %s",
			s.audit.ledger.AtRisk(), most)
	}
	if !s.Policy.Dispersal {
		return nil
	}
	for _, d := range slices.DeleteFunc(slices.Clone(actions), func(d action) bool { return d.kind != "reserve" }) {
		s.world.mu.Lock()
		tip := s.world.tip()
		r := tip.state.requestOf(tip.state.slots[d.slot])
		s.world.mu.Unlock()
		may := admission.ReserveInWindow(admission.MayReserve{
			Host: me, Slot: d.slot, Request: r.Request, Repair: s.audit.sales[d.slot].Repair,
			ExpiresAt: r.expiresAt, EndsAt: r.endsAt, MinFill: minFill, Now: tip.head.Time,
		})
		if !may.Open(tip.head.Time) {
			return broken(PolicyIsKept, "slot %s was reserved too early: %s", d.slot.Short(), may.Reason)
		}
	}
	return nil
}
