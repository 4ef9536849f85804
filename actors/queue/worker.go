package queue

import (
	"slices"
	"time"

	"github.com/hostnode/hostnode/actors/admission"
	"github.com/hostnode/hostnode/actors/sales"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/slotqueue"
)

// slotWorker stays with one slot until it is filled, or until its sale is over. The supervisor
// runs the sale; the number of workers bounds how many slots are worked on at once, and so how
// many of the contract's reservations the host holds for slots that it has not filled.
type slotWorker struct {
	*Deps
	work     slotqueue.Work
	patience func() // stops the timer
	// downloading: the download itself notices when nothing comes any more.
	downloading bool
	// waiting: the data is stored, and the sale waits for the prover and the chain. Only calls that
	// fail are no progress then. So many tries did, the last one at failed.
	waiting bool
	tries   int
	failed  time.Time
	avoids  bool // the client was reported
	done    bool
	last    events.EventID // of the sale, or what took the slot; zero: not known
}

type (
	// workerDone gives the slot back to the queue.
	workerDone struct {
		work slotqueue.Work
		verdict
		by events.EventID // the last event of the sale, or what took the slot; zero: not known
	}
	// verdict is what became of a slot, and when to judge it again.
	verdict struct {
		outcome   string
		requeue   bool
		criterion string
		retryAt   time.Time // zero: when a criterion changes
	}
	patienceEnded struct{}
)

func (w *slotWorker) Receive(a *shell.Turn, msg any) {
	if w.done {
		return
	}
	switch m := msg.(type) {
	case shell.Started:
		w.Supervisor.Tell(sales.Begin{Work: w.work, Worker: a.Self.Address(), By: w.last})
		w.wait(a)
	case admission.Refusal:
		w.Finish(a, verdict{"not begun: " + m.Reason, m.Requeue, m.Criterion, m.RetryAt})
	case sales.Changed:
		w.onSale(a, m)
	case patienceEnded:
		if w.downloading || w.waiting && w.failsNoMore() {
			w.wait(a)
			return
		}
		w.Supervisor.Tell(sales.GiveUp{
			Work: w.work, Reason: "the sale made no progress for " + w.WorkerPatience.String(),
		})
		w.wait(a)
	}
}

func (w *slotWorker) onSale(a *shell.Turn, m sales.Changed) {
	s := m.State
	if m.Last != (events.EventID{}) {
		w.last = m.Last
	}
	w.downloading, w.waiting = s.Phase == sale.Downloading, s.KeepsData()
	blamed := s.Criterion == slotqueue.CriterionWithheld || s.Criterion == slotqueue.CriterionWrong ||
		s.Criterion == slotqueue.CriterionSlow
	if s.Ended() && blamed && !w.avoids {
		w.avoids = true
		a.Parent.Tell(avoidClient{w.work, s.Request.Client, s.Reason, w.last})
	}
	switch {
	case s.Over():
		w.Finish(a, verdict{s.Phase.String() + ": " + s.Reason, s.Reprocess, s.Criterion, w.retryAt(s)})
	case s.Hosting(), s.Phase == sale.Payout:
		w.Finish(a, verdict{outcome: s.Phase.String()})
	case len(m.Fresh) > 0: // A call that failed again is no progress.
		w.wait(a)
	case m.Trouble.Tries > w.tries:
		if w.waiting && w.failsNoMore() {
			w.wait(a) // It only waited until now.
		}
		w.failed = w.Clock.Now()
	}
	w.tries = m.Trouble.Tries
}

// failsNoMore reports whether no call of the sale has failed for so long that it was surely tried
// again: nearly every period has a window.
func (w *slotWorker) failsNoMore() bool {
	return w.Clock.Now().Sub(w.failed) > 2*w.Terms.Proofs.Period
}

// retryAt is when a slot that is put back is judged again by time alone.
func (w *slotWorker) retryAt(s sale.State) time.Time {
	now := w.ChainTime()
	switch {
	case s.Criterion == slotqueue.CriterionDispersal:
		return w.Permits(s.Request, s.Index, s.Repair, s.ExpiresAt, s.EndsAt, now).Opens
	case s.Criterion == slotqueue.CriterionNoProgress, s.Criterion == slotqueue.CriterionSources, w.roomElsewhere(s):
		last := s.ExpiresAt
		if s.Repair {
			last = s.EndsAt
		}
		// While it can still be filled, not when it is too late.
		return now.Add(min(LookAgainAfter, max(0, last.Add(-w.TimeToFill()).Sub(now))/2))
	}
	return time.Time{}
}

// roomElsewhere reports whether another member may have the room that the seller's ledger lacked. It had some
// when the slot was handed out, and slots that were handed out at the same time took it first.
func (w *slotWorker) roomElsewhere(s sale.State) bool {
	return w.Member != "" && slices.Contains(capacity.Criteria(), capacity.Criterion(s.Criterion))
}

// LookAgainAfter is how long, in chain time, a slot is left alone after its sale failed for a
// temporary reason whose end nobody reports.
const LookAgainAfter = 10 * time.Minute

// wait restarts the worker's patience.
func (w *slotWorker) wait(a *shell.Turn) {
	if w.patience != nil {
		w.patience()
	}
	self := a.Self
	w.patience = w.Clock.After(max(w.WorkerPatience, time.Second), func() { self.Tell(patienceEnded{}) })
}

func (w *slotWorker) Finish(a *shell.Turn, v verdict) {
	w.done = true
	w.patience()
	a.Parent.Tell(workerDone{w.work, v, w.last})
	a.Self.Stop()
}
