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
	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
)

// proving is a prover with one place whose proofs take 10 s of chain time.
type proving struct {
	t     *testing.T
	p     *Provers
	now   time.Time
	block uint64
	done  chan string // names of proofs that got a place, in that order
	ends  map[string]chan struct{}
	mu    sync.Mutex
	errs  map[string]error
}

func newProving(t *testing.T) *proving {
	rules := admission.New(&chainview.Chain{
		Base: &shell.Base{}, View: chainview.NewView(nil), ProofMargin: duty.Margin{BlockTime: time.Second},
		Terms: events.MarketConfig{Proofs: events.ProofConfig{Period: time.Hour}},
	}, admission.Limits{Proofs: 1}, 0)
	rules.Load.Measured(10 * time.Second)
	x := &proving{
		t: t, p: NewProvers(rules), now: time.Unix(1_000_000, 0),
		done: make(chan string, 100), ends: map[string]chan struct{}{}, errs: map[string]error{},
	}
	x.tick(0)
	return x
}

// begin asks for a proof that is due in so many seconds and ends when told.
func (x *proving) begin(name string, initial bool, due int) {
	j := Job{Deadline: x.now.Add(time.Duration(due) * time.Second)}
	if initial {
		j.Window = func(events.Head) bool { return true }
	}
	x.run(name, j)
}

func (x *proving) run(name string, j Job) {
	end := make(chan struct{})
	x.ends[name] = end
	go func() {
		err := x.p.Run(x.t.Context(), j, func(ctx context.Context) error {
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
	x.block++
	x.p.rules.View.Advance(events.Head{Number: x.block, Time: x.now.Add(time.Duration(seconds) * time.Second)})
	x.p.arrange()
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

func TestOwedProofsGoByDeadlineThenFillsByTheirs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newProving(t)
		x.begin("first", false, 500)
		x.begin("second fill", true, 900)
		x.begin("fill", true, 600)
		x.begin("later", false, 300)
		x.begin("soon", false, 200)
		x.began("first")
		for _, name := range []string{"first", "soon", "later", "fill", "second fill"} {
			x.end(name)
		}
		x.began("soon", "later", "fill", "second fill")
		for name, err := range x.errs {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestAnOwedProofThatTheMeasuredTimeMakesTooLateIsNotBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newProving(t)
		x.begin("vain", false, 10)
		x.begin("just", false, 11)
		x.began("just")
		x.begin("waits", false, 30)
		x.tick(20) // It ends "just", whose place is not given to a proof for which it is too late.
		x.began()
		for _, name := range []string{"vain", "just", "waits"} {
			if err := x.errs[name]; !errors.Is(err, errTooLate) {
				t.Errorf("%s ended with %v", name, err)
			}
		}
	})
}

// If it says that every proof is too late, only another one can correct it.
func TestAMeasuredTimeThatNoPeriodHoldsKeepsNoOwedProofBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newProving(t)
		x.p.rules.Terms.Proofs.Period = 12 * time.Second
		x.begin("fill", true, 1000)
		x.begin("late", false, 5)
		x.tick(2)
		x.began("fill") // It does not yield.
		x.end("fill")
		x.began("late")
		x.end("late")
	})
}

func TestASlotWithoutAWindowLeavesThePlaceToTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newProving(t)
		from := func(block uint64) func(events.Head) bool {
			return func(h events.Head) bool { return h.Number >= block }
		}
		x.run("urgent", Job{Deadline: x.now.Add(time.Minute), Window: from(4)})
		x.run("later", Job{Deadline: x.now.Add(time.Hour), Window: from(3)})
		x.began()
		x.tick(1)
		x.began()
		if running, waiting, _ := x.p.Busy(); running+waiting > 0 {
			t.Fatalf("without a window %d run, %d wait", running, waiting)
		}
		x.tick(2)
		x.began("later")
		x.tick(3)
		x.end("later")
		x.began("urgent")
		x.end("urgent")
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

func TestWhoStopsWaitingForTheProverTakesNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newProving(t)
		x.begin("first", false, 500)
		ctx, cancel := context.WithCancel(t.Context())
		var err error
		go func() {
			err = x.p.Run(ctx, Job{Deadline: x.now.Add(time.Hour)}, func(context.Context) error { panic("it runs") })
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
