package sector

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/hostnode/hostnode/events"
)

// teller is a sector that a script tells of.
type teller struct {
	t     *testing.T
	s     Info
	now   time.Time
	codec *events.Codec
	log   []Event
}

// TestStories runs the scripts in testdata. Lines are
//
//	say EVENT [by=NAME]        something happened, or is wanted; below may stand fields as JSON
//	done EVENT [bare]          the result of the step that is open
//	late EVENT                 the result of an attempt that is long over
//	away reason=…              what the step needs is away
//	wait [for=DURATION]        the clock goes on, to the end of the pause or by so much
//	chain [FACT…] [seed=N]     what the chain says
//	found FINDING              what a look at the world says
//	crash                      the record is read again
//	show                       what the sector is
func TestStories(t *testing.T) {
	scripts, err := filepath.Glob("testdata/*.story")
	if err != nil || len(scripts) < 10 {
		t.Fatalf("%d scripts: %v", len(scripts), err)
	}
	for _, path := range scripts {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".story"), func(t *testing.T) {
			w := &teller{t: t, s: New(Policy{MaxFailures: 3}), now: start, codec: events.NewCodec(Table())}
			datadriven.RunTest(t, path, w.run)
		})
	}
}

func (w *teller) run(t *testing.T, d *datadriven.TestData) string {
	inputs := Inputs{At: w.now}
	text := func(key string) (v string) {
		d.MaybeScanArgs(t, key, &v)
		return strings.ReplaceAll(v, "_", " ")
	}
	switch d.Cmd {
	case "crash":
		again := New(Policy{MaxFailures: 3})
		for _, e := range w.log {
			again = Evolve(again, stored(t, w.codec, e))
		}
		if diff := compare(w.s, again); diff != "" {
			t.Fatalf("%s: (-live +replayed)\n%s", d.Pos, diff)
		}
		return w.standing()
	case "show":
		return show(w.s)
	case "wait":
		to := w.s.Until
		if by := text("for"); by != "" {
			d, err := time.ParseDuration(by)
			if err != nil {
				t.Fatal(err)
			}
			to = w.now.Add(d)
		}
		w.now = to
		return w.decide(Due{Inputs: Inputs{At: to}})
	case "say", "done", "late":
		c := Happened{Inputs: inputs, Event: example(t, d.CmdArgs[0].Key, d.Input), By: text("by")}
		if d.HasArg("bare") {
			c.Event = c.Event.ProtoReflect().New().Interface().(Event)
		}
		switch d.Cmd {
		case "done":
			if c.Key = w.s.Step.Key; c.Key == "" {
				t.Fatalf("%s: no step is open", d.Pos)
			}
		case "late":
			c.Key = keyOf(w.s.Step.Name, w.s.Number, 0)
		}
		return w.decide(c)
	case "away":
		return w.decide(Away{inputs, w.s.Step.Key, text("reason")})
	case "found":
		return w.decide(ReportDiagnosis{inputs, w.s.Step.Key, Finding(strings.ReplaceAll(d.CmdArgs[0].Key, "_", " ")), text("reason")})
	case "chain":
		f := Facts{
			PreCommitted: d.HasArg("precommitted"), Active: d.HasArg("active"), Faulty: d.HasArg("faulty"),
			Terminated: d.HasArg("terminated"),
		}
		if d.HasArg("seed") {
			d.ScanArgs(t, "seed", &f.SeedEpoch)
			f.Seed = events.Hash{byte(f.SeedEpoch)}
		}
		return w.decide(ReportChain{inputs, f})
	}
	t.Fatalf("%s: unknown command %s", d.Pos, d.Cmd)
	return ""
}

func (w *teller) decide(c Command) string {
	out, err := Decide(w.s, c)
	if err != nil {
		return fmt.Sprintf("error: %v\n", err)
	}
	if len(out) == 0 {
		return "nothing follows\n"
	}
	var b strings.Builder
	for _, e := range out {
		w.s = Evolve(w.s, e)
		w.log = append(w.log, e)
		fmt.Fprintln(&b, tell(e))
	}
	return b.String() + w.standing()
}

func (w *teller) standing() string {
	open := "nothing to do"
	for _, e := range Next(w.s) {
		open = e.Key()
		if e.Step == StepWait {
			open = "waits until +" + e.Until.Sub(start).String()
		}
	}
	if w.s.Parked() {
		open = fmt.Sprintf("parked: %s; %s", w.s.Reason, strings.Join(w.s.Actions, ", "))
	}
	if w.s.Over() {
		open = "over"
	}
	return fmt.Sprintf("  %s: %s\n", w.s.State, open)
}

func show(s Info) string {
	return fmt.Sprintf("sector %d, %d bytes, %d pieces, %d pending, %d left at %d\n"+
		"ticket of %d, seed of %d, proof %q, %d invalid; space %d, deposit %s: %s returned, %s lost\n"+
		"last error %q, failures %v, wanted by %q\n",
		s.Number, s.Size, len(s.Pieces), len(s.Pending), s.room(), s.Offset(), s.TicketEpoch, s.SeedEpoch, s.Proof,
		s.InvalidProofs, s.Space, s.Deposit, s.Returned, s.Lost, s.LastErr, s.Failures, s.Doing)
}

// What only sealing needs is not kept for the life of the sector: proofs of ten thousand sectors are hundreds of
// megabytes, and the stream has them.
func TestWhatSealingMadeIsForgottenWhenItIsNotNeeded(t *testing.T) {
	s := standing(PreCommit2)
	if s = Evolve(s, example(t, "SectorPreCommit2", "")); s.PreCommit1Out != "" || s.CommR.Zero() {
		t.Errorf("sealed: %+v", s)
	}
	s = standing(CommitWait)
	if s = Evolve(s, example(t, "SectorProving", "")); s.Proof == "" {
		t.Error("the proof is forgotten before sealing is finalized")
	}
	if s = Evolve(s, example(t, "SectorFinalized", "")); s.Proof != "" {
		t.Error("the proof is kept while the sector is proven")
	}
	for state, last := range map[State]string{TerminateWait: "SectorTerminated", Removing: "SectorRemoved"} {
		if s = Evolve(standing(state), example(t, last, "")); s.Proof != "" || s.PreCommit1Out != "" {
			t.Errorf("the proof is kept after %s", last)
		}
	}
}
