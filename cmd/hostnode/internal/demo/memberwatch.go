package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hostnode/hostnode/chain/devchain"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/internal/retry"
)

// This file is what the demonstration of members hears and sees of them.

// hear shows a line of a member's log, and notes what it says of a slot.
func (s *memberShow) hear(m *member, l line) {
	switch {
	case l.Index != nil:
		s.display.is(*l.Index, l.State, took(l))
		s.heard.Lock()
		slot := s.slots[*l.Index]
		if slot == nil {
			slot = &slotSeen{}
			s.slots[*l.Index] = slot
		}
		slot.by = m
		slot.filled = slot.filled || l.State == "Filled" || l.State == "Proving"
		slot.proofs += took(l)
		s.heard.Unlock()
		s.display.say("%-6s slot %d  %-15s %s", m.name, *l.Index, l.State, l.Msg)
	case l.Level == "error" || l.Level == "warning":
		s.display.say("%-6s %s", m.name, l.Msg)
	}
}

// seen is what the logs told of the slots.
func (s *memberShow) seen() (all []slotSeen) {
	s.heard.Lock()
	defer s.heard.Unlock()
	for _, slot := range s.slots {
		all = append(all, *slot)
	}
	return all
}

// provenBy counts the proofs that the contract took from the members that are meant.
func (s *memberShow) provenBy(meant func(*member) bool) (n int) {
	for _, slot := range s.seen() {
		if meant(slot.by) {
			n += slot.proofs
		}
	}
	return n
}

// living are the members that were not killed.
func (s *memberShow) living() []*member {
	return slices.DeleteFunc(slices.Clone(s.members), func(m *member) bool { return m.down.Load() })
}

// pace is that of chain time: until the first slot is filled it waits for the members; from then on a block comes
// at each interval of the machine's clock, whatever the members do.
func (s *memberShow) pace() devchain.Pacer {
	waiting := pacer(s.local, holdFor(s.work), s.together)
	var next time.Time
	return func(ctx context.Context) error {
		if s.options.Patient || !s.filled.Load() {
			return waiting(ctx)
		}
		if next.IsZero() {
			next = time.Now()
		}
		next = next.Add(memberPace)
		return retry.Sleep(ctx, time.Until(next))
	}
}

// together is what the living members do, all in all.
func (s *memberShow) together(ctx context.Context) (all Progress, err error) {
	all.Head = s.local.Head().Number
	if s.filled.Load() && !s.options.Patient {
		return all, nil
	}
	all.Working = s.held.Load()
	for _, m := range s.living() {
		p, err := m.operator.progress(ctx)
		if err != nil {
			return all, fmt.Errorf("%s: %w", m.name, err)
		}
		all.Working, all.Away, all.Head = all.Working || p.Working, all.Away || p.Away, min(all.Head, p.Head)
		all.Done += p.Done
	}
	return all, nil
}

// errEnded: the request was over before all was shown.
var errEnded = errors.New("the request was over before")

// until waits for something, as long as all members live that should, and the request lasts.
func (s *memberShow) until(ctx context.Context, pacing <-chan error, what string, ok func(context.Context) bool) error {
	for !ok(ctx) {
		for _, m := range s.living() {
			if alive, died := m.alive(); !alive {
				return fmt.Errorf("%w: member %s, while waiting until %s: %w; see %s",
					problem.ErrDemoHostEnded, m.name, what, cmp.Or(died, errors.New("without an error")), m.log.Name())
			}
		}
		if s.request.ID != (events.RequestID{}) {
			state, err := s.client.account.RequestState(ctx, s.request.ID)
			if err != nil {
				return fmt.Errorf("ask the chain about the request: %w", err)
			}
			if state > events.RequestStarted && !ok(ctx) {
				return fmt.Errorf("%w: %w %s; the machine has much else to do, perhaps a longer "+
					"--devchain-period helps",
					problem.ErrDemoIncomplete, errEnded, what)
			}
		}
		select {
		case err := <-pacing:
			return fmt.Errorf("the chain stopped: %w", err)
		case <-time.After(10 * pollEvery):
		case <-ctx.Done():
			return fmt.Errorf("waiting until %s: %w", what, ctx.Err())
		}
	}
	return nil
}
