package sectors

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/messages"
)

// Agent runs one sector. One step runs at a time: the calls of the next one wait until those of
// the one before have returned.
type Agent struct {
	*room
	number uint64
	parent shell.Ref
	done   *gauge
	locks  locks

	journal *shell.Journal[sector.Info, sector.Command, sector.Event]
	// handed is what the scan has folded: there the first load begins. The sector never acts on a state that is older
	// than its stream: the load reads on to the end of the stream, and an append names the revision that it was decided
	// on, so that one that rests on less is refused. After that, and after a panic, the whole stream is read.
	handed  *shell.Saved[sector.Info]
	effects *shell.Effects[sector.Command, work]
	since   since
	woken   bool    // the record was read, and what is due is begun
	held    []order // waiting; see updatesLedger
	seen    *onChainState
	// tooSlow: the second half was not begun because the ticket would have been too old at its end. With the next one
	// it is begun whatever it took the last time: no ticket may last for that.
	tooSlow atomic.Bool
	// from is the block of the newest receipt: older answers of the chain are ignored.
	from atomic.Uint64
}

// work is what the agent keeps of a step that was begun.
type work struct {
	effect sector.Effect
	seen   *onChainState
}

// since is the first block at which the chain was asked for a step, over all its tries.
type since struct {
	key   string
	block uint64
}

// Messages to an agent, from itself and from Sectors.
type (
	unproven struct{ reason string }
	order    struct {
		id    uint64
		event sector.Event
		by    string
	}
)

// errWaits ends a step that has nothing to do until the chain has something new.
var errWaits = errors.New("nothing to do until the chain says more")

func newAgent(r *room, parent shell.Ref, c *child, broken func(error)) *Agent {
	number := c.number
	s := &Agent{room: r, number: number, parent: parent, done: &c.done, locks: c.locks, handed: c.hand()}
	s.effects = &shell.Effects[sector.Command, work]{Base: r.Base, Context: r.ctx, Ended: s.onEnded, Act: s.act}
	stream := events.SectorStream(r.Me, number)
	s.journal = &shell.Journal[sector.Info, sector.Command, sector.Event]{
		Machine: shell.Machine[sector.Info, sector.Command, sector.Event]{
			Empty:  func() sector.Info { return sector.New(r.Policy) },
			Decide: r.Decide, Evolve: sector.Evolve,
			About:   func(string) shell.Subject { return aboutSector(number) },
			Restore: s.restored,
		},
		Stream: stream, Store: r.Store, Codec: r.Codec, StoreWatch: r.StoreWatch, MinEvents: r.MinEvents[stream],
		Meta: func(sector.Info, sector.Event) events.Metadata { return r.Metadata(aboutSector(number).String()) },
		Each: s.say,
		OnDurable: func(a *shell.Turn, fresh []sector.Event) {
			s.handed = nil
			parent.Tell(changed{number, a.Self.Address(), s.journal.Durable, len(fresh) > 0})
			s.act(a)
		},
		OnBroken: func(_ *shell.Turn, err error) { broken(err) },
	}
	return s
}

// restored is where a load begins.
func (s *Agent) restored(context.Context) (shell.Saved[sector.Info], error) {
	if s.handed != nil {
		return *s.handed, nil
	}
	return shell.Unsaved(s.journal.Empty), nil
}

func aboutSector(number uint64) shell.Subject {
	return shell.Subject{Kind: shell.SubjectSector, Key: strconv.FormatUint(number, 10)}
}

func (s *Agent) fields() *logrus.Entry {
	return s.Log.WithFields(logrus.Fields{"sector": s.number, "state": string(s.journal.Durable.State)})
}

// say logs an event, with its step and its reason.
func (s *Agent) say(e sector.Event) {
	entry, said := s.fields(), sector.NameOf(e)
	if of, ok := e.(interface{ GetStep() string }); ok {
		entry = entry.WithField("step", of.GetStep())
		said += " " + of.GetStep()
	}
	if why, ok := e.(interface{ GetReason() string }); ok && why.GetReason() != "" {
		said += ": " + why.GetReason()
	}
	entry.Info(said)
}

// Ended ends the call of the agent: the next one begins its own.
func (s *Agent) Ended() { s.effects.Cancel() }

// Receive handles a message.
func (s *Agent) Receive(a *shell.Turn, msg any) {
	s.receive(a, msg)
	for len(s.held) > 0 && !s.updatesLedger() {
		m := s.held[0]
		s.held = s.held[1:]
		s.onOrder(a, m)
	}
}

func (s *Agent) receive(a *shell.Turn, msg any) {
	if s.journal.Handle(a, msg) || s.effects.Handle(a, msg) {
		return
	}
	switch m := msg.(type) {
	case shell.Started:
		s.journal.Load(a)
	case onChainState:
		s.onSeen(a, m)
	case unproven: // In a state that waits for nothing it is too late.
		s.submit(a, sector.Happened{
			Inputs: s.inputs(), Event: &messages.SectorFaulty{At: s.at(), Reason: m.reason},
		}, "look", func(error, []sector.Event) {})
	case order:
		s.held = append(s.held, m)
	}
}

// inputs are the time, and a random number that follows from the record, so that a run can be
// repeated.
func (s *Agent) inputs() sector.Inputs {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%d/%d", s.Me, s.number, s.journal.Stored)
	return sector.Inputs{At: s.Clock.Now(), Chance: h.Sum64()}
}

func (s *Agent) submit(a *shell.Turn, cmd sector.Command, cause string, reply func(error, []sector.Event)) {
	s.journal.Submit(a, cmd, cause, func(r shell.Result[sector.Info, sector.Event]) { reply(r.Err, r.Events) })
}

// ledgerSteps are the steps that first tell the ledger, and then append.
var ledgerSteps = map[sector.Step]bool{
	sector.StepOpenSpace: true, sector.StepReleaseScratch: true, sector.StepReleaseSpace: true,
}

// updatesLedger reports whether such a step runs. It is short, and orders wait for its end: after an order
// in between, the ledger and the record would disagree about the space.
func (s *Agent) updatesLedger() bool {
	for w := range s.effects.All() {
		if ledgerSteps[w.Data.effect.Step] && !w.Waits() && !w.Unwanted() {
			return true
		}
	}
	return false
}

// onOrder carries out an operator's order, and answers when it is in the record.
func (s *Agent) onOrder(a *shell.Turn, m order) {
	s.submit(a, sector.Happened{Inputs: s.inputs(), Event: m.event, By: m.by}, "operator",
		func(err error, fresh []sector.Event) {
			st := s.journal.Durable
			if _, restart := m.event.(*messages.SectorRestart); restart && err == nil && len(fresh) == 0 {
				s.repeat()
			}
			for _, e := range fresh {
				if _, refused := e.(*messages.SectorEventRefused); refused {
					err = &sector.Refused{
						State: st.State, Event: sector.NameOf(m.event), Allowed: sector.Allowed(st.State),
					}
				}
			}
			s.parent.Tell(ordered{s.number, m.id, st.State, err})
		})
}

// onSeen records what the chain has of the sector, and goes on with a step that waits for it.
func (s *Agent) onSeen(a *shell.Turn, m onChainState) {
	if m.Block.Number < s.from.Load() || !s.journal.Loaded {
		return
	}
	s.seen = &m
	facts := m.SectorFacts
	if st := s.journal.Durable; st.State == sector.WaitSeed && m.CommR != st.CommR {
		facts.Seed = events.Hash{} // It is of another seal.
	}
	s.submit(a, sector.ReportChain{Inputs: s.inputs(), Facts: facts}, "look", func(err error, _ []sector.Event) {
		if err != nil {
			s.fields().Warnf("what the chain says was not recorded; it is asked again: %v", err)
		}
		if w := s.effects.Of(s.wanted().Key()); w != nil && w.Waits() {
			s.effects.Forget(w)
		}
		s.act(a)
	})
}

// wanted is the step that the durable state waits for; without a key: none.
func (s *Agent) wanted() (e sector.Effect) {
	if all := sector.Next(s.journal.Durable); len(all) > 0 {
		return all[0]
	}
	return e
}

// act makes the running work agree with what the durable state wants.
func (s *Agent) act(a *shell.Turn) {
	if !s.journal.Loaded {
		return
	}
	if !cares(s.journal.Durable) {
		s.seen = nil // The sector is not watched now, so this would be outdated later.
	}
	e := s.wanted()
	if !s.woken {
		s.woken = true
		s.submit(a, sector.Due{Inputs: s.inputs()}, "start", func(error, []sector.Event) {})
	}
	for w := range s.effects.All() {
		if w.Reporting() {
			return
		}
	}
	s.effects.Keep(func(key string) bool { return key == e.Key() }) // The lock waits for the end of what is cancelled.
	if e.Key() != "" {
		s.begin(a, e)
	}
}

// cares reports whether the chain can change the state of a sector, or the sector waits for the chain.
func cares(st sector.Info) bool {
	return slices.Contains([]sector.State{
		sector.WaitSeed, sector.Committing, sector.CommitWait, sector.FinalizeSector, sector.Proving, sector.Faulty,
		sector.FaultReported, sector.FaultedFinal, sector.Recovering, sector.RecoveryReported, sector.Terminating,
		sector.TerminateWait, sector.TerminateFinality, sector.Removed,
	}, st.State)
}

// begin performs a step outside of the mailbox, or waits for its time.
func (s *Agent) begin(a *shell.Turn, e sector.Effect) {
	st, key := s.journal.Durable, e.Key()
	if s.seen != nil && s.seen.Block.Number < s.from.Load() {
		s.seen = nil
	}
	if s.since.key != key {
		s.since = since{key: key}
	}
	if s.since.block == 0 && s.seen != nil {
		s.since.block = s.seen.Block.Number
	}
	look := look{s.seen, s.since.block}
	w := s.effects.Begin(a, key, events.EventID{}, func(ctx context.Context) (sector.Command, error) {
		if e.Step == sector.StepWait {
			return nil, shell.Sleep(ctx, s.Clock, st.PauseLeft(s.Clock.Now()))
		}
		return s.call(ctx, st, e, look)
	})
	if w != nil {
		w.Data = work{e, s.seen}
	}
}

// call makes the calls of a step, when it is its turn.
func (s *Agent) call(ctx context.Context, st sector.Info, e sector.Effect, l look) (cmd sector.Command, err error) {
	// What was begun before ends first, also what an agent began that panicked.
	leave, err := s.locks.of(e.Step).Enter(ctx, time.Time{})
	if err != nil {
		return nil, err
	}
	key := e.Key()
	s.Yield(ctx, key)
	if err := s.StoreWatch.Wait(ctx, key); err != nil {
		leave()
		return nil, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	at := poolSlot{pool: s.pools[e.Step], deadline: turn(st, e.Step), grace: s.CancelWait, leave: leave}
	cmd, err = within(ctx, s.room, "step "+key, at, func() (sector.Command, error) {
		if limit := s.limit(e.Step); limit > 0 {
			defer s.Clock.After(limit, func() {
				stop(fmt.Errorf("%w after %s (sectors.stepLimit)", errTooLong, limit))
			})()
		}
		return s.perform(ctx, st, e, l)
	})
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, errTooLong) {
		return nil, cause
	}
	return cmd, err
}

func (s *Agent) onEnded(a *shell.Turn, w *shell.Work[work], cmd sector.Command, err error) {
	e := w.Data.effect
	switch {
	case s.ctx.Err() != nil: // The host stops.
		return
	case errors.Is(err, errWaits):
		if s.seen != w.Data.seen {
			s.effects.Forget(w)
			s.act(a)
		}
		return
	case err != nil:
		s.fields().Warnf("%s did not succeed: %v", w.Key, err)
		cmd = s.failure(e, err)
	case e.Step == sector.StepWait:
		cmd = sector.Due{Inputs: s.inputs(), Until: e.Until}
	}
	s.effects.Report(a, w, func(done func(changed bool)) { s.record(a, e, cmd, done) })
}

// repeat cancels the call that runs, and makes it again.
func (s *Agent) repeat() {
	if w := s.effects.Of(s.wanted().Key()); w != nil && !w.Waits() && !w.Reporting() && local[w.Data.effect.Step] {
		s.effects.Restart(w)
		s.fields().Infof("%s is cancelled and begun again, as an operator wants", w.Key)
	}
}

// record records the result of a step. An impossible one is a failure.
func (s *Agent) record(a *shell.Turn, e sector.Effect, cmd sector.Command, done func(changed bool)) {
	s.submit(a, cmd, events.SectorCause(e.Key()), func(err error, fresh []sector.Event) {
		var refused *sector.Refused
		switch {
		case errors.Is(err, sector.ErrImpossible), errors.Is(err, events.ErrMalformed), errors.As(err, &refused):
			if h, ok := cmd.(sector.Happened); !ok || sector.NameOf(h.Event) != fatal {
				s.record(a, e, sector.Happened{
					Inputs: s.inputs(), Key: e.Key(), Event: fatalError(s.Clock.Now(), err),
				}, done)
				return
			}
		}
		if err != nil { // If it is still wanted, it is tried again after a pause.
			s.fields().Warnf("the answer of %s was not recorded: %v", e.Key(), err)
		}
		done(err == nil && len(fresh) > 0)
		s.act(a)
	})
}
