package replay

import (
	"math"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/events/validation"
	"github.com/hostnode/hostnode/messages"
)

// machine folds the events of a stream.
type machine interface {
	// fold folds an event; false for one of another machine.
	fold(m proto.Message) bool
	state() State
}

// machineOf returns the machine of a stream. An unknown one folds nothing.
func machineOf(stream string) machine {
	switch events.Category(stream) {
	case events.CategorySale:
		return coreOf(sale.State{}, sale.Evolve, saleState)
	case events.CategoryCapacity:
		return coreOf(capacity.New(), capacity.Evolve, ledgerState)
	case events.CategorySlotQueue:
		return coreOf(slotqueue.New(slotqueue.Limits{MaxItems: math.MaxInt}), slotqueue.Evolve, queueState)
	case events.CategorySector:
		return coreOf(sector.New(sector.Policy{}), sector.Evolve, sectorState)
	case events.CategoryHost:
		return &hostMachine{}
	case events.CategoryTx:
		return &txMachine{open: map[string]*intent{}}
	case events.CategoryMarket:
		return &marketMachine{}
	case events.CategoryValidator:
		return coreOf(validation.State{}, validation.Evolve, validatorState)
	}
	return noMachine{}
}

type noMachine struct{}

func (noMachine) fold(proto.Message) bool { return false }
func (noMachine) state() State            { return State{} }

// core folds the events of one of the pure cores, and describes its state.
type core[S any, E proto.Message] struct {
	s        S
	evolve   func(S, E) S
	describe func(S) State
}

func coreOf[S any, E proto.Message](empty S, evolve func(S, E) S, describe func(S) State) machine {
	return &core[S, E]{empty, evolve, describe}
}

func (c *core[S, E]) state() State { return c.describe(c.s) }

func (c *core[S, E]) fold(e proto.Message) bool {
	own, ok := e.(E)
	if ok {
		c.s = c.evolve(c.s, own)
	}
	return ok
}

func saleState(s sale.State) State {
	var out State
	f := &out.Facts
	f.add("phase", s.Phase, "attempt", s.Attempt, "over", s.Over())
	if !s.Over() {
		f.add("waitsFor", sale.Waiting(s))
	}
	f.add("reason", s.Reason, "slotId", s.Slot, "requestId", s.Request.ID, "slotIndex", s.Index,
		"repair", s.Repair, "adopted", s.Adopted, "slotSize", s.Request.Ask.SlotSize, "stored", s.Stored,
		"deleted", s.Deleted, "expiresAt", s.ExpiresAt, "endsAt", s.EndsAt)
	if !s.Reservation.Zero() {
		f.add("availabilityId", s.Availability, "reservationId", s.Reservation, "committed", s.Committed)
	}
	f.add("onChain", s.OnChain)
	if s.OnChain {
		f.add("held", s.Collateral)
	}
	f.add("filledAt", s.FilledAt, "requestStarted", s.Started, "proofsDue", s.DutyCount,
		"proofsSubmitted", s.Submitted, "proofsMissed", s.Missed)
	if s.Paid {
		f.add("reward", s.Reward, "returned", s.Returned)
	}
	f.add("lost", s.Lost)
	duties := List{Name: "duties"}
	for _, d := range s.Duties {
		duties.add("period", d.Period, "challenge", d.Challenge, "deadline", d.Deadline)
	}
	effects := List{Name: "effects"}
	for _, e := range sale.Next(s) {
		effects.add("key", e.Key())
	}
	return out.with(duties, effects)
}

// with appends those lists that are not empty.
func (s State) with(lists ...List) State {
	for _, l := range lists {
		if len(l.Rows) > 0 {
			s.Lists = append(s.Lists, l)
		}
	}
	return s
}

func ledgerState(s capacity.State) State {
	b := s.Book()
	var out State
	out.Facts.add("quota", b.Quota, "unallocated", b.Unallocated, "free", b.Free, "reserved", b.Reserved,
		"stored", b.Stored, "overhead", b.Overhead, "sectors", b.Sectors, "pieces", b.Pieces)
	offers := List{Name: "availabilities"}
	for a := range s.Availabilities() {
		offers.add("availabilityId", a.ID, "size", a.Size, "free", a.Free(), "minPricePerBytePerSecond", a.MinPrice,
			"durationSeconds", uint64(a.Duration/time.Second), "totalCollateral", a.Collateral,
			"committed", a.Committed, "lost", a.Lost, "reservations", a.Reservations, "enabled", a.Enabled)
	}
	open := List{Name: "reservations"}
	for r := range s.Reservations() {
		open.add("reservationId", r.ID, "slotId", r.Slot, "attempt", r.Attempt, "bytes", r.Bytes,
			"stored", r.Stored, "overhead", r.Overhead, "collateral", r.Collateral)
	}
	held := List{Name: "sectors"}
	for one := range s.Sectors() {
		row := []any{"sector", one.Number}
		for _, p := range capacity.Parts() {
			row = append(row, p, one.Of(p))
		}
		held.add(append(row, "deposit", one.Deposit, "lost", one.Lost)...)
	}
	files := List{Name: "pieces"}
	for _, one := range s.PieceFiles() {
		files.add("cid", one.CID, "bytes", one.Bytes)
	}
	return out.with(offers, open, held, files)
}

func queueState(s slotqueue.State) State {
	var out State
	taken := s.Taken()
	reason, operator, paused := s.Paused()
	out.Facts.add("waiting", s.Len(), "taken", len(taken), "paused", paused, "pausedFor", reason,
		"byOperator", operator, "marketRevision", s.LastMarketRevision())
	rows := func(name string, items []slotqueue.Item) List {
		l := List{Name: name}
		for _, it := range items {
			l.add("requestId", it.RequestID, "slotIndex", it.SlotIndex, "slotSize", it.Terms.SlotSize,
				"profitability", it.Terms.Profitability, "collateral", it.Terms.Collateral,
				"expiry", it.Terms.Expiry, "seen", it.Seen)
		}
		return l
	}
	given := List{Name: "handedOut"}
	for _, it := range taken {
		if it.Member != "" {
			given.add("requestId", it.RequestID, "slotIndex", it.SlotIndex, "member", it.Member, "promised", it.Promise)
		}
	}
	return out.with(rows("taken", taken), given, rows("waiting", slices.Collect(s.Items())))
}

// txMachine is an account's transactions.
type txMachine struct {
	open                    map[string]*intent
	order                   []string
	mined, failed, given, n uint64
	fees                    events.Amount
	nonce                   uint64
	observed                uint64 // how many transactions were mined when another program had used the account
}

type intent struct {
	since    time.Time
	attempts uint64
	hash     string
}

func (m *txMachine) fold(e proto.Message) bool {
	switch e := e.(type) {
	case *messages.TxIntended:
		m.n++
		m.open[e.GetKey()] = &intent{since: events.TimeFromMessage(e.GetAt())}
		m.order = append(m.order, e.GetKey())
	case *messages.TxSent:
		if in := m.open[e.GetKey()]; in != nil {
			in.attempts++
			in.hash = e.GetTxHash()
		}
		m.nonce = max(m.nonce, e.GetNonce())
	case *messages.TxMined:
		m.close(e.GetKey())
		if m.mined++; !e.GetSucceeded() {
			m.failed++
		}
		m.pay(e.GetReceipt().GetFeeWei())
	case *messages.TxAbandoned:
		m.close(e.GetKey())
		m.given++
	case *messages.TxCountObserved:
		m.observed = e.GetCount()
	default:
		return false
	}
	return true
}

// pay adds a fee, unless the sum would be impossible.
func (m *txMachine) pay(wei string) {
	fee, err := events.ParseAmount(wei)
	if err == nil && fee.Less(events.MaxAmount().Sub(m.fees)) {
		m.fees = m.fees.Add(fee)
	}
}

func (m *txMachine) close(key string) {
	delete(m.open, key)
	m.order = slices.DeleteFunc(m.order, func(k string) bool { return k == key })
}

func (m *txMachine) state() State {
	var out State
	out.Facts.add("intended", m.n, "mined", m.mined, "failed", m.failed, "abandoned", m.given,
		"highestNonce", m.nonce)
	if m.observed > 0 {
		out.Facts.add("observedCount", m.observed)
	}
	out.Facts.add("feesWei", m.fees)
	open := List{Name: "open"}
	for _, key := range m.order {
		in := m.open[key]
		open.add("key", key, "since", in.since, "attempts", in.attempts, "txHash", in.hash)
	}
	return out.with(open)
}
