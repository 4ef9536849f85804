package sector

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// fatal is what rapid's and testing's T have in common.
type fatal interface {
	Helper()
	Fatalf(format string, args ...any)
}

// watched is a sector whose invariants are checked.
type watched struct {
	live, replayed Info
	codec          *events.Codec
	now            time.Time
	keys           map[string]int
	space, deposit bool // what the ledger holds for it
}

func newWatched() *watched {
	p := Policy{MaxFailures: 2}
	return &watched{New(p), New(p), events.NewCodec(Table()), start, map[string]int{}, false, false}
}

// do decides a command twice, and checks everything.
func (w *watched) do(t fatal, c Command) []Event {
	t.Helper()
	before := w.live
	out, err := Decide(w.live, c)
	if err != nil && len(out) > 0 {
		t.Fatalf("%+v: events %v with an error: %v", c, out, err)
	}
	for _, e := range out {
		w.count(t, e)
		w.live = Evolve(w.live, e)
		w.replayed = Evolve(w.replayed, stored(t, w.codec, e))
	}
	if diff := compare(w.live, w.replayed); diff != "" {
		t.Fatalf("after %+v the replayed sector differs (-live +replayed):\n%s", c, diff)
	}
	again, _ := Decide(w.live, c)
	again = slices.DeleteFunc(again, func(e Event) bool { return NameOf(e) == "SectorEventRefused" })
	if len(out) > 0 && len(again) > 0 {
		t.Fatalf("in %q %+v given twice: %v, and then %v", before.State, c, names(out), names(again))
	}
	w.check(t, c)
	return out
}

// count keeps the ledger's side, and the keys.
func (w *watched) count(t fatal, e Event) {
	switch e := e.(type) {
	case *messages.SectorOpened:
		w.space, w.deposit = true, true
	case *messages.SectorReleased:
		w.space = w.space && w.live.State != Removed
	case *messages.SectorSettled:
		w.deposit = w.deposit && w.live.State != Removed
	case *messages.SectorStepScheduled:
		if w.keys[e.GetKey()]++; w.keys[e.GetKey()] > 1 && !sends[Step(e.GetStep())] {
			t.Fatalf("key %s is given to two attempts", e.GetKey())
		}
	}
}

func (w *watched) check(t fatal, c Command) {
	t.Helper()
	s, effects := w.live, Next(w.live)
	if len(effects) > 1 || len(effects) == 1 && effects[0].Key() == "" {
		t.Fatalf("after %+v: effects %v", c, effects)
	}
	resting := slices.Contains([]State{Undefined, Empty, WaitDeals, AddPiece, Proving}, s.State)
	switch {
	case s.Over():
		if w.space || w.deposit || len(effects) > 0 {
			t.Fatalf("after %+v it is over, space held: %t, deposit held: %t, wants %v", c, w.space, w.deposit, effects)
		}
	case s.Parked():
		if len(s.Actions) == 0 || s.Reason == "" {
			t.Fatalf("after %+v it is parked without a way out: %q %v", c, s.Reason, s.Actions)
		}
	case len(effects) == 0 && !resting:
		t.Fatalf("after %+v it hangs in %q: nothing is to be done, and nobody is told", c, s.State)
	}
}

func names(all []Event) (out []string) {
	for _, e := range all {
		out = append(out, NameOf(e))
	}
	return out
}

// anyCommand draws mostly commands that the state allows.
func anyCommand(t *rapid.T, w *watched) Command {
	draw := func(n int, what string) int { return rapid.IntRange(0, n-1).Draw(t, what) }
	inputs := Inputs{At: w.now, Chance: uint64(draw(1000, "chance"))}
	key := w.live.Step.Key
	switch draw(12, "command") {
	case 0:
		return Away{inputs, key, "it is away"}
	case 1, 2:
		if u := w.live.Until; u.After(w.now) && draw(4, "early") > 0 {
			w.now = u
		}
		return Due{Inputs: Inputs{At: w.now}}
	case 3:
		return ReportChain{inputs, Facts{
			PreCommitted: draw(2, "precommitted") == 0, Active: draw(2, "active") == 0, Faulty: draw(2, "faulty") == 0,
			Terminated: draw(6, "terminated") == 0, Seed: events.Hash{byte(draw(3, "seed"))}, SeedEpoch: 5,
		}}
	case 4:
		all := []Finding{BadSeal, Landed, NotThere, SeedChanged, InvalidProof, PreCommitGone}
		return ReportDiagnosis{inputs, key, all[draw(len(all), "finding")], "seen"}
	}
	legal := Allowed(w.live.State)
	if draw(3, "any") == 0 || len(legal) == 0 {
		legal = nil
		for _, entry := range Table() {
			legal = append(legal, entry.Name)
		}
	}
	if key != "" && w.live.Step.Name == StepOpenSpace && draw(2, "open") == 0 {
		legal = []string{"SectorOpened"}
	}
	change, name := "", legal[draw(len(legal), "event")]
	switch name {
	case "SectorAddPiece":
		change = fmt.Sprintf(`{"piece": {"cid": "c%d", "size": "512", "payload": "9"}}`, draw(9, "piece"))
	case "SectorForceState":
		change = fmt.Sprintf(`{"state": %q}`, States()[draw(len(States()), "state")])
	case "SectorPacked":
		change = fmt.Sprintf(`{"fillers": [{"size": "%d"}]}`, w.live.Size-min(w.live.Size, end(slices.Concat(w.live.Pieces, w.live.Pending))))
	}
	h := Happened{Inputs: inputs, Event: example(t, name, change)}
	if draw(2, "key") == 0 {
		h.Key = key
	}
	if draw(4, "by") == 0 {
		h.By = "anna"
	}
	return h
}

func TestASectorHoldsForAllCommandsInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWatched()
		for range rapid.IntRange(1, 60).Draw(t, "commands") {
			w.do(t, anyCommand(t, w))
		}
	})
}

// Whatever came before, a sector that is removed, and whose steps then succeed, gives
// everything back.
func TestRemovingGivesEverythingBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWatched()
		w.do(t, Happened{Inputs: Inputs{At: w.now}, Event: example(t, "SectorStart", "")})
		for range rapid.IntRange(1, 40).Draw(t, "commands") {
			w.do(t, anyCommand(t, w))
		}
		w.do(t, Happened{Inputs: Inputs{At: w.now}, Event: example(t, "SectorRemove", "")})
		for range 10 {
			if !w.live.Until.IsZero() {
				w.now = w.live.Until
				w.do(t, Due{Inputs: Inputs{At: w.now}})
			}
			if w.live.Parked() {
				w.do(t, Happened{Inputs: Inputs{At: w.now}, Event: example(t, "SectorRestart", "")})
			}
			name := map[Step]string{
				StepRemove: "SectorRemoved", StepReleaseSpace: "SectorReleased", StepSettle: "SectorSettled",
			}[w.live.Step.Name]
			if name == "" {
				break
			}
			w.do(t, Happened{Inputs: Inputs{At: w.now}, Event: example(t, name, ""), Key: w.live.Step.Key})
		}
		if !w.live.Over() || w.space || w.deposit {
			t.Fatalf("%q, released %t, settled %t", w.live.State, w.live.Released, w.live.Settled)
		}
	})
}

// Every action that a parked sector names is accepted.
func TestWhatAParkedSectorNamesIsAccepted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWatched()
		w.do(t, Happened{Inputs: Inputs{At: w.now}, Event: example(t, "SectorStart", "")})
		for range 60 {
			w.do(t, anyCommand(t, w))
			if !w.live.Parked() {
				continue
			}
			for _, name := range w.live.Actions {
				out, err := Decide(w.live, Happened{Inputs: Inputs{At: w.now}, Event: example(t, name, `{"by": "operator"}`)})
				var refused *Refused
				if errors.As(err, &refused) || err != nil || len(out) == 0 && w.live.State != PreCommit1 {
					t.Fatalf("parked in %q for %q, and %s leads to %v, %v", w.live.State, w.live.Reason, name, names(out), err)
				}
			}
		}
	})
}

// Pauses grow up to a limit and are never zero.
func TestPausesGrowUpToTheLongest(t *testing.T) {
	p := Policy{}.withDefaults()
	for n := range uint32(70) {
		longest := p.Pause(n, 0)
		if shortest := p.Pause(n, 1<<63); shortest <= longest/2 || shortest > longest || longest > p.MostPause {
			t.Fatalf("after %d failures %s to %s", n, shortest, longest)
		}
		if n > 0 && longest < p.Pause(n-1, 0) {
			t.Fatalf("the pause shrinks at %d", n)
		}
	}
	if p.Pause(1, 0) != 15*time.Second || p.Pause(100, 0) != time.Hour {
		t.Fatal("the defaults are others")
	}
}
