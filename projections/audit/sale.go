package audit

import (
	"slices"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/messages"
)

// life is what the audit knows of a slot at a host. Between attempts only the
// number of the last one stays.
type life struct {
	slot    events.SlotID
	broken  bool // events are missing: nothing can be said of it
	phase   phase
	attempt uint32
	settled bool
	*account
}

// account is what an attempt has to account for; nil when none runs.
type account struct {
	request   string
	index     uint64
	slotSize  uint64
	adopted   bool
	simulated bool

	hasCapacity bool
	committed   events.Amount
	stored      bool
	proved      bool // an initial proof is at hand
	onChain     bool
	filled      bool          // a fill stands, or stood until the end
	held        events.Amount // by the contract
	paid        bool
	lost        events.Amount
	deleted     bool

	duties     map[uint64]duty
	lastPeriod uint64
	unchecked  map[uint64]bool

	released                 bool // by the ledger
	ledgerReturn, ledgerLoss events.Amount
}

// duty is a proof that is owed.
type duty struct {
	deadline time.Time
	at       place
}

// ended reports whether the sale is in one of its exits or Finished.
func (l *life) ended() bool {
	return slices.Contains([]phase{finished, ignored, cancelled, failed, errored}, l.phase)
}

// judgeSale holds an event to the table, then follows it.
func (a *auditor) judgeSale(h *host, l *life, p place, e sale.Event) {
	name := string(e.ProtoReflect().Descriptor().Name())
	next, allowed := table[l.phase][name]
	reason := "the phase does not allow it"
	if allowed {
		reason = l.forbids(e)
	}
	if reason != "" {
		a.find(SaleTransition, p, "%s in phase %s of attempt %d: %s", name, l.phase, l.attempt, reason)
		*l = life{slot: l.slot, broken: true}
		a.streams[p.stream].giveUp()
		return
	}
	if next != stays {
		l.phase = next
	}
	if m, ok := e.(interface{ GetReceipt() *messages.Receipt }); ok && m.GetReceipt() != nil {
		_, proof := e.(*messages.ProofSubmitted)
		a.expectTx(h, m.GetReceipt().GetTxHash(), p, proof)
	}
	a.follow(h, l, p, e)
}

// forbids says what an event needs beside its phase and does not have; empty
// when it has all.
func (l *life) forbids(e sale.Event) string {
	_, start := e.(*messages.SaleStarted)
	switch {
	case start && l.phase != unknown && !l.settled:
		return "the attempt before it is not settled"
	case !start && l.settled:
		return "the sale is settled"
	}
	late := l.ended()
	switch e.(type) {
	case *messages.SlotForfeited:
		return unless(l.onChain || l.adopted, "the slot was never ours")
	case *messages.SaleErrored:
		return unless(!l.adopted, "an adopted slot is ended by the chain alone")
	case *messages.SlotFilled:
		gone := l.onChain || l.filled || l.paid || !l.lost.IsZero()
		return unless(!late || !gone, "the slot was filled and is over")
	case *messages.DataLifetimeExtended:
		return unless(l.stored && !l.deleted, "the data is not here")
	case *messages.PayoutReceived, *messages.SlotDropped:
		return unless(l.onChain, "the contract holds nothing of ours")
	case *messages.DataDeleted:
		return unless(!l.onChain && !l.deleted, "the slot is on chain, or the data was deleted before")
	case *messages.SaleSettled:
		return unless(l.deleted && !l.onChain, "the data is not deleted, or the slot is on chain")
	}
	return ""
}

func unless(ok bool, reason string) string {
	if ok {
		return ""
	}
	return reason
}

// follow takes over what an allowed event says.
func (a *auditor) follow(h *host, l *life, p place, e sale.Event) {
	switch e := e.(type) {
	case *messages.SaleStarted:
		a.followStart(l, p, e)
	case *messages.CapacityReserved:
		l.hasCapacity, l.committed = true, amount(e.GetCollateral())
		if l.adopted {
			l.phase = downloading
		}
		a.checkCapacity(h, l, p, e)
	case *messages.SlotStored:
		l.stored = true
	case *messages.InitialProofMade:
		l.proved = true
	case *messages.InitialProofOutdated:
		l.proved = false
	case *messages.SlotFilled:
		l.onChain, l.filled, l.held = true, true, amount(e.GetCollateral())
	case *messages.FillReverted:
		l.onChain, l.filled, l.adopted, l.held = false, false, false, events.Amount{}
		l.lapse()
		if !l.proved {
			l.phase = initialProving
		}
	case *messages.DataLifetimeExtended:
		if l.simulated {
			l.phase = provingSimulated
		}
	case *messages.ProofDue, *messages.ProofSubmitted, *messages.ProofMissed, *messages.ProofExcused,
		*messages.CollateralChecked:
		a.followProof(l, p, e)
	case *messages.RequestEnded, *messages.SaleCancelled, *messages.SaleFailed:
		l.lapse()
	case *messages.PayoutReceived:
		l.onChain, l.paid = false, true
		l.lost = l.committed.SubFloor(amount(e.GetCollateral()))
	case *messages.SlotDropped, *messages.SlotForfeited:
		l.onChain, l.lost = false, l.committed
		l.lapse()
	case *messages.DataDeleted:
		l.deleted = true
	case *messages.SaleSettled:
		a.followSettled(h, l, p, e)
	case *messages.SlotReserved, *messages.RequestStarted, *messages.SaleIgnored, *messages.SaleErrored:
	}
}

func (a *auditor) followStart(l *life, p place, e *messages.SaleStarted) {
	a.report.Sales++
	if e.GetAttempt() != l.attempt+1 {
		a.find(SaleAttempt, p, "attempt %d follows attempt %d", e.GetAttempt(), l.attempt)
	}
	request := events.Must(events.ParseRequestID(e.GetRequest().GetId()))
	if e.GetSlotId() != l.slot.String() || events.SlotIDOf(request, e.GetSlotIndex()) != l.slot {
		a.find(SaleSlot, p, "slot %s, index %d of request %s, in the stream of another slot",
			e.GetSlotId(), e.GetSlotIndex(), e.GetRequest().GetId())
	}
	*l = life{slot: l.slot, phase: preparing, attempt: e.GetAttempt(), account: &account{
		request: e.GetRequest().GetId(), index: e.GetSlotIndex(), slotSize: e.GetRequest().GetSlotSize(),
		adopted: e.GetAdopted(), simulated: e.GetFailEveryNProofs() > 0,
	}}
}

// lapse ends all duties, and the readings that would follow from misses.
func (l *account) lapse() { l.duties, l.unchecked = nil, nil }

func (a *auditor) followProof(l *life, p place, e sale.Event) {
	switch e := e.(type) {
	case *messages.ProofDue:
		_, open := l.duties[e.GetPeriod()]
		if !open && e.GetPeriod() <= l.lastPeriod {
			a.find(ProofDueAgain, p, "a proof of period %d is due after period %d", e.GetPeriod(), l.lastPeriod)
		}
		if l.duties == nil {
			l.duties = map[uint64]duty{}
		}
		l.duties[e.GetPeriod()] = duty{events.TimeFromMessage(e.GetDeadline()), p}
		l.lastPeriod = max(l.lastPeriod, e.GetPeriod())
	case *messages.ProofSubmitted:
		a.closeDuty(l, p, e.GetPeriod(), "submitted")
	case *messages.ProofExcused:
		a.closeDuty(l, p, e.GetPeriod(), "excused")
	case *messages.ProofMissed:
		d, open := l.duties[e.GetPeriod()]
		if at := events.TimeFromMessage(e.GetAt()); open && !at.After(d.deadline) {
			a.find(ProofMissedEarly, p, "period %d was missed at %s, its deadline is %s",
				e.GetPeriod(), clock(at), clock(d.deadline))
		}
		a.closeDuty(l, p, e.GetPeriod(), "missed")
		if l.unchecked == nil {
			l.unchecked = map[uint64]bool{}
		}
		l.unchecked[e.GetPeriod()] = true
	case *messages.CollateralChecked:
		now := amount(e.GetCollateral())
		if slashed := l.held.SubFloor(now).String(); !l.unchecked[e.GetPeriod()] || slashed != e.GetSlashed() {
			a.find(CollateralCheck, p, "after period %d the contract held %s, it says slashed by %s; "+
				"it held %s before, and the period was missed: %t",
				e.GetPeriod(), now, e.GetSlashed(), l.held, l.unchecked[e.GetPeriod()])
		}
		delete(l.unchecked, e.GetPeriod())
		l.held = now
	}
}

func (a *auditor) closeDuty(l *life, p place, period uint64, how string) {
	if _, open := l.duties[period]; !open {
		a.find(ProofNotDue, p, "the proof of period %d was %s, but none was due", period, how)
	}
	delete(l.duties, period)
}

// checkCapacity compares what a sale was told with the ledger.
func (a *auditor) checkCapacity(h *host, l *life, p place, e *messages.CapacityReserved) {
	if h.ledger.broken {
		return
	}
	id := events.Must(events.ParseReservationID(e.GetReservationId()))
	r, open := h.ledger.state.Reservation(id)
	switch {
	case !open:
		a.cross(ReservationMismatch, p, "the ledger has no open reservation %s", id)
	case r.Slot != l.slot || r.Attempt != l.attempt || r.Availability.String() != e.GetAvailabilityId() ||
		uint64(r.Bytes) != e.GetBytes() || r.Collateral.String() != e.GetCollateral():
		a.cross(ReservationMismatch, p, "the sale has %d bytes and %s collateral in attempt %d; "+
			"the ledger's reservation has %d and %s, in attempt %d of slot %s", e.GetBytes(),
			e.GetCollateral(), l.attempt, r.Bytes, r.Collateral, r.Attempt, r.Slot)
	}
}

// followSettled closes the account of an attempt.
func (a *auditor) followSettled(h *host, l *life, p place, e *messages.SaleSettled) {
	a.report.SalesFinished++
	back, lost := amount(e.GetCollateralReturned()), amount(e.GetCollateralLost())
	switch {
	case sum(back, lost) != l.committed:
		a.find(SaleSettlement, p, "%s returned and %s lost are not the %s committed", back, lost, l.committed)
	case lost != l.lost:
		a.find(SaleSettlement, p, "%s of collateral is called lost, but what the contract did says %s", lost, l.lost)
	case !h.ledger.broken && l.released && l.hasCapacity && (l.ledgerReturn != back || l.ledgerLoss != lost):
		a.cross(SaleSettlement, p, "the sale says %s returned and %s lost, the ledger %s and %s",
			back, lost, l.ledgerReturn, l.ledgerLoss)
	}
	id := capacity.ReservationIDOf(l.slot, l.attempt)
	if _, open := h.ledger.state.Reservation(id); open && !h.ledger.broken {
		a.cross(ReservationUnreleased, p, "the sale is settled, but its reservation %s is open", id)
	}
	*l = life{slot: l.slot, phase: l.phase, attempt: l.attempt, settled: true}
}

// endOfSales warns of proofs that are owed and late by the chain's own time.
func (a *auditor) endOfSales(h *host) {
	for _, l := range h.sales {
		if l.account == nil {
			continue
		}
		for period, d := range l.duties {
			if !d.deadline.IsZero() && a.now.After(d.deadline) {
				a.find(ProofOverdue, d.at, "the proof of period %d was due until %s; the chain is at %s",
					period, clock(d.deadline), clock(a.now))
			}
		}
	}
}

func clock(t time.Time) string { return t.UTC().Format(time.RFC3339) }
