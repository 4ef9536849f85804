package sale

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// Reorganisations that a block number could not tell apart.
func TestAFillIsJudgedByTheHashOfItsBlock(t *testing.T) {
	hosting, _ := live(t, untilProving()...)
	if hosting.FilledHash.Zero() {
		t.Fatal("the record does not name the block of our fill")
	}
	for _, tc := range []struct {
		name  string
		block uint64
		fill  FillStatus
		want  string
	}{
		{"a rival after a reorganisation, seen at once", fillBlock + 1, FillGone, "FillReverted -> Filling"},
		{"a rival after a reorganisation, seen late", fillBlock + 10*finalBlocks, FillGone, "FillReverted -> Filling"},
		{"slashed at once", fillBlock + 1, FillStands, "SlotForfeited -> Errored"},
		{"slashed late", fillBlock + 10*finalBlocks, FillStands, "SlotForfeited -> Errored"},
		{"an old record, young", fillBlock + 1, FillUnasked, "FillReverted -> Filling"},
		{"an old record, late", fillBlock + 10*finalBlocks, FillUnasked, "SlotForfeited -> Errored"},
	} {
		c := chainAt(tc.block, other, events.SlotFilled, events.RequestStarted)
		c.Fill = tc.fill
		if got := answerOf(hosting, c); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

func TestAFillThatMovedToAnotherBlockKeepsItsDuties(t *testing.T) {
	before, _ := live(t, then(untilProving(), due(period1, challenge2))...)
	c := chainSays(me, events.SlotFilled, events.RequestNew)
	c.Fill = FillGone
	c.Log = events.Head{Number: fillBlock + 2, Hash: events.Hash{0xbb}, Time: t0}
	batch, err := Decide(before, c)
	if err != nil || len(batch) != 1 {
		t.Fatalf("%v, %v", batch, err)
	}
	after := Evolve(before, batch[0])
	if after.FilledHash != (events.Hash{0xbb}) || after.FilledBlock != fillBlock+2 || !after.FilledAt.Equal(t0) {
		t.Errorf("the fill is at %s in block %d (%s)", after.FilledAt, after.FilledBlock, after.FilledHash)
	}
	if after.Phase != before.Phase || len(after.Duties) != 1 || after.Duties[0] != before.Duties[0] {
		t.Errorf("phase %s with duties %v", after.Phase, after.Duties)
	}
}

func TestALearnedFillIsAsOldAsItsLogSays(t *testing.T) {
	s, _ := live(t, adopt(), capacity(), stored())
	c := chainSays(me, events.SlotFilled, events.RequestStarted)
	c.Log = events.Head{Number: 330, Hash: events.Hash{0xcc}, Time: t0.Add(30)}
	batch, err := Decide(s, c)
	if err != nil || len(batch) != 1 {
		t.Fatalf("%v, %v", batch, err)
	}
	e := batch[0].(*messages.SlotFilled)
	if !events.TimeFromMessage(e.GetFilledAt()).Equal(t0.Add(30)) || e.GetBlock() != 330 {
		t.Errorf("filled at %s in block %d", e.GetFilledAt().AsTime(), e.GetBlock())
	}
}

func TestDataStaysAsLongAsTheChainMayGiveTheSlotBack(t *testing.T) {
	lost := chainSays(events.Address{}, events.SlotRepair, events.RequestStarted)
	for _, tc := range []struct {
		name string
		life []Command
		wait bool
	}{
		{"never tried to fill", then(untilReserving(), ReportNotReservable{At: t0, Reason: "full"}), false},
		{"a fill may be in a block that comes back", then(untilFilling(), ReportNotFree{At: t0, Reason: "taken"}), true},
		{"the same with an older proof", then(untilFilling(),
			ReportProofOutdated{At: t0, Challenge: challenge1, Reason: "wrapped"}, giveUp()), true},
		{"forfeited", then(untilProving(), lost), true},
		{"paid", then(untilPayout(), freed(1_131_072, 131072)), false},
	} {
		s, _ := live(t, tc.life...)
		want := []Effect{DeleteData{s.Attempt, tc.wait}}
		if diff := cmp.Diff(want, Next(s)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", tc.name, diff)
		}
	}
	back, _ := live(t, then(untilProving(), lost, chainSays(me, events.SlotFilled, events.RequestStarted))...)
	if back.Phase != Filled || !back.Lost.IsZero() || back.Forfeited {
		t.Errorf("a slash that was reorganised: %s, lost %s", back.Phase, back.Lost)
	}
}
