// Package selling runs one sale as an actor. The agent owns the journal of the slot's stream,
// performs the effects that sale.Next names, and brings their outcomes back as commands. It
// compares the sale with the chain each time the record was read, proves what is owed even
// while the event store is away, and settles which proofs were owed before it records the end
// of the hosting.
//
// Read agent.go first: what runs in the mailbox. Then effects.go and fill.go, the calls that a sale makes on the
// world, and watchdog.go, which measures downloads; then what becomes of the proofs that are owed: closing.go at the
// end of the hosting, takenproofs.go before it, damage.go if the data is damaged. The chain is asked about the slot
// in facts.go.
//
// Not for: rules. Those are in events/sale.
package selling

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/actors/admission"
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/proofs"
	"github.com/hostnode/hostnode/actors/sales"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
)

// Agent runs one sale.
type Agent struct {
	*Deps
	slot    events.SlotID
	request events.RequestID
	index   uint64
	// observers are told each new durable state.
	observers []shell.Ref
	broken    func(error) // called when the sale cannot be run

	journal  *shell.Journal[sale.State, sale.Command, sale.Event]
	effects  *shell.Effects[sale.Command, work]
	watchdog watchdog
	looked   bool // compared with the chain since the record was loaded
	decided  bool // the same, but what follows may not be recorded yet
	looking  bool
	again    bool // something happened during the look, or the event store was away: look once more
	early    bool // the request was seen to have started with a fill of ours that is not recorded yet
	trouble  sales.Trouble

	// finalFill is the block of the fill, once it was seen to be final; see facts.go.
	finalFill atomic.Pointer[events.Hash]
	// ours: the contract called the slot ours when it was asked last.
	ours atomic.Bool
	// made is the last proof of a period, which may have to be sent again; nil: there is none, or it was refused.
	made atomic.Pointer[events.ProofResult]

	// What the agent knows of its proofs on chain; see takenproofs.go.
	takenKnown bool // the market answered since the record was loaded
	// loadedTo is the last period that the record knew when it was loaded.
	loadedTo uint64
	hearing  bool
	held     []sales.Command // about duties, waiting for the next question
	asked    []sales.Command // about duties, waiting for the answer
	// judgingAdopted: periods of an adopted slot are being judged; see closing.go.
	judgingAdopted bool
	// closingTries counts the failed tries to close the account up to an end; see closing.go.
	closingTries int
}

// Deps are what all sales of a host share.
type Deps struct {
	*admission.Rules
	Prover  port.Prover
	Repo    port.Repo
	Content port.Content
	// Provers schedule the proofs; Ledger answers about reservations.
	Provers *proofs.Provers
	Ledger  *shell.Part
	// The pools bound the calls that run at once. ProofTxs is for proofs in flight, which wait
	// for their confirmations, maybe longer than a period.
	Downloads, Transactions, Reads, Disk, Repairs, ProofTxs *shell.Pool
	// ChainID and Contract say which market's log is read.
	ChainID  uint64
	Contract events.Address
	// FinalBlocks, GiveUpDownload and JudgePace are the host's settings.
	FinalBlocks               uint64
	GiveUpDownload, JudgePace time.Duration
	// Decide, Next and IsDuty are the rules: those of events/sale.
	Decide func(sale.State, sale.Command) ([]sale.Event, error)
	Next   func(sale.State) []sale.Effect
	IsDuty func(sale.Effect) bool
}

// work is what the agent keeps of an effect that was begun.
type work struct {
	lastErr  error         // of its last try that failed
	damaged  bool          // it met damaged data, and waits until that is repaired
	failing  time.Time     // since when its tries fail, by the machine's clock
	sayAfter time.Duration // for how long they fail when the log says so again
}

// effectTrouble is a message to the agent: a call failed, and is tried again.
type effectTrouble struct {
	key string
	err error
}

// errHeld ends an effect that is not tried while the event store is away.
var errHeld = errors.New("not tried while the event store does not answer")

// New returns the agent of a slot. broken is called when its record cannot be read; observers
// are told each new state.
func New(e *Deps, slot events.SlotID, request events.RequestID, index uint64,
	broken func(error), observers ...shell.Ref,
) *Agent {
	s := &Agent{
		Deps: e, slot: slot, request: request, index: index, observers: observers,
		broken: broken,
	}
	s.effects = &shell.Effects[sale.Command, work]{Base: e.Base, Name: slot.String(), Ended: s.onEnded, Act: s.act}
	s.journal = &shell.Journal[sale.State, sale.Command, sale.Event]{
		Machine: shell.Machine[sale.State, sale.Command, sale.Event]{
			Empty: func() sale.State { return sale.State{} }, Decide: e.Decide, Evolve: sale.Evolve,
			Keeps: sale.TellsOfDuty,
		},
		Stream: events.SaleStream(e.Me, slot), Store: e.Store, Codec: e.Codec, StoreWatch: e.StoreWatch,
		MinEvents: e.MinEvents[events.SaleStream(e.Me, slot)],
		Meta: func(sale.State, sale.Event) events.Metadata {
			return e.Metadata(request.String())
		},
		Each:      func(e sale.Event) { s.fields().Info(sale.Sentence(e)) },
		OnDurable: s.onDurable,
		OnBroken:  func(_ *shell.Turn, err error) { broken(err) },
	}
	return s
}

// Ended ends the calls of the agent; its successor begins its own.
func (s *Agent) Ended() { s.effects.Cancel() }

func (s *Agent) fields() *logrus.Entry {
	st := s.journal.Durable
	log := s.Log.WithFields(logrus.Fields{
		"slot": s.slot.String(), "request": s.request.String(), "index": s.index, "state": st.Phase.String(),
	})
	if st.Reservation.Zero() { // Nothing is set aside yet.
		return log
	}
	return log.WithFields(logrus.Fields{
		"reservation": st.Reservation.String(), "availability": st.Availability.String(),
	})
}

// Receive handles a message.
func (s *Agent) Receive(a *shell.Turn, msg any) {
	if s.journal.Handle(a, msg) || s.elsewhere() || s.effects.Handle(a, msg) {
		return
	}
	switch m := msg.(type) {
	case shell.Started:
		s.journal.Load(a)
	case sales.Command:
		s.onCommand(a, m)
	case sales.Look:
		s.onLook(a)
	case sales.RecordMoved:
		s.onRecordMoved(a)
	case takenAnswer:
		s.onTakenAnswer(a, m)
	case adoptedJudged:
		s.onAdoptedJudged(a, m)
	case effectTrouble:
		s.onTrouble(a, m)
	case lookEnded:
		s.onLookEnded(a, m)
	}
}

func (s *Agent) onCommand(a *shell.Turn, m sales.Command) {
	switch kindOf(m.Cmd) {
	case startCommand:
		s.looked, s.decided = true, true
		s.submit(a, m, s.onStarted(a.Self, m))
	case dutyCommand, missCommand:
		s.onDuty(a, m)
	case damageCommand, repairCommand, plainCommand:
		s.submit(a, m, nil)
	}
}

// commandKind is what a command means to the agent. The core decides every command.
type commandKind uint8

const (
	plainCommand  commandKind = iota // nothing but what the core decides
	startCommand                     // the supervisor has just compared the sale with the chain
	dutyCommand                      // about a duty: the market may know more
	missCommand                      // closes a duty as missed
	damageCommand                    // data is damaged
	repairCommand                    // data is sound again
)

func kindOf(c sale.Command) commandKind {
	switch c.(type) {
	case sale.Start:
		return startCommand
	case sale.ReportProofDue, sale.ReportProofExcused:
		return dutyCommand
	case sale.ReportPeriodClosed, sale.ReportSilentPeriod:
		return missCommand
	case sale.ReportDamaged:
		return damageCommand
	case sale.ReportRepaired:
		return repairCommand
	case sale.ReportCapacity, sale.ReportNoCapacity, sale.ReportSlotReserved, sale.ReportNotReservable,
		sale.ReportStored, sale.ReportInitialProof, sale.ReportProofOutdated, sale.ReportFilled, sale.ReportNotFree,
		sale.GiveUp, sale.ReportExtended, sale.ReportProofSubmitted, sale.ReportCollateral, sale.ReportFreed,
		sale.ReportDeleted, sale.ReportSettled, sale.ReportChain, sale.Refill:
		return plainCommand
	}
	panic(fmt.Sprintf("a sales agent does not know %T", c))
}

// onStarted submits the start once more when another process wrote to the sale's stream at the
// same moment: then nothing was decided.
func (s *Agent) onStarted(self shell.Ref, m sales.Command) outcome {
	return func(r shell.Result[sale.State, sale.Event]) {
		switch {
		case errors.Is(r.Err, shell.ErrReloading):
			self.Tell(m)
		case r.Err != nil:
			s.broken(fmt.Errorf("begin the sale: %w", r.Err))
		}
	}
}

// outcome receives the result of a command.
type outcome = func(shell.Result[sale.State, sale.Event])

// submit hands a command to the journal; reply may be nil.
func (s *Agent) submit(a *shell.Turn, m sales.Command, reply outcome) {
	s.decide(a, m, reply)
	s.whileAway(a)
}

func (s *Agent) decide(a *shell.Turn, m sales.Command, reply outcome) {
	if reply == nil {
		reply = func(shell.Result[sale.State, sale.Event]) {}
	}
	s.journal.SubmitBy(a, m.Cmd, m.Cause, m.By, reply)
}

func (s *Agent) decideAll(a *shell.Turn, all []sales.Command) {
	for _, m := range all {
		s.decide(a, m, nil)
	}
}

// whileAway performs the duties that follow from a decision as soon as it is made, if the event
// store is away: nothing becomes durable soon then.
func (s *Agent) whileAway(a *shell.Turn) {
	if s.StoreWatch.Away() {
		s.tellObservers(a, nil)
		s.act(a)
	}
}

// onRecordMoved performs what is owed when the event store goes away, and resumes everything
// when it is back.
func (s *Agent) onRecordMoved(a *shell.Turn) {
	s.tellObservers(a, nil)
	s.act(a)
	s.judgeAdopted(a, 0)
	if s.again && !s.looking && !s.StoreWatch.Away() {
		s.again = false
		s.look(a)
	}
}

func (s *Agent) onDurable(a *shell.Turn, fresh []sale.Event) {
	if len(fresh) == 0 { // Loaded, for the first time or again.
		// A living sale is compared with the chain. One that is about to start was compared by
		// the supervisor already, also when its command overtook the load.
		st := s.journal.Durable
		s.looked = s.looked && (st.Phase == sale.Unknown || st.Over())
		s.decided, s.takenKnown, s.loadedTo = s.looked, false, st.LastPeriod
		s.takeHeld(a)
	}
	s.tellObservers(a, fresh)
	if s.elsewhere() {
		return
	}
	s.act(a)
	s.judgeAdopted(a, 0)
	if s.early && s.journal.Durable.Hosting() {
		s.early = false
		s.onLook(a)
	}
}

// elsewhere reports whether another member runs the sale: it began one before this member did. The
// supervisor ends this agent.
func (s *Agent) elsewhere() bool {
	st := s.journal.Durable
	return st.Phase != sale.Unknown && !st.Over() && !s.Mine(st.Member)
}

func (s *Agent) tellObservers(a *shell.Turn, fresh []sale.Event) {
	for _, o := range s.observers {
		o.Tell(sales.Changed{
			Agent: a.Self.Address(), Slot: s.slot, State: s.journal.Durable, Last: s.journal.Last,
			Ahead: s.journal.Ahead, Fresh: fresh, Trouble: s.trouble,
		})
	}
}

// What follows begins and ends the calls of a sale, as its state wants them.

// act begins and ends calls until those that run are those that the durable state wants and,
// while the event store is away, those that the state ahead owes.
func (s *Agent) act(a *shell.Turn) {
	st := s.journal.Durable
	if s.effects.Of(s.trouble.Effect) == nil {
		s.trouble = sales.Trouble{}
	}
	if !s.journal.Loaded || st.Phase == sale.Unknown {
		return
	}
	away := s.StoreWatch.Away()
	durable, owed := s.Next(st), s.owed()
	wanted := slices.Concat(durable, owed)
	leftovers := s.effects.Keep(func(key string) bool { // Ends what the record closed, whatever the chain says.
		return slices.ContainsFunc(wanted, func(e sale.Effect) bool { return e.Key() == key })
	})
	if !s.looked && !st.Over() {
		if !s.decided {
			s.look(a)
			return
		}
		if !away {
			return
		}
	}
	if away {
		for _, e := range owed {
			s.begin(a, s.journal.Ahead, events.EventID{}, e)
		}
		return
	}
	for _, e := range durable {
		if st.Ended() && leftovers { // Nothing is deleted or settled under a running call.
			return
		}
		s.begin(a, st, s.journal.Last, e)
	}
}

// owed returns the duties by the state ahead. When the store is back they go on, even before
// all that they rest on is recorded.
func (s *Agent) owed() []sale.Effect {
	return slices.DeleteFunc(s.Next(s.journal.Ahead), func(e sale.Effect) bool { return !s.IsDuty(e) })
}

// begin performs an effect outside of the mailbox, unless it runs already, and
// keeps trying until it is answered, it is final, or nobody wants it any more. by is the
// last event of the state; zero: it is not in the record yet, and may never be.
func (s *Agent) begin(a *shell.Turn, st sale.State, by events.EventID, e sale.Effect) {
	key, self := e.Key(), a.Self
	s.effects.Begin(a, key, by, func(ctx context.Context) (cmd sale.Command, err error) {
		tried := false
		err = s.Retry(ctx, s.slot.String()+"/"+key,
			func(err error) { self.Tell(effectTrouble{key, err}) },
			func(err error) bool { return errors.Is(err, errWaits) || errors.Is(err, errHeld) },
			func(ctx context.Context) (err error) {
				perform := func() (sale.Command, error) { return s.perform(ctx, st, by, e) }
				if s.StoreWatch.Away() && !s.IsDuty(e) {
					fill, is := e.(sale.Fill) // One that was sent, and had no answer, may be mined by now.
					if !is || !tried {
						return errHeld
					}
					perform = func() (sale.Command, error) { return s.filledMeanwhile(ctx, st, fill) }
				}
				tried = true
				return s.RT.Guarded("effect "+key, func() error { // The sale goes on with what else it owes.
					cmd, err = perform()
					return err
				})
			})
		return cmd, err
	})
}

func (s *Agent) onTrouble(a *shell.Turn, m effectTrouble) {
	w := s.effects.Of(m.key)
	if w == nil || w.Unwanted() {
		return
	}
	if s.trouble.Effect != m.key {
		s.trouble = sales.Trouble{Effect: m.key, Since: s.Clock.Now()}
	}
	s.trouble.Tries++
	s.trouble.Error = m.err.Error()
	w.Data.lastErr = m.err
	s.sayTrouble(m, &w.Data)
	s.tellObservers(a, nil)
}

// longTrouble is for how long a call may fail before that is an error: a node that was restarted, or that limits
// requests, answers by then, and what had to wait was in time.
const longTrouble = time.Minute

// sayTrouble logs a call that fails: at once, and from longTrouble on each time it has failed for twice as long.
func (s *Agent) sayTrouble(m effectTrouble, w *work) {
	if w.failing.IsZero() {
		w.failing = s.Clock.Now()
	}
	lasts := s.Clock.Now().Sub(w.failing)
	if lasts < w.sayAfter {
		return
	}
	w.sayAfter = max(longTrouble, 2*lasts)
	entry := s.fields().WithField("effect", m.key).WithField("tries", s.trouble.Tries)
	switch onChain := s.journal.Durable.OnChain; {
	case onChain && lasts >= longTrouble:
		entry.Errorf("a call for a hosted slot has failed for %s, will try again: %v", lasts.Round(time.Second), m.err)
	case onChain:
		entry.Warnf("a call for a hosted slot failed, will try again: %v", m.err)
	default:
		entry.Warnf("a call failed, will try again: %v", m.err)
	}
}

// onEnded takes what a call came to, and reports it.
func (s *Agent) onEnded(a *shell.Turn, w *shell.Work[work], cmd sale.Command, err error) {
	if s.trouble.Effect == w.Key {
		s.trouble = sales.Trouble{}
	}
	switch {
	case errors.Is(err, errWaits), err == nil && cmd == nil:
		return // It waits until the state changes.
	case err != nil: // It was held, or the host is stopping.
		s.effects.Forget(w)
		s.act(a)
		return
	case s.leavesToLook(cmd):
		s.onLook(a)
		s.effects.Again(a, w)
		return
	}
	m := sales.Command{Cmd: cmd, Cause: w.Key, By: w.By}
	switch kindOf(cmd) {
	case damageCommand:
		// The call is tried again after the repair, or after a pause, because it may no longer need the damaged data.
		w.Data.damaged = true
		s.submit(a, m, nil)
		s.effects.Again(a, w)
		return
	case repairCommand: // What waits for sound data is resumed at once.
		for w := range s.effects.All() {
			if w.Data.damaged {
				s.effects.Forget(w)
			}
		}
	case startCommand, dutyCommand, missCommand, plainCommand:
	}
	s.effects.Report(a, w, func(done func(bool)) {
		s.submit(a, m, func(r shell.Result[sale.State, sale.Event]) {
			if r.Err != nil && !errors.Is(r.Err, shell.ErrReloading) && len(r.Events) == 0 {
				s.fields().WithField("effect", w.Key).Warnf("a report was refused: %v", r.Err)
			}
			done(len(r.Events) > 0)
		})
	})
}

// What follows compares a sale with what the chain says of its slot: once after its record was
// loaded, before any effect, and whenever the slot may have changed.

// onLook looks now or, during an outage, when the event store is back: until then the report
// could not be recorded, and only duties are performed.
func (s *Agent) onLook(a *shell.Turn) {
	if s.StoreWatch.Away() && s.decided {
		s.again = true
		return
	}
	s.look(a)
}

// look asks the chain about the slot and reports what it says.
func (s *Agent) look(a *shell.Turn) {
	if s.looking {
		s.again = true
		return
	}
	if !s.journal.Loaded || s.journal.Durable.Phase == sale.Unknown || s.journal.Durable.Over() {
		return
	}
	s.looking = true
	self, st, ahead := a.Self, s.journal.Durable, s.journal.Ahead
	loaded, tries := !s.looked, s.closingTries
	ask := loaded && !s.takenKnown && st.Hosting()
	a.Do(func(ctx context.Context) {
		s.Yield(ctx, s.slot.String()+"/look")
		m, rung := lookEnded{}, s.Bell.Next()
		cmd, err := s.askChain(ctx, st)
		if err == nil && st.Phase == sale.Filling && s.mayHaveFilled(cmd.(sale.ReportChain).Facts) {
			cmd, err = s.unansweredFill(ctx, st, cmd.(sale.ReportChain))
		}
		switch report, ok := cmd.(sale.ReportChain); {
		case err != nil:
		case ok && s.endsHosting(ahead, report): // Nobody will ask later what was owed.
			m.closing = new(closing)
			*m.closing, err = s.closeAccount(ctx, ahead, report, loaded, tries+1 >= closingTries)
			m.again = ownerAway(err)
			tries++
		case ask:
			m.taken, m.takenKnown = s.takenAtFirst(ctx, st)
		}
		if m.cmd = cmd; err != nil {
			m.cmd = nil
			s.Log.WithField("slot", s.slot.String()).Warnf("compare the sale with the chain, will try again: %v", err)
			_, _ = s.Pause(ctx, s.slot.String()+"/look", max(1, tries), rung)
		}
		if ctx.Err() == nil {
			self.Tell(m)
		}
	})
}

// leavesToLook reports whether a call found the end of a hosted slot. That is left to a look,
// which finds the same and closes the account before the end is recorded.
func (s *Agent) leavesToLook(cmd sale.Command) bool {
	report, ok := cmd.(sale.ReportChain)
	return ok && s.endsHosting(s.journal.Ahead, report)
}

type lookEnded struct {
	cmd        sale.Command // nil: the chain did not answer
	takenKnown bool         // the market also answered about proofs
	taken      []sales.Command
	// closing is the account up to the end that was found; nil: no end was found.
	closing *closing
	again   bool // nobody could be asked; it does not count as a try
}

func (s *Agent) onLookEnded(a *shell.Turn, m lookEnded) {
	s.looking = false
	if m.cmd == nil || s.again && !s.StoreWatch.Away() {
		s.again = false
		defer s.look(a)
	}
	if m.cmd == nil {
		if m.closing != nil && !m.again && !s.StoreWatch.Away() {
			s.closingTries++
		}
		return
	}
	s.closingTries = 0
	if m.takenKnown {
		s.tellTaken(a, m.taken)
	}
	cause := "look"
	if report, ok := m.cmd.(sale.ReportChain); ok {
		f := report.Facts
		if m.closing != nil {
			report = m.closing.report
			if report.FillOnly = !s.journal.Ahead.Owes(); report.FillOnly {
				s.decide(a, sales.Command{Cmd: report, Cause: fmt.Sprintf("block:%d", f.At.Number)}, nil)
			}
			s.tellTaken(a, m.closing.told)
			s.closeDuties(a, f.At, m.closing)
			report.FillOnly, report.Unjudged = false, m.closing.unjudged
			m.cmd = report
		}
		if s.journal.Durable.Phase == sale.Filling && f.Host == s.Me && f.SlotState == events.SlotFilled {
			s.looked, s.decided = true, true // The fill's own call reports this, with its receipt.
			s.early = f.RequestState == events.RequestStarted
			s.act(a)
			return
		}
		cause = fmt.Sprintf("block:%d", f.At.Number)
	}
	_, filled := m.cmd.(sale.ReportFilled)
	s.decided = true
	s.submit(a, sales.Command{Cmd: m.cmd, Cause: cause}, func(r shell.Result[sale.State, sale.Event]) {
		if errors.Is(r.Err, shell.ErrReloading) {
			return // After the reload there is another look.
		}
		if filled { // The slot is lost, or over: first comes what it has owed since the fill.
			s.decided = false
			s.look(a)
			return
		}
		s.looked = true
		s.act(a)
	})
}

// closeDuties closes, before the end is recorded, the duties whose periods are over and for
// which the contract took no proof.
func (s *Agent) closeDuties(a *shell.Turn, at events.Head, c *closing) {
	for _, d := range slices.Clone(s.journal.Ahead.Duties) {
		if !c.until.After(d.Deadline) {
			continue
		}
		v, judged := c.open[d.Period]
		if !judged {
			v = openVerdict{true, c.unread}
		}
		why := s.whyMissed(d.Period)
		if v.unknown != "" {
			why += "; whether a block could mark it is not known: " + v.unknown
		}
		s.decide(a, sales.Command{
			Cmd:   sales.DutyClosed(s.Terms.Proofs, at, d.Period, v.missed, why),
			Cause: fmt.Sprintf("block:%d", at.Number),
		}, nil)
	}
}
