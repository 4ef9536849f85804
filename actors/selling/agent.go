// Package selling runs one sale as an actor. The agent owns the journal of the slot's stream,
// performs the effects that sale.Next names, and brings their outcomes back as commands. It
// compares the sale with the chain each time the record was read, proves what is owed even
// while the event store is away, and settles which proofs were owed before it records the end
// of the hosting.
//
// Not for: rules. Those are in events/sale.
package selling

import (
	"errors"
	"fmt"
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
	// judgingAdopted: periods of an adopted slot are being judged; see adopted.go.
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

// Messages to a sales agent.
type (
	effectTrouble struct {
		key string
		err error
	}
)

var (
	// errWaits ends an effect that has nothing to do until the state changes.
	errWaits = errors.New("nothing to do until something changes")
	// errHeld ends an effect that is not tried while the event store is away.
	errHeld = errors.New("not tried while the event store does not answer")
)

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

// Panicked ends the calls of an agent that panicked; its successor begins its own.
func (s *Agent) Panicked() { s.effects.Cancel() }

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
