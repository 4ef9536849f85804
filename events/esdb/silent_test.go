package esdb_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/esdb"
	"github.com/hostnode/hostnode/events/esdb/standin"
	"github.com/hostnode/hostnode/events/storetest"
)

// hostly are the settings of a host, ten times as fast.
func hostly(url string) esdb.Config {
	return esdb.Config{
		URL: url, OpenTimeout: patience, CallTimeout: 500 * time.Millisecond, Patience: 100 * time.Millisecond,
		ProbeEvery: 250 * time.Millisecond, MaxPause: 500 * time.Millisecond,
	}
}

// untilTaken repeats an append as a journal does, and returns how long that took.
func untilTaken(ctx context.Context, s *esdb.Store, stream string, n int) (time.Duration, error) {
	began := time.Now()
	for {
		_, err := s.Append(ctx, stream, events.ExpectNext(uint64(n)), numberedEvent(stream, n))
		if err == nil || !errors.Is(err, events.ErrAway) {
			return time.Since(began), err
		}
	}
}

// TestASilentLeaderIsLeftInTime has a leader that is stopped while another one stands after
// two thirds of a call's time, again and again. Others read all the while, and each of their
// calls without an answer asks for a look.
func TestASilentLeaderIsLeftInTime(t *testing.T) {
	const rounds = 6
	c := standin.New(t, storetest.NewMemory(), 3)
	cfg := hostly(c.URL())
	s := open(t, cfg)
	defer s.Close()
	reading, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for reading.Err() == nil {
			_, _ = s.Head(reading) // Whatever it answers.
		}
	}()
	defer func() { stop(); <-done }()
	var times []time.Duration
	for round := range rounds {
		if _, err := untilTaken(t.Context(), s, "a-1", 2*round); err != nil {
			t.Fatal(err)
		}
		leader := round % 3
		c.Freeze(leader)
		timer := time.AfterFunc(cfg.CallTimeout*2/3, func() { c.Lead((leader + 1) % 3) })
		blind, err := untilTaken(t.Context(), s, "a-1", 2*round+1)
		timer.Stop()
		if err != nil {
			t.Fatal(err)
		}
		times = append(times, blind)
		c.Thaw(leader, 0)
	}
	slices.Sort(times)
	if median := times[rounds/2]; median > 2*cfg.CallTimeout { // 10 s, as a host has it. One may be slow on a busy machine.
		t.Errorf("blind for %v", times)
	}
}

// TestALeaderThatRefusesAppendsIsNotTakenAgainAndAgain: it answers every read.
func TestALeaderThatRefusesAppendsIsNotTakenAgainAndAgain(t *testing.T) {
	bothWays(t, "", func(t *testing.T, noBatch bool) {
		c := standin.New(t, storetest.NewMemory(), 3)
		log, hook := test.NewNullLogger()
		cfg := hostly(c.URL())
		cfg.Log, cfg.NoBatch = logrus.NewEntry(log), noBatch
		s := open(t, cfg)
		defer s.Close()
		c.Decide(always(standin.NotReady))
		time.AfterFunc(2*time.Second, func() { c.Decide(nil) })
		took, err := untilTaken(t.Context(), s, "a-1", 0)
		if err != nil || took > 2*time.Second+3*cfg.MaxPause {
			t.Errorf("taken after %v: %v", took, err)
		}
		answers := 0
		for _, e := range hook.AllEntries() {
			if e.Message == "the event store answers" {
				answers++
			}
		}
		if answers > 3 {
			t.Errorf("it was taken for one that answers %d times", answers)
		}
	})
}
