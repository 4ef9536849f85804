package proofs

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostnode/hostnode/actors/admission"
)

// proving is a prover with one place whose proofs take 10 s of chain time.
type proving struct {
	t    *testing.T
	p    *Provers
	now  time.Time
	done chan string // names of proofs that got a place, in that order
	ends map[string]chan struct{}
	mu   sync.Mutex
	errs map[string]error
}

func eachSecond() time.Duration { return time.Second }

func newProving(t *testing.T) *proving {
	load := admission.NewLoad()
	load.Measured(10 * time.Second)
	x := &proving{
		t: t, p: NewProvers(1, eachSecond, load), now: time.Unix(1_000_000, 0),
		done: make(chan string, 100), ends: map[string]chan struct{}{}, errs: map[string]error{},
	}
	x.p.tick(x.now)
	return x
}

// begin asks for a proof that is due in so many seconds and ends when told.
func (x *proving) begin(name string, initial bool, due int) {
	end := make(chan struct{})
	x.ends[name] = end
	go func() {
		err := x.p.Run(x.t.Context(), initial, x.now.Add(time.Duration(due)*time.Second), func(ctx context.Context) error {
			x.done <- name
			select {
			case <-end:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		x.mu.Lock()
		defer x.mu.Unlock()
		x.errs[name] = err // Read behind synctest.Wait only.
	}()
	synctest.Wait()
}

func (x *proving) end(name string) {
	close(x.ends[name])
	synctest.Wait()
}

func (x *proving) tick(seconds int) {
	x.p.tick(x.now.Add(time.Duration(seconds) * time.Second))
	synctest.Wait()
}

// order are the proofs that got a place.
func (x *proving) order() []string {
	var names []string
	for len(x.done) > 0 {
		names = append(names, <-x.done)
	}
	return names
}

func (x *proving) began(want ...string) {
	x.t.Helper()
	if got := x.order(); !slices.Equal(got, want) {
		x.t.Fatalf("began %q, want %q", got, want)
	}
}

func TestOwedProofsGoByDeadlineThenFillsThenWhatIsTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newProving(t)
		x.begin("first", false, 500)
		x.begin("fill", true, 30)
		x.begin("hopeless", false, 9)
		x.begin("later", false, 300)
		x.begin("soon", false, 200)
		x.began("first")
		for _, name := range []string{"first", "soon", "later", "fill", "hopeless"} {
			x.end(name)
		}
		x.began("soon", "later", "fill", "hopeless")
		for name, err := range x.errs {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestAProofThatCannotBeInTimeFreesTheProverForOneThatCan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newProving(t)
		x.begin("slow", false, 30)
		x.begin("other", false, 100)
		x.tick(29) // Whatever is done now is mined in its last second, if at all.
		x.began("slow")
		x.tick(30)
		x.began("other")
		if err := x.errs["slow"]; !errors.Is(err, errTooLate) {
			t.Errorf("the slow one ended with %v", err)
		}
		x.end("other")
	})
}

func TestAProofWhoseDeadlineIsOverIsEndedAlsoWhenNobodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newProving(t)
		x.begin("slow", false, 30)
		x.tick(29)
		if err, ended := x.errs["slow"]; ended {
			t.Fatalf("ended in time: %v", err)
		}
		x.tick(30)
		if err := x.errs["slow"]; !errors.Is(err, errTooLate) {
			t.Errorf("it ended with %v", err)
		}
	})
}

func TestAProofForAFillYieldsOnlyToOneThatWouldComeTooLateBehindIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newProving(t)
		x.begin("fill", true, 1000)
		x.begin("owed", false, 60)
		x.tick(38)
		x.began("fill")
		x.tick(40) // A second to be mined, ten for the fill's, ten for its own: 61.
		x.began("owed")
		if err := x.errs["fill"]; !errors.Is(err, ErrYields) {
			t.Errorf("the fill's proof ended with %v", err)
		}
		x.end("owed")
	})
}

func TestAProofForAFillDoesNotYieldToOneThatIsTooLateAnyhow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newProving(t)
		x.begin("fill", true, 1000)
		x.begin("hopeless", false, 5)
		x.tick(2)
		x.began("fill")
		x.end("fill")
		x.began("hopeless")
		x.end("hopeless")
	})
}

func TestWhoStopsWaitingForTheProverTakesNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newProving(t)
		x.begin("first", false, 500)
		ctx, cancel := context.WithCancel(t.Context())
		var err error
		go func() {
			err = x.p.Run(ctx, false, x.now.Add(time.Hour), func(context.Context) error { panic("it runs") })
		}()
		synctest.Wait()
		cancel()
		synctest.Wait()
		if running, waiting, _ := x.p.Busy(); !errors.Is(err, context.Canceled) || running != 1 || waiting != 0 {
			t.Fatalf("%v; %d run, %d wait", err, running, waiting)
		}
		x.end("first")
		if running, _, _ := x.p.Busy(); running != 0 {
			t.Fatalf("%d run after all have ended", running)
		}
	})
}
