package sale

import (
	"cmp"
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
		return carry(s, started(e))
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
		s.Phase, s.Damage = InitialProving, Damage{}
	case *messages.InitialProofMade:
		s.Challenge = events.Must(events.ParseChallenge(e.GetChallenge()))
		s.Proof = events.Must(events.ParseProof(e.GetProof()))
		s.Phase, s.Tried = Filling, true
	case *messages.InitialProofOutdated:
		s.Challenge, s.Proof = events.Challenge{}, events.Proof{}
		s.Phase = InitialProving
	case *messages.SlotFilled:
		return slotFilled(s, e)
	case *messages.FillReverted:
		return fillReverted(s)
	case *messages.SlotDamaged:
		s.Damage = s.Damage.found(e)
	case *messages.SlotRepaired:
		s.Damage = s.Damage.repaired(e)
	case *messages.DataLifetimeExtended, *messages.RequestStarted, *messages.ProofDue,
		*messages.ProofSubmitted, *messages.ProofMissed, *messages.ProofExcused,
		*messages.CollateralChecked, *messages.CollateralSlashed:
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

// slotFilled: the slot is ours. If we host it already, a reorganisation moved
// the fill to another block; phase and duties stay.
func slotFilled(s State, e *messages.SlotFilled) State {
	s.OnChain = true
	s.FilledAt = events.TimeFromMessage(e.GetFilledAt())
	s.FilledBlock, s.FilledHash = e.GetBlock(), events.Hash{}
	if e.BlockHash != nil {
		s.FilledHash = events.Must(events.ParseHash(e.GetBlockHash()))
	}
	s.Collateral = amount(e.GetCollateral())
	if !s.Hosting() {
		s.Phase = Filled
		s = s.reopenLapsed()
	}
	s.Reason, s.Criterion, s.Reprocess = "", "", false
	s.Forfeited, s.Lost = false, events.Amount{}
	return s
}

// fillReverted goes back to the step before the fill. A fill that was found on chain
// may have needed no proof of ours and, if its request had ended, neither data nor
// space: then the sale goes back further.
func fillReverted(s State) State {
	s.OnChain, s.Started, s.Adopted = false, false, false
	s.FilledAt, s.FilledBlock, s.FilledHash = time.Time{}, 0, events.Hash{}
	s.Collateral = events.Amount{}
	s = s.lapse() // They are owed again if the slot is filled again in an earlier block.
	s.Reason = "" // The end of the request may have been recorded already.
	if s.Deleted {
		s.Deleted, s.Stored, s.SlotRoot = false, 0, events.Root{}
		s.Challenge, s.Proof = events.Challenge{}, events.Proof{}
	}
	switch {
	case !s.Proof.Invalid():
		s.Phase = Filling
	case s.Stored > 0:
		s.Phase = InitialProving
	case s.Reservation != (events.ReservationID{}):
		s.Phase = SlotReserving
	default:
		s.Phase = Preparing
	}
	return s
}

// started begins a new attempt; nothing of the last one remains.
func started(e *messages.SaleStarted) State {
	return State{
		Phase:     Preparing,
		Attempt:   e.GetAttempt(),
		Slot:      events.Must(events.ParseSlotID(e.GetSlotId())),
		Index:     e.GetSlotIndex(),
		Request:   events.RequestFromMessage(e.GetRequest()),
		Repair:    e.GetRepair(),
		Adopted:   e.GetAdopted(),
		BeganAt:   events.TimeFromMessage(e.GetAt()),
		ExpiresAt: events.TimeFromMessage(e.GetExpiresAt()),
		EndsAt:    events.TimeFromMessage(e.GetEndsAt()),
		FailEvery: e.GetFailEveryNProofs(),
		Member:    events.Member(e.GetMember()),
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
		s.Duties, s.Excused = closeDuty(s.Duties, e.GetPeriod()), e.GetPeriod()
	case *messages.ProofMissed:
		s.Missed++
		s.Duties = closeDuty(s.Duties, e.GetPeriod())
		s.Unchecked = append(slices.Clone(s.Unchecked), e.GetPeriod())
	case Reading:
		return collateralRead(s, e)
	default:
		panic(fmt.Sprintf("sale: %T is no event of hosting", e))
	}
	return s
}

// collateralRead takes over what the contract was seen to hold.
func collateralRead(s State, e Reading) State {
	s.Collateral = amount(e.GetCollateral())
	s.Unchecked = slices.DeleteFunc(slices.Clone(s.Unchecked), func(p uint64) bool { return p == e.GetPeriod() })
	return s
}

// openDuty keeps the duties in the order of their periods. A duty whose
// challenge moved is the same duty: it keeps its place, and stays spoiled if it
// was.
func openDuty(s State, e *messages.ProofDue) State {
	d := Duty{
		Period:    e.GetPeriod(),
		Challenge: events.Must(events.ParseChallenge(e.GetChallenge())),
		Deadline:  events.TimeFromMessage(e.GetDeadline()),
	}
	s.Duties = slices.Clone(s.Duties) // States share their slices.
	byPeriod := func(o Duty, p uint64) int { return cmp.Compare(o.Period, p) }
	at, open := slices.BinarySearchFunc(s.Duties, d.Period, byPeriod)
	if open {
		d.Spoil = s.Duties[at].Spoil
		s.Duties[at] = d
		return s
	}
	switch {
	case s.reopens(d.Period):
		s.Excused = 0
	case slices.Contains(s.Lapsed, d.Period):
		s.Lapsed = slices.DeleteFunc(slices.Clone(s.Lapsed), func(p uint64) bool { return p == d.Period })
	default:
		s.DutyCount++
		d.Spoil = s.FailEvery > 0 && s.DutyCount%uint64(s.FailEvery) == 0
	}
	s.Periods = s.Open(d.Period, events.TimeFromMessage(e.GetAt()).After(d.Deadline))
	s.Duties = slices.Insert(s.Duties, at, d)
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
		s = s.lapse()
	case *messages.PayoutReceived:
		s.OnChain, s.Paid = false, true
		s.Reward, s.Returned = amount(e.GetReward()), amount(e.GetCollateral())
		s.Lost = s.Committed.SubFloor(s.Returned)
		if s.Phase == Payout {
			s.Phase = Finished
		}
	case *messages.SaleIgnored:
		s = s.lapse() // An adopted slot may owe proofs already.
		s.Phase, s.Reason, s.Reprocess = Ignored, e.GetReason(), e.GetReprocess()
		s.Criterion = e.GetCriterion()
	case *messages.SaleCancelled:
		s.Phase, s.Reason = Cancelled, e.GetReason()
		s = s.lapse()
	case *messages.SaleFailed:
		s.Phase, s.Reason = Failed, e.GetReason()
		s = s.lapse()
	case *messages.SlotDropped:
		s.OnChain, s.Lost, s.Phase = false, s.Committed, Errored
	case *messages.SlotForfeited:
		s.OnChain, s.Lost, s.Phase, s.Reason = false, s.Committed, Errored, e.GetReason()
		s.Forfeited = true
		s = s.lapse()
	case *messages.SaleErrored:
		s = s.lapse()
		s.Phase, s.Reason, s.Reprocess = Errored, e.GetError(), e.GetReprocess()
		s.Criterion = e.GetCriterion()
	case *messages.DataDeleted:
		s.Deleted, s.Damage = true, Damage{}
	case *messages.SaleSettled:
		s.Settled = true
	default:
		panic(fmt.Sprintf("sale: %T is no event of the end", e))
	}
	return s
}

func amount(s string) events.Amount { return events.Must(events.ParseAmount(s)) }
