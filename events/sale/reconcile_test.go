package sale

import (
	_ "embed"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/events"
)

var rewriteDocs = flag.Bool("rewrite-docs", false, "write docs/restart.md anew")

const docsPage = "../../docs/restart.md"

// cells are all places of the table: 15 phases x 7 slot states x whose slot x what
// else an answer may depend on.
func cells() []Cell {
	var all []Cell
	slots := []events.SlotState{
		events.SlotFree, events.SlotFilled, events.SlotFinished, events.SlotFailed, events.SlotPaid,
		events.SlotCancelled, events.SlotRepair,
	}
	requests := []events.RequestState{
		events.RequestNew, events.RequestStarted, events.RequestCancelled, events.RequestFinished, events.RequestFailed,
	}
	bools := []bool{false, true}
	for _, phase := range Phases() {
		for _, standing := range standingsOf(phase) {
			for _, slot := range slots {
				for _, whose := range []Whose{Mine, Anothers, Nobodys} {
					for _, request := range requests {
						for _, fill := range []FillStatus{FillUnasked, FillStands, FillGone} {
							for n := range 16 {
								all = append(all, Cell{
									Standing: standing, Phase: phase, Slot: slot, Whose: whose, Request: request, Fill: fill,
									Adopted: bools[n&1], Data: bools[n>>1&1], Known: bools[n>>2&1], Final: bools[n>>3&1],
								})
							}
						}
					}
				}
			}
		}
	}
	return all
}

// standingsOf lists the standings that a sale in that phase can have.
func standingsOf(p Phase) []Standing {
	switch p {
	case Unknown:
		return []Standing{Unrecorded}
	case Preparing, SlotReserving, Downloading, InitialProving, Filling:
		return []Standing{Before}
	case Filled, Proving, ProvingSimulated:
		return []Standing{Ours}
	case Payout:
		return []Standing{Collecting}
	case Finished:
		return []Standing{Ending, Over}
	case Cancelled, Failed:
		return []Standing{GivenUp, Collecting, Ending, Over}
	case Ignored, Errored:
		return []Standing{GivenUp, Ending, Over}
	}
	return nil
}

func TestEveryCellHasAnAnswerAndEveryRuleHasACell(t *testing.T) {
	for _, p := range Phases() {
		if len(standingsOf(p)) == 0 {
			t.Errorf("standingsOf does not know %s, so no cell of the table has it", p)
		}
	}
	used := map[string]int{}
	for _, c := range cells() {
		r := Reconcile(c)
		if r.Why == "" || r.Why == "nothing is said of it" {
			t.Fatalf("no rule answers %+v", c)
		}
		used[r.Why]++
	}
	for _, r := range rules {
		if used[r.Why] == 0 {
			t.Errorf("the rule is never reached: %s", r.Why)
		}
	}
}

// What must hold for each cell, whatever the table says.
func TestNoCellBreaksALaw(t *testing.T) {
	for _, c := range cells() {
		r := Reconcile(c)
		hosts := c.Standing == Ours
		stillMine := c.Whose == Mine && c.Slot == events.SlotFilled
		law := func(holds bool, law string) {
			if !holds {
				t.Fatalf("%s: %+v leads to %s", law, c, r.Then)
			}
		}
		law(!hosts || !slices.Contains([]Outcome{Ignore, Cancel, Fail, Adopt}, r.Then),
			"after the fill only the chain ends a sale, and it is settled with it")
		law(!stillMine || !slices.Contains([]Outcome{Ignore, Cancel, Fail, Revert, Forfeit, End}, r.Then),
			"a slot that is ours is never let go")
		law(c.Whose != Mine || r.Then != Forfeit && r.Then != Revert, "what is ours was not lost")
		law(r.Then != Forfeit || c.Fill != FillGone || c.Standing == Before,
			"what was taken back with its block was not forfeited")
		law(r.Then != Revert || c.Fill != FillStands || !c.Known || c.Slot == events.SlotFree,
			"a fill that stands was not taken back")
		law(r.Then != FoundFilled || c.Data, "nothing is hosted without its data")
		law(c.Standing != Ending || r.Then == Nothing, "what the contract let go of is settled, and nothing else")
		law(c.Standing != Collecting || slices.Contains([]Outcome{Nothing, Revert, Forfeit, Resume}, r.Then),
			"the end of a request stands as long as the fill stands and the slot is ours")
		law(r.Then != Resume || stillMine && c.Data, "only what is ours, runs and is here is proven again")
		law(c.Standing != Collecting || !stillMine || !c.Data || r.Then == Resume, "what is ours and runs is proven")
		law(c.Standing != Collecting || c.Whose == Mine || c.Known && c.Slot != events.SlotFree && c.Fill != FillGone ||
			r.Then == Revert, "nothing is collected of a fill that is gone")
		law(c.Standing != Unrecorded && c.Standing != Over || r.Then == Adopt || r.Then == Nothing,
			"without a running attempt there is only adopting")
		law(c.Whose != Mine || c.Standing != Unrecorded || c.Slot == events.SlotPaid || r.Then == Adopt,
			"what the contract calls ours is adopted")
		law(c.Phase != Filling || c.Adopted || c.Slot != events.SlotFilled || c.Whose == Mine || !c.Known || r.Then == Nothing,
			"news of another's fill does not end a sale whose own may be in flight")
	}
}

// kindsOf are the events that an outcome may lead to.
var kindsOf = map[Outcome][]string{
	Nothing: {""}, Adopt: {""}, FoundFilled: {"SlotFilled"},
	FoundEnded: {
		"SlotFilled + RequestEnded", "SlotFilled + SaleCancelled", "SlotFilled + SaleFailed",
	},
	Continue: {"", "RequestStarted", "SlotFilled", "SlotFilled + RequestStarted"},
	End: {
		"RequestEnded", "SaleCancelled", "SaleFailed", "SlotFilled + RequestEnded", "SlotFilled + SaleCancelled",
		"SlotFilled + SaleFailed",
	},
	Resume: {"SlotFilled"}, Revert: {"FillReverted"}, Forfeit: {"SlotForfeited"}, Ignore: {"SaleIgnored"},
	Cancel: {"SaleCancelled"}, Fail: {"SaleFailed"},
}

// Every reachable state gets every report that the chain can make, and decides what the table's
// cell says.
func TestDecisionsAreTheTables(t *testing.T) {
	seen := map[Outcome]bool{}
	for _, st := range stands() {
		s, _ := live(t, st.life...)
		if s.Phase == Unknown {
			continue // Refused: package actors adopts slots.
		}
		if !slices.Contains(standingsOf(s.Phase), s.standing()) {
			t.Errorf("%s: its standing is %q, which %s does not have: look at the stages in state.go", st.name, s.standing(), s.Phase)
		}
		for _, c := range cells() {
			if c.Standing != s.standing() || c.Phase != s.Phase || c.Adopted != s.Adopted || c.Data != (s.Stored > 0 && !s.Deleted) {
				continue
			}
			host := map[Whose]events.Address{Mine: me, Anothers: other}[c.Whose]
			block := uint64(fillBlock)
			if c.Final {
				block += finalBlocks
			}
			if s.FilledBlock == 0 && !c.Final {
				continue // A sale without a fill has none that could be recent.
			}
			report := chainAt(block, host, c.Slot, c.Request)
			report.Facts.RequestKnown, report.Fill = c.Known, c.Fill
			batch, err := Decide(s, report)
			if err != nil {
				t.Fatalf("%s: %+v: %v", st.name, c, err)
			}
			names := make([]string, 0, len(batch))
			for _, e := range batch {
				names = append(names, string(e.ProtoReflect().Descriptor().Name()))
			}
			then := Reconcile(c).Then
			seen[then] = true
			if got := strings.Join(names, " + "); !slices.Contains(kindsOf[then], got) {
				t.Fatalf("%s: %+v is %s, but brings %q", st.name, c, then, got)
			}
		}
	}
	for then := range kindsOf {
		if !seen[then] {
			t.Errorf("no state ever came to %s", then)
		}
	}
}

func TestTheDocsPageIsTheTable(t *testing.T) {
	want := page()
	for _, p := range Phases() {
		// What can be Ending is told by what the contract did.
		for _, standing := range standingsOf(p) {
			if standing != Ending && !strings.Contains(aboutStanding[standing], p.String()) {
				t.Errorf("aboutStanding says nothing of %s in %q", p, standing)
			}
		}
	}
	if *rewriteDocs {
		if err := os.WriteFile(docsPage, []byte(want), 0o644); err != nil { //nolint:gosec // Everybody may read the page.
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(docsPage)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(have)); diff != "" {
		t.Fatalf("docs/restart.md is not the table (-want +have); "+
			"write it with: go test ./events/sale -run Docs -rewrite-docs\n%s", diff)
	}
}

//go:embed testdata/restart.md
var pageHead string

// page prints the table: what stands above it, then a section per standing, with a
// row per slot state and owner, and the answers by what they depend on.
func page() string {
	var out strings.Builder
	out.WriteString(pageHead)
	for _, standing := range []Standing{Unrecorded, Over, Before, Ours, GivenUp, Collecting, Ending} {
		fmt.Fprintf(&out, "\n### Recorded: %s\n\n%s\n\n", standing, aboutStanding[standing])
		out.WriteString("| on chain the slot is | whose | what happens, and why |\n|---|---|---|\n")
		for slot := events.SlotFree; slot <= events.SlotRepair; slot++ {
			for _, whose := range []Whose{Mine, Anothers, Nobodys} {
				impossible := ""
				if !possible(slot, whose) {
					impossible = "*(impossible)* "
				}
				fmt.Fprintf(&out, "| %s | %s | %s%s |\n", slot, whose, impossible,
					strings.Join(answers(standing, slot, whose), "<br>"))
			}
		}
	}
	return out.String()
}

var aboutStanding = map[Standing]string{
	Unrecorded: "Phase Unknown: no attempt at the slot is in the record, or the record was lost.",
	Over:       "Finished, Ignored, Cancelled, Failed or Errored, and settled.",
	Before:     "Preparing, SlotReserving, Downloading, InitialProving or Filling.",
	Ours:       "Filled, Proving or ProvingSimulated.",
	GivenUp:    "Ignored, Cancelled, Failed or Errored without a fill that stands, not settled yet; also a slot that was forfeited.",
	Collecting: "Payout, or Cancelled or Failed after the fill, while the contract holds the collateral.",
	Ending:     "Finished, or an exit after which the contract paid, or let go of the slot for good.",
}

// answers are the rules that apply to a row, in their order, with what they need.
func answers(standing Standing, slot events.SlotState, whose Whose) (lines []string) {
	var hit []string
	for _, c := range cells() {
		if c.Standing == standing && c.Slot == slot && c.Whose == whose {
			if r := Reconcile(c); !slices.Contains(hit, r.Why) {
				hit = append(hit, r.Why)
			}
		}
	}
	for _, r := range rules {
		if slices.Contains(hit, r.Why) {
			lines = append(lines, fmt.Sprintf("%s**%s**: %s", needs(r), r.Then, r.Why))
		}
	}
	return lines
}

// needs says what a rule depends on in addition to its row.
func needs(r Rule) string {
	var parts []string
	add := func(m Maybe, yes, no string) {
		if m != Either {
			parts = append(parts, map[Maybe]string{Yes: yes, No: no}[m])
		}
	}
	for _, p := range r.Phase {
		parts = append(parts, "in "+p.String())
	}
	add(r.Adopted, "adopted", "not adopted")
	add(r.Data, "data here", "no data here")
	add(r.Known, "", "request unknown")
	for _, q := range r.Request {
		parts = append(parts, "request "+q.String())
	}
	for _, f := range r.Fill {
		parts = append(parts, "block of the fill "+f.String())
	}
	add(r.Final, "fill final", "fill not final")
	parts = slices.DeleteFunc(parts, func(p string) bool { return p == "" })
	if len(parts) == 0 {
		return ""
	}
	return "(" + strings.Join(parts, ", ") + ") "
}

func (w Whose) String() string { return [...]string{"ours", "another's", "nobody's"}[w] }

// possible reports whether the contract can show a slot like that. Impossible combinations have
// an answer all the same.
func possible(slot events.SlotState, whose Whose) bool {
	switch slot {
	case events.SlotFree, events.SlotRepair: // Nobody has it: freeing a slot clears its host.
		return whose == Nobodys
	case events.SlotFilled, events.SlotPaid:
		return whose != Nobodys
	case events.SlotFinished, events.SlotFailed, events.SlotCancelled: // Also a slot that was in repair.
		return true
	}
	return false
}
