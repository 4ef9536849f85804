package sector

import (
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/internal/housetest"
	"github.com/hostnode/hostnode/messages"
)

// writtenTable reads testdata/table.txt: state, event, and where it leads.
func writtenTable(t *testing.T) map[State]map[string]string {
	t.Helper()
	text, err := os.ReadFile("testdata/table.txt")
	if err != nil {
		t.Fatal(err)
	}
	table := map[State]map[string]string{}
	for _, s := range States() {
		table[s] = map[string]string{}
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		f := strings.Fields(line)
		if len(f) != 3 {
			t.Fatalf("%q is no line of the table", line)
		}
		if f[0] == "any" {
			for _, s := range States() {
				table[s][f[1]] = f[2]
			}
			continue
		}
		of := State(f[0])
		if f[0] == "(none)" {
			of = Undefined
		}
		if table[of] == nil || table[of][f[1]] != "" && f[2] != "known" {
			t.Fatalf("%q: no such state, or it is there twice", line)
		}
		table[of][f[1]] = f[2]
	}
	return table
}

// ledgerEvents are the events about space and deposit, which every state accepts.
var ledgerEvents = []string{"SectorOpened", "SectorReleased", "SectorSettled"}

func TestEveryStateAllowsWhatTheWrittenTableSaysAndNothingElse(t *testing.T) {
	table := writtenTable(t)
	pairs, legal := 0, 0
	for _, from := range States() {
		for _, entry := range Table() {
			if slices.Contains(ledgerEvents, entry.Name) {
				continue
			}
			pairs++
			to, listed := table[from][entry.Name]
			s, e := standing(from), example(t, entry.Name, "")
			said := Happened{Inputs: Inputs{At: start}, Event: e}
			if listed && needsKey(e) {
				if _, err := Decide(s, said); !errors.Is(err, ErrNoKey) && to != "known" {
					t.Errorf("%q + %s without a key: %v", from, entry.Name, err)
				}
				s.Step = Scheduled{"Work", 1, "Work:1:1"}
				said.Key = s.Step.Key
			}
			out, err := Decide(s, said)
			var refused *Refused
			if !listed {
				if !errors.As(err, &refused) || len(out) > 0 || refused.State != from || refused.Error() == "" {
					t.Errorf("%q + %s: %v, %v; the table does not have it", from, entry.Name, out, err)
				}
				recorded, err := Decide(s, Happened{Inputs: Inputs{At: start}, Event: e, By: "a sealer"})
				if err != nil || len(recorded) != 1 || NameOf(recorded[0]) != "SectorEventRefused" {
					t.Errorf("%q + %s from outside: %v, %v; want it recorded as refused", from, entry.Name, recorded, err)
				} else if diff := compare(s, Evolve(s, recorded[0])); diff != "" {
					t.Errorf("%q + %s from outside changes the sector:\n%s", from, entry.Name, diff)
				}
				continue
			}
			legal++
			if err != nil {
				t.Errorf("%q + %s: %v; the table has it", from, entry.Name, err)
				continue
			}
			want := State(to)
			switch to {
			case "same", "known":
				want = from
			case "forced":
				want = State(e.(*messages.SectorForceState).GetState())
			}
			if len(out) > 0 {
				s = Evolve(s, out[0])
			}
			if s.State != want {
				t.Errorf("%q + %s leads to %q, the table says %q", from, entry.Name, s.State, want)
			}
		}
	}
	if pairs < 34*53 || legal < 34*5+60 {
		t.Errorf("%d pairs were tried, %d of them legal", pairs, legal)
	}
}

func TestTheMachineThatIsModelledHas33Arcs(t *testing.T) {
	text, err := os.ReadFile("testdata/table.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "## The 33 arcs")
	_, rest, _ = strings.Cut(rest, "\n")
	old, _, _ := strings.Cut(rest, "##")
	if n := len(strings.Split(strings.TrimSpace(old), "\n")); n != 33+3 {
		t.Fatalf("%d lines, want 33 arcs and 3 globals", n)
	}
}

func TestEveryStateIsInTheTableAndHasANameOfItsOwn(t *testing.T) {
	seen := map[State]bool{}
	for _, s := range States() {
		if seen[s] || !s.Known() {
			t.Errorf("%q is twice in States, or not in the table", s)
		}
		seen[s] = true
	}
	if len(seen) != len(planners) {
		t.Errorf("%d states, the table has %d", len(seen), len(planners))
	}
	for s, r := range planners {
		for event, to := range r {
			if !to.Known() {
				t.Errorf("%q + %s leads to %q, which is no state", s, event, to)
			}
		}
	}
}

func TestEveryEventOfTheUnionIsStoredUnderItsName(t *testing.T) {
	var names []string
	for _, entry := range Table() {
		names = append(names, entry.Name)
	}
	slices.Sort(names)
	if diff := cmp.Diff(housetest.Sealed(t, "../../messages", "sectorEvent"), names); diff != "" {
		t.Fatalf("the union and the codec's table (-union +table):\n%s", diff)
	}
}

func TestEveryCommandIsTold(t *testing.T) {
	housetest.Complete(t, ".", "command", []Command{Happened{}, Away{}, Due{}, ReportChain{}, ReportDiagnosis{}}, "commands")
	for _, c := range []Command{Happened{}, Away{}, Due{}, ReportChain{}, ReportDiagnosis{}} {
		c.command()
	}
}

// A sealer that needs no scratch space counts like one that gave it back.
func TestASectorWithoutScratchSpaceIsSealedAgain(t *testing.T) {
	s := standing(PreCommit1)
	s = Evolve(s, &messages.SectorOpened{Sealed: 1, Deposit: "0"})
	if _, ok := s.due(); !ok || s.stuck() != "" {
		t.Fatalf("stuck: %s", s.stuck())
	}
	s.State = Proving
	if step, ok := s.due(); ok {
		t.Fatalf("it wants to %s, and has nothing to give back", step)
	}
}

// One that needs some, and gave it back, holds it once more before it is sealed again.
func TestASectorThatIsSealedAgainHoldsScratchSpaceAnew(t *testing.T) {
	s := standing(SealFailed)
	s.Scratch, s.ScratchFreed = 5, true
	decide := func(e Event) {
		t.Helper()
		out, err := Decide(s, Happened{Inputs: Inputs{At: start}, Event: e, Key: s.Step.Key})
		if err != nil || len(out) == 0 {
			t.Fatalf("%s: %v, %v", NameOf(e), names(out), err)
		}
		for _, e := range out {
			s = Evolve(s, e)
		}
	}
	decide(&messages.SectorRetrySeal{})
	if s.Step.Name != StepOpenSpace {
		t.Fatalf("it is to %q", s.Step.Name)
	}
	decide(&messages.SectorOpened{Unsealed: 2048, Scratch: 5, Deposit: "5000"})
	if s.Step.Name != StepGetTicket || s.ScratchFreed {
		t.Fatalf("with its space it is to %q", s.Step.Name)
	}
	s.State, s.Step = FinalizeSector, Scheduled{}
	decide(&messages.SectorFinalized{})
	if s.Step.Name != StepReleaseScratch {
		t.Fatalf("hosted, it is to %q", s.Step.Name)
	}
}

// The codec refuses events that could not be folded.
func TestTheCodecRefusesWhatNoFoldCanAdd(t *testing.T) {
	codec := events.NewCodec(Table())
	for name, e := range map[string]Event{
		"no number":         &messages.SectorStart{Provider: exampleHost, Size: 2048},
		"an odd size":       &messages.SectorStartEmpty{Sector: 1, Provider: exampleHost, Size: 2049},
		"no provider":       &messages.SectorStart{Sector: 1, Size: 2048},
		"a pause for ever":  &messages.SectorRetryScheduled{},
		"endless space":     &messages.SectorOpened{Tree: 1 << 63, Deposit: "0"},
		"a debt":            &messages.SectorSettled{Returned: "-1", Lost: "0"},
		"no key":            &messages.SectorStepScheduled{Step: "Pack", Attempt: 1},
		"no attempt":        &messages.SectorStepScheduled{Step: "Pack", Key: "Pack:1:0"},
		"a ticket of words": &messages.SectorTicket{Value: "heads"},
	} {
		if _, _, _, err := codec.Encode(e); !errors.Is(err, events.ErrMalformed) {
			t.Errorf("%s: %v, want %v", name, err, events.ErrMalformed)
		}
	}
}

// compare compares quickly first.
func compare(a, b Info) string {
	if reflect.DeepEqual(a, b) {
		return ""
	}
	return cmp.Diff(a, b, cmp.AllowUnexported(Info{}), cmpopts.EquateComparable(events.Amount{}), cmpopts.EquateEmpty())
}

// The page of sectors has the whole table, a row for each state.
func TestThePageOfSectorsHasTheTable(t *testing.T) {
	page, err := os.ReadFile("../../docs/sectors.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range States() {
		var arcs []string
		for _, event := range Allowed(s) {
			arcs = append(arcs, event+" → "+string(planners[s][event]))
		}
		name, step := string(s), string(stepOf[s])
		if s == Undefined {
			name = "(none)"
		}
		row := "| " + name + " | " + strings.Join(arcs, "; ") + " | " + step + " |\n"
		if !strings.Contains(string(page), row) {
			t.Errorf("docs/sectors.md does not have the row\n%s", row)
		}
	}
}

// A clock that was a day ahead when the pause began: the sector does not wait for that day.
func TestAPauseThatIsTooLongIsOver(t *testing.T) {
	for left, want := range map[time.Duration]time.Duration{
		time.Minute: time.Minute, time.Hour: time.Hour, time.Hour + 1: 0, 24 * time.Hour: 0, -time.Minute: 0,
	} {
		s := standing(SealFailed)
		s.Until = start.Add(left)
		if got := s.PauseLeft(start); got != want {
			t.Errorf("until %s from now: %s are left, not %s", left, got, want)
		}
		out, err := Decide(s, Due{Inputs: Inputs{At: start}})
		if err != nil || (len(out) > 0) != (want == 0) {
			t.Errorf("until %s from now: %v, %v", left, names(out), err)
		}
	}
	if got := standing(SealFailed).PauseLeft(start); got != 0 {
		t.Errorf("without a pause %s are left", got)
	}
}

// The contract ends a sector that is faulty for too long, maybe before the host hears that it was
// committed: the sector goes its way to the end, and is not sealed once more under a used number.
func TestASectorThatIsOverBeforeItIsHostedGoesToItsEnd(t *testing.T) {
	for _, c := range []struct {
		state State
		want  []string
	}{
		{Committing, []string{"SectorRetryCommitWait", "SectorProving"}},
		{CommitWait, []string{"SectorProving"}},
		{FinalizeSector, nil},
		{Proving, []string{"SectorTerminated"}},
	} {
		s := standing(c.state)
		out, err := Decide(s, ReportChain{Inputs{At: start}, Facts{Terminated: true}})
		var got []string
		for _, e := range out {
			if _, begins := e.(*messages.SectorStepScheduled); !begins {
				got = append(got, NameOf(e))
			}
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("in %s: %v, %v, want %v", c.state, got, err, c.want)
		}
	}
}

// A pause may begin before the end of the previous one has been handled.
func TestTheEndOfAnotherPauseIsLate(t *testing.T) {
	s := standing(SealFailed)
	s.Until = start.Add(-time.Second)
	for until, ends := range map[time.Time]bool{start.Add(-time.Minute): false, s.Until: true, {}: true} {
		out, err := Decide(s, Due{Inputs{At: start}, until})
		if err != nil || (len(out) > 0) != ends {
			t.Errorf("for the pause until %s: %v, %v", until, names(out), err)
		}
	}
}

// A piece that cannot be added, or packed, is left out by an operator: the sector goes on with the others.
func TestAPieceThatCannotBeAddedIsLeftOut(t *testing.T) {
	bad, good := "baga6ea4seaqz", Piece{CID: "baga6ea4seaqx", Size: 1024, Payload: 900}
	drop := func(s Info, e Event) ([]Event, error) {
		return Decide(s, Happened{Inputs: Inputs{At: start}, Event: e, By: "anna"})
	}
	for name, c := range map[string]struct {
		from   State
		change func(*Info)
		event  Event
		want   State
		left   int
		err    error
	}{
		"of two that are to be added": {
			AddPieceFailed, func(s *Info) { s.Pending = append(s.Pending, good) },
			&messages.SectorRetryWaitDeals{Dropped: &bad, By: &bad}, WaitDeals, 1, nil,
		},
		"the only one that is to be added": {
			AddPieceFailed, func(*Info) {}, &messages.SectorRetryWaitDeals{Dropped: &bad, By: &bad}, WaitDeals, 0, nil,
		},
		"the last one of a sector that is to be packed": {
			AddPieceFailed, func(s *Info) { s.PackNow = true },
			&messages.SectorRetryWaitDeals{Dropped: &bad, By: &bad}, Packing, 0, nil,
		},
		"one that is not there": {
			AddPieceFailed, func(*Info) {}, &messages.SectorRetryWaitDeals{Dropped: &good.CID, By: &bad}, "", 0,
			events.ErrNoSuchPiece,
		},
		"of two that cannot be packed": {
			PackingFailed, func(*Info) {}, &messages.SectorRetryPacking{Dropped: &bad}, Packing, 1, nil,
		},
		"the only one that cannot be packed": {
			PackingFailed, func(s *Info) { s.Pending = s.Pending[:1] }, &messages.SectorRetryPacking{Dropped: &bad}, "", 0, ErrSize,
		},
	} {
		s := standing(c.from)
		s.Failures = map[State]uint32{c.from: 3}
		s.Reason = "it failed too often"
		c.change(&s)
		out, err := drop(s, c.event)
		if !errors.Is(err, c.err) {
			t.Errorf("%s: %v, want %v", name, err, c.err)
		}
		if err != nil {
			continue
		}
		for _, e := range out {
			s = Evolve(s, e)
		}
		if s.State != c.want || len(s.Pending) != c.left || s.Parked() || c.left > 0 && s.Pending[0] != good || s.Failures[AddPieceFailed] > 0 {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// What the chain says while the message with the proof is under way does not take the word from its own answer.
func TestACommitThatLandsIsRecordedAsSent(t *testing.T) {
	s := standing(Committing)
	s.Step = Scheduled{StepSendCommit, 1, "SendCommit:1:1"}
	there := ReportChain{Inputs: Inputs{At: start}, Facts: Facts{Active: true, Seed: s.SeedValue, SeedEpoch: s.SeedEpoch}}
	if out, err := Decide(s, there); err != nil || len(out) != 0 {
		t.Fatalf("while it is sent: %v, %v", out, err)
	}
	out, err := Decide(s, Happened{Inputs: Inputs{At: start}, Event: example(t, "SectorCommitted", ""), Key: s.Step.Key})
	if err != nil || len(out) == 0 || NameOf(out[0]) != "SectorCommitted" {
		t.Fatalf("when it was sent: %v, %v", out, err)
	}
	s.Step, s.Until = Scheduled{}, start // It pauses, as nobody answered: the chain knows more.
	if out, err := Decide(s, there); err != nil || len(out) == 0 || NameOf(out[0]) != "SectorRetryCommitWait" {
		t.Fatalf("while it pauses: %v, %v", out, err)
	}
}
