package selling

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
)

// watchdog measures for how long a download has brought nothing new, over all tries. The time that
// a try waits in its pool does not count. Of a pause between two tries no more than the longest
// regular pause counts, so that an outage of the event store, or a machine that slept, is not
// held against a client. Safe for concurrent use.
type watchdog struct {
	mu      sync.Mutex
	attempt uint32
	idle    time.Duration // before the running try
	since   time.Time     // start of the running try; zero: none runs
	ended   time.Time     // end of the last try
	most    events.Bytes  // the most bytes granted so far
	// meter measures the pace; slow says why it is too slow, empty: it is not.
	meter sale.PaceMeter
	slow  string
	stop  context.CancelCauseFunc // ends the running try
	// unreachable: the last try that was not cancelled reached no source at all.
	unreachable bool
}

var (
	errStalled = errors.New("nothing new came for too long")
	errSlow    = errors.New("it comes too slowly")
)

// measure starts measuring the pace of an attempt's download. Only the first call for an
// attempt counts.
func (s *watchdog) measure(attempt uint32, m sale.PaceMeter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.renew(attempt)
	if s.meter.Interval == 0 {
		s.meter = m
	}
}

// renew forgets an earlier attempt. mu must be held.
func (s *watchdog) renew(attempt uint32) {
	if s.attempt == attempt {
		return
	}
	s.attempt, s.idle, s.ended, s.most, s.unreachable = attempt, 0, time.Time{}, 0, false
	s.meter, s.slow = sale.PaceMeter{}, ""
}

// instant is the present time, by both clocks.
func (e *Deps) instant() sale.Instant {
	return sale.Instant{Chain: e.ChainTime(), Machine: e.Clock.Now()}
}

// watch runs one try to fetch content. It cancels the try, and returns stalled, when nothing
// new came for limit in this try and those before it. A try that was ended for its pace is not
// stalled, however long it took to end.
func (s *watchdog) watch(ctx context.Context, e *Deps, attempt uint32, call func(context.Context) error) (
	stalled bool, err error,
) {
	limit := e.GiveUpDownload
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.begin(attempt, e.instant(), e.RetryMost, cancel)
	var stop func()
	var mu sync.Mutex // Guards stop, and keeps a timer from being set after the end.
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
	s.end(e.instant(), err)
	return err != nil && !errors.Is(err, errSlow) && s.idleFor(e.Clock.Now()) >= limit, err
}

func (s *watchdog) begin(attempt uint32, at sale.Instant, longestPause time.Duration, stop context.CancelCauseFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.renew(attempt)
	if !s.ended.IsZero() {
		s.idle += min(at.Machine.Sub(s.ended), longestPause)
	}
	s.since, s.meter, s.stop = at.Machine, s.meter.Begin(at), stop
}

func (s *watchdog) end(at sale.Instant, err error) {
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

func (s *watchdog) idleFor(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since.IsZero() {
		return s.idle
	}
	return s.idle + now.Sub(s.since)
}

// arrived notes that something new came and how much is still missing. It ends the try if the
// pace is too slow.
func (s *watchdog) arrived(at sale.Instant, missing events.Bytes) {
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

// tooSlow says why the download is too slow; empty: it is not.
func (s *watchdog) tooSlow() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.slow
}

// granted notes that total bytes may be written. More than ever before counts as progress.
func (s *watchdog) granted(now time.Time, total events.Bytes) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if total > s.most {
		s.most, s.idle, s.since = total, 0, now
	}
}

// reachesNobody reports whether the last try found no source that answers.
func (s *watchdog) reachesNobody() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unreachable
}
