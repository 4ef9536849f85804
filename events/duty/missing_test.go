package duty_test

import (
	"math/big"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
)

// marking is a market with periods of 20 s, of which missing proofs can be marked for
// ten seconds.
var marking = events.ProofConfig{Period: 20 * time.Second, Timeout: 10 * time.Second, Downtime: 64, DowntimeProduct: 67}

// always draws a proof for every challenge, never for none except zero.
var (
	always = new(big.Int)
	never  = new(big.Int).Lsh(big.NewInt(1), 300)
)

func everyHash(number uint64) (events.Hash, bool) { return events.Hash{byte(number), 1}, true }

func noHash(uint64) (events.Hash, bool) { return events.Hash{}, false }

// headWith is a block after which a slot's pointer has a value.
func headWith(t *testing.T, slot events.SlotID, period uint64, pointer uint8) events.Head {
	t.Helper()
	for n := uint64(1000); n < 1300; n++ {
		if duty.Pointer(marking, slot, n+1, period) == pointer {
			return events.Head{Number: n, Time: duty.End(marking, period).Add(time.Second)}
		}
	}
	t.Fatalf("no block has the pointer at %d", pointer)
	return events.Head{}
}

func TestWhatAMarkingFindsOwed(t *testing.T) {
	const period = 50
	slot := duty.Slot{ID: events.SlotID{31: 9}, FilledAt: duty.Start(marking, period-1), Probability: always}
	rare, young := slot, slot
	rare.Probability, young.FilledAt = never, duty.Start(marking, period)
	for name, c := range map[string]struct {
		slot        duty.Slot
		head        events.Head
		hashes      duty.Hashes
		owed, known bool
	}{
		"drawn, behind the downtime":      {slot, headWith(t, slot.ID, period, 64), everyHash, true, true},
		"just before the wrap":            {slot, headWith(t, slot.ID, period, 255), everyHash, true, true},
		"in the downtime":                 {slot, headWith(t, slot.ID, period, 63), everyHash, false, true},
		"not drawn":                       {rare, headWith(t, slot.ID, period, 64), everyHash, false, true},
		"filled in that period":           {young, headWith(t, slot.ID, period, 64), everyHash, false, true},
		"the challenge's block unknown":   {slot, headWith(t, slot.ID, period, 64), noHash, false, false},
		"too early on the chain for that": {slot, events.Head{Number: lowWith(t, slot.ID, period)}, everyHash, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			owed, known := duty.MarkedAfter(marking, c.slot, c.head, period, c.hashes)
			if owed != c.owed || known != c.known {
				t.Fatalf("owed %t, known %t; want %t, %t", owed, known, c.owed, c.known)
			}
		})
	}
}

// lowWith is a block so low that the pointer after the downtime reaches below the first block.
func lowWith(t *testing.T, slot events.SlotID, period uint64) uint64 {
	t.Helper()
	for n := range uint64(60) {
		if duty.Pointer(marking, slot, n+1, period) >= marking.Downtime {
			return n
		}
	}
	t.Fatal("no low block is behind the downtime")
	return 0
}

func TestThePeriodsThatCanBeMarked(t *testing.T) {
	const period = 50
	end := duty.End(marking, period)
	if got, want := duty.LastMarking(marking, period), end.Add(9*time.Second); !got.Equal(want) {
		t.Fatalf("the last second is %s, want %s", got, want)
	}
	long := marking
	long.Timeout = 45 * time.Second
	for name, c := range map[string]struct {
		cfg  events.ProofConfig
		now  time.Time
		want []uint64
	}{
		"a second before the end":         {marking, end.Add(-time.Second), nil},
		"at the end":                      {marking, end, []uint64{period}},
		"when only one more second holds": {marking, end.Add(8 * time.Second), []uint64{period}},
		"when none does":                  {marking, end.Add(9 * time.Second), nil},
		"several windows at once":         {long, end, []uint64{period, period - 1, period - 2}},
		"in the first period of all":      {marking, events.Unix(5), nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, duty.Markable(c.cfg, events.Head{Time: c.now})); diff != "" {
				t.Fatalf("(-want +got)\n%s", diff)
			}
		})
	}
}
