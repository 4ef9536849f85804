package sale

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// decideChain compares the record with what the chain says, by the table of
// reconcile.go. It is also the entry after a restart: every replayed sale that is
// not over gets one ReportChain before its effects are performed.
func decideChain(s State, c ReportChain) ([]Event, error) {
	at := events.TimeToMessage(c.Facts.At.Time)
	rule := Reconcile(cellOf(s, c))
	switch rule.Then {
	case Nothing, Adopt: // Adopting is a Start, by whoever runs the sales.
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
		return []Event{&messages.FillReverted{At: at, Reason: reverted(c)}}, nil
	case Forfeit:
		return forfeited(s, c), nil
	case Ignore:
		return []Event{&messages.SaleIgnored{At: at, Reason: ignored(c)}}, nil
	case Cancel:
		return []Event{&messages.SaleCancelled{At: at, Reason: rule.Why}}, nil
	case Fail:
		return []Event{&messages.SaleFailed{At: at, Reason: rule.Why}}, nil
	}
	panic(fmt.Sprintf("sale: unknown outcome %d", rule.Then))
}

// learnedFill records a fill that was found on chain. The contract does not say
// when it was; its log does. Without that, the fill was not before the request was
// made, and taking that makes every period count for proofs: one proof too many
// costs gas, one too few a part of the collateral. The same holds for the block: it
// is one in which the slot was ours, that of the log if there is one.
func learnedFill(s State, c ReportChain) *messages.SlotFilled {
	at, block, hash := c.Facts.At.Time, c.Facts.At.Number, c.Facts.At.Hash
	filledAt := at
	if made := s.ExpiresAt.Add(-s.Request.Expiry); !s.ExpiresAt.IsZero() && made.Before(filledAt) {
		filledAt = made
	}
	if !c.Log.Hash.Zero() {
		filledAt, block, hash = c.Log.Time, c.Log.Number, c.Log.Hash
	}
	return &messages.SlotFilled{
		At:         events.TimeToMessage(at),
		FilledAt:   events.TimeToMessage(filledAt),
		Block:      block,
		BlockHash:  blockHash(hash),
		Collateral: c.Facts.Collateral.String(),
	}
}

// foundFill is the fill of a slot of which the record said no fill. What was taken for
// proofs that are recorded as missed already is told by a reading.
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

// movedFill records that a reorganisation put the fill into another block. Without
// that the next look would take a fill that stands for one that is gone.
func movedFill(s State, c ReportChain) []Event {
	if c.Fill != FillGone {
		return nil
	}
	e := learnedFill(s, c)
	if e.GetBlockHash() == s.FilledHash.String() { // We know.
		return nil
	}
	e.Collateral = s.Collateral.String() // What became of it is for decideShrunk.
	return []Event{e}
}

// resumed says that the slot is ours and runs after all. Its fill is the one that the
// record knows, unless a reorganisation put that into another block, too.
func resumed(s State, c ReportChain) *messages.SlotFilled {
	e := learnedFill(s, c)
	if c.Fill != FillGone {
		e.FilledAt, e.Block, e.BlockHash = events.TimeToMessage(s.FilledAt), s.FilledBlock, blockHash(s.FilledHash)
	}
	e.Collateral = s.Collateral.String() // What became of it is for decideShrunk.
	return e
}

func blockHash(h events.Hash) *string {
	if h.Zero() {
		return nil
	}
	text := h.String()
	return &text
}

func cancelled(c ReportChain, at *timestamppb.Timestamp) Event {
	return &messages.SaleCancelled{
		At: at, Reason: "the request expired before all its slots were filled", Unjudged: text(c.Unjudged),
	}
}

// end is the event with which the request ends, nil while it runs. A slot that is paid
// already, by whoever has our key, does not say how; the request does.
func end(c ReportChain) Event {
	at := events.TimeToMessage(c.Facts.At.Time)
	switch c.Facts.SlotState {
	case events.SlotFinished:
		return &messages.RequestEnded{At: at, Unjudged: text(c.Unjudged)}
	case events.SlotPaid:
		if c.Facts.RequestState != events.RequestCancelled {
			return &messages.RequestEnded{At: at, Unjudged: text(c.Unjudged)}
		}
		return cancelled(c, at)
	case events.SlotCancelled:
		return cancelled(c, at)
	case events.SlotFailed:
		return &messages.SaleFailed{
			At: at, Reason: "too many slots of the request are empty", Unjudged: text(c.Unjudged),
		}
	case events.SlotFree, events.SlotFilled, events.SlotRepair:
	}
	return nil
}

// ignored says why a sale ends before its fill without the request's failing it.
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
		found = append(found, &messages.RequestStarted{At: events.TimeToMessage(c.Facts.At.Time)})
	}
	return found
}

func reverted(c ReportChain) string {
	return fmt.Sprintf("block %d says the slot is %s, without us", c.Facts.At.Number, c.Facts.SlotState)
}

func forfeited(s State, c ReportChain) []Event {
	return []Event{&messages.SlotForfeited{
		At: events.TimeToMessage(c.Facts.At.Time),
		Reason: fmt.Sprintf("the contract took the slot back (it is %s now); %d proofs were missed",
			c.Facts.SlotState, s.Missed),
		Unjudged: text(c.Unjudged),
	}}
}
