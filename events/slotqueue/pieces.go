package slotqueue

import (
	"cmp"
	"container/heap"
	"fmt"
	"maps"
	"slices"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// StateSchema names the form of Pieces. A change of the form, or of the meaning
// of a field, needs a new name; older snapshots are then not used. A test holds
// the form to it (testdata/shape.golden).
const StateSchema = "slotqueue/3"

// Size is how many entries the state has: slots, refused requests, avoided clients.
func (s State) Size() int { return len(s.items) + s.refusals.len() + len(s.avoided) }

// Pieces is the whole state as bytes, for a snapshot. It costs sorting all
// slots: about a second for a million.
func (s State) Pieces() [][]byte {
	var out events.Pieces
	out.Add(&messages.QueueState{Flags: &messages.QueueFlags{
		NextOrder: s.order, Exhausted: s.exhausted, ExhaustedFor: s.exhaustedFor,
		Stopped: s.stopped, StoppedFor: s.stoppedFor, MarketRevision: s.lastMarketRevision,
		Faults: uint64(s.faults), FirstFault: s.firstFault,
	}})
	// Slots that wait with the same newer offer share it after a restart, too,
	// because overflow depends on that.
	waiting := map[*offer]uint64{}
	taken := make(map[*item]uint64, len(s.taken))
	for i, it := range s.taken {
		taken[it] = uint64(i) + 1
		if it.again != nil && waiting[it.again] == 0 {
			waiting[it.again] = uint64(len(waiting)) + 1
			out.Add(&messages.QueueState{Waiting: []*messages.QueueOffer{it.again.message()}})
		}
	}
	items := slices.SortedFunc(maps.Values(s.items), func(a, b *item) int { return cmp.Compare(a.order, b.order) })
	for len(items) > 0 {
		o := items[0].offer.message()
		n := 0
		for ; n < len(items) && items[n].offer == items[0].offer; n++ {
			it := items[n]
			o.Slots = append(o.Slots, &messages.QueueSlot{
				Index: it.index, Order: it.order, Place: it.place, Seen: it.seen, Taken: taken[it],
				Gone: it.gone, Woken: it.woken, Retried: it.retried, Again: waiting[it.again],
				Criterion: it.criterion, RetryAt: events.TimeToMessage(it.retryAt), WokenFor: it.wokenFor,
				Member: string(it.member), Promise: it.promised(),
			})
		}
		out.Add(&messages.QueueState{Offers: []*messages.QueueOffer{o}})
		items = items[n:]
	}
	for _, r := range s.Refused("") {
		out.Add(&messages.QueueState{Refusals: []*messages.QueueRefusal{{
			RequestId: r.RequestID[:], SlotIndices: r.SlotIndices, Criterion: r.Criterion, Reason: r.Reason,
			At: events.TimeToMessage(r.At),
		}}})
	}
	for _, c := range s.AvoidedClients() {
		out.Add(&messages.QueueState{Avoided: []*messages.QueueClient{{
			Client: c.Client[:], At: events.TimeToMessage(c.At), Until: events.TimeToMessage(c.Until),
			Reason: c.Reason,
		}}})
	}
	return out.All()
}

func (it *item) promised() string {
	if it.member == "" {
		return ""
	}
	return it.promise.String()
}

func (o *offer) message() *messages.QueueOffer {
	return &messages.QueueOffer{
		RequestId: o.request[:], At: events.TimeToMessage(o.at),
		SlotSize: uint64(o.SlotSize), DatasetSize: uint64(o.DatasetSize),
		Profitability: o.Profitability.String(), Collateral: o.Collateral.String(),
		Expiry: events.TimeToMessage(o.Expiry), Repair: o.Repair,
	}
}

// RestorePieces returns the state that Pieces wrote. Pieces that contradict
// each other are an error.
//
// The limits are those of this start. If they are lower than before, the queue
// holds too many slots until its next decision, as it would after a replay.
func RestorePieces(l Limits, pieces [][]byte) (State, error) {
	b := builder{State: New(l)}
	if err := events.JoinPieces(pieces, b.read); err != nil {
		return State{}, fmt.Errorf("restore the queue: %w", err)
	}
	if slices.Contains(b.taken, nil) || !b.flagged {
		return State{}, fmt.Errorf("restore the queue: %w: parts of it are missing", events.ErrMalformed)
	}
	heap.Init(&b.best)
	heap.Init(&b.worst)
	return b.State, nil
}

// builder is a queue that is being restored from pieces. Its rankings are not heaps yet.
type builder struct {
	State
	waiting []*offer
	flagged bool
	least   uint64 // the next slot's number is at least this
}

func (b *builder) read(m *messages.QueueState) error {
	if f := m.GetFlags(); f != nil {
		b.flagged = true
		b.order, b.lastMarketRevision = f.GetNextOrder(), f.GetMarketRevision()
		b.exhausted, b.exhaustedFor = f.GetExhausted(), f.GetExhaustedFor()
		b.stopped, b.stoppedFor = f.GetStopped(), f.GetStoppedFor()
		b.faults, b.firstFault = int(f.GetFaults()), f.GetFirstFault()
	}
	for _, w := range m.GetWaiting() {
		o, err := offerOfPiece(w)
		if err != nil {
			return err
		}
		b.waiting = append(b.waiting, o)
	}
	for _, piece := range m.GetOffers() {
		o, err := offerOfPiece(piece)
		if err != nil {
			return err
		}
		for _, slot := range piece.GetSlots() {
			if err := b.put(o, slot); err != nil {
				return fmt.Errorf("slot %d of request %s: %w", slot.GetIndex(), o.request.Short(), err)
			}
		}
	}
	for _, r := range m.GetRefusals() {
		refused := RefusedRequest{
			SlotIndices: r.GetSlotIndices(), Refusal: Refusal{r.GetCriterion(), r.GetReason()},
			At: events.TimeFromMessage(r.GetAt()),
		}
		if err := events.SetID(&refused.RequestID, r.GetRequestId()); err != nil {
			return err
		}
		b.refusals.add(refused, b.limits.MaxRefused)
	}
	for _, c := range m.GetAvoided() {
		avoided := AvoidedClient{
			At: events.TimeFromMessage(c.GetAt()), Until: events.TimeFromMessage(c.GetUntil()), Reason: c.GetReason(),
		}
		if err := events.SetID(&avoided.Client, c.GetClient()); err != nil {
			return err
		}
		b.avoided[avoided.Client] = avoided
	}
	return nil
}

func (b *builder) put(o *offer, slot *messages.QueueSlot) error {
	it := &item{
		offer: o, index: slot.GetIndex(), order: slot.GetOrder(), place: slot.GetPlace(),
		seen: slot.GetSeen(), gone: slot.GetGone(), woken: slot.GetWoken(), retried: slot.GetRetried(),
		criterion: slot.GetCriterion(), retryAt: events.TimeFromMessage(slot.GetRetryAt()),
		wokenFor: slot.GetWokenFor(), member: events.Member(slot.GetMember()),
	}
	if it.member != "" {
		if err := it.promise.UnmarshalText([]byte(slot.GetPromise())); err != nil {
			return err
		}
	}
	if b.items[key{o.request, it.index}] != nil {
		return fmt.Errorf("%w: it is there twice", events.ErrMalformed)
	}
	if it.order < b.least || it.order >= b.order {
		return fmt.Errorf("%w: it has number %d, want %d to below %d", events.ErrMalformed, it.order, b.least, b.order)
	}
	b.least = it.order + 1
	if n := slot.GetAgain(); n > uint64(len(b.waiting)) {
		return fmt.Errorf("%w: waiting offer %d of %d", events.ErrMalformed, n, len(b.waiting))
	} else if n > 0 {
		it.again = b.waiting[n-1]
	}
	if place := slot.GetTaken(); place > 0 {
		if it.seen || place > maxTaken {
			return fmt.Errorf("%w: it is taken as number %d, seen: %t", events.ErrMalformed, place, it.seen)
		}
		for uint64(len(b.taken)) < place {
			b.taken = append(b.taken, nil)
		}
		if b.taken[place-1] != nil {
			return fmt.Errorf("%w: two slots were taken as number %d", events.ErrMalformed, place)
		}
		b.taken[place-1], it.taken = it, true
		b.insert(it)
		return nil
	}
	it.taken = true // Then insert leaves the rankings alone; they are built at the end.
	b.insert(it)
	it.taken = false
	for _, r := range []*ranking{&b.best, &b.worst} {
		r.Push(it)
	}
	if it.seen {
		b.seen.add(it)
	}
	return nil
}

// maxTaken is far more than the workers of any host. A larger number in a piece
// is damage, and must not cost memory.
const maxTaken = 1 << 20

func offerOfPiece(m *messages.QueueOffer) (*offer, error) {
	o := &offer{at: events.TimeFromMessage(m.GetAt()), Terms: Terms{
		SlotSize: events.Bytes(m.GetSlotSize()), DatasetSize: events.Bytes(m.GetDatasetSize()),
		Expiry: events.TimeFromMessage(m.GetExpiry()), Repair: m.GetRepair(),
	}}
	return o, cmp.Or(
		events.SetID(&o.request, m.GetRequestId()),
		o.Profitability.UnmarshalText([]byte(m.GetProfitability())),
		o.Collateral.UnmarshalText([]byte(m.GetCollateral())),
	)
}
