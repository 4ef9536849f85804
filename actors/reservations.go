package actors

import (
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
)

// reservations is the single writer of the ledger: all availabilities and all
// reservations of the host.
type reservations struct {
	*env
	journal *journal[capacity.State, capacity.Command, capacity.Event]
	// wake is told why slots may fit now that did not before.
	wake func(reason string)
}

// ledgerCommand asks the ledger. The reply is called in the ledger's turn and
// must not keep the state.
type ledgerCommand struct {
	cmd   capacity.Command
	cause string
	reply func(result[capacity.State, capacity.Event])
}

// ledgerQuery looks at the durable ledger, in its turn.
type ledgerQuery struct{ look func(capacity.State) }

func newReservations(e *env, wake func(string), broken func(error)) *reservations {
	r := &reservations{env: e, wake: wake}
	r.journal = &journal[capacity.State, capacity.Command, capacity.Event]{
		machine: machine[capacity.State, capacity.Command, capacity.Event]{
			empty: capacity.New, decide: e.Cores.DecideCapacity, evolve: capacity.Evolve,
		},
		stream: events.CapacityStream(e.me), store: e.Store, codec: e.codec, clock: e.Clock,
		meta: func(_ capacity.State, ev capacity.Event) events.Metadata {
			return e.metadata(requestOf(ev))
		},
		onDurable: r.onDurable,
		onBroken:  func(_ *turn, err error) { broken(err) },
	}
	return r
}

// requestOf is the request that a ledger event belongs to, for correlation.
func requestOf(ev capacity.Event) string {
	if m, ok := ev.(interface{ GetRequestId() string }); ok {
		return m.GetRequestId()
	}
	return ""
}

func (r *reservations) receive(a *turn, msg any) {
	if r.journal.handle(a, msg) {
		return
	}
	switch m := msg.(type) {
	case started:
		r.journal.load(a)
	case ledgerCommand:
		r.journal.submit(a, m.cmd, m.cause, m.reply)
	case ledgerQuery:
		r.journal.query(m.look)
	}
}

func (r *reservations) onDurable(_ *turn, fresh []capacity.Event) {
	for _, ev := range fresh {
		if reason, wakes := capacity.Wakes(ev); wakes {
			r.wake(reason)
		}
	}
}
