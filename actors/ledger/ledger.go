// Package ledger runs the host's ledger (events/capacity) as an actor: what is on offer, and
// what sales hold of it. The actor is the only writer of the stream; it takes commands, answers
// questions, and tells the queue what became free.
package ledger

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

// Ledger is the single writer of the ledger, which has all availabilities and reservations of
// the host.
type Ledger struct {
	Deps
	journal *shell.Journal[capacity.State, capacity.Command, capacity.Event]
	keeper  *shell.Keeper[capacity.State]
}

// Deps are what the ledger needs.
type Deps struct {
	*shell.Base
	// Repo is told how much it may store.
	Repo interface{ Limit(quota events.Bytes) }
	// Quota is the host's quota; 0: whatever the ledger says.
	Quota       events.Bytes
	Quarantined *quarantine.List
	// Queue is told what became free.
	Queue *shell.Part
	// Decide is the rules: capacity.Decide.
	Decide func(capacity.State, capacity.Command) ([]capacity.Event, error)
	// Broken is called when the record cannot be read.
	Broken func(error)
}

// Messages to the ledger, and from it.
type (
	// Command is a command for the ledger; the answer is its capacity.Book, once the resulting
	// events are durable.
	Command struct {
		Cmd   capacity.Command
		Cause string
		By    events.EventID // the event of the record that led to it; zero: none
	}
	// ReservationOf asks for one reservation; the answer is a Found.
	ReservationOf struct{ ID events.ReservationID }
	// All asks for all reservations; the answer is a slice.
	All struct{}
	// Match asks whether an availability fits a slot; the answer is a *capacity.Refusal, nil:
	// one fits.
	Match struct{ Ask capacity.Ask }
	// Show asks for the whole ledger, as a capacity.Snapshot.
	Show struct{}
	// Freed tells the queue which criteria slots may meet now; SaleEnded: because a sale gave
	// back what it held.
	Freed struct {
		Reason    string
		Criteria  []capacity.Criterion
		SaleEnded bool
	}
)

// Name is the name of the ledger's actor.
const Name = "Reservations"

// OperatorCause is the cause of operators' commands.
const OperatorCause = "operator"

// Found is the answer to ReservationOf.
type Found struct {
	capacity.Reservation
	Found bool
}

// Do gives a ledger a command and waits until what follows from it is durable.
// shell.ErrPartDown: it may have taken effect; it is to be given again.
func Do(ctx context.Context, ledger *shell.Part, c Command) error {
	_, err := shell.Ask[capacity.Book](ledger, c).Wait(ctx)
	return err
}

// New returns the actor of a ledger.
func New(e Deps) *Ledger {
	r := &Ledger{Deps: e}
	r.keeper = NewKeeper(e.Base, e.Ledger)
	e.Savers[Name] = r.keeper
	r.journal = &shell.Journal[capacity.State, capacity.Command, capacity.Event]{
		Machine: shell.Machine[capacity.State, capacity.Command, capacity.Event]{
			Empty: capacity.New, Decide: e.Decide, Evolve: capacity.Evolve, About: aboutLedger,
			Restore: r.keeper.Load,
		},
		Stream: r.keeper.Stream, Store: e.Store, Codec: e.Codec, StoreWatch: e.StoreWatch,
		MinEvents: e.MinEvents[r.keeper.Stream],
		Meta: func(_ capacity.State, ev capacity.Event) events.Metadata {
			return e.Metadata(RequestOf(ev))
		},
		OnDurable: r.onDurable,
		OnBroken:  func(_ *shell.Turn, err error) { e.Broken(err) },
	}
	r.keeper.Now = r.journal.DurableState
	return r
}

// Once submits an operator's command in a process without actors, and returns when the
// resulting events are durable.
func (r *Ledger) Once(ctx context.Context, cmd capacity.Command) error {
	return r.journal.Once(ctx, cmd, OperatorCause)
}

// NewKeeper saves and loads the state of the ledger of a member, or of the host.
func NewKeeper(b *shell.Base, of events.Member) *shell.Keeper[capacity.State] {
	return &shell.Keeper[capacity.State]{
		Base: b, Stream: events.LedgerStream(b.Me, of), Schema: capacity.StateSchema,
		Empty: capacity.New, Size: capacity.State.Size, Pieces: capacity.State.Pieces,
		Parse: func(pieces [][]byte) (capacity.State, error) {
			return capacity.RestorePieces(capacity.Limits{}, pieces)
		},
	}
}

// RequestOf is the request that an event of any stream belongs to, for correlation; empty: none.
func RequestOf(ev any) string {
	if m, ok := ev.(interface{ GetRequestId() string }); ok {
		return m.GetRequestId()
	}
	return ""
}

// Receive implements shell.Behavior.
func (r *Ledger) Receive(a *shell.Turn, msg any) {
	if r.journal.Handle(a, msg) {
		return
	}
	switch m := msg.(type) {
	case shell.Started:
		r.journal.Load(a)
	case Command:
		r.submit(a, m, a.Asker())
	case ReservationOf:
		r.query(a.Asker(), func(l capacity.State) any {
			found, ok := l.Reservation(m.ID)
			return Found{found, ok}
		})
	case All:
		r.query(a.Asker(), func(l capacity.State) any { return slices.Collect(l.Reservations()) })
	case Match:
		r.query(a.Asker(), func(l capacity.State) any {
			_, refusal := capacity.Match(l, m.Ask)
			return refusal
		})
	case Show:
		r.query(a.Asker(), func(l capacity.State) any { return l.Snapshot() })
	}
}

// query answers from the durable ledger. If look panics, only the question fails: the ledger is
// unchanged.
func (r *Ledger) query(answer shell.Answer, look func(capacity.State) any) {
	r.journal.Query(func(l capacity.State) {
		var v any
		err := shell.Caught(func() error {
			v = look(l)
			return nil
		})
		answer(v, err)
	})
}

// submit decides a command, unless that command is quarantined.
func (r *Ledger) submit(a *shell.Turn, m Command, answer shell.Answer) {
	if q, ok := r.Quarantined.Has(aboutLedger(m.Cause)); ok {
		answer(nil,
			fmt.Errorf("%w since %s: the ledger failed on this command: %s; "+
				"try it again with `hostnode quarantine retry %s`",
				quarantine.ErrQuarantined, q.Since.UTC().Format(time.RFC3339), q.Reason, q.Subject))
		return
	}
	r.journal.SubmitBy(a, m.Cmd, m.Cause, m.By, func(done shell.Result[capacity.State, capacity.Event]) {
		answer(done.State.Book(), done.Err)
	})
}

// aboutLedger is the subject under which a command may be quarantined. Operators' commands have
// none: all have the same cause.
func aboutLedger(cause string) shell.Subject {
	if cause == OperatorCause {
		return shell.Subject{}
	}
	return shell.Subject{Kind: shell.SubjectLedger, Key: cause}
}

// onDurable tells what became free. It is also called once without events, when the record is loaded.
func (r *Ledger) onDurable(a *shell.Turn, fresh []capacity.Event) {
	r.keeper.Consider(a)
	for _, ev := range fresh {
		if reason, criteria := capacity.Wakes(r.journal.Durable, ev); len(criteria) > 0 {
			r.Queue.Tell(Freed{reason, criteria, capacity.EndsReservation(ev)})
		}
	}
	r.followQuota(a, len(fresh) > 0)
}

// followQuota keeps three limits in step. Quota is what the settings say. The ledger's own may lie above it while more
// is promised; whenever something is freed it is lowered towards Quota. The disk may store what is promised, or Quota
// if that is more, without sectors and pieces, which are elsewhere.
func (r *Ledger) followQuota(a *shell.Turn, changed bool) {
	book := r.journal.Durable.Book()
	if r.Quota == 0 {
		return
	}
	others := book.Sectors + book.Pieces                                        // They are not in the Repo.
	r.Repo.Limit(max(book.Allocated()-others, r.Quota-min(r.Quota, others), 1)) // 0 would mean no limit.
	if !changed || book.Quota <= r.Quota || book.Unallocated == 0 {
		return
	}
	// If this fails, it is repeated with the next event.
	cmd := capacity.SetQuota{At: r.Clock.Now(), Bytes: r.Quota, Near: true}
	r.submit(a, Command{Cmd: cmd, Cause: "quota"}, func(any, error) {})
}
