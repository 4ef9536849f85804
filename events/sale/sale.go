// Package sale is the life of one sale: a host's dealings with one slot, from
// the moment it was taken from the queue until every byte and every token is
// accounted for. It is pure: Decide, Evolve, Next.
//
// The rules, in the order of life:
//
//  1. A sale starts in Preparing, with an attempt number. Only a settled sale
//     can start again, as its next attempt.
//  2. First space and collateral (SlotReserving), then the contract's slot
//     reservation (Downloading), then the data (InitialProving), then a proof
//     (Filling), then the fill (Filled). A step that the contract already shows
//     as done counts as done.
//  3. Before the slot is filled the sale may be given up at any step: Ignored
//     when the market or the ledger says no, Cancelled or Failed when the
//     request ends, Errored when another try cannot help. Everything goes back.
//  4. While a fill may be in flight, only its own outcome or the end of the
//     request ends the sale; news of another host's fill does not.
//  5. After the slot is filled only the chain ends the sale. There is no
//     command by which an error of ours could.
//  6. Each period in which a proof is owed opens a duty. It is closed by
//     ProofSubmitted or ProofMissed, or by ProofExcused when the challenge moved
//     to one that demands no proof; or it lapses with the request. After a miss
//     the contract is asked once how much collateral is left, because slashing
//     has no event of its own.
//  7. Until the contract has let go of the slot, a reorganisation of the chain can
//     undo what was recorded. If the fill is gone, the sale goes back to Filling,
//     from Payout and from the exits too; to InitialProving if the fill had been
//     found on chain and no proof was made here; and if the request is over by
//     then, to the exit that returns everything. If the fill stands after all, the
//     sale goes to Filled, from an earlier step and from an exit too, as long as
//     the data is here. If the end of the request is gone while the slot is ours
//     and runs, the sale goes back to Filled, and owes again the proofs that
//     lapsed with that end.
//  8. At the end, in this order: the contract lets go of the slot (it pays, or
//     drops a failed one), the data is deleted, bytes and collateral are settled.
//     Only then is the sale over. As long as the chain may still make the slot
//     ours, the data stays.
//  9. A slot that the contract took from us is filled again once that is final,
//     if the data is here: the next attempt begins with the data of the last.
//  10. From when it is stored until the hosting ends, damaged data is fetched
//     again. Proofs that are owed meanwhile are tried as before, because a proof
//     needs only some of the blocks. No damage ends a sale.
//
// Commands are what we learn or want, events what has happened, effects what must
// be done next. A command that comes twice, or too late, changes nothing.
package sale

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// Event is a fact of a sale.
type Event = messages.SaleEvent

// Errors of Decide. They are mistakes of the caller.
var (
	// ErrNotStarted: a report for a sale that never started.
	ErrNotStarted = errors.New("sale not started")
	// ErrOnChain: the slot is ours, so only the chain can end the sale.
	ErrOnChain = errors.New("the slot is filled; only the chain can end the sale")
	// ErrMismatch: a report that belongs to another slot.
	ErrMismatch = errors.New("report belongs to another slot")
)

// Decide returns the events that follow from a command. It returns none when
// the command says what is recorded already, or no longer matters.
func Decide(s State, c Command) ([]Event, error) {
	out, err := decide(s, c)
	return events.Stamp(out, c.given()), err
}

func decide(s State, c Command) ([]Event, error) {
	if start, ok := c.(Start); ok {
		return decideStart(s, start)
	}
	if s.Phase == Unknown {
		return nil, fmt.Errorf("%T: %w", c, ErrNotStarted)
	}
	if s.Over() {
		return nil, nil
	}
	switch c := c.(type) {
	case Start:
		panic("sale: start is handled above")
	case ReportCapacity, ReportNoCapacity, ReportSlotReserved, ReportNotReservable,
		ReportStored, ReportInitialProof, ReportProofOutdated, ReportFilled, ReportNotFree:
		return decideBeforeFill(s, c)
	case GiveUp:
		return decideGiveUp(s, c)
	case ReportExtended, ReportProofDue, ReportProofSubmitted, ReportProofExcused,
		ReportPeriodClosed, ReportSilentPeriod, ReportCollateral:
		return decideHosting(s, c)
	case ReportFreed, ReportDeleted, ReportSettled:
		return decideEnd(s, c)
	case ReportDamaged:
		return decideDamaged(s, c), nil
	case ReportRepaired:
		return decideRepaired(s, c), nil
	case ReportChain:
		return decideChain(s, c)
	case Refill:
		return decideRefill(s, c)
	}
	panic(fmt.Sprintf("sale: unknown command %T", c))
}

// ---------------------------------------------------------------- the way in

func decideStart(s State, c Start) ([]Event, error) {
	if s.Phase != Unknown && !s.Over() {
		return nil, nil
	}
	if s.Phase != Unknown && s.Slot != c.Slot {
		return nil, fmt.Errorf("start %s: %w", c.Slot.Short(), ErrMismatch)
	}
	if err := events.CheckRequest(c.Request); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Slot.Short(), err)
	}
	if c.Index >= c.Request.Ask.Slots {
		return nil, fmt.Errorf("start %s: slot index %d of a request with %d slots: %w",
			c.Slot.Short(), c.Index, c.Request.Ask.Slots, events.ErrMalformed)
	}
	return []Event{saleStarted(c, s.Attempt+1)}, nil
}

func saleStarted(c Start, attempt uint32) *messages.SaleStarted {
	return &messages.SaleStarted{
		Attempt:          attempt,
		SlotId:           c.Slot.String(),
		SlotIndex:        c.Index,
		Request:          events.RequestToMessage(c.Request),
		Repair:           c.Repair,
		Adopted:          c.Adopted,
		ExpiresAt:        events.TimeToMessage(c.ExpiresAt),
		EndsAt:           events.TimeToMessage(c.EndsAt),
		FailEveryNProofs: c.FailEvery,
		Member:           string(c.Member),
	}
}

// decideBeforeFill answers the reports of the steps up to the fill. Each report
// counts in one phase only; in any other it came late.
func decideBeforeFill(s State, c Command) ([]Event, error) {
	switch c := c.(type) { //nolint:gochecksumtype // Decide lists them all.
	case ReportCapacity:
		return when(s.Phase == Preparing, capacityReserved(c))
	case ReportNoCapacity:
		// Of an adopted slot the contract holds our collateral: keep trying to find room.
		return when(s.Phase == Preparing && !s.Adopted, &messages.SaleIgnored{
			Reason: text(c.Reason), Criterion: text(c.Criterion), Reprocess: true,
		})
	case ReportSlotReserved:
		return when(s.Phase == SlotReserving, &messages.SlotReserved{Receipt: events.ReceiptToMessage(c.Receipt)})
	case ReportNotReservable:
		return when(s.Phase == SlotReserving, &messages.SaleIgnored{
			Reason: text(c.Reason), Criterion: text(c.Criterion),
		})
	case ReportStored:
		return when(s.Phase == Downloading, &messages.SlotStored{Bytes: uint64(c.Bytes), SlotRoot: c.Root.String()})
	case ReportInitialProof:
		return when(s.Phase == InitialProving, &messages.InitialProofMade{
			Challenge:        c.Challenge.String(),
			Proof:            c.Proof.String(),
			TookMilliseconds: uint64(max(0, c.Took).Milliseconds()),
		})
	case ReportProofOutdated:
		ours := c.Challenge == s.Challenge // Or about an earlier proof than the one we have.
		return when(s.Phase == Filling && ours, &messages.InitialProofOutdated{Reason: text(c.Reason)})
	case ReportFilled:
		return when(s.Phase == Filling, slotFilledBy(c))
	case ReportNotFree:
		return when(s.Phase == Filling, &messages.SaleIgnored{Reason: text(c.Reason)})
	}
	panic(fmt.Sprintf("sale: %T is no report from before the fill", c))
}

func slotFilledBy(c ReportFilled) *messages.SlotFilled {
	e := &messages.SlotFilled{
		FilledAt:   events.TimeToMessage(c.Fill.FilledAt),
		Block:      c.Fill.Block,
		BlockHash:  blockHash(c.Fill.Receipt.Block.Hash),
		Collateral: c.Fill.Collateral.String(),
		Receipt:    events.ReceiptToMessage(c.Fill.Receipt),
	}
	if reward := c.Fill.RepairReward; !reward.IsZero() {
		text := reward.String()
		e.RepairReward = &text
	}
	return e
}

func capacityReserved(c ReportCapacity) *messages.CapacityReserved {
	return &messages.CapacityReserved{
		At:             events.TimeToMessage(c.At),
		AvailabilityId: c.Availability.String(),
		ReservationId:  c.Reservation.String(),
		Bytes:          uint64(c.Bytes),
		Collateral:     c.Collateral.String(),
	}
}

// when returns the event if it follows, and nothing otherwise.
func when(follows bool, e Event) ([]Event, error) {
	if !follows {
		return nil, nil
	}
	return []Event{e}, nil
}

func decideGiveUp(s State, c GiveUp) ([]Event, error) {
	switch {
	case s.Ended(), c.LetGo && s.Phase == Filling: // A fill may be in flight (rule 4).
		return nil, nil
	case !s.BeforeFill(), s.Adopted:
		return nil, fmt.Errorf("give up %s: %w", s.Slot.Short(), ErrOnChain)
	case c.LetGo:
		return []Event{&messages.SaleIgnored{
			Reason: text(c.Reason), Reprocess: c.Reprocess, Criterion: text(c.Criterion),
		}}, nil
	}
	return []Event{&messages.SaleErrored{
		Error: text(c.Reason), Reprocess: c.Reprocess, Criterion: text(c.Criterion),
	}}, nil
}

// -------------------------------------------------------------------- hosting

func decideHosting(s State, c Command) ([]Event, error) {
	switch c := c.(type) { //nolint:gochecksumtype // Decide lists them all.
	case ReportExtended:
		return when(s.Phase == Filled, &messages.DataLifetimeExtended{Until: events.TimeToMessage(c.Until)})
	case ReportProofDue:
		return decideProofDue(s, c)
	case ReportProofSubmitted:
		_, open := s.OpenDuty(c.Period)
		return when(open, &messages.ProofSubmitted{
			Period:           c.Period,
			TookMilliseconds: uint64(max(0, c.Took).Milliseconds()),
			Receipt:          events.ReceiptToMessage(c.Receipt),
		})
	case ReportProofExcused:
		_, open := s.OpenDuty(c.Period)
		return when(open, &messages.ProofExcused{Period: c.Period, Reason: text(c.Reason)})
	case ReportPeriodClosed:
		d, open := s.OpenDuty(c.Period)
		return when(open && c.At.After(d.Deadline), &messages.ProofMissed{Period: c.Period, Reason: text(c.Reason)})
	case ReportSilentPeriod:
		return decideSilent(s, c), nil
	case ReportCollateral:
		return when(slices.Contains(s.Unchecked, c.Period), reading(s, c.Period, c.Collateral))
	}
	panic(fmt.Sprintf("sale: %T is no report of hosting", c))
}

func decideProofDue(s State, c ReportProofDue) ([]Event, error) {
	open, isOpen := s.OpenDuty(c.Period)
	known := isOpen && open.Challenge == c.Challenge || !isOpen && s.Settles(c.Period) // Or it was closed already.
	return when(s.Owes() && !known, &messages.ProofDue{
		Period:    c.Period,
		Challenge: c.Challenge.String(),
		Deadline:  events.TimeToMessage(c.Deadline),
	})
}

// MaxTextBytes is the most bytes of a reason that is recorded. A node's reason
// for refusing can be long.
const MaxTextBytes = 1000

// text makes a reason from outside fit to be stored: valid UTF-8 of a bounded
// length. An event that cannot be stored would block the sale for ever.
func text(s string) string {
	s = s[:min(len(s), MaxTextBytes)]
	return strings.ToValidUTF8(s, "?")
}

// -------------------------------------------------------------------- the end

func decideEnd(s State, c Command) ([]Event, error) {
	switch c := c.(type) { //nolint:gochecksumtype // Decide lists them all.
	case ReportFreed:
		switch {
		case s.Phase == Failed && s.OnChain:
			return []Event{&messages.SlotDropped{Receipt: events.ReceiptToMessage(c.Payout.Receipt)}}, nil
		case s.Phase == Payout, s.Phase == Cancelled && s.OnChain:
			return []Event{payoutReceived(c)}, nil
		}
		return nil, nil
	case ReportDeleted:
		return when(s.Ended() && !s.OnChain && !s.Deleted, &messages.DataDeleted{})
	case ReportSettled:
		// A fill may be found between the ledger's answer and its report: then the slot is
		// collected first, and the ledger is asked again.
		return when(s.Ended() && !s.OnChain && s.Deleted, saleSettled(s))
	}
	panic(fmt.Sprintf("sale: %T is no report of the end", c))
}

func saleSettled(s State) *messages.SaleSettled {
	returned, lost := s.Settlement()
	return &messages.SaleSettled{CollateralReturned: returned.String(), CollateralLost: lost.String()}
}

func payoutReceived(c ReportFreed) *messages.PayoutReceived {
	e := &messages.PayoutReceived{
		Reward:     c.Payout.Paid.SubFloor(c.Payout.Collateral).String(),
		Collateral: c.Payout.Collateral.String(),
		Receipt:    events.ReceiptToMessage(c.Payout.Receipt),
	}
	if !c.Payout.RewardRecipient.Zero() {
		to := c.Payout.RewardRecipient.String()
		e.RewardRecipient = &to
	}
	return e
}

// Settlement splits the collateral that the ledger committed into what comes
// back to the availability and what is lost. The discount for a slot in repair
// is no part of it: that is earned, not returned.
func (s State) Settlement() (returned, lost events.Amount) {
	if !s.Paid && s.Lost.IsZero() { // Either nothing went to the contract, or all of it came back.
		return s.Committed, events.Amount{}
	}
	returned = s.Returned
	if s.Committed.Less(returned) {
		returned = s.Committed
	}
	return returned, s.Committed.Sub(returned)
}
