package porttest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/events"
)

// ClusterWorld is a host of three members, which run and see each other.
type ClusterWorld struct {
	Members []events.Member
	// Of is a member as it was started last.
	Of func(events.Member) port.Cluster
	// Kill ends a member as a power cut does; Start starts it again.
	Kill, Start func(events.Member)
	// Cut separates a member from what says who is alive, but not from the other members.
	Cut, Heal func(events.Member)
	// Lease is how long a member that says nothing counts as alive.
	Lease time.Duration
	// Largest is how many bytes a question or an answer may have.
	Largest int
}

// Cluster runs the suite of the port between members. The runner makes a world for each test, and may run the test where
// time is not real.
func Cluster(t *testing.T, run func(t *testing.T, test func(*testing.T, ClusterWorld))) {
	for name, test := range map[string]func(*testing.T, ClusterWorld){
		"members see each other, in the order of their names":        seeEachOther,
		"who dies is not seen, and who returns is":                   deathsAndReturns,
		"one member at most holds the lease":                         oneHolder,
		"a campaign that was given up holds nothing":                 campaignGivenUp,
		"who resigns hands over before the lease would expire":       resigned,
		"who is cut off loses the lease, and may have it again":      holderCutOff,
		"who dies loses the lease":                                   holderDied,
		"a question is answered, also one to oneself":                answered,
		"an error of the other is told with its text":                errorOfTheOther,
		"who does not answer is away":                                away,
		"a question that is given up ends on both sides":             givenUp,
		"a question may be asked twice":                              askedTwice,
		"a slow answer holds up no other":                            slowAnswer,
		"members answer each other while nobody says who is alive":   answeredWhileCutOff,
		"the largest question and answer arrive, larger are refused": largest,
	} {
		t.Run(name, func(t *testing.T) { run(t, test) })
	}
}

// soon is how long a test waits for what must happen; it is time enough for a slow machine.
func (w ClusterWorld) soon() time.Duration { return 10*w.Lease + 20*time.Second }

// until waits until something is so.
func (w ClusterWorld) until(t *testing.T, what string, done func() bool) {
	t.Helper()
	late := time.After(w.soon())
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for !done() {
		select {
		case <-again.C:
		case <-late:
			t.Fatalf("after %s it is not so that %s", w.soon(), what)
		}
	}
}

// soonContext ends when a test need not wait any more.
func (w ClusterWorld) soonContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), w.soon())
	t.Cleanup(cancel)
	return ctx
}

// campaign campaigns, and fails the test if that does not end in the lease.
func (w ClusterWorld) campaign(t *testing.T, m events.Member) context.Context {
	t.Helper()
	held, err := w.Of(m).Campaign(w.soonContext(t))
	if err != nil {
		t.Fatalf("%s campaigns: %v", m, err)
	}
	return held
}

// ends waits until a held lease has ended.
func (w ClusterWorld) ends(held context.Context, t *testing.T) {
	t.Helper()
	select {
	case <-held.Done():
	case <-w.soonContext(t).Done():
		t.Fatal("the lease is still held")
	}
}

func (w ClusterWorld) resign(t *testing.T, m events.Member) {
	t.Helper()
	if err := w.Of(m).Resign(w.soonContext(t)); err != nil {
		t.Fatalf("%s resigns: %v", m, err)
	}
}

// echo answers every question with who asked whom what.
func (w ClusterWorld) echo(m events.Member) {
	w.Of(m).Serve(func(_ context.Context, from events.Member, question []byte) ([]byte, error) {
		return fmt.Appendf(nil, "%s asks %s: %s", from, m, question), nil
	})
}

func (w ClusterWorld) ask(t *testing.T, from, to events.Member, question string) {
	t.Helper()
	got, err := w.Of(from).Call(w.soonContext(t), to, []byte(question))
	if want := fmt.Sprintf("%s asks %s: %s", from, to, question); err != nil || string(got) != want {
		t.Fatalf("answered with %q, %v; want %q", got, err, want)
	}
}

func (w ClusterWorld) sees(t *testing.T, m events.Member, want ...events.Member) {
	t.Helper()
	w.until(t, fmt.Sprintf("%s sees %v", m, want), func() bool { return slices.Equal(w.Of(m).Seen(), want) })
}

func seeEachOther(t *testing.T, w ClusterWorld) {
	for _, m := range w.Members {
		if got := w.Of(m).Member(); got != m {
			t.Fatalf("%s calls itself %s", m, got)
		}
		w.sees(t, m, w.Members...)
	}
	if !slices.IsSorted(w.Members) {
		t.Fatal("the world's members are not in order")
	}
}

func deathsAndReturns(t *testing.T, w ClusterWorld) {
	a, b, c := w.Members[0], w.Members[1], w.Members[2]
	w.echo(a)
	w.echo(c)
	w.ask(t, a, c, "before")
	w.Kill(c)
	w.sees(t, a, a, b)
	w.sees(t, b, a, b)
	w.Start(c)
	w.echo(c)
	for _, m := range w.Members {
		w.sees(t, m, a, b, c)
	}
	w.until(t, "the returned member answers", func() bool {
		_, err := w.Of(a).Call(w.soonContext(t), c, []byte("after"))
		return err == nil
	})
	w.ask(t, c, a, "the other way")
}

func oneHolder(t *testing.T, w ClusterWorld) {
	const rounds = 4
	var holders, terms atomic.Int32
	var all sync.WaitGroup
	for _, m := range w.Members {
		all.Go(func() {
			for range rounds {
				held, err := w.Of(m).Campaign(w.soonContext(t))
				if err != nil {
					t.Errorf("%s campaigns: %v", m, err)
					return
				}
				if n := holders.Add(1); n != 1 {
					t.Errorf("%d members hold the lease", n)
				}
				if held.Err() != nil {
					t.Errorf("%s has lost the lease, although it was neither cut off nor has it resigned", m)
				}
				terms.Add(1)
				holders.Add(-1)
				if err := w.Of(m).Resign(w.soonContext(t)); err != nil {
					t.Errorf("%s resigns: %v", m, err)
				}
				if held.Err() == nil {
					t.Errorf("%s has resigned, and its lease has not ended", m)
				}
			}
		})
	}
	all.Wait()
	if got := terms.Load(); got != int32(rounds*len(w.Members)) {
		t.Errorf("the lease was held %d times", got)
	}
}

func campaignGivenUp(t *testing.T, w ClusterWorld) {
	a, b, c := w.Members[0], w.Members[1], w.Members[2]
	held := w.campaign(t, a)
	ctx, giveUp := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() {
		_, err := w.Of(b).Campaign(ctx)
		result <- err
	}()
	giveUp()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Fatalf("a campaign that was given up ended with %v", err)
	}
	if held.Err() != nil {
		t.Fatal("the holder lost the lease by another one's campaign")
	}
	w.resign(t, a)
	w.campaign(t, c)
	if err := w.Of(b).Resign(t.Context()); err != nil {
		t.Fatalf("giving back what one does not hold: %v", err)
	}
}

func resigned(t *testing.T, w ClusterWorld) {
	a, b := w.Members[0], w.Members[1]
	held := w.campaign(t, a)
	next := make(chan context.Context, 1)
	go func() {
		h, err := w.Of(b).Campaign(w.soonContext(t))
		if err != nil {
			t.Errorf("%s campaigns: %v", b, err)
		}
		next <- h
	}()
	begun := time.Now()
	w.resign(t, a)
	if held.Err() == nil {
		t.Fatal("who has resigned still holds the lease")
	}
	h := <-next
	if took := time.Since(begun); took >= w.Lease {
		t.Errorf("handing over took %s, and the lease is %s", took, w.Lease)
	}
	if h.Err() != nil {
		t.Error("the next one has lost the lease at once")
	}
}

func holderCutOff(t *testing.T, w ClusterWorld) {
	a, b := w.Members[0], w.Members[1]
	held := w.campaign(t, a)
	w.Cut(a)
	other := w.campaign(t, b)
	w.ends(held, t)
	w.sees(t, b, w.Members[1:]...)
	w.Heal(a)
	w.sees(t, b, w.Members...)
	w.sees(t, a, w.Members...)
	if other.Err() != nil {
		t.Fatal("who returns takes the lease from its holder")
	}
	w.resign(t, b)
	if again := w.campaign(t, a); again.Err() != nil {
		t.Fatal("the lease ended at once")
	}
}

func holderDied(t *testing.T, w ClusterWorld) {
	a, b := w.Members[0], w.Members[1]
	w.campaign(t, a)
	w.Kill(a)
	w.campaign(t, b)
	w.Start(a)
	w.sees(t, b, w.Members...)
}
