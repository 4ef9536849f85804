package queue

import (
	"github.com/hostnode/hostnode/actors/ledger"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/slotqueue"
)

// This file wakes slots and refused requests when a criterion changed that they failed: they
// are judged again.

// saleEnded are the criteria, in addition to those of the ledger, that may be met when a sale
// gave back what it held.
var saleEnded = []string{
	slotqueue.CriterionRequestCap, slotqueue.CriterionProofs, slotqueue.CriterionTokens, slotqueue.CriterionGas,
}

// OfMember are the criteria that a change of another member's ledger may meet, which may be the end of a sale.
func OfMember() []string { return append(OfLedger(capacity.Criteria()), saleEnded...) }

// NotHandedOut are the criteria that may be met because a slot was not handed out, and so does not count any more.
func NotHandedOut() []string {
	return []string{slotqueue.CriterionRequestCap, slotqueue.CriterionGas, string(capacity.AtRisk)}
}

// OfLedger are criteria of the ledger as a Wake names them.
func OfLedger(criteria []capacity.Criterion) (names []string) {
	for _, c := range criteria {
		names = append(names, string(c))
	}
	return names
}

// onFreed wakes what waits for something of the ledger.
func (q *Queue) onFreed(a *shell.Turn, m ledger.Freed) {
	criteria := OfLedger(m.Criteria)
	if m.SaleEnded {
		criteria = append(criteria, saleEnded...)
	}
	q.onWake(a, Wake{Reason: m.Reason, Criteria: criteria})
}

// onWake has slots that failed one of the criteria judged again, and refused requests as well.
func (q *Queue) onWake(a *shell.Turn, m Wake) {
	cmd := slotqueue.Wake{At: q.ChainTime(), Reason: m.Reason, Criteria: m.Criteria, Early: m.Early}
	q.journal.Submit(a, cmd, "wake",
		func(r shell.Result[slotqueue.State, slotqueue.Event]) { q.again(r.Err, m) })
	q.lookBack.wake(m)
	q.lookAgain()
}

// wakeAtStart wakes what waits for the ledger: the last change before the last process ended
// may not have reached the queue, and settings may have changed. What waits for another member need not wait any
// longer: this one may reach it.
func (q *Queue) wakeAtStart(a *shell.Turn) {
	if q.lookBack.started {
		return
	}
	q.lookBack.started = true
	criteria := append(OfMember(), slotqueue.CriterionPeriod)
	if waiting := q.waitFor(criteria); len(waiting) > 0 {
		q.onWake(a, Wake{Reason: "the host was started", Criteria: waiting})
	}
	if waiting := q.waitFor([]string{slotqueue.CriterionMember}); len(waiting) > 0 {
		q.onWake(a, Wake{Reason: "this member has the term", Criteria: waiting, Early: true})
	}
}

// onHead wakes what waits for a point in chain time, refills the queue, and looks at the
// account now and then.
func (q *Queue) onHead(a *shell.Turn, head events.Head) {
	if !q.journal.Loaded {
		return
	}
	q.wakeAtStart(a)
	if next := q.journal.Ahead.NextWake(); !next.IsZero() && !next.After(head.Time) {
		q.onWake(a, Wake{Reason: "its time has come", Criteria: q.journal.Ahead.Due(head.Time)})
	}
	q.refill()
	q.watchFunds(head)
}
