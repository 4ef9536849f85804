package admission

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/sale"
)

func loaded(proofs int) *Rules {
	return New(&chainview.Chain{
		Base: &shell.Base{}, ProofMargin: duty.Margin{Blocks: 6, BlockTime: time.Second},
		Terms: events.MarketConfig{Proofs: events.ProofConfig{
			Period: 120 * time.Second, Timeout: 30 * time.Second, Downtime: 64, DowntimeProduct: 67,
		}},
	}, Limits{Proofs: proofs}, 0)
}

func asking(probability uint64) events.Request {
	return events.Request{Ask: events.Ask{ProofProbability: events.NewAmount(probability)}}
}

func TestTheLoadIsThePartOfTheTimeThatTheProverIsBusy(t *testing.T) {
	e := loaded(1)
	if percent, detail := e.BusyWith(asking(1)); percent != 3 || !strings.Contains(detail, "a guess") {
		t.Errorf("one slot before the first proof: %d %%, %s", percent, detail)
	}
	e.Load.Measured(time.Second)
	for i := range 59 { // 341/256 challenges of a window of 150 blocks, each demands a proof of 1 s.
		e.NoteLoad(events.SlotID{byte(i)}, sale.State{Phase: sale.Proving, Request: asking(1)})
	}
	percent, detail := e.BusyWith(asking(1))
	if percent != 67 || !strings.Contains(detail, "59 slots and this one need 79.92 proofs") {
		t.Errorf("sixty slots that prove every period: %d %%, %s", percent, detail)
	}
	e.Proofs = 2
	if percent, _ := e.BusyWith(asking(1)); percent != 34 {
		t.Errorf("with two at a time: %d %%", percent)
	}
}

func TestOnlySlotsThatProveOrWillAreInTheLoad(t *testing.T) {
	e, slot := loaded(1), events.SlotID{1}
	for _, p := range sale.Phases() {
		e.NoteLoad(slot, sale.State{Phase: p, Request: asking(8)})
		slots, expected := e.Load.Total()
		want := p != sale.Unknown && p != sale.Payout && !sale.State{Phase: p}.Ended()
		if (slots == 1) != want || (expected > 0) != want {
			t.Errorf("%s: %d slots, %d millionths of a proof", p, slots, expected)
		}
	}
	e.NoteLoad(slot, sale.State{Phase: sale.Proving, Request: asking(8)})
	e.NoteLoad(slot, sale.State{Phase: sale.Proving, Request: asking(8)})
	if slots, expected := e.Load.Total(); slots != 1 || expected != e.ExpectedProofs(asking(8)) {
		t.Errorf("noted twice: %d slots, %d", slots, expected)
	}
}

func TestTheProofTimeFollowsTheMachine(t *testing.T) {
	l := NewLoad()
	if took, measured := l.ProofTime(); measured || took != guessedProofTime {
		t.Errorf("before the first proof: %s, %t", took, measured)
	}
	l.Measured(0) // A proof that was not made here says nothing.
	l.Measured(800 * time.Millisecond)
	if took, measured := l.ProofTime(); !measured || took != 800*time.Millisecond {
		t.Errorf("after the first proof: %s, %t", took, measured)
	}
	for range 40 {
		l.Measured(4 * time.Second)
	}
	if took, _ := l.ProofTime(); took < 3900*time.Millisecond || took > 4*time.Second {
		t.Errorf("after forty slower ones: %s", took)
	}
}

func TestThereIsNoRoomIfAChallengeIsGoneBeforeItsProofIsMined(t *testing.T) {
	e := loaded(1)
	e.ProofMargin.BlockTime = 250 * time.Millisecond
	e.Load.Measured(46 * time.Second) // 184 blocks; with 64 of downtime and 6 to be mined, 1 is left.
	if why := e.NoRoom(); why != "" {
		t.Fatalf("it is just in time: %s", why)
	}
	e.Load.Measured(50 * time.Second) // Half a second more on average.
	if why := e.NoRoom(); !strings.Contains(why, "192 in which a proof is made and mined") {
		t.Fatalf("no room because of %q", why)
	}
}

func TestProofsAreCountedUntilTheEndOfTheSlot(t *testing.T) {
	now, days := time.Unix(1_700_000_000, 0), 3*24*time.Hour
	tests := []struct {
		name           string
		expected, want uint64
		until          time.Time
	}{
		{"longer than the account must last", perProof, perProof, now.Add(30 * 24 * time.Hour)},
		{"just as long", perProof, perProof, now.Add(days)},
		{"a third of the time", perProof / 8, 41667, now.Add(24 * time.Hour)},
		{"half an hour", perProof, 6945, now.Add(30 * time.Minute)}, // 6944.4
		{"over", perProof, 0, now.Add(-time.Second)},
		{"its end is not known", perProof, perProof, time.Time{}},
		{"the most that there can be", math.MaxUint64, math.MaxUint64 - math.MaxUint64/uint64(days), now.Add(days - 1)},
	}
	for _, test := range tests {
		got := owed{test.expected, test.until}.within(now, days)
		if got != test.want {
			t.Errorf("%s: %d of %d, want %d", test.name, got, test.expected, test.want)
		}
	}
	l := NewLoad()
	l.Set(events.SlotID{1}, perProof, now.Add(30*time.Minute))
	l.Set(events.SlotID{2}, perProof, now.Add(24*time.Hour))
	if got := l.within(now, days); got != 6945+333334 {
		t.Errorf("of two slots: %d", got)
	}
}
