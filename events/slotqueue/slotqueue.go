// Package slotqueue keeps the slots on offer in the order in which a host considers them. It is
// pure; the journal of package actors runs it, and one actor is its only writer. Start reading
// here.
//
// The rules:
//
//  1. The best slot first: unseen before seen; higher profitability; lower
//     collateral; later expiry, none being the latest; smaller dataset; earlier
//     in the order drawn for its request; queued earlier (order.go).
//  2. A slot is in the queue once. A slot that is queued, or taken and still on offer, is not
//     queued again.
//  3. The queue is bounded. When it is full the worst slot goes, be it an old one (SlotRemoved) or
//     a new one (SlotsRefused). When a quarter of the queue is free again, both are considered
//     again (refused.go).
//  4. A taken slot belongs to a worker until it is released, also after a restart. At most
//     MaxWorkers are taken.
//  5. A slot that no availability fits now comes back as seen. When the best slot is seen, all are,
//     and the queue pauses instead of considering them over and over.
//  6. It goes on when an unseen slot arrives, or when a criterion has changed (Wake): then the
//     slots that failed that criterion are unseen again, except those whose time has not come, unless
//     the change is what they wait for (Wake.Early). A
//     resume by the operator makes all slots unseen. A slot that a worker had when a criterion
//     changed may have been judged before the change, so it comes back unseen if it failed that
//     criterion; but only once in a row, or its own release could wake it for ever.
//  7. Only the operator ends a pause by the operator.
//  8. A slot that leaves the market while it is taken does not come back on release. If it is
//     offered anew meanwhile, it is queued on release, unseen.
//  9. Refused requests are remembered with the criterion, up to a bound, so that they can be
//     considered again after an availability became better.
//  10. A client whose data could not be fetched, or was wrong, is avoided until a point in chain
//     time; the judge of slots asks here and refuses the client's. The list is bounded; the
//     client whose time ends first is forgotten first.
//  11. Commands that follow from the market carry the revision of its event. A
//     revision that was consumed is not consumed again.
//  12. In a host of several members a taken slot is handed out to one of them before its sale
//     begins, with the collateral that is promised to it. All promises together with what is not
//     paid yet never exceed what the account holds. The promise ends with the release.
//
// The package does not judge slots. The ledger decides whether a slot fits (package capacity), and
// the sale what becomes of it.
package slotqueue

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// Event is what the queue records.
type Event = messages.QueueEvent

// Refusal is the criterion that a request failed, and a sentence with the numbers.
type Refusal struct{ Criterion, Reason string }

// Work is the one effect: it gives a taken slot to a worker, who answers with Release.
type Work struct {
	RequestID events.RequestID
	SlotIndex uint64
	Repair    bool
	Member    events.Member // who sells it; empty: it is not handed out
}

// Key is work:<request>:<index>. It is the same for the same call; a call is open once.
func (w Work) Key() string {
	return "work:" + w.RequestID.String() + ":" + strconv.FormatUint(w.SlotIndex, 10)
}

// Next returns one Work for each taken slot, in the order of taking.
func Next(s State) []Work {
	out := make([]Work, 0, len(s.taken))
	for _, it := range s.taken {
		out = append(out, Work{it.offer.request, it.index, it.offer.Repair, it.member})
	}
	return out
}

// Errors of a caller.
var (
	// ErrTooManySlots: a command names more than MaxSlotsPerCommand slots.
	ErrTooManySlots = errors.New("too many slots in one command")
	// ErrNoCriterion: a refusal does not say what was failed.
	ErrNoCriterion = errors.New("refusal without a criterion")
	// ErrPromised: the account's tokens are promised to other slots.
	ErrPromised = errors.New("the tokens are promised to other slots")
	// ErrNotYours: the slot is not taken, or another member has it.
	ErrNotYours = errors.New("the slot is not to be handed out")
)

// Decide returns the events that follow from c; none when c is already true. It
// does not change s.
func Decide(s State, c Command) ([]Event, error) {
	switch c := c.(type) {
	case Queue:
		return decideQueue(s, c)
	case Take:
		return decideTake(s, c), nil
	case Release:
		return decideRelease(s, c), nil
	case HandOut:
		return decideHandOut(s, c)
	case Remove:
		return decideRemove(s, c)
	case Wake:
		if !s.wakes(c.Criteria, c.At, c.Early) {
			return nil, nil
		}
		return []Event{&messages.QueueResumed{
			At: events.TimeToMessage(c.At), Reason: c.Reason, Criteria: c.Criteria, Early: c.Early,
		}}, nil
	case Avoid:
		return decideAvoid(s, c), nil
	case Pause:
		if s.stopped {
			return nil, nil
		}
		return []Event{&messages.QueuePaused{
			At: events.TimeToMessage(c.At), Reason: c.Reason, ByOperator: true,
		}}, nil
	case Resume:
		if !s.stopped && !s.wakes(nil, c.At, false) {
			return nil, nil
		}
		return []Event{&messages.QueueResumed{
			At: events.TimeToMessage(c.At), Reason: c.Reason, ByOperator: true,
		}}, nil
	}
	panic(fmt.Sprintf("slotqueue: unknown command %T", c))
}

func decideQueue(s State, c Queue) ([]Event, error) {
	doing := "queue slots of request " + c.RequestID.Short()
	if n := len(c.SlotIndices); n > MaxSlotsPerCommand {
		return nil, fmt.Errorf("%s: %w: %d, the limit is %d",
			doing, ErrTooManySlots, n, MaxSlotsPerCommand)
	}
	if c.Refusal != nil && c.Refusal.Criterion == "" {
		return nil, fmt.Errorf("%s: %w", doing, ErrNoCriterion)
	}
	if s.consumed(c.MarketRevision) {
		return nil, nil
	}
	fresh := s.fresh(c.RequestID, c.SlotIndices)
	if len(fresh) == 0 {
		return nil, nil
	}
	if c.Refusal != nil {
		if s.refusals.holds(c.RequestID, fresh, *c.Refusal) {
			return nil, nil
		}
		return []Event{refused(c.At, c.RequestID, fresh, *c.Refusal, c.MarketRevision)}, nil
	}
	o := &offer{request: c.RequestID, Terms: c.Terms}
	return admit(s, c.At, o, fresh, c.MarketRevision), nil
}

// admit queues slots and decides which go when there is no room for all (rule
// 3). The bound holds after the last event, not between them: they are one
// append, and places are given while the slots that go are still counted.
func admit(s State, at time.Time, o *offer, indices []uint64, revision uint64) []Event {
	evicted, stay, refuse := s.overflow(o, indices)
	var out []Event
	if len(stay) > 0 {
		out = append(out, &messages.SlotsQueued{
			At: events.TimeToMessage(at), RequestId: o.request.String(), SlotIndices: stay,
			SlotSize: uint64(o.SlotSize), DatasetSize: uint64(o.DatasetSize),
			Profitability: o.Profitability.String(), Collateral: o.Collateral.String(),
			Expiry: events.TimeToMessage(o.Expiry), Repair: o.Repair, MarketRevision: revision,
		})
	}
	for _, group := range byRequest(evicted) {
		out = append(out, &messages.SlotRemoved{
			At: events.TimeToMessage(at), RequestId: group.request.String(), SlotIndices: group.indices,
			Reason: fmt.Sprintf("queue full at %d slots; those of request %s are better",
				s.limits.MaxItems, o.request),
			Criterion: QueueFull,
		})
	}
	if len(refuse) > 0 {
		full := fmt.Sprintf("queue full at %d slots, all of them better", s.limits.MaxItems)
		r := Refusal{QueueFull, full}
		if !s.refusals.holds(o.request, refuse, r) {
			out = append(out, refused(at, o.request, refuse, r, revision))
		}
	}
	return out
}

func refused(
	at time.Time, id events.RequestID, indices []uint64, r Refusal, revision uint64,
) Event {
	return &messages.SlotsRefused{
		At: events.TimeToMessage(at), RequestId: id.String(), SlotIndices: indices,
		Criterion: r.Criterion, Reason: r.Reason, MarketRevision: revision,
	}
}

func decideTake(s State, c Take) []Event {
	best := s.best.first()
	if best == nil || s.stopped || s.exhausted || len(s.taken) >= c.MaxWorkers {
		return nil
	}
	if best.seen {
		return []Event{&messages.QueuePaused{
			At: events.TimeToMessage(c.At),
			// No number: slots that are in work now may come back while the queue is paused.
			Reason: "every queued slot was looked at and none fits",
		}}
	}
	return []Event{&messages.SlotTaken{
		At: events.TimeToMessage(c.At), RequestId: best.offer.request.String(), SlotIndex: best.index,
	}}
}

func decideHandOut(s State, c HandOut) ([]Event, error) {
	it := s.items[key{c.RequestID, c.SlotIndex}]
	switch {
	case it == nil || !it.taken:
		return nil, fmt.Errorf("hand out slot %d of request %s: %w: nobody works at it",
			c.SlotIndex, c.RequestID.Short(), ErrNotYours)
	case it.member == c.Member:
		return nil, nil
	case it.member != "":
		return nil, fmt.Errorf("hand out slot %d of request %s: %w: member %s has it",
			c.SlotIndex, c.RequestID.Short(), ErrNotYours, it.member)
	}
	promised := s.Promised()
	var unpaid events.Amount
	for _, u := range c.Unpaid {
		if other := s.items[key{u.RequestID, u.SlotIndex}]; other != it && (other == nil || other.promise.IsZero()) {
			unpaid = unpaid.AddSaturating(u.Collateral)
		}
	}
	if sum := promised.AddSaturating(unpaid).AddSaturating(c.Collateral); sum.Cmp(c.Balance) > 0 {
		return nil, fmt.Errorf("hand out slot %d of request %s: %w: it takes %s, %s are promised, %s are not paid "+
			"yet, and the account holds %s", c.SlotIndex, c.RequestID.Short(), ErrPromised, c.Collateral, promised,
			unpaid, c.Balance)
	}
	return []Event{&messages.SlotHandedOut{
		At: events.TimeToMessage(c.At), RequestId: c.RequestID.String(), SlotIndex: c.SlotIndex,
		Member: string(c.Member), Collateral: c.Collateral.String(),
	}}, nil
}

func decideRelease(s State, c Release) []Event {
	it := s.items[key{c.RequestID, c.SlotIndex}]
	if it == nil || !it.taken {
		return nil
	}
	requeue := c.Requeue && !it.gone
	out := []Event{&messages.SlotReleased{
		At: events.TimeToMessage(c.At), RequestId: c.RequestID.String(), SlotIndex: c.SlotIndex,
		Outcome: c.Outcome, Requeue: requeue, Criterion: c.Criterion, RetryAt: events.TimeToMessage(c.RetryAt),
	}}
	if it.again != nil { // Rule 8: the newer offer counts.
		return append(out, admit(s, c.At, it.again, []uint64{c.SlotIndex}, 0)...)
	}
	if requeue && s.Len() >= s.limits.MaxItems {
		back := *it
		back.comeBack(c.Criterion, c.RetryAt)
		worst := s.worst.first()
		if worst == nil || worst.before(&back) {
			worst = &back
		}
		out = append(out, &messages.SlotRemoved{
			At: events.TimeToMessage(c.At), RequestId: worst.offer.request.String(),
			SlotIndices: []uint64{worst.index},
			Reason: fmt.Sprintf("queue full at %d slots; slot %d of request %s is back, "+
				"and all that stay are better", s.limits.MaxItems, c.SlotIndex, c.RequestID),
			Criterion: QueueFull,
		})
	}
	return out
}

func decideRemove(s State, c Remove) ([]Event, error) {
	if n := len(c.SlotIndices); n > MaxSlotsPerCommand {
		return nil, fmt.Errorf("remove slots of request %s: %w: %d, the limit is %d",
			c.RequestID.Short(), ErrTooManySlots, n, MaxSlotsPerCommand)
	}
	if s.consumed(c.MarketRevision) {
		return nil, nil
	}
	indices := s.leaving(c.RequestID, c.SlotIndices)
	if len(indices) == 0 {
		return nil, nil
	}
	return []Event{&messages.SlotRemoved{
		At: events.TimeToMessage(c.At), RequestId: c.RequestID.String(), SlotIndices: indices,
		Reason: c.Reason, MarketRevision: c.MarketRevision,
	}}, nil
}
