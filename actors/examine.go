package actors

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
)

// examine asks the chain whether a sale of the slot can begin, before anything
// is recorded: the request must be known and sound, the slot free or in
// repair, time enough, and tokens and gas at hand (design §6, Preparing). It
// waits until the chain answers; only the end of the host makes it fail.
func (s *supervisor) examine(ctx context.Context, slot events.SlotID, request events.RequestID,
	index uint64, others int,
) (saleReady, error) {
	var ready saleReady
	err := s.retry(ctx, "begin/"+slot.String(),
		func(err error) { s.log.WithField("slot", slot.String()).Warnf("beginning a sale waits: %v", err) },
		func(error) bool { return false },
		func(ctx context.Context) (err error) {
			ready, err = in(ctx, s.reads, time.Time{}, func() (saleReady, error) {
				return s.examineOnce(ctx, slot, request, index, others)
			})
			return err
		})
	return ready, err
}

func (s *supervisor) examineOnce(ctx context.Context, slot events.SlotID, request events.RequestID,
	index uint64, others int,
) (saleReady, error) {
	refuse := func(requeue bool, format string, args ...any) (saleReady, error) {
		return saleReady{slot: slot, refused: &saleRefused{fmt.Sprintf(format, args...), requeue}}, nil
	}
	r, err := s.Market.Request(ctx, request)
	if errors.Is(err, events.ErrUnknownRequest) {
		return refuse(false, "the chain does not know the request")
	}
	if err != nil {
		return saleReady{}, fmt.Errorf("read the request: %w", err)
	}
	if err := events.CheckRequest(r); err != nil {
		return refuse(false, "%v", err)
	}
	facts, err := s.Market.Slot(ctx, request, index)
	if err != nil {
		return saleReady{}, fmt.Errorf("read the slot: %w", err)
	}
	ready := saleReady{slot: slot, start: sale.Start{
		At: facts.At.Time, Slot: slot, Index: index, Request: r,
		Repair: facts.SlotState == events.SlotRepair, ExpiresAt: facts.RequestExpiry,
		EndsAt: facts.RequestEnd, FailEvery: s.FailEveryNProofs,
	}}
	if facts.Host == s.me && facts.SlotState != events.SlotPaid { // Also one that ended: it must be freed.
		ready.start.Adopted = true
		return ready, nil
	}
	switch {
	case facts.SlotState != events.SlotFree && facts.SlotState != events.SlotRepair:
		return refuse(false, "the slot is %s", facts.SlotState)
	case facts.RequestState > events.RequestStarted:
		return refuse(false, "the request is %s", facts.RequestState)
	}
	last := facts.RequestExpiry
	if ready.start.Repair {
		last = facts.RequestEnd
	}
	if left := last.Sub(facts.At.Time); left < s.minFill() {
		return refuse(false, "%s are left to fill the slot, at least %s are needed", left, s.minFill())
	}
	if most := s.slotsPerRequest(r); others >= most {
		return refuse(true, "%d slots of the request are in work here, the limit is %d", others, most)
	}
	return s.examineFunds(ctx, ready, refuse)
}

func (s *supervisor) examineFunds(ctx context.Context, ready saleReady,
	refuse func(bool, string, ...any) (saleReady, error),
) (saleReady, error) {
	balance, err := s.Market.Balance(ctx)
	if err != nil {
		return saleReady{}, fmt.Errorf("read the balance: %w", err)
	}
	collateral, _ := ready.start.Request.Ask.CollateralPerSlot()
	switch {
	case balance.Tokens.Less(collateral):
		return refuse(true, "the account %s holds %s tokens, the collateral is %s", s.me, balance.Tokens, collateral)
	case balance.Wei.Less(s.MinWei):
		return refuse(true, "the account %s holds %s wei for gas, at least %s are needed", s.me, balance.Wei, s.MinWei)
	}
	return ready, nil
}

func (s *supervisor) minFill() time.Duration {
	if s.MinFill > 0 {
		return s.MinFill
	}
	return 2 * s.terms.Proofs.Period
}

// slotsPerRequest caps how many slots of one request this host fills.
func (s *supervisor) slotsPerRequest(r events.Request) int {
	if s.MaxSlotsPerRequest > 0 {
		return s.MaxSlotsPerRequest
	}
	return int(min(max(r.Ask.MaxSlotLoss, 1), events.MaxSlots))
}
