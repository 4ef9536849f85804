package actors

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hostnode/hostnode/actors/members"
	"github.com/hostnode/hostnode/actors/port"
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
// until another one has taken the term: it looks every few seconds, and whenever another one
// wrote to a stream that is its own. Two that both believe to be the owner do no harm, because all
// that an owner decides is appended at exact revisions before it is done, and because none goes on
// from what the other has written (hasTerm).

// termLook is how often an owner looks whether the term is still its own.
const termLook = 2 * time.Second

// terms lets this member have the term, whenever it may.
type terms struct {
	*hostRecord
	cluster      port.Cluster
	account      port.Account
	giveWayAfter time.Duration
	root, queue  *shell.Part
	followed     *watched[events.Position] // how far the record was followed
}

// Messages about the term, to the supervisor. The answer comes when all that runs once per host
// has begun, or has stopped.
type (
	termBegan struct{}
	termEnded struct{}
)

// keep tries to have the term, again and again, until ctx ends.
func (t *terms) keep(ctx context.Context) {
	for n := 1; ctx.Err() == nil; {
		t.Yield(ctx, "term")
		rung := t.Bell.Next()
		err := t.RT.Guarded("term", func() error { return t.haveTerm(ctx) })
		if err == nil {
			n = 1
		} else if ctx.Err() == nil {
			t.Log.Warnf("this member does not run what runs once per host: %v", err)
		}
		n, _ = t.Pause(ctx, "term", n, rung)
	}
}

// haveTerm waits for the lease, takes the term, and returns when the term is over; with an error
// if this member could not use it. Whatever it waits for, it ends with ctx; the lease is given back as soon as
// the term cannot be written, so that another member is let try.
func (t *terms) haveTerm(ctx context.Context) error {
	held, err := t.cluster.Campaign(ctx)
	if err != nil {
		return err
	}
	trying, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(held, cancel)()
	if err := t.upToDate(trying); err != nil { // Otherwise each try would end the term of a better one.
		t.resign()
		return err
	}
	term, err := t.takeTerm(trying)
	if err != nil {
		t.resign()
		t.untake(ctx)
		return fmt.Errorf("take the term: %w", err)
	}
	defer t.giveBack(ctx, term)
	if err := t.upToDate(ctx); err != nil {
		return err
	}
	if err := t.ownAccount(ctx); err != nil {
		return fmt.Errorf("term %d: take over the account's transactions: %w", term, err)
	}
	defer func() {
		if err := t.account.Disown(); err != nil {
			t.Log.Warnf("term %d: give up the account's transactions: %v", term, err)
		}
	}()
	if _, err := shell.Ask[struct{}](t.root, termBegan{}).Wait(ctx); err != nil {
		return err
	}
	t.Log.Infof("term %d: this member runs what runs once per host", term)
	meeting, over := context.WithCancel(ctx)
	defer over()
	t.RT.Do("members", func(context.Context) { t.meet(meeting) })
	why := t.untilDeposed(ctx, term)
	if ctx.Err() != nil { // The host stops, and all actors with it.
		return ctx.Err()
	}
	t.Log.Warnf("term %d is over: %v", term, why)
	_, err = shell.Ask[struct{}](t.root, termEnded{}).Wait(ctx)
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
func (t *terms) upToDate(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, behindPatience)
	defer cancel()
	var position events.Position
	for _, stream := range []string{events.HostStream(t.Me), events.SlotQueueStream(t.Me)} {
		last, found, err := events.Last(ctx, t.Store, stream)
		if err != nil {
			return fmt.Errorf("look how far the record goes: %w", err)
		}
		if found {
			position = max(position, last.Position)
		}
	}
	for {
		at, moved := t.followed.state()
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

func (t *terms) ownAccount(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, ownPatience)
	defer cancel()
	if err := t.hasTerm(ctx); err != nil { // It may have been taken meanwhile, and the account be another's.
		return err
	}
	return t.account.Own(ctx)
}

// meet asks the other members now and then whether they work, while slots wait for a member, until ctx ends. When one
// does that did not before, those slots are judged again.
func (t *terms) meet(ctx context.Context) {
	var work map[events.Member]bool // nil: nothing waited at the last look
	for shell.Sleep(ctx, t.Clock, meetEvery) == nil {
		t.Yield(ctx, "members")
		waits, err := shell.Ask[bool](t.queue, queue.WaitsFor{Criterion: slotqueue.CriterionMember}).Wait(ctx)
		if err != nil || !waits {
			work = nil
			continue
		}
		first, came := work == nil, ""
		if first {
			work = map[events.Member]bool{}
		}
		for _, m := range t.cluster.Seen() {
			if m == t.Member {
				continue
			}
			room, err := askMember(ctx, t.cluster, m, members.LookForRoom{})
			works := err == nil && room.Known // It is measured at the end of a start.
			if works && !work[m] && !first {
				came = string(m)
			}
			work[m] = works
		}
		if came != "" && ctx.Err() == nil {
			t.queue.Tell(queue.Wake{
				Reason: "member " + came + " answers", Criteria: []string{slotqueue.CriterionMember}, Early: true,
			})
		}
	}
}

// meetEvery is the pause between two rounds of questions to the other members.
const meetEvery = 5 * time.Second

// memberPatience is how long an answer of another member is awaited.
const memberPatience = 5 * time.Second

func askMember[A any](ctx context.Context, c port.Cluster, m events.Member, q members.Question[A]) (A, error) {
	ctx, cancel := context.WithTimeout(ctx, memberPatience)
	defer cancel()
	return members.Ask(ctx, c, m, q)
}

// untilDeposed returns when the term is over, or of no use any more, and says why.
func (t *terms) untilDeposed(ctx context.Context, term uint64) error {
	next := t.Clock.Now().Add(termLook)
	for {
		now, moved := t.state()
		if membership.Deposed(now, t.Epoch, term) {
			return fmt.Errorf("%w: %s", shell.ErrDeposed, now.Term.Member)
		}
		looks := make(chan struct{})
		stop := t.Clock.After(next.Sub(t.Clock.Now()), func() { close(looks) })
		select {
		case <-moved:
		case <-looks:
		case <-t.account.Lost():
			stop()
			return errors.New("the account's transactions are lost to another process, or none can be sent")
		case <-ctx.Done():
			stop()
			return ctx.Err()
		}
		stop()
		if t.Clock.Now().Before(next) {
			continue
		}
		next = t.Clock.Now().Add(termLook)
		t.suspect()
		if heir := t.heir(ctx); heir != "" {
			return fmt.Errorf("%w for %s: member %s, which it answers, may take the term", errGivesWay,
				t.giveWayAfter, heir)
		}
	}
}

// errGivesWay: this member lets another one take the term, whose event store answers.
var errGivesWay = errors.New("the event store has not answered this member")

// heir is a member that may take the term and whose event store answers, once that of this member has not for too
// long; empty: none says so. A store that has gone back is the same one for all.
func (t *terms) heir(ctx context.Context) events.Member {
	t.Yield(ctx, "heir")
	record := t.StoreWatch.Now()
	if !record.Away || record.WentBack || t.Clock.Now().Sub(record.Since) < t.giveWayAfter {
		return ""
	}
	for _, m := range t.cluster.Seen() {
		if m == t.Member {
			continue
		}
		work, err := askMember(ctx, t.cluster, m, members.LookAtWork{})
		if err == nil && work.MayOwn {
			return m
		}
	}
	return ""
}

// takePatience is how long the store may take to accept a term, before another member is let try: it may answer
// readers, and take nothing that is written.
const takePatience = 10 * time.Second

// takeTerm appends TermTaken with the next number. It gives up after takePatience, and when the lease is lost
// meanwhile: another member may have it now. After an error the term may be in the record all the same (untake).
func (t *terms) takeTerm(ctx context.Context) (term uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, takePatience)
	defer cancel()
	err = t.oneAtATime(ctx, func() error {
		return askStore(ctx, t.Base, func() error {
			if err := t.readOn(ctx); err != nil {
				return err
			}
			return t.appendNext(ctx, func() hostEvent {
				now, _ := t.state()
				m := membership.TakeTerm(now, t.Epoch, t.Member, t.Clock.Now())
				if m == nil {
					term = now.Term.Number
					return nil
				}
				term = m.GetTerm()
				return m
			})
		})
	})
	return term, err
}

// untake ends a term that may have been taken, and returns when that is known, or ctx ends. The append of the term
// may still be on its way; behind a heartbeat, which has its revision or a later one, it cannot be stored any more.
// So a member whose store takes nothing does not try again until it does.
func (t *terms) untake(ctx context.Context) {
	beat := &messages.HostHeartbeat{At: events.TimeToMessage(t.Clock.Now()), Epoch: t.Epoch}
	err := t.write(ctx, beat)
	if err == nil {
		err = t.recordTermEnd(ctx)
	}
	if err != nil && ctx.Err() == nil {
		t.Log.Warnf("it is not known whether this member took a term: %v", err)
	}
}

// giveBack says in the record that the term is over, if it is still this member's, and lets others
// try. If the record does not answer soon, they are let try before, and it goes on until the end is recorded.
func (t *terms) giveBack(ctx context.Context, term uint64) {
	if ctx.Err() != nil { // A stop does both, in this order, too.
		return
	}
	patient, cancel := context.WithTimeout(ctx, shell.StopPatience)
	defer cancel()
	err := t.recordTermEnd(patient)
	if ctx.Err() != nil {
		return
	}
	t.resign()
	if err == nil {
		return
	}
	t.Log.Warnf("the end of term %d could not be recorded yet: %v", term, err)
	if err := t.recordTermEnd(ctx); err != nil && ctx.Err() == nil {
		t.Log.Warnf("the end of term %d could not be recorded: %v", term, err)
	}
}

// recordTermEnd records that the term of this process is over, if it has one, and repeats that until it is known.
func (t *terms) recordTermEnd(ctx context.Context) error {
	now := t.Clock.Now()
	return t.oneAtATime(ctx, func() error {
		return askStore(ctx, t.Base, func() error { return t.endTerm(ctx, now) })
	})
}

// resign gives the lease back.
func (t *terms) resign() {
	ctx, cancel := context.WithTimeout(context.Background(), resignPatience)
	defer cancel()
	if err := t.cluster.Resign(ctx); err != nil {
		t.Log.Debugf("the lease could not be given back, and will expire: %v", err)
	}
}

// resignPatience is how long giving the lease back may take.
const resignPatience = time.Second
