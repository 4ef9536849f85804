package tx

import (
	"fmt"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/events"
)

// testKinds are those of the market.
var testKinds = map[string]Kind{
	"proof": {Duty: true, Permanent: func(error) bool { return false }},
	"fill":  {AtOnce: true, Permanent: func(error) bool { return false }},
}

func intentAt(base string, deadline uint64) *intent {
	in := &intent{base: base, key: base + "#1", kind: testKinds[kindOf(base)]}
	if deadline > 0 {
		in.deadline = events.Unix(deadline)
	}
	return in
}

func TestProofsGoFirstAndThenTheEarliestDeadline(t *testing.T) {
	waiting := []*intent{
		intentAt("free:a:1", 0), intentAt("fill:b:1:x", 50), intentAt("reserve:c:1", 20), intentAt("approve:t", 0),
		intentAt("proof:d:7:x", 90), intentAt("mark:e:7", 10), intentAt("proof:f:6:x", 30), intentAt("proof:g:6:x", 0),
	}
	slices.SortStableFunc(waiting, byUrgency)
	var got []string
	for _, in := range waiting {
		got = append(got, in.base)
	}
	want := []string{
		"proof:f:6:x", "proof:d:7:x", "proof:g:6:x", "mark:e:7", "reserve:c:1", "fill:b:1:x", "free:a:1", "approve:t",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("order (-want +got):\n%s", diff)
	}
}

func TestAQuarterOfThePlacesIsKeptForProofs(t *testing.T) {
	for most, want := range map[int]int{1: 1, 2: 1, 3: 2, 4: 3, 5: 3, 16: 12, 256: 192} {
		if got := othersInFlight(most); got != want {
			t.Fatalf("of %d places others get %d, want %d", most, got, want)
		}
	}
}

func TestEachTransactionIsAsUrgentAsTheMostUrgentBehindIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var flying []*intent
		for i := range rapid.IntRange(0, 20).Draw(t, "flying") {
			flying = append(flying, intentAt(fmt.Sprint("fill:", i), rapid.Uint64Range(0, 8).Draw(t, "deadline")))
		}
		for i, got := range mostUrgent(flying) {
			if !slices.Contains(flying[i:], got) {
				t.Fatalf("place %d is as urgent as one in front of it", i)
			}
			for _, behind := range flying[i:] {
				if byDeadline(behind, got) < 0 {
					t.Fatalf("place %d is as urgent as %v, and %v is behind it", i, got.deadline, behind.deadline)
				}
			}
		}
	})
}

func TestPatienceShrinksWithTheBlocksThatAreLeft(t *testing.T) {
	m := &fees{
		node: &node{blocks: rpc.NewBlockTime(12*time.Second, 0, quietLog())}, cfg: &Config{StuckBlocks: 5},
	}
	head := &rpc.Header{Time: 1000}
	for left, want := range map[uint64]uint64{1: 1, 12: 1, 7 * 12: 1, 8 * 12: 2, 19 * 12: 4, 20 * 12: 5, 1000 * 12: 5} {
		if got := m.patience(events.Unix(1000+left), head); got != want {
			t.Fatalf("with %d s left the patience is %d blocks, want %d", left, got, want)
		}
	}
	if got := m.patience(time.Time{}, head); got != 5 {
		t.Fatalf("without a deadline the patience is %d blocks", got)
	}
	if got := m.patience(events.Unix(10), head); got != 1 {
		t.Fatalf("after the deadline the patience is %d blocks", got)
	}
}

func TestOthersMakeRoomForProofsThatWaitOrAreDue(t *testing.T) {
	const now = 1000
	head := &rpc.Header{Time: now}
	for name, tc := range map[string]struct {
		due     int64 // by when a proof is due; zero: nothing was announced
		unsent  []*intent
		in      *intent
		is      bool
		comment string
	}{
		"nothing is due":                {in: intentAt("fill:a:1:x", 0)},
		"a proof is due far off":        {due: now + 200, in: intentAt("fill:a:1:x", 0)},
		"a proof is due soon":           {due: now + 90, in: intentAt("fill:a:1:x", 0), is: true},
		"it was due":                    {due: now, in: intentAt("fill:a:1:x", 0)},
		"the fill is due before":        {due: now + 90, in: intentAt("fill:a:1:x", now+80)},
		"the fill is due right after":   {due: now + 90, in: intentAt("fill:a:1:x", now+110)},
		"the fill can wait for it":      {due: now + 90, in: intentAt("fill:a:1:x", now+200), is: true},
		"proofs are never held":         {due: now + 90, in: intentAt("proof:a:1:x", 0)},
		"a proof waits to be sent":      {unsent: []*intent{intentAt("proof:b:1:x", now+900)}, in: intentAt("free:a:1", 0), is: true},
		"it waits, and is due later":    {unsent: []*intent{intentAt("proof:b:1:x", now+900)}, in: intentAt("fill:a:1:x", now+300)},
		"it waits without a deadline":   {unsent: []*intent{intentAt("proof:b:1:x", 0)}, in: intentAt("fill:a:1:x", now+300), is: true},
		"the one that is due is sooner": {due: now + 60, unsent: []*intent{intentAt("proof:b:1:x", now+900)}, in: intentAt("fill:a:1:x", now+300), is: true},
		"only a fill waits to be sent":  {unsent: []*intent{intentAt("fill:b:1:x", now+10)}, in: intentAt("fill:a:1:x", 0)},
	} {
		t.Run(name, func(t *testing.T) {
			d := &duties{
				node: &node{blocks: rpc.NewBlockTime(12*time.Second, 0, quietLog())},
				rec:  &record{cfg: &Config{DutyHold: 8}, book: newBook(nil)},
			}
			if tc.due > 0 {
				d.set("proof", events.Unix(uint64(tc.due)))
			}
			d.rec.book.open = append(tc.unsent, tc.in)
			if got := d.held(tc.in, head); got != tc.is {
				t.Fatalf("held: %t", got)
			}
		})
	}
}

func TestReplayedRecordKnowsThatASuccessWasTakenBack(t *testing.T) {
	b := newBook(nil)
	for i, e := range reorganised() {
		b.apply(entry{Revision: uint64(i), Event: e})
	}
	in := b.latest["reserve:y:1"]
	if in.succeeded || in.receipt != nil || !in.done || len(b.watched(0)) != 0 {
		t.Fatalf("intent is %+v", in)
	}
}

func TestFeesOfCallsLeaveRoomForAnEmptyTransaction(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.Uint64Range(1, 1<<50).Draw(t, "limit")
		m := &fees{cfg: &Config{MaxFeeCapWei: most}}
		wish := new(big.Int).SetUint64(rapid.Uint64().Draw(t, "wish"))
		a := attempt{gas: 750_000, feeCap: wish, tipCap: wish}
		m.capFees(&a)
		if a.tipCap.Cmp(a.feeCap) > 0 || a.feeCap.Cmp(newBig(most)) > 0 {
			t.Fatalf("fees %s and %s with a limit of %d", a.feeCap, a.tipCap, most)
		}
		empty := attempt{gas: noopGas, isNoop: true, feeCap: bumped(a.feeCap), tipCap: bumped(a.tipCap)}
		m.capFees(&empty)
		if empty.feeCap.Cmp(bumped(a.feeCap)) != 0 || empty.tipCap.Cmp(bumped(a.tipCap)) != 0 {
			t.Fatalf("an empty transaction cannot offer an eighth more than %s with a limit of %d", a.feeCap, most)
		}
		cost := new(big.Int).Mul(a.feeCap, newBig(a.gas))
		if cost.Cmp(big.NewInt(1e18)) > 0 {
			t.Fatalf("a transaction may cost %s wei; nodes refuse more than one ether", cost)
		}
	})
}
