package sale

import (
	"fmt"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// decideChain compares the record with what the chain says. It is also the
// entry after a restart (the seed's SaleUnknown): every replayed sale that is
// not over gets one ReportChain before its effects are performed.
//
//	recorded            slot is ours on chain            slot is not ours
//	before the fill     Filled    -> SlotFilled (1)      Filled by other -> Ignored (2)
//	                    ended     -> SlotFilled, end     Cancelled       -> Cancelled
//	                                                     Failed          -> Failed
//	                                                     Finished, gone  -> Ignored
//	hosting             started   -> RequestStarted      Free, unknown   -> FillReverted
//	                    Finished, Paid -> RequestEnded   others: FillReverted when the fill
//	                    Cancelled -> Cancelled           was not final, else SlotForfeited
//	                    Failed    -> Failed
//	before it, adopted  as above                         Free, unknown   -> as above
//	                                                     others          -> SlotForfeited
//	given up            Filled    -> SlotFilled (1)      -
//	                    ended     -> SlotFilled, end
//	everything else     -                                -
//
// (1) only once the data is here; (2) not while our own fill may be in flight.
func decideChain(s State, c ReportChain) ([]Event, error) {
	mine := !c.Me.Zero() && c.Facts.Host == c.Me
	switch {
	case (s.BeforeFill() || s.gaveUp()) && mine:
		return decideFoundOurs(s, c), nil
	case s.BeforeFill() && s.Adopted && !c.gone():
		return forfeited(s, c), nil
	case s.BeforeFill():
		return decideNotOurs(s, c), nil
	case s.Hosting() && mine:
		return decideOurs(s, c), nil
	case s.Hosting():
		return decideLost(s, c), nil
	}
	return nil, nil // Payout and what follows it wait for their own effects.
}

// gaveUp reports whether the sale ended without a fill, as far as we knew.
func (s State) gaveUp() bool {
	return s.Ended() && !s.OnChain && s.FilledBlock == 0 && !s.Paid && s.Lost.IsZero()
}

// gone reports whether the contract knows of no fill at all.
func (c ReportChain) gone() bool {
	return !c.Facts.RequestKnown || c.Facts.SlotState == events.SlotFree
}

// learnedFill records a fill that was found on chain. The contract does not say
// when it was; it says when the request was made, and the fill was not before.
// Taking that makes every period count for proofs: one proof too many costs
// gas, one too few a part of the collateral.
func learnedFill(s State, c ReportChain) Event {
	filledAt := c.Facts.At.Time
	if made := s.ExpiresAt.Add(-s.Request.Expiry); !s.ExpiresAt.IsZero() && made.Before(filledAt) {
		filledAt = made
	}
	return &messages.SlotFilled{
		At:         events.TimeToMessage(c.Facts.At.Time),
		FilledAt:   events.TimeToMessage(filledAt),
		Block:      c.Facts.At.Number,
		Collateral: c.Facts.Collateral.String(),
	}
}

// decideFoundOurs: the contract counts the slot as ours, the record does not yet.
func decideFoundOurs(s State, c ReportChain) []Event {
	if c.Facts.SlotState == events.SlotFilled {
		if s.Stored == 0 || s.Deleted {
			return nil // Adopted: the data comes first. Given up: it is gone.
		}
		return []Event{learnedFill(s, c)}
	}
	if end := end(c); end != nil {
		return []Event{learnedFill(s, c), end}
	}
	return nil
}

// end is the event with which the request ends, nil while it runs.
func end(c ReportChain) Event {
	at := events.TimeToMessage(c.Facts.At.Time)
	switch c.Facts.SlotState {
	case events.SlotFinished, events.SlotPaid:
		return &messages.RequestEnded{At: at}
	case events.SlotCancelled:
		return &messages.SaleCancelled{At: at, Reason: "the request expired before all its slots were filled"}
	case events.SlotFailed:
		return &messages.SaleFailed{At: at, Reason: "too many slots of the request are empty"}
	case events.SlotFree, events.SlotFilled, events.SlotRepair:
	}
	return nil
}

func decideNotOurs(s State, c ReportChain) []Event {
	at := events.TimeToMessage(c.Facts.At.Time)
	f := c.Facts
	ignore := func(reason string) []Event {
		return []Event{&messages.SaleIgnored{At: at, Reason: reason}}
	}
	if !f.RequestKnown {
		return ignore("the chain no longer knows the request")
	}
	if f.SlotState == events.SlotFilled {
		if s.Phase == Filling {
			return nil
		}
		return ignore("the slot was filled by " + f.Host.String())
	}
	switch f.RequestState {
	case events.RequestCancelled:
		return []Event{&messages.SaleCancelled{
			At: at, Reason: "the request expired before all its slots were filled",
		}}
	case events.RequestFailed:
		return []Event{&messages.SaleFailed{At: at, Reason: "too many slots of the request are empty"}}
	case events.RequestFinished:
		return ignore("the request is over")
	case events.RequestNew, events.RequestStarted:
	}
	return nil
}

func decideOurs(s State, c ReportChain) []Event {
	if end := end(c); end != nil {
		return []Event{end}
	}
	if c.Facts.RequestState == events.RequestStarted && !s.Started {
		return []Event{&messages.RequestStarted{At: events.TimeToMessage(c.Facts.At.Time)}}
	}
	return nil
}

// decideLost: the record says that we host, the chain says that we do not.
// Either the fill was reorganised away, or the contract took the slot from us.
func decideLost(s State, c ReportChain) []Event {
	final := c.Facts.At.Number >= s.FilledBlock+c.FinalBlocks
	if c.gone() || !final {
		return []Event{&messages.FillReverted{
			At: events.TimeToMessage(c.Facts.At.Time),
			Reason: fmt.Sprintf(
				"block %d says the slot is %s, without us", c.Facts.At.Number, c.Facts.SlotState,
			),
		}}
	}
	return forfeited(s, c)
}

func forfeited(s State, c ReportChain) []Event {
	return []Event{&messages.SlotForfeited{
		At: events.TimeToMessage(c.Facts.At.Time),
		Reason: fmt.Sprintf("the contract took the slot back (it is %s now); %d proofs were missed",
			c.Facts.SlotState, s.Missed),
	}}
}
