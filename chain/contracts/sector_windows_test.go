package contracts_test

import (
	"testing"

	"github.com/hostnode/hostnode/chain/contracts"
)

// A sector owes each window that opens before its expiration, even one that is open then: it cannot
// expire to avoid a challenge.
func TestExpirationInAWindowIsAfterThatWindow(t *testing.T) {
	const sectorNumber = 1
	for name, test := range map[string]struct {
		place  uint64 // of the expiration, in blocks from an opening
		owed   bool   // that window
		proven bool
	}{
		"before it opens":          {periodBlocks - 1, false, false},
		"as it opens":              {0, false, false},
		"in its first block":       {1, true, true},
		"in its last block":        {windowBlocks - 1, true, true},
		"as it closes":             {windowBlocks, true, true},
		"in the middle, unproven":  {windowBlocks / 2, true, false},
		"as it closes, unproven":   {windowBlocks, true, false},
		"long after, all unproven": {windowBlocks + 10, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			y := newYard(t)
			s := y.announces(alice, sectorNumber)
			period := (y.block+commitDue+minLife)/periodBlocks + 2
			s.said.Expiration = s.opens(period) + test.place
			if !test.owed && test.place > 0 { // Just before the next one.
				s.said.Expiration = s.opens(period) - 1
			}
			y.does(alice, sectorABI.PackPreCommit(s.said))
			y.block += seedDelay + 1
			y.does(alice, s.packCommit())
			for y.block/periodBlocks < period || y.block < s.opens(period-1) {
				next := y.block/periodBlocks + 1
				if s.opens(next-1) > y.block {
					next--
				}
				if next >= period {
					break
				}
				y.block = s.opens(next)
				y.proves(s)
			}
			y.block = s.opens(period)
			want := "Sectors_NotDue"
			if test.owed {
				want = ""
			}
			if s.said.Expiration <= y.block {
				want = "Sectors_NotLive"
			}
			if got := y.trial(alice, y.packProof(s)); got != want {
				t.Fatalf("a proof in the window says %q, want %q", got, want)
			}
			if test.proven {
				y.proves(s)
			}
			end := max(s.said.Expiration, s.opens(period-1)+windowBlocks)
			if test.owed {
				end = max(s.said.Expiration, s.opens(period)+windowBlocks)
			}
			fees := int64(0)
			if test.owed && !test.proven {
				fees = missedFee
			}
			y.block = end - 1
			y.refused(alice, sectorABI.PackExpire(sectorNumber), "Sectors_NotEnded")
			y.block = end
			y.wantStatus(s, contracts.SectorEnded)
			y.block += 20 * periodBlocks // Nothing more can be missed.
			y.wantStatus(s, contracts.SectorEnded)
			y.wantMoney(s, deposit-fees, 0)
			y.refused(bob, sectorABI.PackExpire(sectorNumber), "Sectors_NotLive")
			y.refused(alice, sectorABI.PackTerminate(sectorNumber), "Sectors_NotLive")
			logs := y.does(alice, sectorABI.PackExpire(sectorNumber))
			expired, err := sectorABI.UnpackExpiredEvent(logs[len(logs)-1])
			if err != nil || expired.Returned.Int64() != deposit-fees {
				t.Fatalf("event is %+v, %v", expired, err)
			}
			y.wantStatus(s, contracts.SectorExpired)
			if got := y.owed(alice); got != deposit-fees {
				t.Fatalf("owed %d, want %d", got, deposit-fees)
			}
			y.refused(alice, sectorABI.PackExpire(sectorNumber), "Sectors_NotLive")
			y.checkBooks(s)
		})
	}
}

// Choosing numbers that share a deadline only means more work in its window; and the greatest
// number has a window like every other.
func TestNumbersSayWhereASectorStands(t *testing.T) {
	y := newYard(t)
	for number, want := range map[uint64][2]uint64{
		0: {0, 0}, 4: {4, 0}, 5: {0, 0}, 14: {4, 0}, 15: {0, 1}, 29: {4, 1}, 30: {0, 2},
		1<<64 - 1: {0, (1<<64 - 1) / 15},
	} {
		place := ask(y, sectorABI.PackPlaceOf(number), sectorABI.UnpackPlaceOf)
		if got := [2]uint64{place.Deadline, place.Partition}; got != want {
			t.Fatalf("%d stands at %v, want %v", number, got, want)
		}
	}
	s := y.active(alice, 1<<64-1)
	y.toWindow(s)
	y.proves(s)
	same := y.actives(alice, 0, 5, 10, 15) // All in deadline 0, of two partitions.
	y.toWindow(same[0])
	y.refused(alice, y.packProof(same...), "Sectors_WrongPartition")
	y.does(alice, y.packProof(same[:3]...))
	y.does(alice, y.packProof(same[3]))
}

func TestOpenWindowIsThatOfTheBlock(t *testing.T) {
	y := newYard(t)
	for block, want := range map[uint64][4]uint64{
		10_000: {100, 0, 10_000, 10_020}, 10_019: {100, 0, 10_000, 10_020},
		10_020: {100, 1, 10_020, 10_040}, 10_099: {100, 4, 10_080, 10_100},
		10_100: {101, 0, 10_100, 10_120}, 0: {0, 0, 0, 20}, 20: {0, 1, 20, 40},
	} {
		y.block = block
		w := ask(y, sectorABI.PackOpenWindow(), sectorABI.UnpackOpenWindow)
		if got := [4]uint64{w.Period, w.Deadline, w.Opens, w.Closes}; got != want {
			t.Fatalf("block %d: %v, want %v", block, got, want)
		}
		randomness := bytes32{}
		if w.Opens > 0 {
			randomness = y.hash(w.Opens - 1)
		}
		if w.Randomness != randomness {
			t.Fatalf("block %d: randomness differs", block)
		}
	}
}

// Even the longest window that can be configured knows its challenge in its last block.
func TestChallengeIsKnownToTheEndOfTheLongestWindow(t *testing.T) {
	config := sectorConfig()
	longWindows(contracts.MaxWindowBlocks)(&config)
	y := newYardWith(t, config)
	y.block = 20 * contracts.MaxWindowBlocks
	y.block += contracts.MaxWindowBlocks - 1
	w := ask(y, sectorABI.PackOpenWindow(), sectorABI.UnpackOpenWindow)
	if w.Closes != y.block+1 || w.Randomness != y.hash(w.Opens-1) {
		t.Fatalf("window is %+v", w)
	}
}
