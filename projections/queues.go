package projections

import (
	"maps"
	"slices"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/projections/internal/saved"
)

// QueuesView shows the slot queue of each host.
type QueuesView struct {
	AsOf   events.Position `json:"asOf"`
	Queues []Queue         `json:"queues"`
}

// Queue is how a host stands with the slots on offer.
type Queue struct {
	Host string `json:"host"`
	// Length is how many slots wait, without the taken ones.
	Length int         `json:"length"`
	Taken  []TakenSlot `json:"taken"` // in the order of taking
	// Paused says that nothing is taken, PausedFor why, ByOperator that only
	// the operator can end the pause.
	Paused     bool   `json:"paused"`
	PausedFor  string `json:"pausedFor,omitempty"`
	ByOperator bool   `json:"byOperator,omitempty"`
	// Waiting counts the queued slots that were considered, by the criterion that
	// they failed, in order of the criteria.
	Waiting []WaitingSlots `json:"waiting,omitempty"`
	// Avoided are the clients whose requests are refused, in order of their
	// addresses. One whose time is over may be among them until the queue is next
	// woken.
	Avoided []AvoidedClient `json:"avoided,omitempty"`
	// Refusals counts all refusals there ever were, by criterion.
	Refusals []Refusals `json:"refusals"`
	// LetGo counts the slots that had been queued and were not sold, by criterion.
	LetGo []Refusals `json:"letGo,omitempty"`
	// RefusedInARow are the newest requests that nothing on offer fitted, one after the other, the oldest first, at
	// most MaxInARow. A request that enters the queue ends the row; one that might fit since what is on offer changed
	// is not among them.
	RefusedInARow  []RefusedRequest `json:"refusedInARow,omitempty"`
	MarketRevision uint64           `json:"marketRevision"`
}

// MaxInARow is how many requests are remembered that were refused in a row: enough to tell that it is no accident.
const MaxInARow = 20

// RefusedRequest is one of which no slot entered the queue, for a criterion of the ledger.
type RefusedRequest struct {
	Request   string    `json:"requestId"`
	At        time.Time `json:"at"` // chain time
	Criterion string    `json:"criterion"`
	Reason    string    `json:"reason"`
}

// WaitingSlots counts the queued slots that failed one criterion; empty: it is not
// known which.
type WaitingSlots struct {
	Criterion string `json:"criterion"`
	Slots     int    `json:"slots"`
}

// AvoidedClient is one whose data could not be fetched, or was wrong.
type AvoidedClient struct {
	Client string    `json:"client"`
	Since  time.Time `json:"since"`
	Until  time.Time `json:"until"` // chain time
	Reason string    `json:"reason"`
}

// TakenSlot is one that a worker looks at.
type TakenSlot struct {
	Request   string    `json:"requestId"`
	SlotIndex uint64    `json:"slotIndex"`
	QueuedAt  time.Time `json:"queuedAt"`
	Repair    bool      `json:"repair,omitempty"`
	// Member sells it; empty: it is not handed out, or the host is one process.
	Member events.Member `json:"member,omitempty"`
}

// QueuedSlot is one that waits.
type QueuedSlot struct {
	Position  int       `json:"position"` // in the queue, from 1
	Slot      string    `json:"slotId"`
	Request   string    `json:"requestId"`
	SlotIndex uint64    `json:"slotIndex"`
	QueuedAt  time.Time `json:"queuedAt"` // chain time
	Repair    bool      `json:"repair,omitempty"`
	// By these it is placed: slots that were not looked at first, then by what they pay, by their collateral, and by
	// when they expire. Amounts are token base units.
	Seen          bool         `json:"seen"`
	Profitability string       `json:"profitability"`
	Collateral    string       `json:"collateral"`
	ExpiresAt     time.Time    `json:"expiresAt,omitzero"`
	DatasetSize   events.Bytes `json:"datasetSize"`
	// Criterion is what it failed when it was looked at, and WaitsFor says that; RetryAt is when it is looked at again
	// in any case, in chain time.
	Criterion string    `json:"criterion,omitempty"`
	WaitsFor  string    `json:"waitsFor"`
	RetryAt   time.Time `json:"retryAt,omitzero"`
}

// QueueLength is how many slots wait in the queue of one host.
func (v *Views) QueueLength(of events.Address) int {
	if h := v.hosts[of.String()]; h != nil && h.queue.Known {
		return h.queue.State.Len()
	}
	return 0
}

// QueuedOf are the slots that wait in the queue of one host, from a position on, at most so many.
func (v *Views) QueuedOf(of events.Address, from, most int) []QueuedSlot {
	out := []QueuedSlot{}
	h := v.hosts[of.String()]
	if h == nil || !h.queue.Known {
		return out
	}
	best := h.queue.State.Best(from - 1 + most)
	for i, it := range best[min(from-1, len(best)):] {
		row := QueuedSlot{
			Position: from + i, Slot: events.SlotIDOf(it.RequestID, it.SlotIndex).String(),
			Request: it.RequestID.String(), SlotIndex: it.SlotIndex, QueuedAt: it.QueuedAt, Repair: it.Repair,
			Seen:          it.Seen,
			Profitability: it.Profitability.String(), Collateral: it.Collateral.String(), ExpiresAt: it.Expiry,
			DatasetSize: it.DatasetSize, Criterion: it.Criterion, RetryAt: it.RetryAt, WaitsFor: "a worker",
		}
		if it.Seen {
			row.WaitsFor = slotqueue.Why(it.Criterion)
		}
		out = append(out, row)
	}
	return out
}

// Refusals counts what failed one criterion: requests that were refused with their slots, or slots after they had
// been queued.
type Refusals struct {
	Criterion  string    `json:"criterion"`
	Requests   uint64    `json:"requests,omitempty"`
	Slots      uint64    `json:"slots"`
	LastAt     time.Time `json:"lastAt"`
	LastSlot   string    `json:"lastSlotId"` // one of the newest
	LastReason string    `json:"lastReason"`
}

// otherCriteria is where refusals are counted once there are too many criteria.
const otherCriteria = "other"

type queue struct {
	State    saved.Queue
	Known    bool
	Refusals map[string]Refusals
	LetGo    map[string]Refusals
	InARow   []RefusedRequest
}

func (q *queue) fold(e slotqueue.Event, l Limits) {
	q.Known = true
	q.State.State = slotqueue.Evolve(q.State.State, e)
	switch m := e.(type) {
	case *messages.SlotsQueued:
		q.InARow = nil
	case *messages.SlotsRefused:
		q.refuse(m, l)
	case *messages.SlotReleased:
		if !m.GetRequeue() {
			slot := slotOf(m, []uint64{m.GetSlotIndex()})
			count(q.LetGo, Refusals{m.GetCriterion(), 0, 1, at(m), slot, m.GetOutcome()}, l)
		}
	case *messages.SlotRemoved:
		slots := m.GetSlotIndices()
		count(q.LetGo, Refusals{m.GetCriterion(), 0, uint64(len(slots)), at(m), slotOf(m, slots), m.GetReason()}, l)
	}
}

func (q *queue) refuse(m *messages.SlotsRefused, l Limits) {
	if criterion := m.GetCriterion(); slices.Contains(capacity.Criteria(), capacity.Criterion(criterion)) {
		q.InARow = slices.DeleteFunc(q.InARow, func(r RefusedRequest) bool { return r.Request == m.GetRequestId() })
		q.InARow, _ = recent(q.InARow, RefusedRequest{m.GetRequestId(), at(m), criterion, m.GetReason()}, MaxInARow)
	}
	count(q.Refusals, Refusals{
		m.GetCriterion(), 1, uint64(len(m.GetSlotIndices())), at(m), slotOf(m, m.GetSlotIndices()), m.GetReason(),
	}, l)
}

// slotOf is the id of the last of some slots of a request; empty: there is none.
func slotOf(m interface{ GetRequestId() string }, indices []uint64) string {
	if len(indices) == 0 {
		return ""
	}
	request := events.Must(events.ParseRequestID(m.GetRequestId()))
	return events.SlotIDOf(request, indices[len(indices)-1]).String()
}

// count adds to what failed a criterion. Queued slots without one were sold, or are no longer on offer.
func count(all map[string]Refusals, r Refusals, l Limits) {
	if r.Criterion == "" && r.Requests == 0 {
		return
	}
	if _, known := all[r.Criterion]; !known && len(all) >= l.Criteria {
		r.Criterion = otherCriteria
	}
	before := all[r.Criterion]
	r.Requests += before.Requests
	r.Slots += before.Slots
	all[r.Criterion] = r
}

// inOrder are the counts in order of the criteria.
func inOrder(all map[string]Refusals) (out []Refusals) {
	for _, criterion := range slices.Sorted(maps.Keys(all)) {
		out = append(out, all[criterion])
	}
	return out
}

// Queues is the view of the slot queues.
func (v *Views) Queues() QueuesView { return QueuesView{v.asOf, rows(v, (*host).queued)} }

func (h *host) queued(out []Queue) []Queue {
	if !h.queue.Known {
		return out
	}
	s := h.queue.State
	row := Queue{
		Host: h.address, Length: s.Len(), Taken: []TakenSlot{},
		Refusals: append([]Refusals{}, inOrder(h.queue.Refusals)...), LetGo: inOrder(h.queue.LetGo),
		RefusedInARow: slices.Clone(h.queue.InARow), MarketRevision: s.LastMarketRevision(),
	}
	row.PausedFor, row.ByOperator, row.Paused = s.Paused()
	seen := s.Seen()
	for _, criterion := range slices.Sorted(maps.Keys(seen)) {
		row.Waiting = append(row.Waiting, WaitingSlots{criterion, seen[criterion]})
	}
	for _, c := range s.AvoidedClients() {
		row.Avoided = append(row.Avoided, AvoidedClient{c.Client.String(), c.At, c.Until, c.Reason})
	}
	for _, it := range s.Taken() {
		row.Taken = append(row.Taken, TakenSlot{
			it.RequestID.String(), it.SlotIndex, it.QueuedAt, it.Repair, it.Member,
		})
	}
	return append(out, row)
}
