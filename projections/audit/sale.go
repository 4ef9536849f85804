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
	// kept: the attempt that was settled left its data to the next one.
	kept bool
	// began is where the newest attempt began, settledAt where it was settled.
	began, settledAt events.Position
	*account
}

// account is what an attempt has to account for; nil when none runs.
type account struct {
	request   string
	index     uint64
	slotSize  uint64
	demanded  events.Amount // collateral, by the request
	adopted   bool
	repair    bool
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
	damaged     bool // its data was, once
	forfeited   bool // the contract took the slot
	pledge      pledge

	duties     map[uint64]duty
	lastPeriod uint64
	// opened are the periods that opened a duty, of the last sale.RememberedPeriods
	// back from the last one; excused is the one that may be due again.
	opened    map[uint64]bool
	excused   uint64
	unchecked map[uint64]bool
	lapsed    []uint64 // open when the hosting ended: owed again when that is taken back
	// doubt says that collateral may be gone of which no reading tells.
	doubt bool

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
func (a *auditor) judgeSale(s *stream, p place, e sale.Event) {
	h, l := s.host, s.life
	name := string(e.ProtoReflect().Descriptor().Name())
	next, allowed := table[l.phase][name]
	reason := "the phase does not allow it"
	if allowed {
		reason = l.forbids(e)
	}
	if reason != "" {
		a.find(SaleTransition, p, "%s in phase %s of attempt %d: %s", name, l.phase, l.attempt, reason)
		s.giveUp()
		return
	}
	if next != stays {
		l.phase = next
	}
	if m, ok := e.(interface{ GetReceipt() *messages.Receipt }); ok && m.GetReceipt() != nil {
		_, proof := e.(*messages.ProofSubmitted)
		w := awaited{at: p, proof: proof}
		if l.account != nil {
			w.request = l.request
		}
		a.expectTx(h, m.GetReceipt().GetTxHash(), w)
	}
	a.follow(h, l, p, e)
	if l.account != nil {
		l.noteMoney(p, e)
	}
}

// forbids says what an event needs beside its phase and does not have; empty
// when it has all.
func (l *life) forbids(e sale.Event) string {
	_, start := e.(*messages.SaleStarted)
	switch {
	case start && l.phase != unknown && !l.settled:
		return "the attempt before it is not settled"
	case start && l.kept && !e.(*messages.SaleStarted).GetRepair():
		return "the data of the attempt before it is still here"
	case !start && l.settled:
		return "the sale is settled"
	}
	late := l.ended()
	switch e.(type) {
	case *messages.ProofDue, *messages.ProofSubmitted, *messages.ProofMissed, *messages.ProofExcused,
		*messages.CollateralChecked, *messages.CollateralSlashed:
		return unless(l.onChain || l.adopted, "the slot is not ours")
	case *messages.SlotForfeited:
		return unless(l.onChain || l.adopted && !late, "the slot was never ours")
	case *messages.FillReverted:
		return unless(l.onChain, "no fill stands that could be taken back")
	case *messages.SaleErrored:
		return unless(!l.adopted, "an adopted slot is ended by the chain alone")
	case *messages.SlotFilled:
		// What was forfeited comes back when what took it is reorganised, and what has
		// ended runs again when its end is.
		gone := l.paid || !l.onChain && !l.forfeited && (l.filled || !l.lost.IsZero())
		return unless(!late || !gone, "the slot was filled and is over")
	case *messages.SlotRepaired:
		return unless(l.damaged, "nothing was damaged")
	case *messages.DataLifetimeExtended:
		return unless(l.stored && !l.deleted, "the data is not here")
	case *messages.PayoutReceived, *messages.SlotDropped:
		return unless(l.onChain, "the contract holds nothing of ours")
	case *messages.DataDeleted:
		return unless(!l.onChain && !l.deleted, "the slot is on chain, or the data was deleted before")
	case *messages.SaleSettled:
		return unless((l.deleted || l.forfeited && l.stored) && !l.onChain,
			"the data is not deleted, or the slot is on chain")
	}
	return ""
}

// again is the phase to which a fill that is taken back leads: what is not here
// comes first.
func (l *life) again() phase {
	if l.deleted {
		l.deleted, l.stored, l.proved = false, false, false
	}
	switch {
	case l.proved:
		return filling
	case l.stored:
		return initialProving
	case l.hasCapacity:
		return slotReserving
	}
	return preparing
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
		a.followFill(l, p, e)
	case *messages.FillReverted:
		l.onChain, l.filled, l.adopted, l.held = false, false, false, events.Amount{}
		l.lapse()
		l.phase = l.again()
	case *messages.DataLifetimeExtended:
		if l.simulated {
			l.phase = provingSimulated
		}
	case *messages.ProofDue, *messages.ProofSubmitted, *messages.ProofMissed, *messages.ProofExcused,
		*messages.CollateralChecked, *messages.CollateralSlashed:
		a.followProof(l, p, e)
	case *messages.RequestEnded:
		a.closeAll(l, events.TimeFromMessage(e.GetAt()))
	case *messages.SaleCancelled:
		a.closeAll(l, events.TimeFromMessage(e.GetAt()))
	case *messages.SaleFailed:
		a.closeAll(l, events.TimeFromMessage(e.GetAt()))
	case *messages.PayoutReceived:
		a.followPayout(l, p, e)
	case *messages.SlotDropped, *messages.SlotForfeited:
		l.onChain, l.lost = false, l.committed
		_, l.forfeited = e.(*messages.SlotForfeited)
		l.lapse() // What was missed is why.
	case *messages.DataDeleted:
		l.deleted = true
	case *messages.SaleSettled:
		a.followSettled(h, l, p, e)
	case *messages.SlotDamaged:
		l.damaged = true
	case *messages.SlotRepaired:
	case *messages.SlotReserved, *messages.RequestStarted, *messages.SaleErrored:
	case *messages.SaleIgnored:
		l.lapse() // An adopted slot may owe something.
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
	ask := e.GetRequest()
	*l = life{slot: l.slot, phase: preparing, attempt: e.GetAttempt(), began: p.position, account: &account{
		request: ask.GetId(), index: e.GetSlotIndex(), slotSize: ask.GetSlotSize(),
		demanded: amount(ask.GetCollateralPerByte()).MulSaturating(ask.GetSlotSize()),
		adopted:  e.GetAdopted(), repair: e.GetRepair(), simulated: e.GetFailEveryNProofs() > 0,
	}}
	if l.adopted { // What it was slashed before is explained by misses, or found with the fill.
		l.held, l.doubt = l.demanded, true
	}
}

// followFill begins the account of the collateral on chain: what the contract
// holds is returned, or slashed, or lost in the end.
func (a *auditor) followFill(l *life, p place, e *messages.SlotFilled) {
	moved := l.onChain // Into another block, by a reorganisation.
	l.onChain, l.filled, l.held = true, true, amount(e.GetCollateral())
	l.forfeited, l.lost = false, events.Amount{}
	for _, period := range l.lapsed { // They lapsed with an end that is gone.
		delete(l.opened, period)
	}
	l.lapsed = nil
	if moved {
		return
	}
	l.doubt = e.GetReceipt() == nil // Found on chain, it may have been slashed before.
	switch {
	case l.demanded.Less(l.held):
		a.find(CollateralExcess, p, "the contract holds %s, the request demands %s", l.held, l.demanded)
	case l.held.Less(l.demanded) && !l.doubt:
		a.find(SlashUnseen, p, "the contract holds %s right after the fill, the request demands %s", l.held, l.demanded)
	}
}

// followPayout ends it.
func (a *auditor) followPayout(l *life, p place, e *messages.PayoutReceived) {
	back := amount(e.GetCollateral())
	switch {
	case l.held.Less(back):
		a.find(CollateralExcess, p, "%s of collateral came back, the contract held %s", back, l.held)
	case back.Less(l.held) && !l.doubt && e.GetReceipt() != nil:
		a.find(SlashUnseen, p, "%s of collateral came back, the contract held %s, and no reading "+
			"says what became of the rest", back, l.held)
	}
	l.onChain, l.paid = false, true
	l.lost = l.committed.SubFloor(back)
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
	a.claim(h, l)
	*l = life{
		slot: l.slot, phase: l.phase, attempt: l.attempt, settled: true, kept: !l.deleted, began: l.began,
		settledAt: p.position,
	}
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
