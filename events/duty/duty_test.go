package duty

import (
	"encoding/hex"
	"math/big"
	"testing"
	"time"

	"github.com/hostnode/hostnode/events"
)

// config is that of the deployed contract, but for the length of a period.
func config(period time.Duration) events.ProofConfig {
	return events.ProofConfig{
		Period: period, Timeout: 30 * time.Second, Downtime: 64, DowntimeProduct: 67,
	}
}

func slotEnding(last byte) events.SlotID {
	var id events.SlotID
	id[31] = last
	return id
}

func TestPeriodsAreHalfOpenAndFollowEachOther(t *testing.T) {
	cfg := config(2 * time.Minute)
	for _, tc := range []struct {
		seconds, period uint64
	}{{0, 0}, {119, 0}, {120, 1}, {239, 1}, {240, 2}, {1_750_000_000, 14_583_333}} {
		if got := Period(cfg, events.Unix(tc.seconds)); got != tc.period {
			t.Errorf("second %d is in period %d, want %d", tc.seconds, got, tc.period)
		}
		start, end := Start(cfg, tc.period), End(cfg, tc.period)
		if Period(cfg, start) != tc.period || Period(cfg, end) != tc.period+1 || end.Sub(start) != cfg.Period {
			t.Errorf("period %d goes from %s to %s", tc.period, start, end)
		}
	}
}

// spec/marketplace.md §7: (bn % 256 + (p * product) % 256 + id % 256) % 256.
func TestPointerIsTheContracts(t *testing.T) {
	cfg := config(2 * time.Minute)
	for _, tc := range []struct {
		name      string
		last      byte
		n, period uint64
		want      uint8
	}{
		{"all zero", 0, 0, 0, 0},
		{"the block counts", 0, 1000, 0, 232},
		{"the period counts 67 times", 0, 0, 3, 201},
		{"the last byte of the slot id counts", 9, 0, 0, 9},
		{"all together wrap", 200, 300, 14_583_333, uint8((300%256 + (14_583_333*67)%256 + 200) % 256)},
	} {
		if got := Pointer(cfg, slotEnding(tc.last), tc.n, tc.period); got != tc.want {
			t.Errorf("%s: %d, want %d", tc.name, got, tc.want)
		}
	}
}

func TestThereIsNoChallengeBeforeTheFirstBlocks(t *testing.T) {
	for _, tc := range []struct {
		n       uint64
		pointer uint8
		number  uint64
		ok      bool
	}{{257, 255, 1, true}, {256, 255, 0, true}, {255, 255, 0, false}, {1, 0, 0, true}, {0, 0, 0, false}, {340, 99, 240, true}} {
		number, ok := ChallengeBlock(tc.n, tc.pointer)
		if ok != tc.ok || ok && number != tc.number {
			t.Errorf("block %d, pointer %d: block %d, %t; want %d, %t", tc.n, tc.pointer, number, ok, tc.number, tc.ok)
		}
	}
}

// The keccak256 of 32 zero bytes is a constant that every contract developer
// has met.
func TestChallengeIsKeccakOfTheHash(t *testing.T) {
	const want = "290decd9548b62a8d60345a988386fc84ba6bc95484008f6362f93160ef3e563"
	c := Challenge(events.Hash{})
	if got := hex.EncodeToString(c[:]); got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
}

// spec/marketplace.md §7, with the deployed downtime of 64.
func TestProofProbabilityIsCoarseForSmallValues(t *testing.T) {
	cfg := config(2 * time.Minute)
	for asked, want := range map[uint64]int64{1: 0, 2: 1, 3: 2, 4: 3, 5: 3, 8: 6, 10: 7, 100: 75} {
		p := Probability(cfg, events.NewAmount(asked))
		if p.Cmp(big.NewInt(want)) != 0 {
			t.Errorf("probability %d: one proof in %s periods, want %d", asked, p, want)
		}
		every := max(1, want) // None and one both mean: every period.
		for c := range 4 * every {
			var challenge events.Challenge
			big.NewInt(c).FillBytes(challenge[:])
			if got := Drawn(p, challenge); got != (c%every == 0) {
				t.Errorf("probability %d, challenge %d: drawn %t", asked, c, got)
			}
		}
	}
	if p := Probability(cfg, events.MaxAmount()); p.BitLen() != 256 {
		t.Errorf("the largest probability has %d bits, want 256: it must not wrap", p.BitLen())
	}
}

// always draws every challenge.
func always(id events.SlotID, filledAt time.Time) Slot {
	return Slot{ID: id, FilledAt: filledAt, Probability: new(big.Int)}
}

func anyHash(uint64) (events.Hash, bool) { return events.Hash{1}, true }

// headWith is a head after which the slot's pointer is the given one, so many
// seconds before the end of the period.
func headWith(cfg events.ProofConfig, slot events.SlotID, pointer uint8, before time.Duration) events.Head {
	const period = 14_583_334
	next := End(cfg, period).Add(-before)
	n := uint64(1024)
	for Pointer(cfg, slot, n, period) != pointer {
		n++
	}
	return events.Head{Number: n - 1, Time: next.Add(-time.Second)}
}

func TestNothingIsOwedInThePeriodOfTheFill(t *testing.T) {
	cfg, id := config(2*time.Minute), slotEnding(3)
	head := headWith(cfg, id, 200, time.Minute)
	period := Period(cfg, head.Time)
	for _, tc := range []struct {
		name     string
		filledAt time.Time
		want     bool
	}{
		{"filled in its first second", Start(cfg, period), false},
		{"filled in its last second", End(cfg, period).Add(-time.Second), false},
		{"filled in the last second before it", Start(cfg, period).Add(-time.Second), true},
	} {
		if v := Next(cfg, always(id, tc.filledAt), head, time.Second, anyHash); v.Owed != tc.want || !v.Known {
			t.Errorf("%s: owed %t, known %t", tc.name, v.Owed, v.Known)
		}
	}
}

func TestAProofIsOwedWhenThePointerCanLeaveTheDowntimeInTime(t *testing.T) {
	cfg, id := config(2*time.Minute), slotEnding(3)
	filledAt := events.Unix(1_000_000)
	for _, tc := range []struct {
		name      string
		pointer   uint8
		before    time.Duration // of the period's end; marking ends 30 s after it
		blockTime time.Duration
		want      bool
	}{
		{"past the downtime", 64, time.Second, time.Second, true},
		{"last pointer", 255, time.Second, time.Second, true},
		{"in it, and out before the marking ends", 33, time.Second, time.Second, true},
		{"in it, one block short", 32, time.Second, time.Second, false},
		{"in it, blocks are slow", 63, time.Second, 32 * time.Second, false},
		{"a block time of zero is taken as a second", 32, time.Second, 0, false},
		{"the whole period is left", 0, 2 * time.Minute, 2 * time.Second, true},
	} {
		head := headWith(cfg, id, tc.pointer, tc.before)
		v := Next(cfg, always(id, filledAt), head, tc.blockTime, anyHash)
		if v.Pointer != tc.pointer || v.Owed != tc.want {
			t.Errorf("%s: pointer %d, owed %t; want %d, %t", tc.name, v.Pointer, v.Owed, tc.pointer, tc.want)
		}
	}
}

func TestAMissingHashIsSaidNotGuessed(t *testing.T) {
	cfg, id := config(2*time.Minute), slotEnding(3)
	none := func(uint64) (events.Hash, bool) { return events.Hash{}, false }
	v := Next(cfg, always(id, events.Unix(1)), headWith(cfg, id, 200, time.Minute), time.Second, none)
	if v.Known || v.Owed {
		t.Errorf("no hash at hand: known %t, owed %t", v.Known, v.Owed)
	}
	early := events.Head{Number: 3, Time: events.Unix(1_750_000_000)}
	if v := Next(cfg, always(slotEnding(250), events.Unix(1)), early, time.Second, anyHash); v.Known || v.Owed {
		t.Errorf("before the first challenge: known %t, owed %t", v.Known, v.Owed)
	}
}

func TestAFillWaitsUntilItsChallengeStaysPut(t *testing.T) {
	cfg, id := config(2*time.Minute), slotEnding(3)
	for _, tc := range []struct {
		name    string
		pointer uint8
		before  time.Duration
		made    time.Duration
		fill    bool
	}{
		{"in the middle", 128, time.Minute, 0, true},
		{"a small reorganisation could change it", 63, time.Minute, 0, false},
		{"just old enough", 64, time.Minute, 0, true},
		{"just before the wrap", 245, time.Minute, 0, true},
		{"wraps on the way", 246, time.Minute, 0, false},
		{"wraps while it is made", 236, time.Minute, 19 * time.Second, false},
		{"made just before the wrap", 235, time.Minute, 19 * time.Second, true},
		{"the period ends on the way", 128, 20 * time.Second, 0, false},
		{"mined in the period's last second", 128, 21 * time.Second, 0, true},
		{"the period ends while it is made", 128, 40 * time.Second, 20 * time.Second, false},
		{"made and mined in the period's last second", 128, 41 * time.Second, 20 * time.Second, true},
		{"longer than any period allows, early in one", 128, 118 * time.Second, time.Hour, true},
		{"longer than any period allows, later", 128, 115 * time.Second, time.Hour, false},
	} {
		m := Margin{Made: tc.made, Blocks: 10, BlockTime: 2 * time.Second}
		head := headWith(cfg, id, tc.pointer, tc.before)
		if got := StableForFill(cfg, id, head, m); got != tc.fill {
			t.Errorf("fill, %s: stable %t, want %t", tc.name, got, tc.fill)
		}
	}
}

// Next says what one slot owes after head, when blocks are at least blockTime
// apart; see Pass.
func Next(cfg events.ProofConfig, s Slot, head events.Head, blockTime time.Duration, hashes Hashes) Verdict {
	return NewPass(cfg, head, Pace{Shortest: blockTime}, hashes).Verdict(&s)
}
