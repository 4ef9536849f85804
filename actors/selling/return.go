package selling

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sale"
)

// This file takes a last look at a slot before its data is deleted. A reorganisation may have
// given the slot back. And a slot that was taken from us is in repair: filling it again costs
// less collateral than another slot, and there is nothing to fetch.

// deleteData removes the slot from the disk, unless the chain has something better
// for it.
func (s *Agent) deleteData(
	ctx context.Context, st sale.State, by events.EventID, e sale.DeleteData,
) (sale.Command, error) {
	if e.WhenFinal {
		if instead, err := s.lastLook(ctx, st, by); err != nil || instead != nil {
			return instead, err
		}
	}
	_, err := shell.In(ctx, s.Disk, time.Time{}, func() (struct{}, error) {
		return struct{}{}, s.Repo.Delete(ctx, s.slot)
	})
	if err != nil {
		return nil, fmt.Errorf("delete the slot's data: %w", err)
	}
	return sale.ReportDeleted{At: s.ChainTime()}, nil
}

// lastLook asks the chain about a slot of an ended sale when what ended it is final.
// A restart waits anew: that costs space for a while, and nothing else.
func (s *Agent) lastLook(ctx context.Context, st sale.State, by events.EventID) (sale.Command, error) {
	from := s.View.Now().Number
	if _, err := s.View.Wait(ctx, func(h events.Head) bool { return h.Number >= from+s.FinalBlocks }); err != nil {
		return nil, err
	}
	s.Yield(ctx, s.slot.String()+"/last look")
	if err := s.WaitFinal(ctx, from); err != nil {
		return nil, err
	}
	report, err := s.askChain(ctx, st)
	if err != nil {
		return nil, err
	}
	if found, err := s.Decide(st, report); err != nil || len(found) > 0 {
		return report, nil
	}
	facts := report.(sale.ReportChain).Facts
	if err := s.Confirm(ctx, s.request, s.index, facts); err != nil {
		return nil, err
	}
	if worth, err := s.worthFilling(ctx, st, facts); err != nil || !worth {
		return nil, err
	}
	return s.refill(ctx, st, by, facts)
}

// worthFilling reports whether a slot that was taken from us can be filled again: it is in
// repair, the request runs long enough, and the account can pay. Whether an availability still
// takes it is for the ledger to say.
func (s *Agent) worthFilling(ctx context.Context, st sale.State, f events.SlotFacts) (bool, error) {
	last := f.RequestEnd
	switch {
	case !st.Refillable(), !f.RequestKnown, f.SlotState != events.SlotRepair:
		return false, nil
	case f.RequestState == events.RequestNew:
		last = f.RequestExpiry
	case f.RequestState != events.RequestStarted:
		return false, nil
	}
	if last.Sub(f.At.Time) < s.TimeToFill() {
		return false, nil
	}
	balance, err := s.Market.Balance(ctx)
	if err != nil {
		return false, fmt.Errorf("read the balance: %w", err)
	}
	collateral, _ := st.Request.Ask.CollateralPerSlot()
	return !balance.Tokens.Less(collateral) && !balance.Wei.Less(s.MinWei), nil
}

// refill settles the attempt that lost the slot and reserves for the next one.
// Nothing, when the ledger refuses that.
func (s *Agent) refill(
	ctx context.Context, st sale.State, by events.EventID, f events.SlotFacts,
) (sale.Command, error) {
	next := st
	next.Attempt, next.EndsAt = st.Attempt+1, f.RequestEnd
	reserve := s.reservation(next)
	returned, lost := st.Settlement()
	settle, err := s.settlement(ctx, sale.Settle{Attempt: st.Attempt, Returned: returned, Lost: lost})
	if err != nil {
		return nil, err
	}
	err = s.askLedger(ctx, capacity.Renew{Settle: settle, Reserve: reserve}, s.cause(st.Attempt, "settle"), by)
	var refusal *capacity.Refusal
	switch {
	case errors.As(err, &refusal):
		s.Log.WithField("slot", s.slot.String()).Infof(
			"the slot is in repair and its data is here, but no availability takes it: %s", refusal.Reason)
		return nil, nil //nolint:nilnil // The data is deleted.
	case errors.Is(err, capacity.ErrSettled):
		return nil, nil //nolint:nilnil // The data is deleted.
	case err != nil:
		return nil, fmt.Errorf("reserve for filling the slot again: %w", err)
	}
	r, err := s.reserved(ctx, next.Attempt)
	if err != nil {
		return nil, fmt.Errorf("read the reservation for filling the slot again: %w", err)
	}
	return sale.Refill{
		At: f.At.Time, ExpiresAt: f.RequestExpiry, EndsAt: f.RequestEnd,
		Capacity: sale.ReportCapacity{
			At: f.At.Time, Availability: r.Availability, Reservation: r.ID, Bytes: r.Bytes, Collateral: r.Collateral,
		},
	}, nil
}

// settleUnused gives back what was reserved for filling a slot again when that was
// not recorded any more: the host died in between, and then it was too late.
func (s *Agent) settleUnused(ctx context.Context, attempt uint32, by events.EventID) error {
	cmd, err := s.settlement(ctx, sale.Settle{Attempt: attempt})
	if err != nil {
		return err
	}
	return s.askLedger(ctx, cmd, s.cause(attempt-1, "settle"), by)
}
