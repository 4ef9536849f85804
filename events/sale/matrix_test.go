package sale

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/internal/housetest"
)

// stand is a state in which decisions are tried, reached by a list of commands.
type stand struct {
	name string
	life []Command
}

// stands has every phase at least once, and a phase several times where
// decisions depend on more than the phase.
func stands() []stand {
	gaveUp := then(untilFilling(), giveUp())
	cancelled := then(untilProving(), chainSays(me, events.SlotCancelled, events.RequestCancelled))
	failed := then(untilProving(), chainSays(me, events.SlotFailed, events.RequestFailed))
	paid := then(untilPayout(), freed(1_131_072, 131072))
	early := func(req events.RequestState) []Command {
		return then(untilDownloading(), chainSays(events.Address{}, events.SlotFree, req))
	}
	return []stand{
		{"Unknown", nil},
		{"Preparing", []Command{start()}},
		{"Preparing, adopted", []Command{adopt()}},
		{"SlotReserving", untilReserving()},
		{"Downloading", untilDownloading()},
		{"Downloading, adopted", []Command{adopt(), capacity()}},
		{"InitialProving", untilProving0()},
		{"InitialProving, adopted", []Command{adopt(), capacity(), stored()}},
		{"Filling", untilFilling()},
		{"Filled", untilFilled()},
		{"Proving", untilProving()},
		{"Proving, started, a duty open", then(untilProving(),
			chainSays(me, events.SlotFilled, events.RequestStarted), due(period1, challenge2))},
		{"Proving, a miss not looked into", then(untilProving(), due(period1, challenge2), closed(period1))},
		{"Proving, damaged", then(untilProving(), due(period1, challenge2), damagedBlocks(0))},
		{"InitialProving, damaged", then(untilProving0(), damagedBlocks(0))},
		{"ProvingSimulated", untilSimulated()},
		{"ProvingSimulated, a duty open", then(untilSimulated(), due(period1, challenge2))},
		{"Payout", untilPayout()},
		{"Finished", paid},
		{"Finished, deleted", then(paid, deleted())},
		{"Finished, settled", then(paid, deleted(), settled())},
		{"Ignored", then(untilReserving(), ReportNotReservable{At: t0, Reason: "full"})},
		{"Ignored, data here", then(untilFilling(), ReportNotFree{At: t0, Reason: "taken"})},
		{"Cancelled before the fill", early(events.RequestCancelled)},
		{"Cancelled after the fill", cancelled},
		{"Cancelled after the fill, paid", then(cancelled, freed(631_072, 131072))},
		{"Failed before the fill", early(events.RequestFailed)},
		{"Failed after the fill", failed},
		{"Errored, given up while filling", gaveUp},
		{"Errored, given up, deleted", then(gaveUp, deleted())},
		{"Errored, dropped after a failure", then(failed, freed(0, 0))},
		{"Errored, forfeited", then(untilProving(), chainSays(events.Address{}, events.SlotRepair, events.RequestStarted))},
	}
}

// trial is one command, as it is tried in every state.
type trial struct {
	name    string
	command Command
}

func trials() []trial {
	elsewhere := start()
	elsewhere.Slot = events.SlotID{0xee}
	unsound := start()
	unsound.Request.Ask.Slots = 0
	outside := start()
	outside.Index = 3
	early := closed(period1)
	early.At = deadline(period1)
	return []trial{
		{"Start", start()},
		{"Start, adopted", adopt()},
		{"Start, another slot", elsewhere},
		{"Start, unsound request", unsound},
		{"Start, no such slot", outside},
		{"ReportCapacity", capacity()},
		{"ReportNoCapacity", ReportNoCapacity{At: t0, Criterion: "size", Reason: "no room"}},
		{"ReportSlotReserved", reserved()},
		{"ReportNotReservable", ReportNotReservable{At: t0, Reason: "full"}},
		{"ReportStored", stored()},
		{"ReportInitialProof", proved(challenge2)},
		{"ReportProofOutdated, our proof", ReportProofOutdated{At: t0, Challenge: challenge1, Reason: "wrapped"}},
		{"ReportProofOutdated, another", ReportProofOutdated{At: t0, Challenge: challenge3, Reason: "wrapped"}},
		{"ReportFilled", filled()},
		{"ReportNotFree", ReportNotFree{At: t0, Reason: "taken"}},
		{"GiveUp", giveUp()},
		{"GiveUp, let go", letGo()},
		{"ReportExtended", extended()},
		{"ReportProofDue, new period", due(period1+1, challenge2)},
		{"ReportProofDue, known", due(period1, challenge2)},
		{"ReportProofDue, moved", due(period1, challenge3)},
		{"ReportProofDue, old period", due(period1-1, challenge2)},
		{"ReportProofSubmitted", submitted(period1)},
		{"ReportProofSubmitted, other period", submitted(period1 + 1)},
		{"ReportProofExcused", excused(period1)},
		{"ReportProofExcused, other period", excused(period1 + 1)},
		{"ReportPeriodClosed", closed(period1)},
		{"ReportPeriodClosed, at the deadline", early},
		{"ReportPeriodClosed, other period", closed(period1 + 1)},
		{"ReportSilentPeriod", silent(period1+1, challenge2)},
		{"ReportSilentPeriod, known", silent(period1, challenge2)},
		{"ReportCollateral", checked(period1, 104_858)},
		{"ReportCollateral, all there", checked(period1, 131_072)},
		{"ReportCollateral, other period", checked(period1+1, 104_858)},
		{"ReportDamaged", damagedBlocks(0)},
		{"ReportDamaged, whole", ReportDamaged{At: t0, Whole: true, FoundBy: "the start"}},
		{"ReportDamaged, no such block", damagedBlocks(9)},
		{"ReportRepaired", ReportRepaired{At: t0, Blocks: []uint64{0}, Whole: true}},
		{"ReportFreed", freed(1_131_072, 131072)},
		{"Refill", refill()},
		{"ReportDeleted", deleted()},
		{"ReportSettled", settled()},
		{"ReportChain, ours and filled", chainSays(me, events.SlotFilled, events.RequestNew)},
		{"ReportChain, ours and finished", chainSays(me, events.SlotFinished, events.RequestFinished)},
		{"ReportChain, another's", chainSays(other, events.SlotFilled, events.RequestNew)},
		{"ReportChain, nobody's", chainSays(events.Address{}, events.SlotFree, events.RequestNew)},
	}
}

func TestEveryPhaseAndEveryCommandHaveAStand(t *testing.T) {
	phases := map[Phase]bool{}
	for _, st := range stands() {
		s, _ := live(t, st.life...)
		phases[s.Phase] = true
		if !strings.HasPrefix(st.name, s.Phase.String()) {
			t.Errorf("the state called %q is in phase %s", st.name, s.Phase)
		}
	}
	for _, p := range Phases() {
		if !phases[p] {
			t.Errorf("no state stands in phase %s", p)
		}
	}
	housetest.Complete(t, ".", "given", commands(), "commands that are tried in every state")
}

// commands are those of the trials. Decide panics on a type that it does not know, in every
// state, so a forgotten command shows.
func commands() []Command {
	all := make([]Command, 0, 50)
	for _, c := range trials() {
		all = append(all, c.command)
	}
	return all
}

func TestEveryEffectIsWantedInSomeState(t *testing.T) {
	var wanted []Effect
	for _, st := range stands() {
		s, _ := live(t, st.life...)
		wanted = append(wanted, Next(s)...)
	}
	housetest.Complete(t, ".", "effect", wanted, "effects that some state wants")
}

func TestEveryPhaseHasItsName(t *testing.T) {
	var names []string
	for _, p := range Phases() {
		names = append(names, p.String())
	}
	if diff := cmp.Diff(housetest.Constants(t, "Phase"), names); diff != "" {
		t.Fatalf("the names of phases (-declared +printed):\n%s", diff)
	}
}

// TestMatrixOfEveryPhaseAndCommand writes down what each command does in each
// state. A cell that is not listed does nothing at all.
func TestMatrixOfEveryPhaseAndCommand(t *testing.T) {
	var out strings.Builder
	out.WriteString("# Every state x every command: the events, and the phase they lead to.\n" +
		"# A command that is not listed for a state is known, or too late: no events.\n")
	for _, st := range stands() {
		s, _ := live(t, st.life...)
		fmt.Fprintf(&out, "\n%s (%s; open: %s)\n", st.name, Waiting(s), openKeys(s))
		silent := 0
		for _, c := range trials() {
			answer := answerOf(s, c.command)
			if answer == "" {
				silent++
				continue
			}
			fmt.Fprintf(&out, "  %-36s %s\n", c.name, answer)
		}
		fmt.Fprintf(&out, "  the other %-26d nothing\n", silent)
	}
	golden(t, "matrix.txt", out.String())
}

func openKeys(s State) string {
	keys := make([]string, 0, 2)
	for _, e := range Next(s) {
		keys = append(keys, shortKey(e))
	}
	if len(keys) == 0 {
		return "none"
	}
	return strings.Join(keys, ", ")
}

// answerOf describes a decision briefly; empty if nothing follows.
func answerOf(s State, c Command) string {
	batch, err := Decide(s, c)
	if err != nil {
		return "refused: " + err.Error()
	}
	if len(batch) == 0 {
		return ""
	}
	names := make([]string, 0, len(batch))
	for _, e := range batch {
		s = Evolve(s, e)
		names = append(names, string(e.ProtoReflect().Descriptor().Name()))
	}
	return strings.Join(names, " + ") + " -> " + s.Phase.String()
}

// fact is a combination of slot and request state that the contract can show
// (spec/marketplace.md §4): the state of a slot that was ever filled follows the
// request, a slot that never was reads Free for ever.
type fact struct {
	known bool
	slot  events.SlotState
	req   events.RequestState
}

func facts() []fact {
	return []fact{
		{false, events.SlotFree, events.RequestNew},
		{true, events.SlotFree, events.RequestNew},
		{true, events.SlotFree, events.RequestStarted},
		{true, events.SlotFree, events.RequestCancelled},
		{true, events.SlotFree, events.RequestFinished},
		{true, events.SlotFree, events.RequestFailed},
		{true, events.SlotFilled, events.RequestNew},
		{true, events.SlotFilled, events.RequestStarted},
		{true, events.SlotFinished, events.RequestFinished},
		{true, events.SlotFailed, events.RequestFailed},
		{true, events.SlotPaid, events.RequestFinished},
		{true, events.SlotPaid, events.RequestCancelled},
		{true, events.SlotCancelled, events.RequestCancelled},
		{true, events.SlotRepair, events.RequestNew},
		{true, events.SlotRepair, events.RequestStarted},
	}
}

func (f fact) String() string {
	if !f.known {
		return "request unknown"
	}
	return f.slot.String() + ", request " + f.req.String()
}

// TestTableOfWhatTheChainSays writes down the answer to every report of the
// chain in every state: the table of docs/restart.md, complete.
func TestTableOfWhatTheChainSays(t *testing.T) {
	hosts := []struct {
		name string
		host events.Address
	}{{"mine", me}, {"other's", other}, {"nobody's", events.Address{}}}
	var out strings.Builder
	out.WriteString("# Every state x slot state x request state x host x final or not: what a report of the\n" +
		"# chain leads to. \"Final\" is said of the fill, and only where it matters. What is not listed\n" +
		"# leads to nothing.\n")
	for _, st := range stands() {
		if st.life == nil {
			continue // Nothing is recorded: refused, see the matrix.
		}
		s, _ := live(t, st.life...)
		fmt.Fprintf(&out, "\n%s\n", st.name)
		silent := 0
		for _, h := range hosts {
			for _, f := range facts() {
				at := func(block uint64) string {
					c := chainAt(block, h.host, f.slot, f.req)
					c.Facts.RequestKnown = f.known
					return answerOf(s, c)
				}
				fresh, final := at(fillBlock+finalBlocks-1), at(fillBlock+finalBlocks)
				where := h.name + ", " + f.String()
				switch {
				case fresh == "" && final == "":
					silent++
				case fresh == final:
					fmt.Fprintf(&out, "  %-38s %s\n", where, final)
				default:
					fmt.Fprintf(&out, "  %-38s not final: %s; final: %s\n", where, fresh, final)
				}
			}
		}
		fmt.Fprintf(&out, "  the other %-28d nothing\n", silent)
	}
	golden(t, "chain.txt", out.String())
}

// Several effects may be open at once, and a shell tells them apart by key.
func TestKeysOfOpenEffectsAreUnique(t *testing.T) {
	busy := then(untilProving(),
		due(period1, challenge1), due(period1+1, challenge2), closed(period1), due(period1+2, challenge3))
	lives := [][]Command{busy}
	for _, st := range stands() {
		lives = append(lives, st.life)
	}
	for _, life := range lives {
		s, _ := live(t, life...)
		keys := map[string]bool{}
		for _, e := range Next(s) {
			e.effect()
			if keys[e.Key()] {
				t.Errorf("%s: two open effects with key %s", s.Phase, e.Key())
			}
			keys[e.Key()] = true
		}
	}
	for _, c := range commands() {
		c.given()
	}
}

func TestTheChainIsAskedWhenTimeAloneChangesTheSlot(t *testing.T) {
	repair := start()
	repair.Repair = true
	for _, tc := range []struct {
		name string
		life []Command
		want time.Time
	}{
		{"before the fill: when the request is void", untilDownloading(), void.Add(time.Second)},
		{"repair: the request runs, it can only end", []Command{repair}, ends.Add(time.Second)},
		{"filled, request not started: when it is void", untilProving(), void.Add(time.Second)},
		{"hosting: at the end", then(untilProving(), chainSays(me, events.SlotFilled, events.RequestStarted)), ends.Add(time.Second)},
		{"payout: never", untilPayout(), time.Time{}},
		{"nothing recorded: never", nil, time.Time{}},
	} {
		s, _ := live(t, tc.life...)
		if got := s.WakeAt(); !got.Equal(tc.want) {
			t.Errorf("%s: wake at %s, want %s", tc.name, got, tc.want)
		}
	}
}
