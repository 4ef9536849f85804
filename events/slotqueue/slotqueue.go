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
//     slots that failed that criterion are unseen again, except those whose time has not come. A
//     resume by the operator makes all slots unseen. A slot that a worker had when a criterion
//     changed may have been judged before the change, so it comes back unseen if it failed that
//     criterion; but only once in a row, or its own release could wake it for ever.
//  7. Only the operator ends a pause by the operator.
//  8. A slot that leaves the market while it is taken does not come back on release. If it is
//     offered anew meanwhile, it is queued on release, unseen.
//  9. Refused requests are remembered with the criterion, up to a bound, so that they can be
//     considered again after an availability became better.
//  10. A client whose data could not be fetched, or was wrong, is avoided until a point in chain
//     time; whoever judges slots asks here and refuses the client's. The list is bounded; the
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

// Command asks the queue for something.
//
//sumtype:decl
type Command interface{ command() }

// The commands. At is recorded; only Wake and Avoid depend on it. MarketRevision is
// that of the market event that led to the command, 0 if none did; of several
// commands that follow from one event only the last carries it.
type (
	// Queue offers slots of a request, in the order drawn for this host. With a
	// Refusal they are recorded as refused instead. Without a revision, a
	// repeated command offers again what a full queue let go the first time.
	Queue struct {
		At             time.Time
		RequestID      events.RequestID
		SlotIndices    []uint64
		Terms          Terms
		MarketRevision uint64
		Refusal        *Refusal
	}
	// Take gives the best slot to a worker, unless the queue is paused or
	// MaxWorkers slots are taken. Each Take takes another slot; only the
	// workers bound it.
	Take struct {
		At         time.Time
		MaxWorkers int
	}
	// Release ends a worker's hold on a slot. With Requeue the slot comes back,
	// as seen (but see rule 6). A slot that is not taken was released already.
	// Criterion is the one that the slot failed, empty if not known; RetryAt,
	// unless zero, is the chain time before which it is not worth considering
	// again.
	Release struct {
		At        time.Time
		RequestID events.RequestID
		SlotIndex uint64
		Outcome   string
		Requeue   bool
		Criterion string
		RetryAt   time.Time
	}
	// HandOut gives a taken slot to a member of the host, which is promised the collateral (rule 12).
	// ErrPromised: what is promised already, the collateral and Unpaid are more than Balance. A
	// slot stays with the member that it was handed to until its release: ErrNotYours, and also
	// if it is not taken.
	HandOut struct {
		At         time.Time
		RequestID  events.RequestID
		SlotIndex  uint64
		Member     events.Member
		Collateral events.Amount
		// Unpaid are the sales that have yet to pay; those whose collateral is promised here count
		// once. Balance is what the account holds.
		Unpaid  []Unpaid
		Balance events.Amount
	}
	// Unpaid is a sale whose collateral is not paid yet.
	Unpaid struct {
		RequestID  events.RequestID
		SlotIndex  uint64
		Collateral events.Amount
	}
	// Remove says that slots are no longer on offer; no indices mean all slots
	// of the request, whose refusal is then forgotten too.
	Remove struct {
		At             time.Time
		RequestID      events.RequestID
		SlotIndices    []uint64
		Reason         string
		MarketRevision uint64
	}
	// Wake says that slots that failed one of these criteria may fit now; none:
	// that any may. At is chain time: it decides for slots whose time had not
	// come.
	Wake struct {
		At       time.Time
		Reason   string
		Criteria []string
	}
	// Avoid says that a client's requests are refused until a point in chain
	// time. A point before the known one changes nothing.
	Avoid struct {
		At     time.Time
		Client events.Address
		Until  time.Time
		Reason string
	}
	// Pause is given by the operator: nothing is taken until Resume.
	Pause struct {
		At     time.Time
		Reason string
	}
	// Resume is given by the operator: it ends every pause and makes all slots unseen.
	Resume struct {
		At     time.Time
		Reason string
	}
)

func (Queue) command()   {}
func (Take) command()    {}
func (Release) command() {}
func (HandOut) command() {}
func (Remove) command()  {}
func (Wake) command()    {}
func (Avoid) command()   {}
func (Pause) command()   {}
func (Resume) command()  {}

// Refusal is the criterion that a request failed, and a sentence with the numbers.
type Refusal struct{ Criterion, Reason string }

// Effect is a call on the outside world.
//
//sumtype:decl
type Effect interface {
	effect()
	// Key is the same for the same call; a call is open once.
	Key() string
}

// Work gives a taken slot to a worker, who answers with Release.
type Work struct {
	RequestID events.RequestID
	SlotIndex uint64
	Repair    bool
	Member    events.Member // who sells it; empty: it is not handed out
}

func (Work) effect() {}

// Key is work:<request>:<index>.
func (w Work) Key() string {
	return "work:" + w.RequestID.String() + ":" + strconv.FormatUint(w.SlotIndex, 10)
}

// Next returns one Work for each taken slot, in the order of taking.
func Next(s State) []Effect {
	out := make([]Effect, 0, len(s.taken))
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
		if !s.wakes(c.Criteria, c.At) {
			return nil, nil
		}
		return []Event{&messages.QueueResumed{
			At: events.TimeToMessage(c.At), Reason: c.Reason, Criteria: c.Criteria,
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
		if !s.stopped && !s.wakes(nil, c.At) {
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
			At:     events.TimeToMessage(c.At),
			Reason: fmt.Sprintf("all %d queued slots were looked at and none fits", s.Len()),
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
