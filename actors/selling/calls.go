package selling

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/hostnode/hostnode/actors/sales"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
)

// This file begins and ends the calls of a sale, as its state wants them.

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
