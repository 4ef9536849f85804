package audit

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/messages"
)

// sectorLife is what the audit knows of a sector of a host, from its stream and from the ledger.
type sectorLife struct {
	Number   uint64
	Broken   bool // events are missing: nothing can be said of it
	State    sectorState
	Attempts map[string]uint32 // of each step
	Step     string            // that runs; empty: none
	Sending  string            // a message of which nothing is known
	Until    time.Time         // of a pause; zero: none
	Paused   string            // the step that it holds up

	// What the sector says of its space and its deposit.
	Opened, Released, Settled, FilesGone bool
	// What the ledger says. Granted is what it gave once.
	Granted        capacity.Space
	Deposit        events.Amount
	Held           bool
	Returned, Lost events.Amount
	Told           bool // that they do not say the same
}

// key is that of the step that runs.
func (l *sectorLife) key() string {
	return fmt.Sprintf("%s:%d:%d", l.Step, l.Number, l.Attempts[l.Step])
}

// judgeSector holds an event to the table, then follows it.
func (a *auditor) judgeSector(s *stream, p place, e sector.Event) {
	l := s.sector
	name := string(e.ProtoReflect().Descriptor().Name())
	next, allowed := sectorTable[l.State][name]
	reason := "the state does not allow it"
	if allowed {
		reason = l.forbids(e)
	}
	if reason != "" {
		a.find(SectorTransition, p, "%s in state %q: %s", name, l.State, reason)
		s.giveUp()
		return
	}
	switch e := e.(type) {
	case begins:
		a.checkStart(s, p, e)
	case *messages.SectorOpened, *messages.SectorReleased, *messages.SectorSettled:
		a.checkBooks(s.host, l, p, e)
	}
	l.follow(e, next)
}

// forbids says what an event needs beside its state and does not have; empty when it has all.
func (l *sectorLife) forbids(e sector.Event) string {
	switch e := e.(type) {
	case *messages.SectorForceState:
		to := sectorState(e.GetState())
		_, known := sectorTable[to]
		return unless(known && to != "" && to != removed, "nobody is forced into "+strconv.Quote(clip(e.GetState())))
	case *messages.SectorFatalError:
		return unless(l.Step != "", "no step runs that could fail")
	case *messages.SectorEventRefused:
		_, allowed := sectorTable[l.State][e.GetEvent()]
		return unless(!allowed, "the state allows what was refused")
	case *messages.SectorStepScheduled:
		return l.forbidsStep(e)
	case *messages.SectorRetryScheduled:
		return unless(e.GetUntil().AsTime().After(e.GetAt().AsTime()), "the pause ends before it begins")
	case *messages.SectorParked:
		return unless(e.GetReason() != "" && len(e.GetActions()) > 0, "the reason, or what can be done, is missing")
	case *messages.SectorReleased:
		return unless(l.State == removed || l.Step == stepReleaseScratch, "nothing was to be given back")
	}
	return ""
}

// forbidsStep holds a step to its state, and its key to its number.
func (l *sectorLife) forbidsStep(e *messages.SectorStepScheduled) string {
	step, attempt := e.GetStep(), l.Attempts[e.GetStep()]
	again := e.GetAttempt() == attempt && l.Sending == step
	switch {
	case !slices.Contains(stepsOfState[l.State], step):
		return fmt.Sprintf("%s is no step of that state", strconv.Quote(clip(step)))
	case l.Step != "":
		return l.Step + " runs"
	case e.GetAttempt() != attempt+1 && !again:
		return fmt.Sprintf("attempt %d follows attempt %d of %s", e.GetAttempt(), attempt, step)
	case e.GetKey() != fmt.Sprintf("%s:%d:%d", step, l.Number, e.GetAttempt()):
		return "the key is not that of the attempt"
	case writingSteps[step] && (!l.Opened || l.Released):
		return step + " writes, and the sector holds no space"
	}
	return ""
}

// follow takes over what an allowed event says.
func (l *sectorLife) follow(e sector.Event, next sectorState) {
	switch e := e.(type) {
	case *messages.SectorEventRefused:
	case *messages.SectorRestart:
		l.Until = time.Time{}
	case *messages.SectorOpened:
		l.Opened, l.Released, l.Settled = true, false, false
		l.did(stepOpenSpace)
	case *messages.SectorReleased:
		l.Released = l.State == removed
		l.did(stepReleaseScratch)
		l.did(stepReleaseSpace)
	case *messages.SectorSettled:
		l.Settled = l.State == removed
		l.did(stepSettle)
	case *messages.SectorStepScheduled:
		if l.Attempts == nil {
			l.Attempts = map[string]uint32{}
		}
		l.Step, l.Until, l.Sending = e.GetStep(), time.Time{}, ""
		l.Attempts[l.Step] = e.GetAttempt()
		if messageSteps[l.Step] {
			l.Sending = l.Step
		}
	case *messages.SectorRetryScheduled:
		l.Step, l.Until, l.Paused = "", events.TimeFromMessage(e.GetUntil()), e.GetStep()
	case *messages.SectorParked:
		l.Step, l.Until = "", time.Time{}
	case *messages.SectorFatalError:
		l.Step = ""
	case *messages.SectorAddPiece, *messages.SectorStartPacking:
		if next != same {
			l.move(next)
		}
	case *messages.SectorForceState:
		l.move(sectorState(e.GetState()))
	case *messages.SectorRemoved:
		l.FilesGone = true
		l.move(next)
	default:
		l.move(next)
	}
}

// move ends what runs or waits, and leads to the next state, if there is one.
func (l *sectorLife) move(next sectorState) {
	l.Step, l.Until, l.Sending = "", time.Time{}, ""
	if next != same {
		l.State = next
	}
}

// did ends a step of the books; what else runs goes on.
func (l *sectorLife) did(step string) {
	if l.Step == step || l.Step == "" && l.Paused == step {
		l.Step, l.Until = "", time.Time{}
	}
}

// begins is either event with which a sector begins.
type begins interface {
	GetSector() uint64
	GetProvider() string
}

func (a *auditor) checkStart(s *stream, p place, e begins) {
	if e.GetSector() != s.sector.Number || e.GetProvider() != s.host.Address {
		a.find(SectorIdentity, p, "sector %d of %s, in the stream of another one", e.GetSector(), clip(e.GetProvider()))
	}
}

// checkBooks compares what a sector says of its space and its deposit with the ledger.
func (a *auditor) checkBooks(h *host, l *sectorLife, p place, e sector.Event) {
	if h.anyBroken() {
		return
	}
	differ := func(rule Rule, format string, args ...any) {
		l.Told = true
		a.cross(rule, p, format, args...)
	}
	holds := h.heldBySector(l.Number)
	switch e := e.(type) {
	case *messages.SectorOpened:
		if says := capacity.SpaceOf(e); !l.Held || says != l.Granted || amount(e.GetDeposit()) != l.Deposit {
			differ(SectorSpace, "the sector has space %+v and deposit %s, the ledger gave it %+v and %s",
				says, e.GetDeposit(), l.Granted, l.Deposit)
		}
	case *messages.SectorReleased:
		parts := e.GetParts()
		if l.State == removed && l.Opened { // Then it is about all of them.
			for _, part := range capacity.Parts() {
				parts = append(slices.Clone(parts), string(part))
			}
		}
		for _, part := range parts {
			if bytes := holds.Of(capacity.Part(part)); bytes > 0 {
				differ(SectorSpace, "the %s files gave their space back, but the ledger holds %d bytes for them",
					clip(part), bytes)
				return
			}
		}
	case *messages.SectorSettled:
		back, lost := amount(e.GetReturned()), amount(e.GetLost())
		if back != l.Returned || lost != l.Lost || l.State == removed && !holds.Deposit.IsZero() {
			differ(SectorDeposit, "the sector says %s returned and %s lost, the ledger %s and %s, and it holds %s",
				back, lost, l.Returned, l.Lost, holds.Deposit)
		}
	}
}

// followBooks holds an event of the ledger to the sector that it is about, before the ledger's
// fold sees it, and takes it over.
func (a *auditor) followBooks(h *host, in *ledger, p place, e capacity.Event) {
	of, ok := e.(interface{ GetSector() uint64 })
	if !ok {
		return
	}
	l := h.sectors[of.GetSector()]
	if l == nil {
		a.cross(SectorOwner, p, "no sector %d is in the record", of.GetSector())
		return
	}
	if l.Broken {
		return
	}
	switch e := e.(type) {
	case *messages.SectorSpaceHeld:
		if l.Attempts[stepOpenSpace] == 0 {
			a.cross(SectorOwner, p, "sector %d never asked for space", l.Number)
		}
		if l.Held { // It is sealed again, and the rest it has.
			l.Granted.Scratch = events.Bytes(e.GetScratch())
			return
		}
		l.Held, l.Deposit = true, amount(e.GetDeposit())
		l.Granted = capacity.SpaceOf(e)
	case *messages.SectorSpaceReleased:
		scratch := e.GetPart() == string(capacity.PartScratch) && l.Attempts[stepReleaseScratch] > 0
		if !l.FilesGone && !scratch {
			a.cross(SectorReleasedEarly, p, "the sector is in state %q, its files are not gone", l.State)
		}
	case *messages.SectorDepositSettled:
		was, _ := in.State.Sector(l.Number)
		before, after := was.Deposit.AddSaturating(was.Lost), amount(e.GetHeld()).AddSaturating(amount(e.GetLost()))
		l.Returned, l.Lost = l.Returned.AddSaturating(before.SubFloor(after)), amount(e.GetLost())
	}
}

// SectorTotals sums up the sectors of a record at its end.
type SectorTotals struct {
	// States counts them by state; Over are those that hold nothing any more and have nothing left to do.
	States map[string]uint64 `json:"states"`
	Over   uint64            `json:"over"`
	// Bytes and Deposits are how much of their quota and of the token the ledgers hold for them, without ledgers
	// that have events that do not fit.
	Bytes    events.Bytes `json:"bytes"`
	Deposits string       `json:"deposits"`
	// Returned and Lost are of all deposits; Withdrawn is what the contracts have paid: returned deposits and rewards.
	Returned  string `json:"returned"`
	Lost      string `json:"lost"`
	Withdrawn string `json:"withdrawn"`
}

// countSectors adds them up at the end.
func (a *auditor) countSectors() {
	all, sum := SectorTotals{States: map[string]uint64{}}, capacity.Deposits{}
	for _, h := range a.hosts {
		for _, l := range h.sectors {
			if all.States[string(l.State)]++; l.State == removed && l.Released && l.Settled {
				all.Over++
			}
		}
		for _, in := range h.Ledgers {
			if in.Broken {
				continue
			}
			all.Bytes += in.State.Book().Sectors
			sum.Add(in.State.Deposits())
		}
	}
	all.Deposits, all.Returned, all.Lost = sum.Held.String(), sum.Returned.String(), sum.Lost.String()
	if all.Withdrawn = sum.Withdrawn.String(); len(all.States) > 0 {
		a.report.Sectors = &all
	}
}

// endOfSectors looks for what the ledger holds for sectors that are over.
func (a *auditor) endOfSectors(h *host) {
	for _, name := range sortedKeys(h.Ledgers) {
		in := h.Ledgers[name]
		if in.Broken {
			continue
		}
		for one := range in.State.Sectors() {
			l := h.sectors[one.Number]
			if l != nil && !l.Told && l.State == removed && l.Released && l.Settled {
				a.find(SectorUnreleased, in.Last, "sector %d is over, and holds %d bytes and a deposit of %s",
					one.Number, one.Unsealed+one.Sealed+one.Tree+one.Scratch, one.Deposit)
			}
		}
	}
}

// causesOfSector are the commands that a sector knows.
var causesOfSector = []string{"operator", "start", "wake", "look"}

// causeOfSector holds the cause to the step that ran, or to the pause.
func causeOfSector(s *stream, r events.Recorded, c events.Cause, m proto.Message) string {
	l := s.sector
	switch c.Kind {
	case events.CauseCommand:
		return unless(slices.Contains(causesOfSector, c.What), causeOfOthers)
	case events.CauseBlock:
		return ""
	case events.CauseSector:
	case events.CauseLog, events.CauseMarket, events.CauseSale, events.CauseWork, events.CauseEffect:
		return causeOfOthers
	}
	switch m.(type) {
	case *messages.SectorOpened, *messages.SectorReleased, *messages.SectorSettled:
		return l.knows(c) // What the ledger did is so, however late the sector hears of it.
	}
	switch {
	case r.Revision != s.Decision:
		return "" // It follows from what the decision began with.
	case c.What == stepWait:
		return unless(c.Number == l.Number && !l.Until.IsZero() && uint64(l.Until.UnixNano()) == c.End,
			"no pause ends there")
	}
	return unless(r.Meta.CauseKey() == events.SectorCause(l.key()), "that step does not run")
}

// knows says whether a cause names a step that was begun; empty when it does.
func (l *sectorLife) knows(c events.Cause) string {
	if l == nil {
		return "the record has no such sector"
	}
	begun := c.What != stepWait && c.Number == l.Number && c.Attempt <= l.Attempts[c.What]
	return unless(l.Broken || begun, "the record has no such step")
}
