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
// number of the last one is kept.
type life struct {
	Slot    events.SlotID
	Broken  bool // events are missing: nothing can be said of it
	Phase   phase
	Attempt uint32
	Settled bool
	// kept: the settled attempt left its data to the next one.
	Kept bool
	// began is where the newest attempt began, settledAt where it was settled.
	Began, SettledAt events.Position
	*account
}

// account is what an attempt must account for; nil when none runs.
type account struct {
	Member    events.Member // who sells it
	Request   string
	Index     uint64
	SlotSize  uint64
	Demanded  events.Amount // collateral, by the request
	Adopted   bool
	Repair    bool
	Simulated bool

	HasCapacity bool
	Committed   events.Amount
	Stored      bool
	Proved      bool // an initial proof is at hand
	OnChain     bool
	Filled      bool          // a fill stands, or stood until the end
	Held        events.Amount // by the contract
	Paid        bool
	Lost        events.Amount
	Deleted     bool
	Damaged     bool // its data was, once
	Forfeited   bool // the contract took the slot
	Pledge      pledge

	Duties    map[uint64]duty
	Periods   sale.Periods // that opened a duty
	Excused   uint64       // the period that may be due again
	Unchecked map[uint64]bool
	Lapsed    []uint64 // open when the hosting ended: owed again if that end is taken back
	// doubt says that collateral may have been lost without a reading that shows it.
	Doubt bool

	Released                 bool // by the ledger
	LedgerReturn, LedgerLoss events.Amount
}

// duty is a proof that is owed.
type duty struct {
	Deadline time.Time
	At       place
}

// ended reports whether the sale is in one of its exits or Finished.
func (l *life) ended() bool {
	return slices.Contains(phases, l.Phase)
}

// judgeSale checks an event against the table, then follows it.
func (a *auditor) judgeSale(s *stream, p place, e sale.Event) {
	h, l := s.host, s.life
	name := string(e.ProtoReflect().Descriptor().Name())
	next, allowed := table[l.Phase][name]
	reason := "the phase does not allow it"
	if allowed {
		reason = l.forbids(e)
	}
	if reason != "" {
		a.find(SaleTransition, p, "%s in phase %s of attempt %d: %s", name, l.Phase, l.Attempt, reason)
		s.giveUp()
		return
	}
	if next != stays {
		l.Phase = next
	}
	if m, ok := e.(interface{ GetReceipt() *messages.Receipt }); ok && m.GetReceipt() != nil {
		_, proof := e.(*messages.ProofSubmitted)
		w := awaited{At: p, Proof: proof}
		if l.account != nil {
			w.Request = l.Request
		}
		a.expectTx(h, m.GetReceipt().GetTxHash(), w)
	}
	if m, ok := e.(*messages.ProofMissed); ok {
		a.deny(h, denial{At: p, Slot: l.Slot, Period: m.GetPeriod()})
	}
	a.follow(h, l, p, e)
	if l.account != nil {
		l.noteMoney(p, e)
	}
}

// forbids returns which further condition of an event is not met; empty when
// all are.
func (l *life) forbids(e sale.Event) string {
	_, start := e.(*messages.SaleStarted)
	switch {
	case start && l.Phase != unknown && !l.Settled:
		return "the attempt before it is not settled"
	case start && l.Kept && !e.(*messages.SaleStarted).GetRepair():
		return "the data of the attempt before it is still here"
	case !start && l.Settled:
		return "the sale is settled"
	}
	late := l.ended()
	switch e.(type) {
	case *messages.ProofDue, *messages.ProofSubmitted, *messages.ProofMissed, *messages.ProofExcused,
		*messages.CollateralChecked, *messages.CollateralSlashed:
		return unless(l.OnChain || l.Adopted, "the slot is not ours")
	case *messages.SlotForfeited:
		return unless(l.OnChain || l.Adopted && !late, "the slot was never ours")
	case *messages.FillReverted:
		return unless(l.OnChain, "no fill stands that could be taken back")
	case *messages.SaleErrored:
		return unless(!l.Adopted, "an adopted slot is ended by the chain alone")
	case *messages.SlotFilled:
		// A forfeited slot comes back when its loss is reorganised away, and a sale
		// that ended runs again when its end is.
		gone := l.Paid || !l.OnChain && !l.Forfeited && (l.Filled || !l.Lost.IsZero())
		return unless(!late || !gone, "the slot was filled and is over")
	case *messages.SlotRepaired:
		return unless(l.Damaged, "nothing was damaged")
	case *messages.DataLifetimeExtended:
		return unless(l.Stored && !l.Deleted, "the data is not here")
	case *messages.PayoutReceived, *messages.SlotDropped:
		return unless(l.OnChain, "the contract holds nothing of ours")
	case *messages.DataDeleted:
		return unless(!l.OnChain && !l.Deleted, "the slot is on chain, or the data was deleted before")
	case *messages.SaleSettled:
		return unless((l.Deleted || l.Forfeited && l.Stored) && !l.OnChain,
			"the data is not deleted, or the slot is on chain")
	}
	return ""
}

// again is the phase after a fill is taken back: the first step whose result is
// missing.
func (l *life) again() phase {
	if l.Deleted {
		l.Deleted, l.Stored, l.Proved = false, false, false
	}
	switch {
	case l.Proved:
		return filling
	case l.Stored:
		return initialProving
	case l.HasCapacity:
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

// follow updates the account by an allowed event.
func (a *auditor) follow(h *host, l *life, p place, e sale.Event) {
	switch e := e.(type) {
	case *messages.SaleStarted:
		a.followStart(l, p, e)
	case *messages.CapacityReserved:
		l.HasCapacity, l.Committed = true, amount(e.GetCollateral())
		if l.Adopted {
			l.Phase = downloading
		}
		a.checkCapacity(h, l, p, e)
	case *messages.SlotStored:
		l.Stored = true
	case *messages.InitialProofMade:
		l.Proved = true
	case *messages.InitialProofOutdated:
		l.Proved = false
	case *messages.SlotFilled:
		a.followFill(l, p, e)
	case *messages.FillReverted:
		l.OnChain, l.Filled, l.Adopted, l.Held = false, false, false, events.Amount{}
		l.lapse()
		l.Phase = l.again()
	case *messages.DataLifetimeExtended:
		if l.Simulated {
			l.Phase = provingSimulated
		}
	case *messages.ProofDue, *messages.ProofSubmitted, *messages.ProofMissed, *messages.ProofExcused,
		*messages.CollateralChecked, *messages.CollateralSlashed:
		a.followProof(l, p, e)
	case *messages.RequestEnded, *messages.SaleCancelled, *messages.SaleFailed:
		a.closeAll(l, events.TimeFromMessage(e.(timed).GetAt()))
	case *messages.PayoutReceived:
		a.followPayout(l, p, e)
	case *messages.SlotDropped, *messages.SlotForfeited:
		l.OnChain, l.Lost = false, l.Committed
		_, l.Forfeited = e.(*messages.SlotForfeited)
		l.lapse() // What was missed is why.
	case *messages.DataDeleted:
		l.Deleted = true
	case *messages.SaleSettled:
		a.followSettled(h, l, p, e)
	case *messages.SlotDamaged:
		l.Damaged = true
	case *messages.SlotRepaired:
	case *messages.SlotReserved, *messages.RequestStarted, *messages.SaleErrored:
	case *messages.SaleIgnored:
		l.lapse() // An adopted slot may owe something.
	}
}

func (a *auditor) followStart(l *life, p place, e *messages.SaleStarted) {
	a.report.Sales++
	if e.GetAttempt() != l.Attempt+1 {
		a.find(SaleAttempt, p, "attempt %d follows attempt %d", e.GetAttempt(), l.Attempt)
	}
	request := events.Must(events.ParseRequestID(e.GetRequest().GetId()))
	if e.GetSlotId() != l.Slot.String() || events.SlotIDOf(request, e.GetSlotIndex()) != l.Slot {
		a.find(SaleSlot, p, "slot %s, index %d of request %s, in the stream of another slot",
			e.GetSlotId(), e.GetSlotIndex(), e.GetRequest().GetId())
	}
	ask := e.GetRequest()
	*l = life{Slot: l.Slot, Phase: preparing, Attempt: e.GetAttempt(), Began: p.Position, account: &account{
		Member: events.Member(e.GetMember()), Request: ask.GetId(), Index: e.GetSlotIndex(),
		SlotSize: ask.GetSlotSize(),
		Demanded: amount(ask.GetCollateralPerByte()).MulSaturating(ask.GetSlotSize()),
		Adopted:  e.GetAdopted(), Repair: e.GetRepair(), Simulated: e.GetFailEveryNProofs() > 0,
	}}
	if l.Adopted { // What it was slashed before is explained by misses, or was found with the fill.
		l.Held, l.Doubt = l.Demanded, true
	}
}

// followFill begins the account of the collateral on chain: what the contract
// holds must be returned, slashed, or lost in the end.
func (a *auditor) followFill(l *life, p place, e *messages.SlotFilled) {
	moved := l.OnChain // Into another block, by a reorganisation.
	l.OnChain, l.Filled, l.Held = true, true, amount(e.GetCollateral())
	l.Forfeited, l.Lost = false, events.Amount{}
	for _, period := range l.Lapsed { // They lapsed with an end that was taken back.
		l.Periods = l.Periods.Reopen(period)
	}
	l.Lapsed = nil
	if moved {
		return
	}
	l.Doubt = e.GetReceipt() == nil // If it was found on chain, the slot may have been slashed before.
	switch {
	case l.Demanded.Less(l.Held):
		a.find(CollateralExcess, p, "the contract holds %s, the request demands %s", l.Held, l.Demanded)
	case l.Held.Less(l.Demanded) && !l.Doubt:
		a.find(SlashUnseen, p, "the contract holds %s right after the fill, the request demands %s", l.Held, l.Demanded)
	}
}

// followPayout ends that account.
func (a *auditor) followPayout(l *life, p place, e *messages.PayoutReceived) {
	back := amount(e.GetCollateral())
	switch {
	case l.Held.Less(back):
		a.find(CollateralExcess, p, "%s of collateral came back, the contract held %s", back, l.Held)
	case back.Less(l.Held) && !l.Doubt && e.GetReceipt() != nil:
		a.find(SlashUnseen, p, "%s of collateral came back, the contract held %s, and no reading "+
			"says what became of the rest", back, l.Held)
	}
	l.OnChain, l.Paid = false, true
	l.Lost = l.Committed.SubFloor(back)
}

// checkCapacity compares what the sale recorded with the ledger.
func (a *auditor) checkCapacity(h *host, l *life, p place, e *messages.CapacityReserved) {
	if h.anyBroken() {
		return
	}
	id := events.Must(events.ParseReservationID(e.GetReservationId()))
	r, in := h.reservation(id)
	switch {
	case in == nil:
		a.cross(ReservationMismatch, p, "the ledger has no open reservation %s", id)
	case r.Slot != l.Slot || r.Attempt != l.Attempt || r.Availability.String() != e.GetAvailabilityId() ||
		uint64(r.Bytes) != e.GetBytes() || r.Collateral.String() != e.GetCollateral():
		a.cross(ReservationMismatch, p, "the sale has %d bytes and %s collateral in attempt %d; "+
			"the ledger's reservation has %d and %s, in attempt %d of slot %s", e.GetBytes(),
			e.GetCollateral(), l.Attempt, r.Bytes, r.Collateral, r.Attempt, r.Slot)
	}
}

// followSettled closes the account of an attempt.
func (a *auditor) followSettled(h *host, l *life, p place, e *messages.SaleSettled) {
	a.report.SalesFinished++
	back, lost := amount(e.GetCollateralReturned()), amount(e.GetCollateralLost())
	switch {
	case back.AddSaturating(lost) != l.Committed:
		a.find(SaleSettlement, p, "%s returned and %s lost are not the %s committed", back, lost, l.Committed)
	case lost != l.Lost:
		a.find(SaleSettlement, p, "%s of collateral is called lost, but what the contract did says %s", lost, l.Lost)
	case !h.anyBroken() && l.Released && l.HasCapacity && (l.LedgerReturn != back || l.LedgerLoss != lost):
		a.cross(SaleSettlement, p, "the sale says %s returned and %s lost, the ledger %s and %s",
			back, lost, l.LedgerReturn, l.LedgerLoss)
	}
	id := capacity.ReservationIDOf(l.Slot, l.Attempt)
	if _, in := h.reservation(id); in != nil && !h.anyBroken() {
		a.cross(ReservationUnreleased, p, "the sale is settled, but its reservation %s is open", id)
	}
	a.claim(h, l)
	*l = life{
		Slot: l.Slot, Phase: l.Phase, Attempt: l.Attempt, Settled: true, Kept: !l.Deleted, Began: l.Began,
		SettledAt: p.Position,
	}
}

// endOfSales warns of proofs that are overdue by chain time.
func (a *auditor) endOfSales(h *host) {
	for _, l := range h.sales {
		if l.account == nil {
			continue
		}
		for period, d := range l.Duties {
			if !d.Deadline.IsZero() && a.now.After(d.Deadline) {
				a.find(ProofOverdue, d.At, "the proof of period %d was due until %s; the chain is at %s",
					period, clock(d.Deadline), clock(a.now))
			}
		}
	}
}

func clock(t time.Time) string { return t.UTC().Format(time.RFC3339) }
