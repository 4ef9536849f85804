package actors

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hostnode/hostnode/actors/members"
	"github.com/hostnode/hostnode/actors/queue"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/membership"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/messages"
)

// This file gives a member the term, and takes it away.
//
// The lease of the cluster only says when a member may try. The term is TermTaken in the host's
// stream, at the exact revision; the newest one counts. An owner that has lost its lease goes on
// until somebody else has taken the term: it looks every few seconds, and whenever somebody else
// wrote to a stream that is its own. Two that both believe to be the owner do no harm, because all
// that an owner decides is appended at exact revisions before it is done, and because none goes on
// from what the other has written (hasTerm).

// termLook is how often an owner looks whether the term is still its own.
const termLook = 2 * time.Second

// Messages about the term, to the supervisor. The answer comes when all that runs once per host
// has begun, or has stopped.
type (
	termBegan struct{}
	termEnded struct{}
)

// keepTerms tries to have the term, again and again, until ctx ends.
func (e *env) keepTerms(ctx context.Context) {
	for n := 1; ctx.Err() == nil; {
		e.Yield(ctx, "term")
		rung := e.Bell.Next()
		err := e.RT.Guarded("term", func() error { return e.haveTerm(ctx) })
		if err == nil {
			n = 1
		} else if ctx.Err() == nil {
			e.Log.Warnf("this member does not run what runs once per host: %v", err)
		}
		n, _ = e.Pause(ctx, "term", n, rung)
	}
}

// haveTerm waits for the lease, takes the term, and returns when the term is over; with an error
// if this member could not use it. Whatever it waits for, it ends with ctx; the lease is given back as soon as
// the term cannot be written, so that another member is let try.
func (e *env) haveTerm(ctx context.Context) error {
	held, err := e.Cluster.Campaign(ctx)
	if err != nil {
		return err
	}
	trying, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(held, cancel)()
	if err := e.upToDate(trying); err != nil { // Otherwise each try would end the term of a better one.
		e.resign()
		return err
	}
	term, err := e.takeTerm(trying)
	if err != nil {
		e.resign()
		e.untake(ctx)
		return fmt.Errorf("take the term: %w", err)
	}
	defer e.giveBack(ctx, term)
	if err := e.upToDate(ctx); err != nil {
		return err
	}
	if err := e.ownAccount(ctx); err != nil {
		return fmt.Errorf("term %d: take over the account's transactions: %w", term, err)
	}
	defer func() {
		if err := e.Account.Disown(); err != nil {
			e.Log.Warnf("term %d: give up the account's transactions: %v", term, err)
		}
	}()
	if _, err := shell.Ask[struct{}](e.root, termBegan{}).Wait(ctx); err != nil {
		return err
	}
	e.Log.Infof("term %d: this member runs what runs once per host", term)
	meeting, over := context.WithCancel(ctx)
	defer over()
	e.RT.Do("members", func(context.Context) { e.meet(meeting) })
	why := e.untilDeposed(ctx, term)
	if ctx.Err() != nil { // The host stops, and all actors with it.
		return ctx.Err()
	}
	e.Log.Warnf("term %d is over: %v", term, why)
	_, err = shell.Ask[struct{}](e.root, termEnded{}).Wait(ctx)
	if err == nil && held.Err() == nil && !errors.Is(why, errGivesWay) {
		err = errStillHeld // Trying again at once, both would take the term from each other without end.
	}
	return err
}

// errStillHeld: the term was lost before the lease. That may happen once, when the end of a lease is noticed late.
var errStillHeld = errors.New("another member has taken the term, and this one seems to have the lease still; if " +
	"this is said again and again, the members do not ask the same etcd: compare cluster.etcd.endpoints")

// errBehind: this member does not know yet what others have recorded.
var errBehind = errors.New("this member reads late what others have recorded")

// behindPatience is how long a member may be behind the record before another one is let try.
const behindPatience = 10 * time.Second

// upToDate waits until this member has followed the record as far as the former owner has written. What an owner
// promises rests on all sales of all members; one whose subscription hangs would promise tokens twice.
func (e *env) upToDate(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, behindPatience)
	defer cancel()
	var position events.Position
	for _, stream := range []string{events.HostStream(e.Me), events.SlotQueueStream(e.Me)} {
		last, found, err := events.Last(ctx, e.Store, stream)
		if err != nil {
			return fmt.Errorf("look how far the record goes: %w", err)
		}
		if found {
			position = max(position, last.Position)
		}
	}
	for {
		at, moved := e.followed.state()
		if at >= position {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", errBehind, ctx.Err())
		}
	}
}

// ownPatience is how long taking over the account's transactions may take, before another member
// is let try.
const ownPatience = time.Minute

func (e *env) ownAccount(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, ownPatience)
	defer cancel()
	if err := e.hasTerm(ctx); err != nil { // It may have been taken meanwhile, and the account be another's.
		return err
	}
	return e.Account.Own(ctx)
}

// meet asks the other members now and then whether they work, while slots wait for a member, until ctx ends. When one
// does that did not before, those slots are judged again.
func (e *env) meet(ctx context.Context) {
	var work map[events.Member]bool // nil: nothing waited at the last look
	for shell.Sleep(ctx, e.Clock, meetEvery) == nil {
		e.Yield(ctx, "members")
		waits, err := shell.Ask[bool](e.queue, queue.WaitsFor{Criterion: slotqueue.CriterionMember}).Wait(ctx)
		if err != nil || !waits {
			work = nil
			continue
		}
		first, came := work == nil, ""
		if first {
			work = map[events.Member]bool{}
		}
		for _, m := range e.Cluster.Seen() {
			if m == e.Member {
				continue
			}
			patient, cancel := context.WithTimeout(ctx, sellPatience)
			room, err := members.Ask(patient, e.Cluster, m, members.LookForRoom{})
			cancel()
			works := err == nil && room.Known // It is measured at the end of a start.
			if works && !work[m] && !first {
				came = string(m)
			}
			work[m] = works
		}
		if came != "" && ctx.Err() == nil {
			e.queue.Tell(queue.Wake{
				Reason: "member " + came + " answers", Criteria: []string{slotqueue.CriterionMember}, Early: true,
			})
		}
	}
}

// meetEvery is the pause between two rounds of questions to the other members.
const meetEvery = 5 * time.Second

// untilDeposed returns when the term is over, or of no use any more, and says why.
func (e *env) untilDeposed(ctx context.Context, term uint64) error {
	next := e.Clock.Now().Add(termLook)
	for {
		now, moved := e.owner.state()
		if membership.Deposed(now, e.Epoch, term) {
			return fmt.Errorf("%w: %s", shell.ErrDeposed, now.Term.Member)
		}
		looks := make(chan struct{})
		stop := e.Clock.After(next.Sub(e.Clock.Now()), func() { close(looks) })
		select {
		case <-moved:
		case <-looks:
		case <-e.Account.Lost():
			stop()
			return errors.New("the account's transactions are lost to another process, or none can be sent")
		case <-ctx.Done():
			stop()
			return ctx.Err()
		}
		stop()
		if e.Clock.Now().Before(next) {
			continue
		}
		next = e.Clock.Now().Add(termLook)
		e.suspect()
		if heir := e.heir(ctx); heir != "" {
			return fmt.Errorf("%w for %s: member %s, which it answers, may take the term", errGivesWay,
				e.GiveWayAfter, heir)
		}
	}
}

// errGivesWay: this member lets another one take the term, whose event store answers.
var errGivesWay = errors.New("the event store has not answered this member")

// heir is a member that may take the term and whose event store answers, once that of this member has not for too
// long; empty: none says so. A store that has gone back is the same one for all.
func (e *env) heir(ctx context.Context) events.Member {
	e.Yield(ctx, "heir")
	record := e.StoreWatch.Now()
	if !record.Away || record.WentBack || e.Clock.Now().Sub(record.Since) < e.GiveWayAfter {
		return ""
	}
	for _, m := range e.Cluster.Seen() {
		if m == e.Member {
			continue
		}
		asking, cancel := context.WithTimeout(ctx, sellPatience)
		work, err := members.Ask(asking, e.Cluster, m, members.LookAtWork{})
		cancel()
		if err == nil && work.MayOwn {
			return m
		}
	}
	return ""
}

// takePatience is how long the store may take to accept a term, before another member is let try: it may answer
// whoever reads, and take nothing that is written.
const takePatience = 10 * time.Second

// takeTerm appends TermTaken with the next number. It gives up after takePatience, and when the lease is lost
// meanwhile: another member may have it now. After an error the term may be in the record all the same (untake).
func (e *env) takeTerm(ctx context.Context) (term uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, takePatience)
	defer cancel()
	err = e.oneAtATime(ctx, func() error {
		return e.ask(ctx, func() error {
			for {
				term, err = e.takeTermOnce(ctx)
				if !errors.Is(err, events.ErrWrongRevision) {
					return err
				}
			}
		})
	})
	return term, err
}

// untake ends a term that may have been taken, and returns when that is known, or ctx ends. The append of the term
// may still be on its way; behind a heartbeat, which has its revision or a later one, it cannot be stored any more.
// So a member whose store takes nothing does not try again until it does.
func (e *env) untake(ctx context.Context) {
	beat := &messages.HostHeartbeat{At: events.TimeToMessage(e.Clock.Now()), Epoch: e.Epoch}
	err := e.writeHost(ctx, beat)
	if err == nil {
		err = e.recordTermEnd(ctx)
	}
	if err != nil && ctx.Err() == nil {
		e.Log.Warnf("it is not known whether this member took a term: %v", err)
	}
}

// takeTermOnce tries once. ErrWrongRevision: somebody else wrote to the host's stream. Call it
// inside oneAtATime.
func (e *env) takeTermOnce(ctx context.Context) (term uint64, err error) {
	if err := e.readOn(ctx); err != nil {
		return 0, err
	}
	now, _ := e.owner.state()
	m := membership.TakeTerm(now, e.Epoch, e.Member, e.Clock.Now())
	if m == nil {
		return now.Term.Number, nil
	}
	return m.GetTerm(), e.appendHostAt(ctx, e.owner.count, m)
}

// giveBack says in the record that the term is over, if it is still this member's, and lets others
// try. If the record does not answer soon, they are let try before, and it goes on until the end is recorded.
func (e *env) giveBack(ctx context.Context, term uint64) {
	if ctx.Err() != nil { // A stop does both, in this order, too.
		return
	}
	patient, cancel := context.WithTimeout(ctx, shell.StopPatience)
	defer cancel()
	err := e.recordTermEnd(patient)
	if ctx.Err() != nil {
		return
	}
	e.resign()
	if err == nil {
		return
	}
	e.Log.Warnf("the end of term %d could not be recorded yet: %v", term, err)
	if err := e.recordTermEnd(ctx); err != nil && ctx.Err() == nil {
		e.Log.Warnf("the end of term %d could not be recorded: %v", term, err)
	}
}

// recordTermEnd records that the term of this process is over, if it has one, and repeats that until it is known.
func (e *env) recordTermEnd(ctx context.Context) error {
	now := e.Clock.Now()
	return e.oneAtATime(ctx, func() error {
		return e.ask(ctx, func() error { return e.endTerm(ctx, now) })
	})
}

// resign gives the lease back.
func (e *env) resign() {
	ctx, cancel := context.WithTimeout(context.Background(), resignPatience)
	defer cancel()
	if err := e.Cluster.Resign(ctx); err != nil {
		e.Log.Debugf("the lease could not be given back, and will expire: %v", err)
	}
}

// resignPatience is how long giving the lease back may take.
const resignPatience = time.Second
