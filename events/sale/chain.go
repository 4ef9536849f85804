package sale

import (
	"fmt"
	"slices"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// decideChain compares the recorded state with what the chain says, by the table
// in reconcile.go. A start uses it too: every replayed sale that is not over gets
// one ReportChain before its effects are performed.
func decideChain(s State, c ReportChain) ([]Event, error) {
	rule := Reconcile(cellOf(s, c))
	switch rule.Then {
	case Nothing, Adopt: // An adoption is a Start command, given by the supervisor of the sales.
		return nil, nil
	case FoundFilled:
		return []Event{foundFill(s, c)}, nil
	case FoundEnded:
		return foundEnded(s, c), nil
	case Continue:
		return decideOurs(s, c), nil
	case End:
		moved := movedFill(s, c)
		return slices.Concat(moved, decideShrunk(s, c, true), []Event{end(c)}), nil
	case Resume:
		return []Event{resumed(s, c)}, nil
	case Revert:
		return []Event{&messages.FillReverted{Reason: reverted(c)}}, nil
	case Forfeit:
		return forfeited(s, c), nil
	case Ignore:
		return []Event{&messages.SaleIgnored{Reason: ignored(c)}}, nil
	case Cancel:
		return []Event{&messages.SaleCancelled{Reason: rule.Why}}, nil
	case Fail:
		return []Event{&messages.SaleFailed{Reason: rule.Why}}, nil
	}
	panic(fmt.Sprintf("sale: unknown outcome %d", rule.Then))
}

// learnedFill records a fill that was found on chain. The contract does not store
// when the slot was filled; the log of the fill tells. Without the log, the time of
// the request is taken, the earliest possible, so that every period counts for
// proofs: one proof too many costs gas, one too few a part of the collateral. The
// block is that of the log, too, or else one in which the slot is known to be ours.
func learnedFill(s State, c ReportChain) *messages.SlotFilled {
	filledAt, block, hash := c.Facts.At.Time, c.Facts.At.Number, c.Facts.At.Hash
	if made := s.ExpiresAt.Add(-s.Request.Expiry); !s.ExpiresAt.IsZero() && made.Before(filledAt) {
		filledAt = made
	}
	if !c.Log.Hash.Zero() {
		filledAt, block, hash = c.Log.Time, c.Log.Number, c.Log.Hash
	}
	return &messages.SlotFilled{
		FilledAt:   events.TimeToMessage(filledAt),
		Block:      block,
		BlockHash:  blockHash(hash),
		Collateral: c.Facts.Collateral.String(),
	}
}

// foundFill is the fill of a slot that is not filled by our record. If proofs were
// recorded as missed before, reading the collateral tells what they cost.
func foundFill(s State, c ReportChain) *messages.SlotFilled {
	e := learnedFill(s, c)
	if s.Owes() && s.Missed > 0 {
		e.Collateral = s.held().String()
	}
	return e
}

func foundEnded(s State, c ReportChain) []Event {
	fill := foundFill(s, c)
	if c.FillOnly {
		return []Event{fill}
	}
	return slices.Concat([]Event{fill}, decideShrunk(Evolve(s, fill), c, true), []Event{end(c)})
}

// movedFill records that a reorganisation put the fill into another block.
// Otherwise the next comparison would find the old block gone, and take the fill
// to be gone with it.
func movedFill(s State, c ReportChain) []Event {
	if c.Fill != FillGone {
		return nil
	}
	e := learnedFill(s, c)
	if e.GetBlockHash() == s.FilledHash.String() { // Already recorded.
		return nil
	}
	e.Collateral = s.Collateral.String() // decideShrunk records if it became less.
	return []Event{e}
}

// resumed records that the slot is ours and runs after all. The fill is the recorded
// one, unless the reorganisation moved that to another block as well.
func resumed(s State, c ReportChain) *messages.SlotFilled {
	e := learnedFill(s, c)
	if c.Fill != FillGone {
		e.FilledAt, e.Block, e.BlockHash = events.TimeToMessage(s.FilledAt), s.FilledBlock, blockHash(s.FilledHash)
	}
	e.Collateral = s.Collateral.String() // decideShrunk records if it became less.
	return e
}

func blockHash(h events.Hash) *string {
	if h.Zero() {
		return nil
	}
	text := h.String()
	return &text
}

func cancelled(c ReportChain) Event {
	const why = "the request expired before all its slots were filled"
	return &messages.SaleCancelled{Reason: why, Unjudged: text(c.Unjudged)}
}

// end is the event with which the request ends; nil while it runs. The state of a slot
// that is already paid does not say how the request ended; the state of the request
// does.
func end(c ReportChain) Event {
	switch c.Facts.SlotState {
	case events.SlotFinished:
		return &messages.RequestEnded{Unjudged: text(c.Unjudged)}
	case events.SlotPaid:
		if c.Facts.RequestState != events.RequestCancelled {
			return &messages.RequestEnded{Unjudged: text(c.Unjudged)}
		}
		return cancelled(c)
	case events.SlotCancelled:
		return cancelled(c)
	case events.SlotFailed:
		return &messages.SaleFailed{Reason: "too many slots of the request are empty", Unjudged: text(c.Unjudged)}
	case events.SlotFree, events.SlotFilled, events.SlotRepair:
	}
	return nil
}

// ignored says why a sale ends before its fill although its request has not failed.
func ignored(c ReportChain) string {
	switch {
	case !c.Facts.RequestKnown:
		return "the chain no longer knows the request"
	case c.Facts.SlotState == events.SlotFilled:
		return "the slot was filled by " + c.Facts.Host.String()
	}
	return "the request is over"
}

func decideOurs(s State, c ReportChain) []Event {
	found := slices.Concat(movedFill(s, c), decideShrunk(s, c, false))
	if c.Facts.RequestState == events.RequestStarted && !s.Started {
		found = append(found, &messages.RequestStarted{})
	}
	return found
}

func reverted(c ReportChain) string {
	return fmt.Sprintf("block %d says the slot is %s, without us", c.Facts.At.Number, c.Facts.SlotState)
}

func forfeited(s State, c ReportChain) []Event {
	return []Event{&messages.SlotForfeited{
		Reason: fmt.Sprintf("the contract took the slot back (it is %s now); %d proofs were missed",
			c.Facts.SlotState, s.Missed),
		Unjudged: text(c.Unjudged),
	}}
}
