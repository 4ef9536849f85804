package actors

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
)

// salesAgent runs one sale: it owns the journal of the slot's stream, performs
// the effects that Next names, and brings their answers back as commands.
type salesAgent struct {
	*env
	slot    events.SlotID
	request events.RequestID
	index   uint64
	ledger  ref
	// observers are told each new durable state.
	observers []ref

	journal *journal[sale.State, sale.Command, sale.Event]
	running map[string]*work
	looked  bool // compared with the chain since the record was loaded
	looking bool
	again   bool // something came up while looking: look once more
	trouble Trouble
}

// work is an effect that was started.
type work struct {
	cancel   context.CancelFunc
	returned bool // the call has ended; its answer is on the way into the record
	unwanted bool // the state moved on; wait for the call to end
	tries    int  // answers that changed nothing
	lastErr  error
}

// Trouble is the last failure of a call that is being tried again.
type Trouble struct {
	Effect string
	Error  string
	Since  time.Time // by the machine's clock
	Tries  int
}

// Messages to a sales agent.
type (
	// saleCommand submits a command; reply may be nil.
	saleCommand struct {
		cmd   sale.Command
		cause string
		reply func(result[sale.State, sale.Event])
	}
	// lookAtChain makes the agent compare its record with the chain.
	lookAtChain struct{}
	effectEnded struct {
		key string
		cmd sale.Command // nil: nothing to report
		err error
	}
	effectTrouble struct {
		key string
		err error
	}
	effectRetry struct{ key string }
)

// saleChanged tells observers of a sale. The state is theirs to keep: states
// of sales share nothing that changes.
type saleChanged struct {
	agent   ref
	slot    events.SlotID
	state   sale.State
	fresh   []sale.Event
	trouble Trouble
}

// errWaits ends an effect that has nothing to do until the state changes.
var errWaits = errors.New("nothing to do until something changes")

func newSalesAgent(e *env, slot events.SlotID, request events.RequestID, index uint64,
	ledger ref, broken func(error), observers ...ref,
) *salesAgent {
	s := &salesAgent{
		env: e, slot: slot, request: request, index: index, ledger: ledger, observers: observers,
		running: map[string]*work{},
	}
	s.journal = &journal[sale.State, sale.Command, sale.Event]{
		machine: machine[sale.State, sale.Command, sale.Event]{
			empty: func() sale.State { return sale.State{} }, decide: e.Cores.DecideSale, evolve: sale.Evolve,
		},
		stream: events.SaleStream(e.me, slot), store: e.Store, codec: e.codec, clock: e.Clock,
		meta: func(sale.State, sale.Event) events.Metadata {
			return e.metadata(request.String())
		},
		onDurable: s.onDurable,
		onBroken:  func(_ *turn, err error) { broken(err) },
	}
	return s
}

// failed ends the calls of an agent that panicked: the next one begins its own.
func (s *salesAgent) failed() {
	for _, w := range s.running {
		w.cancel()
	}
}

func (s *salesAgent) fields() *logrus.Entry {
	st := s.journal.durable
	return s.log.WithFields(logrus.Fields{
		"slot": s.slot.String(), "request": s.request.String(), "index": s.index,
		"reservation": st.Reservation.String(), "availability": st.Availability.String(),
		"state": st.Phase.String(),
	})
}

func (s *salesAgent) receive(a *turn, msg any) {
	if s.journal.handle(a, msg) {
		return
	}
	switch m := msg.(type) {
	case started:
		s.journal.load(a)
	case saleCommand:
		s.onCommand(a, m)
	case lookAtChain:
		s.look(a)
	case effectEnded:
		s.onEnded(a, m)
	case effectTrouble:
		s.onTrouble(a, m)
	case lookEnded:
		s.onLookEnded(a, m)
	case effectRetry:
		delete(s.running, m.key)
		s.act(a)
	}
}

func (s *salesAgent) onCommand(a *turn, m saleCommand) {
	reply := m.reply
	if reply == nil {
		reply = func(result[sale.State, sale.Event]) {}
	}
	switch cmd := m.cmd.(type) { //nolint:gochecksumtype // These two are looked at on the way; the core decides all.
	case sale.Start:
		s.looked = true // Whoever starts a sale has just read what the chain says.
	case sale.ReportPeriodClosed:
		if cmd.Reason == "" {
			cmd.Reason = s.whyMissed(cmd.Period)
			m.cmd = cmd
		}
	}
	s.journal.submit(a, m.cmd, m.cause, reply)
}

func (s *salesAgent) whyMissed(period uint64) string {
	for key, w := range s.running {
		var p uint64
		if _, err := fmt.Sscanf(key, "submit-proof:%d:", &p); err == nil && p == period && w.lastErr != nil {
			return w.lastErr.Error()
		}
	}
	return "no proof was accepted before the period ended"
}

func (s *salesAgent) onDurable(a *turn, fresh []sale.Event) {
	if len(fresh) == 0 { // Loaded, for the first time or again.
		s.looked = s.looked && s.journal.stored == 0
	}
	for _, e := range fresh {
		s.fields().Info(sale.Sentence(e))
	}
	s.tellObservers(a, fresh)
	s.act(a)
}

func (s *salesAgent) tellObservers(a *turn, fresh []sale.Event) {
	for _, o := range s.observers {
		o.tell(saleChanged{a.self, s.slot, s.journal.durable, fresh, s.trouble})
	}
}

// act brings the running calls in line with what the durable state wants.
func (s *salesAgent) act(a *turn) {
	st := s.journal.durable
	if !s.journal.loaded || st.Phase == sale.Unknown {
		return
	}
	if !s.looked && !st.Over() {
		s.look(a)
		return
	}
	wanted := map[string]bool{}
	effects := s.Cores.NextSale(st)
	for _, e := range effects {
		wanted[e.Key()] = true
	}
	leftovers := false
	for key, w := range s.running {
		switch {
		case wanted[key]:
		case w.returned:
			w.cancel()
			delete(s.running, key)
		default:
			w.unwanted, leftovers = true, true
			w.cancel()
		}
	}
	for _, e := range effects {
		if st.Ended() && leftovers { // Nothing is deleted or settled under a running call.
			return
		}
		if s.running[e.Key()] == nil {
			s.begin(a, st, e)
		}
	}
}

// begin performs an effect outside of the mailbox and keeps trying until it
// is answered, it is final, or nobody wants it any more.
func (s *salesAgent) begin(a *turn, st sale.State, e sale.Effect) {
	ctx, cancel := context.WithCancel(a.rt.ctx)
	key, self := e.Key(), a.self
	s.running[key] = &work{cancel: cancel}
	a.rt.do(func(context.Context) {
		defer cancel()
		var cmd sale.Command
		err := s.retry(ctx, s.slot.String()+"/"+key,
			func(err error) { self.tell(effectTrouble{key, err}) },
			func(err error) bool { return errors.Is(err, errWaits) },
			func(ctx context.Context) (err error) {
				cmd, err = s.perform(ctx, st, e)
				return err
			})
		self.tell(effectEnded{key, cmd, err})
	})
}

func (s *salesAgent) onTrouble(a *turn, m effectTrouble) {
	w := s.running[m.key]
	if w == nil || w.unwanted {
		return
	}
	w.lastErr = m.err
	if s.trouble.Effect != m.key {
		s.trouble = Trouble{Effect: m.key, Since: s.Clock.Now()}
	}
	s.trouble.Tries++
	s.trouble.Error = m.err.Error()
	entry := s.fields().WithField("effect", m.key).WithField("tries", s.trouble.Tries)
	if s.journal.durable.OnChain {
		entry.Errorf("a call of a hosted slot failed and is tried again: %v", m.err)
	} else {
		entry.Warnf("a call failed and is tried again: %v", m.err)
	}
	s.tellObservers(a, nil)
}

func (s *salesAgent) onEnded(a *turn, m effectEnded) {
	w := s.running[m.key]
	if w == nil {
		return
	}
	w.returned = true
	if s.trouble.Effect == m.key {
		s.trouble = Trouble{}
	}
	if w.unwanted || (m.err != nil && !errors.Is(m.err, errWaits)) { // Cancelled, or the host stops.
		delete(s.running, m.key)
		s.act(a)
		return
	}
	if m.cmd == nil { // It waits; the state will change without it.
		return
	}
	s.journal.submit(a, m.cmd, m.key, func(r result[sale.State, sale.Event]) {
		s.onReported(a, m.key, r)
	})
}

// onReported looks at what became of a report. One that changed nothing, or
// was refused because the record moved, leads to another try after a pause.
func (s *salesAgent) onReported(a *turn, key string, r result[sale.State, sale.Event]) {
	if len(r.events) > 0 {
		if w := s.running[key]; w != nil {
			delete(s.running, key) // If the state wants it again, it is new work.
		}
		return
	}
	if r.err != nil && !errors.Is(r.err, errReloading) {
		s.fields().WithField("effect", key).Warnf("a report was refused: %v", r.err)
	}
	w := s.running[key]
	if w == nil {
		return
	}
	w.tries++
	self := a.self
	s.Clock.After(s.backoff(s.slot.String()+"/again/"+key, w.tries), func() {
		self.tell(effectRetry{key})
	})
}

// look asks the chain about the slot and reports what it says.
func (s *salesAgent) look(a *turn) {
	if s.looking {
		s.again = true
		return
	}
	if !s.journal.loaded || s.journal.durable.Phase == sale.Unknown || s.journal.durable.Over() {
		return
	}
	s.looking = true
	self, st := a.self, s.journal.durable
	a.rt.do(func(ctx context.Context) {
		cmd, err := s.askChain(ctx)
		if err == nil && st.Phase == sale.Filling && cmd.(sale.ReportChain).Facts.Host != s.me {
			cmd, err = s.unheardFill(ctx, st, cmd.(sale.ReportChain))
		}
		if err != nil {
			cmd = nil
			self.tell(effectTrouble{"look", err})
			err = sleep(ctx, s.Clock, s.backoff(s.slot.String()+"/look", 1))
		}
		if ctx.Err() == nil {
			self.tell(lookEnded{cmd, err})
		}
	})
}

type lookEnded struct {
	cmd sale.Command // nil: the chain did not answer
	err error
}

func (s *salesAgent) askChain(ctx context.Context) (sale.Command, error) {
	facts, err := in(ctx, s.reads, time.Time{}, func() (events.SlotFacts, error) {
		return s.Market.Slot(ctx, s.request, s.index)
	})
	if err != nil {
		return nil, fmt.Errorf("ask the chain about the slot: %w", err)
	}
	return sale.ReportChain{Facts: facts, Me: s.me, FinalBlocks: s.FinalBlocks}, nil
}

func (s *salesAgent) onLookEnded(a *turn, m lookEnded) {
	s.looking = false
	if m.cmd == nil || s.again {
		s.again = false
		defer s.look(a)
	}
	if m.cmd == nil {
		return
	}
	cause := "look"
	if report, ok := m.cmd.(sale.ReportChain); ok {
		f := report.Facts
		if s.journal.durable.Phase == sale.Filling && f.Host == s.me && f.SlotState == events.SlotFilled {
			s.looked = true // The fill itself reports this, with its receipt.
			s.act(a)
			return
		}
		cause = fmt.Sprintf("block:%d", f.At.Number)
	}
	s.journal.submit(a, m.cmd, cause, func(r result[sale.State, sale.Event]) {
		if errors.Is(r.err, errReloading) {
			return // The reload looks again.
		}
		s.looked = true
		s.act(a)
	})
}
