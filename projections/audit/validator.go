package audit

import (
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// keptMarks is how many marked and failed proofs of an account, the newest, are
// remembered: some 5 MB.
const keptMarks = 1 << 16

// marks is what is known of an account's markings, as a checkpoint holds it.
type marks struct {
	Started bool
	Of      map[mark]bool // true: it was marked, false: it failed
	Order   []mark        // of Of, the oldest first
}

// mark names a proof.
type mark struct {
	Slot   string
	Period uint64
}

func (m *marks) note(k mark, marked bool) {
	if m.Of == nil {
		m.Of = map[mark]bool{}
	}
	if _, known := m.Of[k]; !known {
		m.Order = append(m.Order, k)
	}
	m.Of[k] = m.Of[k] || marked
	if len(m.Order) > keptMarks {
		delete(m.Of, m.Order[0])
		m.Order = m.Order[1:]
	}
}

// marked is what ProofMarked and MarkingFailed have in common.
type marked interface {
	GetRequestId() string
	GetSlotId() string
	GetSlotIndex() uint64
	GetPeriod() uint64
}

// judgeValidator compares a validator's events with each other, with its host's
// and with the transactions of their account.
func (a *auditor) judgeValidator(h *host, p place, e messages.ValidatorEvent) {
	switch e := e.(type) {
	case *messages.ValidationStarted:
		h.Marks.Started = true
	case *messages.ProofMarked:
		k := a.judgeMark(h, p, e)
		if h.Marks.Of[k] {
			a.find(MarkingContradiction, p, "the proof of period %d of slot %s was marked before", k.Period, k.Slot)
		}
		h.Marks.note(k, true)
		if l := h.sales[events.Must(events.ParseSlotID(k.Slot))]; l != nil && l.OnChain {
			a.cross(MarkingOwnSlot, p, "slot %s is hosted by this very account", k.Slot)
		}
		a.judgeReward(h, p, e)
	case *messages.MarkingFailed:
		k := a.judgeMark(h, p, e)
		if _, known := h.Marks.Of[k]; known {
			a.find(MarkingContradiction, p, "period %d of slot %s was settled before", k.Period, k.Slot)
		}
		h.Marks.note(k, false)
		if e.GetReason() == "" {
			a.find(MarkingContradiction, p, "a marking failed without a reason")
		}
	}
}

// judgeMark checks which proof an event names.
func (a *auditor) judgeMark(h *host, p place, e marked) mark {
	if !h.Marks.Started {
		a.find(MarkingContradiction, p, "the validator has not started")
	}
	request := events.Must(events.ParseRequestID(e.GetRequestId()))
	if want := events.SlotIDOf(request, e.GetSlotIndex()).String(); want != e.GetSlotId() {
		a.find(MarkingContradiction, p, "slot %d of request %s is %s, the event names %s",
			e.GetSlotIndex(), request.Short(), want, e.GetSlotId())
	}
	return mark{e.GetSlotId(), e.GetPeriod()}
}

// judgeReward compares a marking with its transaction, and adds its claim about tokens.
func (a *auditor) judgeReward(h *host, p place, e *messages.ProofMarked) {
	r := e.GetReceipt()
	if r == nil {
		a.find(MarkingWithoutTransaction, p, "a proof was marked without a receipt")
		return
	}
	a.expectTx(h, r.GetTxHash(), awaited{At: p, Marking: true, Request: e.GetRequestId()})
	if a.options.Chain == nil {
		return
	}
	reward := amount(e.GetReward())
	h.Money.In = h.Money.In.AddSaturating(reward)
	h.Money.Claims = append(h.Money.Claims, claim{At: p, Tx: events.Must(events.ParseHash(r.GetTxHash())), In: reward})
	a.claims++
}

// causeOfMarking compares the cause of a validator's event with the proof that the
// event names.
func causeOfMarking(c events.Cause, m any) string {
	if _, start := m.(*messages.ValidationStarted); start {
		return unless(c.Kind == events.CauseCommand && c.What == "start", causeOfOthers)
	}
	e, ok := m.(marked)
	if !ok || c.Kind != events.CauseEffect || c.What != "mark" {
		return causeOfOthers
	}
	return unless(c.Slot.String() == e.GetSlotId() && c.Period == e.GetPeriod(), "the event is about another proof")
}
