package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/requester"
	"github.com/hostnode/hostnode/events"
)

// sell runs the host until all sales are settled.
func (s *show) sell(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	operator := operator{api.NewClient(s.dir.Socket()), ""}
	pacing, err := s.hosts(ctx, s.hostEnv(), operator.progress)
	if err != nil {
		return err
	}
	if err := s.offer(ctx, operator); err != nil {
		return err
	}
	id, err := s.client.post(ctx, s.request)
	if err != nil {
		return err
	}
	s.request.ID = id
	s.display.say("Client: posted request %s: %s of storage for %s tokens",
		id.Short(), s.request.Ask.Duration, tokens(requester.Price(s.request)))
	err = s.watch(ctx, pacing, s.seen, func(ctx context.Context) (bool, error) { return s.over(ctx, operator) })
	if err != nil {
		return err
	}
	return s.stopHost(ctx)
}

// hosts starts the host, and lets chain time run as it suits the host. What it returns receives why the
// chain stopped.
func (s *show) hosts(
	ctx context.Context, env []string, progress func(context.Context) (Progress, error),
) (<-chan error, error) {
	var err error
	s.logFile, err = os.OpenFile(filepath.Join(s.dir.Root, "host.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the host's log: %w", err)
	}
	s.host = &host{binary: s.Binary, args: []string{"run"}, env: env, logTo: s.logFile, lines: make(chan line, 256)}
	if err := s.startHost(); err != nil {
		return nil, err
	}
	s.display.say("Host: process %d, account %s", s.host.pid(), s.account)
	pacing := make(chan error, 1)
	go func() {
		pacing <- s.local.Run(ctx, pacer(s.local, holdFor(s.work), s.settled(progress)))
	}()
	return pacing, nil
}

// settled is the host's progress; a host that was started works until it has settled.
func (s *show) settled(progress func(context.Context) (Progress, error)) func(context.Context) (Progress, error) {
	var of *time.Time   // when that host was started
	var ready time.Time // when it had nothing to do for the first time
	return func(ctx context.Context) (Progress, error) {
		if started := s.started.Load(); started != of {
			of, ready = started, time.Time{}
		}
		p, err := progress(ctx)
		if ready.IsZero() && err == nil && !p.Working {
			ready = time.Now()
		}
		p.Working = p.Working || time.Since(*of) < settleTime || ready.IsZero() || time.Since(ready) < readyTime
		return p, err
	}
}

func (s *show) stopHost(ctx context.Context) error {
	stopping, stop := context.WithTimeout(context.WithoutCancel(ctx), stopPatience)
	defer stop()
	return s.host.stop(stopping)
}

func (s *show) startHost() error {
	now := time.Now()
	s.started.Store(&now)
	return s.host.start()
}

// offer waits until the host answers, and puts space on offer.
func (s *show) offer(ctx context.Context, operator operator) error {
	size := s.request.Ask.SlotSize * events.Bytes(s.Slots)
	perSlot, _ := s.request.Ask.CollateralPerSlot()
	for {
		err := operator.offer(ctx, size, 2*s.request.Ask.Duration, perSlot.MulSaturating(uint64(s.Slots)))
		if err == nil {
			s.display.say("Operator: one availability with room for %d bytes and %s tokens of collateral",
				size, tokens(perSlot.MulSaturating(uint64(s.Slots))))
			return nil
		}
		if alive, died := s.host.alive(); !alive {
			return fmt.Errorf("%w: %w; its last words: %s", problem.ErrDemoHostEnded, died, s.lastComplaints())
		}
		if errors.Is(err, problem.ErrDemoRefused) {
			return err
		}
		select {
		case <-time.After(10 * pollEvery):
		case l := <-s.host.lines:
			s.show(l)
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
	}
}

// maxComplaints is how many of the host's last complaints an error repeats: what
// went wrong and its hint.
const maxComplaints = 3

// lastComplaints returns what the host complained about last.
func (s *show) lastComplaints() string {
	for {
		select {
		case l := <-s.host.lines:
			s.remember(l)
		default:
			return strings.Join(s.complaints, "; ")
		}
	}
}

func (s *show) remember(l line) {
	if l.Level == "info" {
		return
	}
	s.complaints = append(s.complaints, strings.TrimSpace(l.Msg))
	s.complaints = s.complaints[max(0, len(s.complaints)-maxComplaints):]
}

// watch reads the host's log line by line, until it is over.
func (s *show) watch(
	ctx context.Context, pacing <-chan error, see func(line) error, over func(context.Context) (bool, error),
) error {
	tick := time.NewTicker(20 * pollEvery)
	defer tick.Stop()
	for {
		select {
		case l := <-s.host.lines:
			s.lines++
			if err := see(l); err != nil {
				return err
			}
		case err := <-pacing:
			return fmt.Errorf("the chain stopped: %w", err)
		case <-tick.C:
			if alive, died := s.host.alive(); !alive {
				return fmt.Errorf("%w: %w; see %s", problem.ErrDemoHostEnded, died, s.logFile.Name())
			}
			if done, err := over(ctx); done || err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// seen shows what the host does, and kills it once meanwhile.
func (s *show) seen(l line) error {
	s.show(l)
	kill := s.Crash && s.kills == 0 && s.proofs >= s.Slots // Each slot has proven for about a period.
	if s.Kill != nil {
		kill = s.Kill(s.lines)
	}
	if kill {
		return s.crash(s.show)
	}
	return nil
}

// over reports whether nothing more will happen.
func (s *show) over(ctx context.Context, operator operator) (bool, error) {
	state, err := s.client.account.RequestState(ctx, s.request.ID)
	if err != nil {
		return false, fmt.Errorf("ask the chain about the request: %w", err)
	}
	if state == events.RequestNew && s.display.silent() {
		if p, err := operator.progress(ctx); err == nil && p.Working {
			s.display.say("Host: fetches the slots and checks every block, %s of %s so far; chain time waits for it",
				p.Stored.Human(), events.Bytes(s.client.dataset.Layout().CodedSize()).Human())
		}
	}
	if state <= events.RequestStarted || len(s.host.lines) > 0 {
		return false, nil
	}
	open, err := operator.openSales(ctx)
	return err == nil && open == 0, nil // A host that does not answer is starting.
}

// crash kills the host as a power cut would, and starts it again. What it logged before is shown first.
func (s *show) crash(show func(line)) error {
	s.kills++
	pid := s.host.pid()
	killed := make(chan error, 1)
	go func() { killed <- s.host.kill() }()
	for dead := false; !dead || len(s.host.lines) > 0; { // It does not die while nobody reads its log.
		select {
		case l := <-s.host.lines:
			s.lines++
			show(l)
		case err := <-killed:
			if err != nil {
				return fmt.Errorf("kill the host: %w", err)
			}
			dead = true
		}
	}
	s.display.say("SIGKILL to the host, process %d. Chain time stands still.", pid)
	if err := s.startHost(); err != nil {
		return err
	}
	s.display.say("Host: started again as process %d; it goes on from its events", s.host.pid())
	return nil
}

// show prints a line of the host's log. Lines about sales begin with the slot.
func (s *show) show(l line) {
	s.remember(l)
	switch {
	case l.Index != nil:
		s.proofs += took(l)
		s.display.is(*l.Index, l.State, took(l))
		s.display.say("slot %d  %-15s %s", *l.Index, l.State, l.Msg)
	case l.Level == "error" || l.Level == "warning":
		s.display.say("Host: %s", l.Msg)
	}
}
