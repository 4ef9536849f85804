package actors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/ledger"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/actors/validator"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/validation"
)

// This file supervises the rooms of a host: the ledger, the queue, the proof scheduler, and those of its other
// machines. A room that panics is started again from its record, after a growing pause. One whose record cannot be read
// or folded is tried again at a slow pace, because stored events are never skipped. The other rooms go on meanwhile,
// and who asks a room that is down is told so and asks again.

const (
	schedulerName = health.PartScheduler
	validatorName = "Validator"
	// partSteady is how long a room must run, by the machine's clock, for its earlier failures
	// to be forgotten.
	partSteady = 10 * time.Minute
	// partAlertAfter is how many failures in a row raise an alert: fewer are over in seconds.
	partAlertAfter = 3
)

// Place is where a room runs.
type Place uint8

// The places. A host that is one process is each member, and the owner.
const (
	EachMember Place = iota
	Owner            // the member that has the term
)

// Room is where a machine of a host runs: an actor that is started from its record, and again when it has failed.
type Room struct {
	// Part is its address, with its name.
	Part *shell.Part
	Runs Place
	// Start makes the behavior of a life, counted from 1. broken may be called at any time by anybody: it ends this
	// life.
	Start func(chain *chainview.Chain, life int, broken func(error)) shell.Behavior
	// Lost is what does not happen while it is down, for an operator.
	Lost string
	// Heads: it is told each block (chainview.HeadMoved).
	Heads bool
	// Takes gives the room an order that another member passes on (OrderOwner, Taker); nil: it takes none.
	Takes func(ctx context.Context, h *Host, order []byte) (any, error)
	// Barred says of a member that no slot is to be handed to it; nil: of none. It does not wait.
	Barred func(events.Member) bool
}

// supervisedRoom is what the supervisor knows of a room.
type supervisedRoom struct {
	Room
	child shell.Child[*supervisedRoom]
	// began tells a new life what is not in its record, ended that it has failed; nil: nothing is done.
	began func(shell.Ref)
	ended func(error)
	// late: it starts when the sales have; then ownStatus says that its trouble is not told as a part that is down.
	late, ownStatus bool
	told            bool // an alert said that it is down
}

// rooms are those of this host. They live in the supervisor's turns.
type rooms struct {
	*chainview.Chain
	*health.Alerts
	panics *panics
	family shell.Family[*supervisedRoom]
	all    []*supervisedRoom // in a fixed order
	booted bool              // the start is over, and the sales run
	owns   bool              // this process has the term, as one that is the host always has
}

// keep says how the rooms are supervised.
func (s *rooms) keep(slow func(n int) time.Duration, all []*supervisedRoom) {
	s.family = shell.Family[*supervisedRoom]{
		Base: s.Base, Steady: partSteady, Slow: slow, Began: s.onBegan, Ended: s.onEnded,
		Start: func(_ *shell.Turn, r *supervisedRoom, life int, broken func(error)) shell.Behavior {
			return r.Start(s.Chain, life, broken)
		},
	}
	s.all = all
	for _, r := range s.all {
		r.child = shell.Child[*supervisedRoom]{Of: r, Name: r.Part.Name}
	}
}

// here returns the rooms that are to run in this process now.
func (s *rooms) here() []*supervisedRoom {
	return slices.DeleteFunc(slices.Clone(s.all), func(r *supervisedRoom) bool {
		return r.Runs == Owner && !s.owns || r.late && !s.booted
	})
}

// run starts the rooms that are to run here, and do not yet.
func (s *rooms) run(a *shell.Turn) {
	for _, r := range s.here() {
		s.family.Run(a, &r.child)
	}
}

// errNoTerm: another member may run what this one does not run now.
var errNoTerm = errors.New("it runs where the term is")

// stopOwners stops the rooms that run where the term is.
func (s *rooms) stopOwners() {
	for _, r := range s.all {
		if r.Runs != Owner {
			continue
		}
		if r.Part.Running() {
			r.Part.Ended(s.Clock.Now(), true, errNoTerm)
		}
		s.family.Stop(&r.child)
		s.family.Works(&r.child, true)
		delete(s.Savers, r.Part.Name)
	}
}

func (s *rooms) onBegan(_ *shell.Turn, r *supervisedRoom) {
	child := r.child.Ref()
	r.Part.Began(child)
	if r.began != nil {
		r.began(child)
	}
	if s.Clears() {
		s.Clock.After(partSteady, func() {
			if r.Part.Is(child) {
				s.ClearAbout(health.AlertPartDown, r.Part.Name, "it has run for "+partSteady.String())
			}
		})
	}
}

// onEnded notes that a room has failed, and tells those who wait for it.
func (s *rooms) onEnded(r *supervisedRoom, f shell.Failure) bool {
	s.panics.count(f.About, f.Err) // What it was working on is quarantined the second time.
	r.told = r.told && f.InARow > 1
	r.Part.Ended(s.Clock.Now(), f.InARow == 1, f.Err)
	name := r.Part.Name
	delete(s.Savers, name) // Its state in memory is not trusted.
	if r.ended != nil {
		r.ended(f.Err)
	}
	s.Log.WithField("part", name).Errorf("%s is down and will be restarted in %s: %v", name, f.Pause, f.Err)
	if (f.Lefts > 0 || f.InARow >= partAlertAfter) && !r.told {
		r.told = true
		s.RaiseAbout(health.AlertPartDown, name, fmt.Sprintf("%s is down: %v", name, f.Err), r.Lost+
			": find the cause in the log, or check the record with `hostnode audit`; the host restarts it by itself")
	}
	return true
}

// tellHead tells the rooms that want it of a block.
func (s *rooms) tellHead(head events.Head, live bool) {
	for _, r := range s.all {
		if r.Heads {
			r.Part.Tell(chainview.HeadMoved{Head: head, Live: live})
		}
	}
}

// down are the rooms that do not run now.
func (s *rooms) down() (down []health.PartStatus) {
	for _, r := range s.here() {
		if since, why := r.Part.Trouble(); why != nil && !r.ownStatus {
			down = append(down, health.PartStatus{Name: r.Part.Name, Since: since, Reason: why.Error()})
		}
	}
	return down
}

// validating is the validator, a part on which nothing else of the host depends.
type validating struct {
	part     *shell.Part
	settings validation.Settings
	status   atomic.Pointer[validator.Status] // nil: there is none
}

// tell tells the validator what the chain says.
func (v *validating) tell(m chainNews) {
	n := validator.News{Grew: m.recorded != nil, Proofs: m.proofs, Live: m.live, Head: m.head}
	if m.reorganized != nil {
		n.Rewound, n.Ancestor = true, m.reorganized.GetAncestor()
	}
	v.part.Tell(n)
}

// showDown has the validator's status say why it does not run.
func (v *validating) showDown(err error) {
	last := validator.Status{Settings: v.settings}
	if known := v.status.Load(); known != nil {
		last = *known
	}
	last.Ready, last.Trouble = false, err.Error()
	v.status.Store(&last)
}

// quota is how many bytes the host may use.
type quota struct {
	*shell.Base
	*health.Alerts
	ledger *shell.Part
	bytes  events.Bytes // 0: as many as its ledger says
	seals  bool         // this host has a sealer
}

// set tells the ledger the quota. A quota below what availabilities and sales already use
// does not stop the host, because hosted slots must be proven. The ledger then goes as low as
// it can, takes nothing new, and lowers itself further as space is freed.
func (q quota) set() {
	if q.bytes == 0 {
		return
	}
	asked := shell.Ask[capacity.Book](q.ledger, ledger.Command{
		Cmd: capacity.SetQuota{At: q.Clock.Now(), Bytes: q.bytes, Near: true}, Cause: "start",
	})
	q.RT.Do("quota", func(ctx context.Context) {
		q.Yield(ctx, "quota")
		book, err := asked.Wait(ctx)
		switch {
		case ctx.Err() != nil, errors.Is(err, shell.ErrReloading), errors.Is(err, shell.ErrPartDown):
		case err != nil:
			q.Raise(health.AlertQuota, events.SlotID{}, 0,
				fmt.Sprintf("the ledger did not take the quota of %d bytes: %v", q.bytes, err),
				"the previous quota stays in force; find the cause in the log and restart the host")
		default:
			if book.Sectors > 0 && !q.seals {
				q.Log.Errorf("sectors hold %d bytes and are not proven, because this host has no sealer: "+
					"their deposits shrink; set sectors.sealer to what it was", book.Sectors)
			}
			if book.Pieces > 0 && !q.seals {
				q.Log.Warnf("the data of pieces holds %d bytes, which can be removed only with a sealer: "+
					"set sectors.sealer to what it was", book.Pieces)
			}
			f := health.Facts{Supply: health.Supply{Quota: q.bytes, Allocated: book.Allocated()}}
			if _, so := health.CauseOf("quota-too-small", f); !so {
				q.ClearCause("quota-too-small", "the quota suffices")
			}
			q.RaiseCause("quota-too-small", events.SlotID{}, f)
		}
	})
}
