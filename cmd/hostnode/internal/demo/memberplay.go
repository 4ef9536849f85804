package demo

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/requester"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/internal/localetcd"
	"github.com/hostnode/hostnode/internal/retry"
)

// play sells and proves, lets one after the other go away and come back, and ends when all sales are settled.
func (s *memberShow) play(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	pacing := make(chan error, 1)
	for _, m := range s.members {
		if err := s.startMember(m); err != nil {
			return err
		}
	}
	go func() { pacing <- s.local.Run(ctx, s.pace()) }()
	wait := func(what string, ok func(context.Context) bool) error { return s.until(ctx, pacing, what, ok) }
	if err := s.sellTogether(ctx, wait); err != nil {
		return err
	}
	for _, act := range []func(context.Context, waiter) error{s.loseOwner, s.loseStore, s.loseEtcd, s.comeBack} {
		if err := act(ctx, wait); err != nil {
			return err
		}
	}
	s.display.say("All of it was shown; now the request runs out.")
	if err := s.untilSettled(ctx, pacing); err != nil {
		return err
	}
	s.look()
	return s.stopMembers(ctx)
}

// waiter waits until something is so.
type waiter func(what string, ok func(context.Context) bool) error

func (s *memberShow) startMember(m *member) error {
	if err := m.start(); err != nil {
		return fmt.Errorf("member %s: %w", m.name, err)
	}
	m.down.Store(false)
	s.display.say("%-6s process %d, data in %s", m.name, m.pid(), m.dir.Root)
	return nil
}

// sellTogether puts space of each member on offer, and returns when each slot was proven.
func (s *memberShow) sellTogether(ctx context.Context, wait waiter) error {
	size := s.request.Ask.SlotSize * events.Bytes(s.Slots)
	perSlot, _ := s.request.Ask.CollateralPerSlot()
	collateral := perSlot.MulSaturating(uint64(s.Slots))
	for _, m := range s.members {
		var refused error
		err := wait(fmt.Sprintf("member %s takes an availability", m.name), func(ctx context.Context) bool {
			err := m.operator.offer(ctx, size, 2*s.request.Ask.Duration, collateral)
			if errors.Is(err, api.ErrDemoRefused) {
				refused = err
			}
			return err == nil || refused != nil
		})
		if err = errors.Join(err, refused); err != nil {
			return err
		}
	}
	s.display.say("Operator: one availability of each member, with room for %d bytes and %s tokens of collateral",
		size, tokens(collateral))
	id, err := s.client.post(ctx, s.request)
	if err != nil {
		return err
	}
	s.request.ID = id
	s.display.say("Client: posted request %s: %s of storage for %s tokens",
		id.Short(), s.request.Ask.Duration, tokens(requester.Price(s.request)))
	err = wait("the first slot is filled", func(context.Context) bool {
		return slices.ContainsFunc(s.seen(), func(slot slotSeen) bool { return slot.filled })
	})
	if err != nil {
		return err
	}
	s.filled.Store(true)
	if !s.options.Patient {
		period := s.Config.Devchain.Period
		s.display.say("Chain: from now on a block each %s, which is a second of chain time, whatever happens; a "+
			"period is %s of chain time, %s by the clock; the probability of a proof is 1 in %d, outside of downtime",
			memberPace, period, inClockTime(period), proofProbability)
	}
	err = wait("each slot is proven", func(context.Context) bool {
		proven := 0
		for _, slot := range s.seen() {
			if slot.proofs > 0 {
				proven++
			}
		}
		return proven == s.Slots
	})
	s.look()
	return err
}

// look lets tests look.
func (s *memberShow) look() {
	if s.options.Look == nil {
		return
	}
	var dirs []string
	for _, m := range s.living() {
		dirs = append(dirs, m.dir.Root)
	}
	s.options.Look(s.members[0].env, dirs)
}

// owner asks the living members who has the term, and since when; they read it in the record.
func (s *memberShow) owner(ctx context.Context) (*member, time.Time) {
	for _, m := range s.living() {
		name, since, err := m.operator.owner(ctx)
		if i := slices.IndexFunc(s.members, func(m *member) bool { return m.name == name }); err == nil && i >= 0 {
			return s.members[i], since
		}
	}
	return nil, time.Time{}
}

// loseOwner kills the owner, and returns when another one has the term and a proof was taken since.
func (s *memberShow) loseOwner(_ context.Context, wait waiter) error {
	if !s.Crash {
		return nil
	}
	var owner *member
	err := wait("a member is the owner", func(ctx context.Context) bool {
		owner, _ = s.owner(ctx)
		return owner != nil
	})
	if err != nil {
		return err
	}
	s.held.Store(s.options.Patient)
	k := killed{member: owner.name, at: time.Now(), from: s.local.Head().Time}
	owner.down.Store(true)
	pid := owner.pid()
	if err := owner.kill(); err != nil {
		return fmt.Errorf("kill member %s: %w", owner.name, err)
	}
	s.show.kills++
	s.display.say("SIGKILL to member %s, process %d, which runs the queue and the transactions", owner.name, pid)
	var next *member
	var since time.Time
	err = wait("another member takes the term", func(ctx context.Context) bool {
		next, since = s.owner(ctx)
		return next != nil && next != owner
	})
	if err != nil {
		return err
	}
	s.kills = append(s.kills, k)
	s.display.say("Owner: %s, %.1f s after %s was killed", next.name, since.Sub(k.at).Seconds(), owner.name)
	s.held.Store(false)
	return s.goOn(wait)
}

// goOn waits for a proof of the members that live, if they have slots.
func (s *memberShow) goOn(wait waiter) error {
	lives := func(m *member) bool { return !m.down.Load() }
	if !slices.ContainsFunc(s.seen(), func(slot slotSeen) bool { return lives(slot.by) }) {
		return nil
	}
	before := s.provenBy(lives)
	return wait("a living member proves again", func(context.Context) bool { return s.provenBy(lives) > before })
}

// loseStore kills the event store's process and starts it again later.
func (s *memberShow) loseStore(ctx context.Context, wait waiter) error {
	if s.options.Away == 0 {
		return nil
	}
	pid := s.store.pid()
	if err := s.store.kill(); err != nil {
		return fmt.Errorf("kill the event store: %w", err)
	}
	s.display.say("SIGKILL to the event store, process %d; it is away for %s", pid, s.options.Away)
	if err := retry.Sleep(ctx, s.options.Away); err != nil {
		return err
	}
	if err := s.startStore(ctx); err != nil {
		return err
	}
	s.display.say("Event store: started again as process %d", s.store.pid())
	err := wait("all members have their event store again", func(ctx context.Context) bool {
		for _, m := range s.living() {
			if p, err := m.operator.progress(ctx); err != nil || p.Away {
				return false
			}
		}
		owner, _ := s.owner(ctx)
		return owner != nil
	})
	if err != nil {
		return err
	}
	return s.goOn(wait)
}

// loseEtcd ends etcd and starts it again later.
func (s *memberShow) loseEtcd(ctx context.Context, wait waiter) (err error) {
	if s.options.Away == 0 {
		return nil
	}
	s.etcd.Close()
	s.display.say("etcd has ended; it is away for %s", s.options.Away)
	if err := retry.Sleep(ctx, s.options.Away); err != nil {
		return err
	}
	if s.etcd, err = localetcd.Start(filepath.Join(s.dir.Root, "etcd"), s.etcdAt, localetcd.TLS{}); err != nil {
		return err
	}
	s.display.say("etcd: started again with its data")
	return s.goOn(wait)
}

// comeBack starts the killed member again, and returns when it has proven what it hosts.
func (s *memberShow) comeBack(_ context.Context, wait waiter) error {
	for i := range s.kills {
		k := &s.kills[i]
		m := s.members[slices.Index(memberNames, k.member)]
		itself := func(other *member) bool { return other == m }
		before := s.provenBy(itself)
		hosts := slices.ContainsFunc(s.seen(), func(slot slotSeen) bool { return slot.by == m })
		s.held.Store(s.options.Patient)
		if err := s.startMember(m); err != nil {
			return err
		}
		s.display.say("%-6s is back and goes on from the record", m.name)
		err := wait(fmt.Sprintf("member %s runs", m.name), func(ctx context.Context) bool {
			p, err := m.operator.progress(ctx)
			return err == nil && !p.Away && p.Head > 0
		})
		if err != nil {
			return err
		}
		k.to = s.local.Head().Time
		s.held.Store(false)
		if !hosts {
			continue
		}
		err = wait(fmt.Sprintf("member %s proves again", m.name),
			func(context.Context) bool { return s.provenBy(itself) > before })
		if err != nil {
			return err
		}
	}
	return nil
}

// untilSettled waits until the request is over and no sale is open.
func (s *memberShow) untilSettled(ctx context.Context, pacing <-chan error) error {
	over := false
	for {
		if !over {
			state, err := s.client.account.RequestState(ctx, s.request.ID)
			if err != nil {
				return fmt.Errorf("ask the chain about the request: %w", err)
			}
			over = state > events.RequestStarted
		}
		for _, m := range s.members {
			if alive, died := m.alive(); !alive {
				return fmt.Errorf("%w: member %s: %w; see %s", api.ErrDemoHostEnded, m.name, died, m.log.Name())
			}
		}
		if over {
			if open, err := s.members[0].operator.openSales(ctx); err == nil && open == 0 {
				return nil
			}
		}
		select {
		case err := <-pacing:
			return fmt.Errorf("the chain stopped: %w", err)
		case <-time.After(10 * pollEvery):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *memberShow) stopMembers(ctx context.Context) error {
	stopping, stop := context.WithTimeout(context.WithoutCancel(ctx), stopPatience)
	defer stop()
	for _, m := range s.members {
		m.down.Store(true)
		if err := m.stop(stopping); err != nil {
			return fmt.Errorf("member %s: %w", m.name, err)
		}
	}
	return nil
}

// took is 1 for a line of a log that says that the contract has a proof, otherwise 0.
func took(l line) int {
	if strings.HasPrefix(l.Msg, "The contract took the proof") ||
		strings.HasPrefix(l.Msg, "The contract had the proof") {
		return 1
	}
	return 0
}
