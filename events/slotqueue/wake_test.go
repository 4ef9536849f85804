package slotqueue

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/events"
)

// seenFor queues and judges slots 0, 1, ... of request 1, each of which fails one of these.
func seenFor(t *testing.T, failed ...Release) State {
	t.Helper()
	s := New(Limits{})
	for i := range failed {
		s, _ = step(t, s, queue(1, 5, uint64(i)))
	}
	for _, r := range failed {
		s, _ = step(t, s, take)
		r.At, r.RequestID, r.SlotIndex, r.Requeue = start, request(1), s.Taken()[0].SlotIndex, true
		s, _ = step(t, s, r)
	}
	s, _ = step(t, s, take) // All were seen: the queue pauses.
	return s
}

func TestOnlyWhatFailedWhatChangedIsLookedAtAgain(t *testing.T) {
	later := start.Add(time.Hour)
	failed := []Release{{Criterion: "price"}, {Criterion: "gas"}, {Criterion: "window", RetryAt: later}, {}}
	tests := []struct {
		name   string
		when   Command
		order  string
		paused bool
	}{
		{"nothing changed that a slot failed", Wake{start, "r", []string{"size"}, false}, "01/3, 01/0 seen, 01/1 seen, 01/2 seen", false},
		{"gas came back", Wake{start, "r", []string{"gas"}, false}, "01/1, 01/3, 01/0 seen, 01/2 seen", false},
		{"two things changed", Wake{start, "r", []string{"gas", "price"}, false}, "01/0, 01/1, 01/3, 01/2 seen", false},
		{"the time has not come", Wake{later.Add(-1), "r", []string{"window"}, false}, "01/3, 01/0 seen, 01/1 seen, 01/2 seen", false},
		{"the time need not be waited for", Wake{start, "r", []string{"window"}, true}, "01/2, 01/3, 01/0 seen, 01/1 seen", false},
		{"the time has come", Wake{later, "r", []string{"window"}, false}, "01/2, 01/3, 01/0 seen, 01/1 seen", false},
		{"anything may have changed", Wake{start, "r", nil, false}, "01/0, 01/1, 01/2, 01/3", false},
		{"the operator resumes", Resume{start, "r"}, "01/0, 01/1, 01/2, 01/3", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, _ := step(t, seenFor(t, failed...), test.when)
			if _, _, paused := s.Paused(); order(s) != test.order || paused != test.paused {
				t.Fatalf("order %s, paused %t; want %s, %t", order(s), paused, test.order, test.paused)
			}
		})
	}
}

func TestAWakeThatConcernsNobodyIsNoEventAndThePauseStays(t *testing.T) {
	s := seenFor(t, Release{Criterion: "price"})
	s, out := step(t, s, Wake{start, "r", []string{"gas"}, false})
	if _, _, paused := s.Paused(); len(out) > 0 || !paused {
		t.Fatalf("%s; paused %t", tellAll(out), paused)
	}
}

func TestTheQueueKnowsWhenTimeAloneChangesSomething(t *testing.T) {
	at := func(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }
	s := seenFor(t,
		Release{Criterion: "window", RetryAt: at(7)}, Release{Criterion: "sources", RetryAt: at(3)},
		Release{Criterion: "gas"})
	s, _ = step(t, s, Avoid{start, events.Address{1}, at(5), "data"})
	type look struct {
		Next time.Time
		Due  []string
	}
	tests := []struct {
		now  time.Time
		want look
	}{
		{at(2), look{at(3), nil}},
		{at(3), look{at(3), []string{"sources"}}},
		{at(5), look{at(3), []string{CriterionClient, "sources"}}},
		{at(7), look{at(3), []string{CriterionClient, "sources", "window"}}},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, look{s.NextWake(), s.Due(test.now)}); diff != "" {
			t.Fatalf("at %s (-want +got):\n%s", test.now, diff)
		}
	}
	s, _ = step(t, s, Wake{at(6), "time", s.Due(at(6)), false})
	if got := (look{s.NextWake(), s.Due(at(6))}); got.Next != at(7) || got.Due != nil || len(s.AvoidedClients()) != 0 {
		t.Fatalf("after waking: %+v, %d avoided", got, len(s.AvoidedClients()))
	}
	if diff := cmp.Diff(map[string]int{"window": 1, "gas": 1}, s.Waiting()); diff != "" {
		t.Fatalf("waiting (-want +got):\n%s", diff)
	}
}

func TestAClientIsAvoidedUntilChainTimeSaysOtherwise(t *testing.T) {
	c := events.Address{7}
	until := start.Add(time.Hour)
	s := given(t, Limits{}, Avoid{start, c, until, "withheld"})
	tests := []struct {
		name   string
		client events.Address
		at     time.Time
		want   bool
	}{
		{"right away", c, start, true},
		{"just before", c, until.Add(-time.Second), true},
		{"when the time is over", c, until, false},
		{"another client", events.Address{8}, start, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a, avoided := s.Avoided(test.client, test.at)
			if avoided != test.want || avoided && a.Reason != "withheld" {
				t.Fatalf("avoided %t (%+v), want %t", avoided, a, test.want)
			}
		})
	}
	for name, again := range map[string]Avoid{
		"a shorter time": {start, c, until.Add(-time.Second), "wrong"},
		"no time at all": {start, events.Address{9}, start, "wrong"},
	} {
		if _, out := step(t, s, again); len(out) > 0 {
			t.Fatalf("%s: %s", name, tellAll(out))
		}
	}
	s, _ = step(t, s, Avoid{start, c, until.Add(time.Hour), "wrong"})
	if a, _ := s.Avoided(c, until); a.Reason != "wrong" {
		t.Fatalf("a longer time changed nothing: %+v", a)
	}
}

func TestTheListOfAvoidedClientsIsBounded(t *testing.T) {
	s := New(Limits{MaxAvoided: 2})
	for i, minutes := range []int{30, 10, 20, 5} {
		s, _ = step(t, s, Avoid{start, events.Address{byte(i)}, start.Add(time.Duration(minutes) * time.Minute), "data"})
	}
	var left []events.Address
	for _, a := range s.AvoidedClients() {
		left = append(left, a.Client)
	}
	if diff := cmp.Diff([]events.Address{{0}, {2}}, left); diff != "" {
		t.Fatalf("avoided (-want +got):\n%s", diff)
	}
	// A forgiven client makes room.
	s, _ = step(t, s, Avoid{start.Add(25 * time.Minute), events.Address{9}, start.Add(26 * time.Minute), "data"})
	if n := len(s.AvoidedClients()); n != 2 {
		t.Fatalf("%d avoided, want 2", n)
	}
}
