package actors

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/ledger"
	"github.com/hostnode/hostnode/actors/proofs"
	"github.com/hostnode/hostnode/actors/queue"
	"github.com/hostnode/hostnode/actors/sales"
	"github.com/hostnode/hostnode/actors/sectors"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/actors/validator"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
)

// This file supervises the rooms of a host: the ledger, the queue, the proof scheduler, and those of its other
// machines. A room that panics is started again from its record, after a growing pause. One whose record cannot be read
// or folded is tried again at a slow pace, because stored events are never skipped. The other rooms go on meanwhile,
// and whoever asks a room that is down is told so and asks again.

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
	Start func(base *shell.Base, life int, broken func(error)) shell.Behavior
	// Lost is what does not happen while it is down, for an operator.
	Lost string
	// Heads: it is told each block (chainview.HeadMoved).
	Heads bool
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

type rooms struct {
	family shell.Family[*supervisedRoom]
	all    []*supervisedRoom // in a fixed order
}

// keepRooms says which rooms this host has, and how they are supervised.
func (s *supervisor) keepRooms() {
	s.rooms.family = shell.Family[*supervisedRoom]{
		Base: s.Base, Steady: partSteady, Slow: s.quarantinePause, Began: s.onRoomBegan, Ended: s.onRoomEnded,
		Start: func(_ *shell.Turn, r *supervisedRoom, life int, broken func(error)) shell.Behavior {
			return r.Start(s.Base, life, broken)
		},
	}
	const sold = "nothing is sold while it is down, and hosted slots are proven"
	s.rooms.all = []*supervisedRoom{
		{Room: Room{Part: s.ledger, Start: s.newLedger, Lost: sold}, began: func(shell.Ref) { s.setQuota() }},
		{
			Room:  Room{Part: s.queue, Runs: Owner, Start: s.newQueue, Lost: sold, Heads: true},
			began: func(shell.Ref) { s.pauseAfterLoss() }, ended: func(error) { s.forgetWorkers() },
		},
		{
			Room: Room{
				Part: s.scheduler, Start: s.newScheduler, Lost: "no new proof begins while it is down", Heads: true,
			},
			began: s.tellScheduler,
		},
	}
	if s.Ports.Sectors != nil {
		s.rooms.all = append(s.rooms.all, &supervisedRoom{
			Room: Room{
				Part: s.sectors, Start: s.newSectors, Heads: true,
				Lost: "no sector is sealed or proven while it is down, and slots are",
			},
			began: s.tellNow,
		})
	}
	if s.Validation != nil {
		s.rooms.all = append(s.rooms.all, &supervisedRoom{
			Room: Room{
				Part: s.validator, Runs: Owner, Start: s.newValidator,
				Lost: "missing proofs of other hosts are not marked while it is down",
			},
			late: true, ownStatus: true, ended: s.showValidatorDown,
		})
	}
	for _, r := range s.Rooms {
		s.rooms.all = append(s.rooms.all, &supervisedRoom{Room: r, late: true, began: s.tellNow})
	}
	for _, r := range s.rooms.all {
		r.child = shell.Child[*supervisedRoom]{Of: r, Name: r.Part.Name}
	}
}

func (s *supervisor) newLedger(_ *shell.Base, _ int, broken func(error)) shell.Behavior {
	return ledger.New(ledger.Deps{
		Base: s.Base, Repo: s.Repo, Quota: s.Quota, Quarantined: s.quarantined, Queue: s.queue,
		Decide: s.Cores.DecideCapacity, Broken: broken,
	})
}

func (s *supervisor) newQueue(_ *shell.Base, life int, broken func(error)) shell.Behavior {
	return queue.New(queue.Deps{
		Rules: s.Rules, Alerts: s.Alerts, Quarantined: s.quarantined, Part: s.queue, Match: s.match,
		Supervisor: s.self, Reads: s.reads, ChainID: s.ChainID, Contract: s.Contract, MaxQueued: s.MaxQueued,
		MaxWorkers: s.MaxWorkers, WorkerPatience: s.WorkerPatience, AvoidClient: s.AvoidClient,
		Decide: s.Cores.DecideQueue, Held: s.lossUnrecorded, Life: life, Broken: broken,
	})
}

func (s *supervisor) newScheduler(*shell.Base, int, func(error)) shell.Behavior {
	return proofs.New(proofs.Deps{
		Rules: s.Rules, Alerts: s.Alerts, Quarantined: s.quarantined, Provers: s.provers, Verdict: s.Cores.Verdict,
		Since: s.since, Recent: s.heads,
	})
}

func (s *supervisor) newSectors(*shell.Base, int, func(error)) shell.Behavior {
	room := sectors.New(s.sectorDeps())
	s.sectorPools = room.Pools()
	return room
}

// sectorDeps are what the sectors of a host need; Ports.Sectors must be set.
func (e *env) sectorDeps() sectors.Deps {
	settings := e.Config.Sectors
	settings.Quota = cmp.Or(settings.Quota, e.Quota)
	settings.QuarantineRetry = cmp.Or(settings.QuarantineRetry, e.QuarantineRetry)
	settings.ScrubEvery = cmp.Or(settings.ScrubEvery, e.ScrubEvery)
	settings.ScrubBytesPerSecond = cmp.Or(settings.ScrubBytesPerSecond, e.ScrubBytesPerSecond)
	settings.FinalBlocks = cmp.Or(settings.FinalBlocks, e.FinalBlocks)
	p := e.Ports.Sectors
	return sectors.Deps{
		Base: e.Base, Settings: settings, Sealer: p.Sealer, Files: p.Files, Pieces: p.Pieces, Chain: e.Doubted(p.Chain),
		Ledger: e.ledger, Quarantined: e.quarantined, Space: p.Space, Policy: e.SectorPolicy,
		Decide: e.Cores.DecideSector,
		Alert: func(t health.SectorTrouble) {
			e.RaiseCause("sectors-stuck", events.SlotID{}, health.Facts{Sectors: []health.SectorTrouble{t}})
		},
	}
}

func (s *supervisor) newValidator(_ *shell.Base, _ int, broken func(error)) shell.Behavior {
	return validator.New(validator.Deps{
		Chain: s.Chain, Validation: s.Validation, Settings: s.Validator,
		Stream: events.MarketStream(s.ChainID, s.Contract), Reads: s.reads, Ours: s.slots(),
		Publish: func(now validator.Status) { s.validating.Store(&now) },
		Broken:  broken,
	})
}

// here returns the rooms that are to run in this process now.
func (s *supervisor) here() []*supervisedRoom {
	return slices.DeleteFunc(slices.Clone(s.rooms.all), func(r *supervisedRoom) bool {
		return r.Runs == Owner && !s.term.owns || r.late && !s.booted
	})
}

// runRooms starts the rooms that are to run here, and do not yet.
func (s *supervisor) runRooms(a *shell.Turn) {
	for _, r := range s.here() {
		s.rooms.family.Run(a, &r.child)
	}
}

// errNoTerm: another member may run what this one does not run now.
var errNoTerm = errors.New("it runs where the term is")

// stopRoom stops a room that is not to run here now.
func (s *supervisor) stopRoom(r *supervisedRoom) {
	if r.Part.Running() {
		r.Part.Ended(s.Clock.Now(), true, errNoTerm)
	}
	s.rooms.family.Stop(&r.child)
	s.rooms.family.Works(&r.child, true)
	delete(s.Savers, r.Part.Name)
	s.forgetWorkers()
}

func (s *supervisor) onRoomBegan(_ *shell.Turn, r *supervisedRoom) {
	child := r.child.Ref()
	r.Part.Began(child)
	if r.began != nil {
		r.began(child)
	}
}

// onRoomEnded notes that a room has failed, and tells those who wait for it.
func (s *supervisor) onRoomEnded(r *supervisedRoom, f shell.Failure) bool {
	s.countPanic(f.About, f.Err) // What it was working on is quarantined the second time.
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
		s.Raise(health.AlertPartDown, events.SlotID{}, 0, fmt.Sprintf("%s is down: %v", name, f.Err), r.Lost+
			": find the cause in the log, or check the record with `hostnode audit`; the host restarts it by itself")
	}
	return true
}

// tellHead tells the rooms that want it of a block.
func (s *supervisor) tellHead(head events.Head) {
	for _, r := range s.rooms.all {
		if r.Heads {
			r.Part.Tell(chainview.HeadMoved{Head: head})
		}
	}
}

// tellNow tells a new life of a room the newest block.
func (s *supervisor) tellNow(room shell.Ref) { room.Tell(chainview.HeadMoved{Head: s.View.Now()}) }

// tellScheduler tells a new life of the scheduler which sales there are.
func (s *supervisor) tellScheduler(scheduler shell.Ref) {
	for _, slot := range s.slots() {
		ag := s.agents[slot]
		switch {
		case ag.Left != "":
			scheduler.Tell(sales.Quarantined{Slot: slot, Request: ag.request, Index: ag.index, Why: ag.Left})
		case ag.state.Phase != sale.Unknown:
			scheduler.Tell(sales.Changed{
				Agent: ag.Ref().Address(), Slot: slot, State: ag.state, Last: ag.last,
				Ahead: ag.ahead, Trouble: ag.trouble,
			})
		}
	}
}

// forgetWorkers forgets the workers of a queue that failed: they are gone, and its next life
// begins others.
func (s *supervisor) forgetWorkers() {
	for _, ag := range s.agents {
		ag.watchers = nil
	}
	for _, c := range s.beginning {
		c.workers = slices.DeleteFunc(c.workers, func(w shell.Ref) bool { return !w.Nobody() })
	}
}

// tellValidator tells the validator what the chain says.
func (s *supervisor) tellValidator(m chainNews) {
	n := validator.News{Grew: m.recorded != nil, Proofs: m.proofs, Live: m.live, Head: m.head}
	if m.reorganized != nil {
		n.Rewound, n.Ancestor = true, m.reorganized.GetAncestor()
	}
	s.validator.Tell(n)
}

// showValidatorDown has the validator's status say why it does not run.
func (s *supervisor) showValidatorDown(err error) {
	last := validator.Status{Settings: s.Validator}
	if known := s.validating.Load(); known != nil {
		last = *known
	}
	last.Ready, last.Trouble = false, err.Error()
	s.validating.Store(&last)
}

// downParts are the rooms that do not run now.
func (s *supervisor) downParts() (down []health.PartStatus) {
	for _, r := range s.here() {
		if since, why := r.Part.Trouble(); why != nil && !r.ownStatus {
			down = append(down, health.PartStatus{Name: r.Part.Name, Since: since, Reason: why.Error()})
		}
	}
	if market := s.unreadMarket.Load(); market != nil {
		down = append(down, *market)
	}
	return down
}
