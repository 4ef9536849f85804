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
		return &saleMachine{coreOf(sale.State{}, sale.Evolve)}
	case events.CategoryCapacity:
		return &ledgerMachine{coreOf(capacity.New(), capacity.Evolve)}
	case events.CategorySlotQueue:
		return &queueMachine{coreOf(slotqueue.New(slotqueue.Limits{MaxItems: math.MaxInt}), slotqueue.Evolve)}
	case events.CategorySector:
		return &sectorMachine{coreOf(sector.New(sector.Policy{}), sector.Evolve)}
	case events.CategoryHost:
		return &hostMachine{}
	case events.CategoryTx:
		return &txMachine{open: map[string]*intent{}}
	case events.CategoryMarket:
		return &marketMachine{}
	case events.CategoryValidator:
		return &validatorMachine{coreOf(validation.State{}, validation.Evolve)}
	}
	return noMachine{}
}

type noMachine struct{}

func (noMachine) fold(proto.Message) bool { return false }
func (noMachine) state() State            { return State{} }

// core folds the events of one of the pure cores.
type core[S any, E proto.Message] struct {
	s      S
	evolve func(S, E) S
}

func coreOf[S any, E proto.Message](empty S, evolve func(S, E) S) core[S, E] {
	return core[S, E]{empty, evolve}
}

func (c *core[S, E]) fold(e proto.Message) bool {
	own, ok := e.(E)
	if ok {
		c.s = c.evolve(c.s, own)
	}
	return ok
}

type saleMachine struct{ core[sale.State, sale.Event] }

func (m *saleMachine) state() State {
	s := m.s
	var f Facts
	f.add("phase", s.Phase)
	f.add("attempt", s.Attempt)
	f.add("over", s.Over())
	if !s.Over() {
		f.add("waitsFor", sale.Waiting(s))
	}
	f.add("reason", s.Reason)
	f.add("slotId", s.Slot)
	f.add("requestId", s.Request.ID)
	f.add("slotIndex", s.Index)
	f.add("repair", s.Repair)
	f.add("adopted", s.Adopted)
	f.add("slotSize", uint64(s.Request.Ask.SlotSize))
	f.add("stored", uint64(s.Stored))
	f.add("deleted", s.Deleted)
	f.add("expiresAt", s.ExpiresAt)
	f.add("endsAt", s.EndsAt)
	if !s.Reservation.Zero() {
		f.add("availabilityId", s.Availability)
		f.add("reservationId", s.Reservation)
		f.add("committed", s.Committed)
	}
	f.add("onChain", s.OnChain)
	if s.OnChain {
		f.add("held", s.Collateral)
	}
	f.add("filledAt", s.FilledAt)
	f.add("requestStarted", s.Started)
	f.add("proofsDue", s.DutyCount)
	f.add("proofsSubmitted", s.Submitted)
	f.add("proofsMissed", s.Missed)
	if s.Paid {
		f.add("reward", s.Reward)
		f.add("returned", s.Returned)
	}
	f.add("lost", s.Lost)
	out := State{Facts: f}
	duties := List{Name: "duties"}
	for _, d := range s.Duties {
		var row Facts
		row.add("period", d.Period)
		row.add("challenge", d.Challenge)
		row.add("deadline", d.Deadline)
		duties.add(row)
	}
	effects := List{Name: "effects"}
	for _, e := range sale.Next(s) {
		effects.add(Facts{{"key", e.Key()}})
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

type ledgerMachine struct {
	core[capacity.State, capacity.Event]
}

func (m *ledgerMachine) state() State {
	b := m.s.Book()
	var out State
	out.Facts.add("quota", uint64(b.Quota))
	out.Facts.add("unallocated", uint64(b.Unallocated))
	out.Facts.add("free", uint64(b.Free))
	out.Facts.add("reserved", uint64(b.Reserved))
	out.Facts.add("stored", uint64(b.Stored))
	out.Facts.add("overhead", uint64(b.Overhead))
	out.Facts.add("sectors", uint64(b.Sectors))
	out.Facts.add("pieces", uint64(b.Pieces))
	offers := List{Name: "availabilities"}
	for a := range m.s.Availabilities() {
		var row Facts
		row.add("availabilityId", a.ID)
		row.add("size", uint64(a.Size))
		row.add("free", uint64(a.Free()))
		row.add("minPricePerBytePerSecond", a.MinPrice)
		row.add("durationSeconds", uint64(a.Duration/time.Second))
		row.add("totalCollateral", a.Collateral)
		row.add("committed", a.Committed)
		row.add("lost", a.Lost)
		row.add("reservations", a.Reservations)
		row.add("enabled", a.Enabled)
		offers.add(row)
	}
	open := List{Name: "reservations"}
	for r := range m.s.Reservations() {
		var row Facts
		row.add("reservationId", r.ID)
		row.add("slotId", r.Slot)
		row.add("attempt", r.Attempt)
		row.add("bytes", uint64(r.Bytes))
		row.add("stored", uint64(r.Stored))
		row.add("overhead", uint64(r.Overhead))
		row.add("collateral", r.Collateral)
		open.add(row)
	}
	held := List{Name: "sectors"}
	for one := range m.s.Sectors() {
		var row Facts
		row.add("sector", one.Number)
		for _, p := range capacity.Parts() {
			row.add(string(p), uint64(one.Of(p)))
		}
		row.add("deposit", one.Deposit)
		row.add("lost", one.Lost)
		held.add(row)
	}
	files := List{Name: "pieces"}
	for _, one := range m.s.PieceFiles() {
		var row Facts
		row.add("cid", one.CID)
		row.add("bytes", uint64(one.Bytes))
		files.add(row)
	}
	return out.with(offers, open, held, files)
}

type queueMachine struct {
	core[slotqueue.State, slotqueue.Event]
}

func (m *queueMachine) state() State {
	var out State
	taken := m.s.Taken()
	out.Facts.add("waiting", m.s.Len())
	out.Facts.add("taken", len(taken))
	reason, operator, paused := m.s.Paused()
	out.Facts.add("paused", paused)
	out.Facts.add("pausedFor", reason)
	out.Facts.add("byOperator", operator)
	out.Facts.add("marketRevision", m.s.LastMarketRevision())
	rows := func(name string, items []slotqueue.Item) List {
		l := List{Name: name}
		for _, it := range items {
			var row Facts
			row.add("requestId", it.RequestID)
			row.add("slotIndex", it.SlotIndex)
			row.add("slotSize", uint64(it.Terms.SlotSize))
			row.add("profitability", it.Terms.Profitability)
			row.add("collateral", it.Terms.Collateral)
			row.add("expiry", it.Terms.Expiry)
			row.add("seen", it.Seen)
			l.add(row)
		}
		return l
	}
	return out.with(rows("taken", taken), rows("waiting", slices.Collect(m.s.Items())))
}

// hostMachine is the newest start of a host.
type hostMachine struct {
	start   *messages.HostStarted
	stopped *messages.HostStopped
	heard   time.Time
	// quarantined is the work that is left alone.
	quarantined []*messages.WorkQuarantined
}

func (m *hostMachine) without(kind, key string) []*messages.WorkQuarantined {
	return slices.DeleteFunc(m.quarantined, func(q *messages.WorkQuarantined) bool {
		return q.GetKind() == kind && q.GetKey() == key
	})
}

func (m *hostMachine) fold(e proto.Message) bool {
	switch e := e.(type) {
	case *messages.HostStarted:
		m.start, m.stopped, m.heard = e, nil, events.TimeFromMessage(e.GetAt())
	case *messages.HostStopped:
		m.stopped, m.heard = e, events.TimeFromMessage(e.GetAt())
	case *messages.HostHeartbeat:
		m.heard = events.TimeFromMessage(e.GetAt())
	case *messages.WorkQuarantined:
		m.heard = events.TimeFromMessage(e.GetAt())
		m.quarantined = append(m.without(e.GetKind(), e.GetKey()), e)
	case *messages.QuarantineEnded:
		m.heard = events.TimeFromMessage(e.GetAt())
		m.quarantined = m.without(e.GetKind(), e.GetKey())
	case *messages.RecordWentBack:
		m.heard = events.TimeFromMessage(e.GetAt())
	default:
		return false
	}
	return true
}

func (m *hostMachine) state() State {
	var out State
	if m.start == nil {
		return out
	}
	out.Facts.add("epoch", m.start.GetEpoch())
	out.Facts.add("startedAt", events.TimeFromMessage(m.start.GetAt()))
	if m.stopped != nil {
		out.Facts.add("stoppedAt", events.TimeFromMessage(m.stopped.GetAt()))
	}
	out.Facts.add("heardAt", m.heard)
	out.Facts.add("stopped", m.stopped != nil)
	out.Facts.add("chainId", m.start.GetChainId())
	out.Facts.add("genesis", m.start.GetGenesis())
	out.Facts.add("contract", m.start.GetContract())
	out.Facts.add("version", m.start.GetVersion())
	out.Facts.add("node", m.start.GetNode())
	quarantined := List{Name: "quarantined"}
	for _, q := range m.quarantined {
		var row Facts
		row.add("work", q.GetKind()+":"+q.GetKey())
		row.add("reason", q.GetReason())
		quarantined.add(row)
	}
	return out.with(quarantined)
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
	out.Facts.add("intended", m.n)
	out.Facts.add("mined", m.mined)
	out.Facts.add("failed", m.failed)
	out.Facts.add("abandoned", m.given)
	out.Facts.add("highestNonce", m.nonce)
	if m.observed > 0 {
		out.Facts.add("observedCount", m.observed)
	}
	out.Facts.add("feesWei", m.fees)
	open := List{Name: "open"}
	for _, key := range m.order {
		in := m.open[key]
		var row Facts
		row.add("key", key)
		row.add("since", in.since)
		row.add("attempts", in.attempts)
		row.add("txHash", in.hash)
		open.add(row)
	}
	return out.with(open)
}
