package actors

import (
	"time"

	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/slotqueue"
)

// slotWorker stays with one slot from its taking until the sale needs no
// worker any more: its data is stored and it waits for the chain, or it is
// over. The supervisor runs the sale; the worker is the bound on how many are
// worked on at once.
type slotWorker struct {
	*env
	work       slotqueue.Work
	supervisor ref
	patience   func() // stops the timer
	done       bool
}

type (
	// workerDone gives the slot back to the queue.
	workerDone struct {
		work    slotqueue.Work
		outcome string
		requeue bool
	}
	// saleRefused: the supervisor did not begin the sale.
	saleRefused struct {
		reason  string
		requeue bool
	}
	patienceEnded struct{}
)

func (w *slotWorker) receive(a *turn, msg any) {
	if w.done {
		return
	}
	switch m := msg.(type) {
	case started:
		w.supervisor.tell(beginSale{w.work, a.self})
		w.wait(a)
	case saleRefused:
		w.finish(a, "not begun: "+m.reason, m.requeue)
	case saleChanged:
		w.onSale(a, m.state)
	case patienceEnded:
		w.supervisor.tell(letGo{w.work, "the sale made no progress for " + w.WorkerPatience.String()})
		w.wait(a)
	}
}

func (w *slotWorker) onSale(a *turn, s sale.State) {
	switch {
	case s.Over():
		w.finish(a, s.Phase.String()+": "+s.Reason, s.Reprocess)
	case s.Phase >= sale.InitialProving && !s.Ended():
		w.finish(a, s.Phase.String(), false)
	default:
		w.wait(a)
	}
}

// wait starts the worker's patience anew.
func (w *slotWorker) wait(a *turn) {
	if w.patience != nil {
		w.patience()
	}
	self := a.self
	w.patience = w.Clock.After(max(w.WorkerPatience, time.Second), func() { self.tell(patienceEnded{}) })
}

func (w *slotWorker) finish(a *turn, outcome string, requeue bool) {
	w.done = true
	w.patience()
	a.parent.tell(workerDone{w.work, outcome, requeue})
	a.self.stop()
}
