package actors

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hostnode/hostnode/actors/quarantine"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
)

// reservations is the single writer of the ledger: all availabilities and all
// reservations of the host.
type reservations struct {
	ledgerDeps
	journal *shell.Journal[capacity.State, capacity.Command, capacity.Event]
	keeper  *shell.Keeper[capacity.State]
}

// ledgerDeps are what the ledger needs.
type ledgerDeps struct {
	*shell.Base
	// Repo is told how much it may hold.
	Repo interface{ Limit(quota events.Bytes) }
	// Quota is the host's; 0: whatever the ledger says.
	Quota       events.Bytes
	Quarantined *quarantine.List
	// Queue is told what became free.
	Queue *shell.Part
	// Decide are the rules: capacity.Decide.
	Decide func(capacity.State, capacity.Command) ([]capacity.Event, error)
	// Broken is told that the record cannot be read.
	Broken func(error)
}

// Messages to the ledger, and from it.
type (
	// ledgerCommand asks the ledger to do something; the answer is its capacity.Book once
	// what follows is durable.
	ledgerCommand struct {
		cmd   capacity.Command
		cause string
	}
	// reservationOf asks for a reservation; the answer is a foundReservation.
	reservationOf struct{ id events.ReservationID }
	// allReservations asks for all; the answer is a slice of them.
	allReservations struct{}
	// matchOf asks what is on offer for a slot; the answer is a *capacity.Refusal, nil: it
	// fits.
	matchOf struct{ ask capacity.Ask }
	// showLedger asks for all that the ledger knows, as a capacity.Snapshot.
	showLedger struct{}
	// ledgerFreed tells the queue of criteria that slots may meet now; saleEnded: a sale gave
	// back what it had.
	ledgerFreed struct {
		reason    string
		criteria  []capacity.Criterion
		saleEnded bool
	}
)

// ledgerName is the name of the ledger's actor.
const ledgerName = "Reservations"

// operatorCause is the cause of what operators command.
const operatorCause = "operator"

// foundReservation is the answer to reservationOf.
type foundReservation struct {
	capacity.Reservation
	found bool
}

func newReservations(e ledgerDeps) *reservations {
	r := &reservations{ledgerDeps: e}
	r.keeper = newLedgerKeeper(e.Base)
	r.keeper.Now = func() (capacity.State, uint64, events.EventID, bool) { return r.journal.Standing() }
	e.Savers[ledgerName] = r.keeper
	r.journal = &shell.Journal[capacity.State, capacity.Command, capacity.Event]{
		Machine: shell.Machine[capacity.State, capacity.Command, capacity.Event]{
			Empty: capacity.New, Decide: e.Decide, Evolve: capacity.Evolve, About: aboutLedger,
			Restore: func(ctx context.Context) (shell.Saved[capacity.State], error) {
				return r.keeper.Load(ctx, capacity.New)
			},
		},
		Stream: events.CapacityStream(e.Me), Store: e.Store, Codec: e.Codec, Record: e.Record,
		Shown: e.Shown[events.CapacityStream(e.Me)],
		Meta: func(_ capacity.State, ev capacity.Event) events.Metadata {
			return e.Metadata(requestOf(ev))
		},
		OnDurable: r.onDurable,
		OnBroken:  func(_ *shell.Turn, err error) { e.Broken(err) },
	}
	return r
}

func newLedgerKeeper(b *shell.Base) *shell.Keeper[capacity.State] {
	return &shell.Keeper[capacity.State]{
		Base: b, Stream: events.CapacityStream(b.Me), Schema: capacity.StateSchema,
		Size: capacity.State.Size, Pieces: capacity.State.Pieces,
		Parse: func(pieces [][]byte) (capacity.State, error) {
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

func (r *reservations) Receive(a *shell.Turn, msg any) {
	if r.journal.Handle(a, msg) || r.keeper.Handle(msg) {
		return
	}
	switch m := msg.(type) {
	case shell.Started:
		r.journal.Load(a)
	case ledgerCommand:
		r.submit(a, m, a.Asker())
	case reservationOf:
		r.query(a.Asker(), func(l capacity.State) any {
			found, ok := l.Reservation(m.id)
			return foundReservation{found, ok}
		})
	case allReservations:
		r.query(a.Asker(), func(l capacity.State) any { return slices.Collect(l.Reservations()) })
	case matchOf:
		r.query(a.Asker(), func(l capacity.State) any {
			_, refusal := capacity.Match(l, m.ask)
			return refusal
		})
	case showLedger:
		r.query(a.Asker(), func(l capacity.State) any { return l.Snapshot() })
	}
}

// query answers from the durable ledger. A look that panics is the failure of whoever asks:
// it changes nothing of the ledger.
func (r *reservations) query(answer shell.Answer, look func(capacity.State) any) {
	r.journal.Query(func(l capacity.State) {
		var v any
		err := shell.Caught(func() error {
			v = look(l)
			return nil
		})
		answer(v, err)
	})
}

// submit decides a command, unless that one made the ledger fail twice.
func (r *reservations) submit(a *shell.Turn, m ledgerCommand, answer shell.Answer) {
	if q, ok := r.Quarantined.Has(aboutLedger(m.cause)); ok {
		answer(nil, fmt.Errorf("%w since %s: the ledger fails on it: %s; `hostnode quarantine retry %s` tries it again",
			quarantine.ErrQuarantined, q.Since.UTC().Format(time.RFC3339), q.Reason, q.Subject))
		return
	}
	r.journal.Submit(a, m.cmd, m.cause, func(done shell.Result[capacity.State, capacity.Event]) {
		answer(done.State.Book(), done.Err)
	})
}

// aboutLedger is a command as something to quarantine. Those of operators are not: one is
// given once, and the next may be another.
func aboutLedger(cause string) shell.Subject {
	if cause == operatorCause {
		return shell.Subject{}
	}
	return shell.Subject{Kind: shell.SubjectLedger, Key: cause}
}

func (r *reservations) onDurable(a *shell.Turn, fresh []capacity.Event) {
	r.keeper.Consider(a)
	for _, ev := range fresh {
		if reason, criteria := capacity.Wakes(r.journal.Durable, ev); len(criteria) > 0 {
			r.Queue.Tell(ledgerFreed{reason, criteria, capacity.EndsReservation(ev)})
		}
	}
	r.followQuota(a, len(fresh) > 0)
}

// followQuota lets the disk hold what the ledger has promised, which may be more than the
// quota of this host. When something of it became free, the ledger takes that back.
func (r *reservations) followQuota(a *shell.Turn, changed bool) {
	book := r.journal.Durable.Book()
	if r.Quota == 0 {
		return
	}
	r.Repo.Limit(max(book.Allocated(), r.Quota))
	if !changed || book.Quota <= r.Quota || book.Unallocated == 0 {
		return
	}
	// It is asked again with the next event if this does not get through.
	cmd := capacity.SetQuota{At: r.Clock.Now(), Bytes: r.Quota, Near: true}
	r.submit(a, ledgerCommand{cmd, "quota"}, func(any, error) {})
}
