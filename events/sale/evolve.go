package sale

import (
	"fmt"
	"slices"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// Evolve folds one event into the state. It never fails and never refuses: an
// event is a fact.
func Evolve(s State, e Event) State {
	switch e := e.(type) {
	case *messages.SaleStarted:
		return started(e)
	case *messages.CapacityReserved:
		s.Availability = events.Must(events.ParseAvailabilityID(e.GetAvailabilityId()))
		s.Reservation = events.Must(events.ParseReservationID(e.GetReservationId()))
		s.Committed = amount(e.GetCollateral())
		s.Phase = SlotReserving
		if s.Adopted { // The fill itself shows that the slot was reserved.
			s.Phase = Downloading
		}
	case *messages.SlotReserved:
		s.Phase = Downloading
	case *messages.SlotStored:
		s.Stored = events.Bytes(e.GetBytes())
		s.SlotRoot = events.Must(events.ParseRoot(e.GetSlotRoot()))
		s.Phase = InitialProving
	case *messages.InitialProofMade:
		s.Challenge = events.Must(events.ParseChallenge(e.GetChallenge()))
		s.Proof = events.Must(events.ParseProof(e.GetProof()))
		s.Phase = Filling
	case *messages.InitialProofOutdated:
		s.Challenge, s.Proof = events.Challenge{}, events.Proof{}
		s.Phase = InitialProving
	case *messages.SlotFilled:
		s.OnChain = true
		s.FilledAt = events.TimeFromMessage(e.GetFilledAt())
		s.FilledBlock = e.GetBlock()
		s.Collateral = amount(e.GetCollateral())
		s.Phase, s.Reason, s.Reprocess = Filled, "", false
	case *messages.FillReverted:
		s.OnChain, s.Started, s.Adopted = false, false, false
		s.FilledAt, s.FilledBlock = time.Time{}, 0
		s.Collateral = events.Amount{}
		s.Duties, s.Unchecked = nil, nil
		s.Phase = Filling
		if s.Proof.Invalid() { // The fill was found on chain; no proof was ever made here.
			s.Phase = InitialProving
		}
	case *messages.DataLifetimeExtended, *messages.RequestStarted, *messages.ProofDue,
		*messages.ProofSubmitted, *messages.ProofMissed, *messages.ProofExcused, *messages.CollateralChecked:
		return evolveHosting(s, e)
	case *messages.RequestEnded, *messages.PayoutReceived, *messages.SaleIgnored,
		*messages.SaleCancelled, *messages.SaleFailed, *messages.SlotDropped,
		*messages.SlotForfeited, *messages.SaleErrored, *messages.DataDeleted, *messages.SaleSettled:
		return evolveEnd(s, e)
	default:
		panic(fmt.Sprintf("sale: unknown event %T", e))
	}
	return s
}

// started begins a new attempt: nothing of the last one is left.
func started(e *messages.SaleStarted) State {
	return State{
		Phase:     Preparing,
		Attempt:   e.GetAttempt(),
		Slot:      events.Must(events.ParseSlotID(e.GetSlotId())),
		Index:     e.GetSlotIndex(),
		Request:   events.RequestFromMessage(e.GetRequest()),
		Repair:    e.GetRepair(),
		Adopted:   e.GetAdopted(),
		ExpiresAt: events.TimeFromMessage(e.GetExpiresAt()),
		EndsAt:    events.TimeFromMessage(e.GetEndsAt()),
		FailEvery: e.GetFailEveryNProofs(),
	}
}

func evolveHosting(s State, e Event) State {
	switch e := e.(type) { //nolint:gochecksumtype // Evolve lists them all.
	case *messages.DataLifetimeExtended:
		s.Phase = Proving
		if s.FailEvery > 0 {
			s.Phase = ProvingSimulated
		}
	case *messages.RequestStarted:
		s.Started = true
	case *messages.ProofDue:
		return openDuty(s, e)
	case *messages.ProofSubmitted:
		s.Submitted++
		s.Duties = closeDuty(s.Duties, e.GetPeriod())
	case *messages.ProofExcused:
		s.Duties = closeDuty(s.Duties, e.GetPeriod())
	case *messages.ProofMissed:
		s.Missed++
		s.Duties = closeDuty(s.Duties, e.GetPeriod())
		s.Unchecked = append(slices.Clone(s.Unchecked), e.GetPeriod())
	case *messages.CollateralChecked:
		s.Collateral = amount(e.GetCollateral())
		s.Unchecked = slices.DeleteFunc(slices.Clone(s.Unchecked), func(p uint64) bool {
			return p == e.GetPeriod()
		})
	default:
		panic(fmt.Sprintf("sale: %T is no event of hosting", e))
	}
	return s
}

// openDuty keeps the duties in the order of their periods. A duty whose
// challenge moved is the same duty: it stays in its place, spoiled or not.
func openDuty(s State, e *messages.ProofDue) State {
	d := Duty{
		Period:    e.GetPeriod(),
		Challenge: events.Must(events.ParseChallenge(e.GetChallenge())),
		Deadline:  events.TimeFromMessage(e.GetDeadline()),
	}
	s.Duties = slices.Clone(s.Duties) // States share their slices.
	for i, open := range s.Duties {
		if open.Period == d.Period {
			d.Spoil = open.Spoil
			s.Duties[i] = d
			return s
		}
	}
	s.LastPeriod = max(s.LastPeriod, d.Period)
	s.DutyCount++
	d.Spoil = s.FailEvery > 0 && s.DutyCount%uint64(s.FailEvery) == 0
	s.Duties = append(s.Duties, d)
	return s
}

// closeDuty returns a copy, because states share their slices.
func closeDuty(duties []Duty, period uint64) []Duty {
	return slices.DeleteFunc(slices.Clone(duties), func(d Duty) bool { return d.Period == period })
}

func evolveEnd(s State, e Event) State {
	switch e := e.(type) { //nolint:gochecksumtype // Evolve lists them all.
	case *messages.RequestEnded:
		s.Phase = Payout
		s.Duties, s.Unchecked = nil, nil
	case *messages.PayoutReceived:
		s.OnChain, s.Paid = false, true
		s.Reward, s.Returned = amount(e.GetReward()), amount(e.GetCollateral())
		s.Lost = s.Committed.SubFloor(s.Returned)
		if s.Phase == Payout {
			s.Phase = Finished
		}
	case *messages.SaleIgnored:
		s.Phase, s.Reason, s.Reprocess = Ignored, e.GetReason(), e.GetReprocess()
	case *messages.SaleCancelled:
		s.Phase, s.Reason = Cancelled, e.GetReason()
		s.Duties, s.Unchecked = nil, nil
	case *messages.SaleFailed:
		s.Phase, s.Reason = Failed, e.GetReason()
		s.Duties, s.Unchecked = nil, nil
	case *messages.SlotDropped:
		s.OnChain, s.Lost, s.Phase = false, s.Committed, Errored
	case *messages.SlotForfeited:
		s.OnChain, s.Lost, s.Phase, s.Reason = false, s.Committed, Errored, e.GetReason()
		s.Duties, s.Unchecked = nil, nil
	case *messages.SaleErrored:
		s.Phase, s.Reason, s.Reprocess = Errored, e.GetError(), e.GetReprocess()
	case *messages.DataDeleted:
		s.Deleted = true
	case *messages.SaleSettled:
		s.Settled = true
	default:
		panic(fmt.Sprintf("sale: %T is no event of the end", e))
	}
	return s
}

func amount(s string) events.Amount { return events.Must(events.ParseAmount(s)) }
