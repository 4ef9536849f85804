package selling

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
)

// stall is how long the content of a slot has brought nothing new, over all
// tries. Time that a try waits for its turn does not count, and of a pause
// between two tries not more than the longest that there is, so that an outage
// of the event store, or a machine that slept, is not held against a client.
// Safe for concurrent use.
type stall struct {
	mu      sync.Mutex
	attempt uint32
	idle    time.Duration // before since
	since   time.Time     // of the running try; zero: none runs
	ended   time.Time     // the last try
	most    events.Bytes  // the most that was granted
	// meter measures the pace; it is late for the reason slow, empty: it is not.
	meter sale.PaceMeter
	slow  string
	stop  context.CancelCauseFunc // ends the running try
	// unreachable: the last try that ended by itself reached no source at all.
	unreachable bool
}

var (
	errStalled = errors.New("nothing new came for too long")
	errSlow    = errors.New("it comes too slowly")
)

// measure makes an attempt's download one whose pace is measured. Of the tries of one
// attempt the first counts.
func (s *stall) measure(attempt uint32, m sale.PaceMeter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.renew(attempt)
	if s.meter.Stretch == 0 {
		s.meter = m
	}
}

// renew forgets what was of another attempt. The mu is held.
func (s *stall) renew(attempt uint32) {
	if s.attempt == attempt {
		return
	}
	s.attempt, s.idle, s.ended, s.most, s.unreachable = attempt, 0, time.Time{}, 0, false
	s.meter, s.slow = sale.PaceMeter{}, ""
}

// moment is now, by both clocks.
func (e *Deps) moment() sale.Moment {
	return sale.Moment{Chain: e.ChainTime(), Machine: e.Clock.Now()}
}

// watch runs one try to fetch content, and cancels it when nothing new came for
// limit over this and the tries before it. It says so by stalled. A try that was ended
// for its pace is not stalled, however long it took to end.
func (s *stall) watch(ctx context.Context, e *Deps, attempt uint32, call func(context.Context) error) (
	stalled bool, err error,
) {
	limit := e.GiveUpDownload
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.begin(attempt, e.moment(), e.RetryMost, cancel)
	var stop func()
	var mu sync.Mutex // Of stop, and so that no alarm is set behind the end.
	over := false
	var look func()
	look = func() {
		mu.Lock()
		defer mu.Unlock()
		if over {
			return
		}
		if left := limit - s.idleFor(e.Clock.Now()); left > 0 {
			stop = e.Clock.After(left, look)
			return
		}
		cancel(errStalled)
	}
	look()
	err = call(ctx)
	mu.Lock()
	over = true
	if stop != nil {
		stop()
	}
	mu.Unlock()
	s.end(e.moment(), err)
	return err != nil && !errors.Is(err, errSlow) && s.idleFor(e.Clock.Now()) >= limit, err
}

func (s *stall) begin(attempt uint32, at sale.Moment, longestPause time.Duration, stop context.CancelCauseFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.renew(attempt)
	if !s.ended.IsZero() {
		s.idle += min(at.Machine.Sub(s.ended), longestPause)
	}
	s.since, s.meter, s.stop = at.Machine, s.meter.Begin(at), stop
}

func (s *stall) end(at sale.Moment, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle += at.Machine.Sub(s.since)
	s.since, s.ended, s.meter, s.stop = time.Time{}, at.Machine, s.meter.End(at), nil
	if err == nil {
		s.idle = 0
	}
	if err != nil && !errors.Is(err, errStalled) && !errors.Is(err, errSlow) {
		s.unreachable = errors.Is(err, events.ErrNoSource)
	}
}

func (s *stall) idleFor(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since.IsZero() {
		return s.idle
	}
	return s.idle + now.Sub(s.since)
}

// arrived notes that something new came, and how much is missing still. The try ends
// when it comes too slowly.
func (s *stall) arrived(at sale.Moment, missing events.Bytes) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle, s.since = 0, at.Machine
	var late bool
	var reason string
	if s.meter, reason, late = s.meter.Arrived(missing, at); late && s.stop != nil {
		s.slow = reason
		s.stop(errSlow)
	}
}

// tooSlow says why the download was ended for its pace; empty: it was not.
func (s *stall) tooSlow() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.slow
}

// granted notes that so many bytes may be written: new ones, if never before.
func (s *stall) granted(now time.Time, total events.Bytes) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if total > s.most {
		s.most, s.idle, s.since = total, 0, now
	}
}

// reachesNobody says whether the last try found no source that answers.
func (s *stall) reachesNobody() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unreachable
}
