package actors

import (
	"context"
	"fmt"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
)

// reservations is the single writer of the ledger: all availabilities and all
// reservations of the host.
type reservations struct {
	*env
	journal *journal[capacity.State, capacity.Command, capacity.Event]
	keeper  *keeper[capacity.State]
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

// commandLedger submits a command to the ledger and waits until it is durable. take is
// called in the ledger's turn and copies what the caller needs. ErrPartDown: it may have
// taken effect; it is to be given again.
func commandLedger(ctx context.Context, ledger *part, cmd capacity.Command, cause string,
	take func(capacity.State),
) error {
	_, err := askPart(ledger, func(reply func(struct{}, error)) any {
		return ledgerCommand{cmd, cause, func(r result[capacity.State, capacity.Event]) {
			if r.err == nil && take != nil {
				take(r.state)
			}
			reply(struct{}{}, r.err)
		}}
	}).wait(ctx)
	return err
}

// askLedgerAbout looks at the durable ledger. A look that panics is the failure of whoever
// asks: it changes nothing of the ledger.
func askLedgerAbout[T any](ledger *part, look func(capacity.State) T) question[T] {
	return askPart(ledger, func(reply func(T, error)) any {
		return ledgerQuery{func(l capacity.State) {
			var v T
			err := caught(func() error {
				v = look(l)
				return nil
			})
			reply(v, err)
		}}
	})
}

func newReservations(e *env, broken func(error)) *reservations {
	r := &reservations{env: e}
	r.keeper = newLedgerKeeper(e)
	r.keeper.now = func() (capacity.State, uint64, events.EventID, bool) { return r.journal.standing() }
	e.savers[ledgerName] = r.keeper
	r.journal = &journal[capacity.State, capacity.Command, capacity.Event]{
		machine: machine[capacity.State, capacity.Command, capacity.Event]{
			empty: capacity.New, decide: e.Cores.DecideCapacity, evolve: capacity.Evolve, about: aboutLedger,
			restore: func(ctx context.Context) (saved[capacity.State], error) {
				return r.keeper.load(ctx, capacity.New)
			},
		},
		stream: events.CapacityStream(e.me), store: e.Store, codec: e.codec, record: e.record,
		shown: e.shown[events.CapacityStream(e.me)],
		meta: func(_ capacity.State, ev capacity.Event) events.Metadata {
			return e.metadata(requestOf(ev))
		},
		onDurable: r.onDurable,
		onBroken:  func(_ *turn, err error) { broken(err) },
	}
	return r
}

func newLedgerKeeper(e *env) *keeper[capacity.State] {
	return &keeper[capacity.State]{
		env: e, stream: events.CapacityStream(e.me), schema: capacity.StateSchema,
		size: capacity.State.Size, pieces: capacity.State.Pieces,
		parse: func(pieces [][]byte) (capacity.State, error) {
			return capacity.RestorePieces(capacity.Limits{}, pieces)
		},
	}
}

// requestOf is the request that a ledger event belongs to, for correlation.
func requestOf(ev capacity.Event) string {
	if m, ok := ev.(interface{ GetRequestId() string }); ok {
		return m.GetRequestId()
	}
	return ""
}

func (r *reservations) receive(a *turn, msg any) {
	if r.journal.handle(a, msg) || r.keeper.handle(msg) {
		return
	}
	switch m := msg.(type) {
	case started:
		r.journal.load(a)
	case ledgerCommand:
		r.submit(a, m)
	case ledgerQuery:
		r.journal.query(m.look)
	}
}

// submit decides a command, unless that one made the ledger fail twice.
func (r *reservations) submit(a *turn, m ledgerCommand) {
	if q, ok := r.quarantined.has(aboutLedger(m.cause)); ok {
		m.reply(result[capacity.State, capacity.Event]{
			err: fmt.Errorf("%w since %s: the ledger fails on it: %s; `hostnode quarantine retry %s` tries it again",
				ErrQuarantined, q.Since.UTC().Format(time.RFC3339), q.Reason, q.Subject),
		})
		return
	}
	r.journal.submit(a, m.cmd, m.cause, m.reply)
}

// aboutLedger is a command as something to quarantine. Those of operators are not: one is
// given once, and the next may be another.
func aboutLedger(cause string) Subject {
	if cause == operatorCause {
		return Subject{}
	}
	return Subject{SubjectLedger, cause}
}

func (r *reservations) onDurable(a *turn, fresh []capacity.Event) {
	r.keeper.consider(a)
	for _, ev := range fresh {
		if reason, criteria := capacity.Wakes(r.journal.durable, ev); len(criteria) > 0 {
			r.queue.tell(wakeQueue{reason, wakeFor(ev, criteria)})
		}
	}
	r.followQuota(a, len(fresh) > 0)
}

// followQuota lets the disk hold what the ledger has promised, which may be more than the
// quota of this host. When something of it became free, the ledger takes that back.
func (r *reservations) followQuota(a *turn, changed bool) {
	book := r.journal.durable.Book()
	if r.Quota == 0 {
		return
	}
	r.Repo.Limit(max(book.Allocated(), r.Quota))
	if !changed || book.Quota <= r.Quota || book.Unallocated == 0 {
		return
	}
	// It is asked again with the next event if this does not get through.
	r.submit(a, ledgerCommand{
		capacity.SetQuota{At: r.Clock.Now(), Bytes: r.Quota, Near: true},
		"quota",
		func(result[capacity.State, capacity.Event]) {},
	})
}
