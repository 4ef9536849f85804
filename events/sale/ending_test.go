package sale

import (
	"strings"
	"testing"

	"github.com/hostnode/hostnode/events"
)

// Until the contract has let go of the slot, the end of a sale is judged by its fill.
func TestAnEndWhoseFillIsTakenBackReturnsEverything(t *testing.T) {
	gone := chainForgot()
	free := func(req events.RequestState) ReportChain { return chainSays(events.Address{}, events.SlotFree, req) }
	rival := chainSays(other, events.SlotCancelled, events.RequestCancelled)
	rival.Fill = FillGone
	payout := untilPayout()
	cancelled := then(untilProving(), chainSays(me, events.SlotCancelled, events.RequestCancelled))
	failed := then(untilProving(), chainSays(me, events.SlotFailed, events.RequestFailed))
	for _, tc := range []struct {
		name string
		life []Command
		says ReportChain
		want Phase // if the same is reported again
	}{
		{"payout, request unknown", payout, gone, Ignored},
		{"payout, slot free", payout, free(events.RequestFinished), Ignored},
		{"payout, slot free, and void by another history", payout, free(events.RequestCancelled), Cancelled},
		{"cancelled, request unknown", cancelled, gone, Ignored},
		{"cancelled, slot free", cancelled, free(events.RequestCancelled), Cancelled},
		{"cancelled, filled by a rival", cancelled, rival, Cancelled},
		{"cancelled, the request came again and runs", cancelled, free(events.RequestNew), Filling},
		{"failed, slot free", failed, free(events.RequestFailed), Failed},
	} {
		s, _ := live(t, then(tc.life, tc.says)...)
		if s.Phase != Filling || s.OnChain || s.Reason != "" || len(s.Duties) > 0 {
			t.Errorf("%s: leads to %s, on chain %t, %q", tc.name, s.Phase, s.OnChain, s.Reason)
		}
		s, _ = live(t, then(tc.life, tc.says, tc.says)...)
		if s.Phase != tc.want || s.OnChain {
			t.Errorf("%s: ends in %s, want %s", tc.name, s.Phase, tc.want)
		}
		if !s.Ended() {
			continue
		}
		if back, lost := s.Settlement(); back != collateral || !lost.IsZero() {
			t.Errorf("%s: %s comes back and %s is lost of %s", tc.name, back, lost, collateral)
		}
		if next := Next(s); len(next) != 1 || !next[0].(DeleteData).WhenFinal {
			t.Errorf("%s: the data does not wait for the fill to come back: %v", tc.name, next)
		}
		back := chainSays(me, events.SlotCancelled, events.RequestCancelled)
		if s, _ = live(t, then(tc.life, tc.says, tc.says, back)...); s.Phase != Cancelled || !s.OnChain {
			t.Errorf("%s: a fill that comes back leads to %s, on chain %t", tc.name, s.Phase, s.OnChain)
		}
	}
}

func TestAnEndWhoseFillStandsIsCollectedOrForfeited(t *testing.T) {
	for _, tc := range []struct {
		name string
		says ReportChain
		fill FillStatus
		want string
	}{
		{"still ours", chainSays(me, events.SlotFinished, events.RequestFinished), FillStands, ""},
		{"collected already", chainSays(me, events.SlotPaid, events.RequestFinished), FillStands, ""},
		{"the end was taken back", chainSays(me, events.SlotFilled, events.RequestStarted), FillStands, "SlotFilled -> Filled"},
		{
			"slashed in another history", chainSays(events.Address{}, events.SlotFinished, events.RequestFinished),
			FillStands, "SlotForfeited -> Errored",
		},
		{"an old record", chainSays(other, events.SlotFinished, events.RequestFinished), FillUnasked, ""},
	} {
		s, _ := live(t, untilPayout()...)
		tc.says.Fill = tc.fill
		if got := answerOf(s, tc.says); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

// An end, and its sentence, name the periods of which nothing is known; the end of a sale that
// hosted nothing names none.
func TestAnEndSaysWhatCouldNotBeFoundOut(t *testing.T) {
	lost := chainSays(events.Address{}, events.SlotRepair, events.RequestStarted)
	for _, tc := range []struct {
		name string
		life []Command
		says ReportChain
		want string
	}{
		{"ended", untilProving(), chainSays(me, events.SlotFinished, events.RequestFinished), "RequestEnded"},
		{"paid by another", untilProving(), chainSays(me, events.SlotPaid, events.RequestFinished), "RequestEnded"},
		{"expired", untilProving(), chainSays(me, events.SlotCancelled, events.RequestCancelled), "SaleCancelled"},
		{"failed", untilProving(), chainSays(me, events.SlotFailed, events.RequestFailed), "SaleFailed"},
		{"taken", untilProving(), lost, "SlotForfeited"},
		{"taken before its data was kept", untilFilled(), lost, "SlotForfeited"},
	} {
		for _, unjudged := range []string{"", "the periods before 7: pruned", strings.Repeat("x", 2*MaxTextBytes)} {
			s, _ := live(t, tc.life...)
			tc.says.Unjudged = unjudged
			batch, err := Decide(s, tc.says)
			if err != nil || len(batch) == 0 {
				t.Fatalf("%s: %v, %v", tc.name, batch, err)
			}
			e := batch[len(batch)-1]
			got, ok := e.(interface{ GetUnjudged() string })
			if name := string(e.ProtoReflect().Descriptor().Name()); name != tc.want || !ok || got.GetUnjudged() != text(unjudged) {
				t.Errorf("%s: %s says %v", tc.name, name, e)
			}
			if said := strings.Contains(Sentence(e), "NOT KNOWN"); said != (unjudged != "") {
				t.Errorf("%s: %s", tc.name, Sentence(e))
			}
		}
	}
}

// After an end that a reorganisation takes back the sale proves again, including what was owed
// then, keeps what it knows of its fill, and ends again.
func TestAnEndThatIsTakenBackIsProvenToTheRealOne(t *testing.T) {
	runs := chainSays(me, events.SlotFilled, events.RequestStarted)
	runs.Fill = FillStands
	moved := runs
	moved.Fill, moved.Log = FillGone, events.Head{Number: fillBlock + 2, Hash: events.Hash{0xbb}, Time: t0}
	life := then(untilProving(), due(period1, challenge2), submitted(period1), due(period1+1, challenge3))
	for name, end := range map[string]ReportChain{
		"ended": chainSays(me, events.SlotFinished, events.RequestFinished),
		"void":  chainSays(me, events.SlotCancelled, events.RequestCancelled),
		"fails": chainSays(me, events.SlotFailed, events.RequestFailed),
	} {
		before, _ := live(t, life...)
		ended, _ := live(t, then(life, end)...)
		if len(ended.Duties) > 0 || !ended.Collecting() {
			t.Fatalf("%s: %s with duties %v", name, ended.Phase, ended.Duties)
		}
		s, _ := live(t, then(life, end, runs)...)
		if s.Phase != Filled || !s.OnChain || s.Reason != "" || s.FilledHash != before.FilledHash ||
			!s.FilledAt.Equal(before.FilledAt) || s.FilledBlock != before.FilledBlock || s.Collateral != before.Collateral {
			t.Errorf("%s: %+v", name, s)
		}
		if s, _ := live(t, then(life, end, moved)...); s.FilledBlock != fillBlock+2 || s.FilledHash != (events.Hash{0xbb}) {
			t.Errorf("%s: a fill that moved is at %d", name, s.FilledBlock)
		}
		s, _ = live(t, then(life, end, runs, extended(), due(period1, challenge2), due(period1+1, challenge3))...)
		if len(s.Duties) != 1 || s.Duties[0].Period != period1+1 || s.Phase != Proving {
			t.Errorf("%s: it owes %v", name, s.Duties)
		}
		s, _ = live(t, then(life, end, runs, extended(), silent(period1+1, challenge3))...)
		if s.Missed != 1 {
			t.Errorf("%s: what lapsed is not missed later", name)
		}
		s, _ = live(t, then(life, end, runs, extended(), submitted(period1+1), end)...)
		if s.Phase != ended.Phase || !s.Collecting() || len(Next(s)) != 1 {
			t.Errorf("%s: it ends in %s, wants %v", name, s.Phase, Next(s))
		}
		// A slot that was forfeited on a branch that is gone owes the same as before, too.
		lost := chainSays(events.Address{}, events.SlotRepair, events.RequestStarted)
		s, _ = live(t, then(life, lost, runs, extended(), due(period1+1, challenge3))...)
		if len(s.Duties) != 1 {
			t.Errorf("after a loss that is gone it owes %v", s.Duties)
		}
	}
}
