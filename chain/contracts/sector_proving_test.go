package contracts_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/chain/contracts"
)

func TestPartitionIsProvenInOneCall(t *testing.T) {
	y := newYard(t)
	y.does(alice, sectorABI.PackFund(bigInt(5*reward)))
	s := y.actives(alice, 1, 6, 11) // Deadline 1, partition 0.
	period := y.toWindow(s[0])
	logs := y.does(alice, y.packProof(s...))
	if diff := cmp.Diff([]string{"Proven"}, y.sectorEvents(logs)); diff != "" {
		t.Fatalf("events differ (-want +got):\n%s", diff)
	}
	proven, err := sectorABI.UnpackProvenEvent(logs[0])
	if err != nil || proven.Period != period || proven.Deadline != 1 || proven.Partition != 0 ||
		proven.Randomness != y.hash(y.block-1) || proven.Reward.Int64() != 3*reward {
		t.Fatalf("event is %+v, %v", proven, err)
	}
	if diff := cmp.Diff([]uint64{1, 6, 11}, proven.Numbers); diff != "" {
		t.Fatalf("numbers differ (-want +got):\n%s", diff)
	}
	if y.owed(alice) != 3*reward || y.pool() != 2*reward {
		t.Fatalf("owed %d, pool %d", y.owed(alice), y.pool())
	}
	y.toWindow(s[0])
	y.does(alice, y.packProof(s...)) // The pool has less than was earned.
	if y.owed(alice) != 5*reward || y.pool() != 0 {
		t.Fatalf("owed %d, pool %d", y.owed(alice), y.pool())
	}
	y.toWindow(s[0])
	y.does(alice, y.packProof(s...)) // And now nothing.
	for _, one := range s {
		y.wantMoney(one, deposit, 0)
		y.wantStatus(one, contracts.SectorActive)
	}
	y.checkBooks(s...)
}

func TestProofsThatAreNotDueAreRefused(t *testing.T) {
	type setting struct {
		*yard
		one, other, elsewhere *testSector // the first two share a partition
	}
	prove := func(s setting, of ...*testSector) []byte { return s.packProof(of...) }
	for name, test := range map[string]struct {
		data func(s setting) []byte
		want string
	}{
		"as it should be":  {func(s setting) []byte { return prove(s, s.one, s.other) }, ""},
		"half a partition": {func(s setting) []byte { return prove(s, s.other) }, ""},
		"in the last block of the window": {
			func(s setting) []byte { s.block += windowBlocks - 1; return prove(s, s.one) }, "",
		},
		"in the block after": {
			func(s setting) []byte { s.block += windowBlocks; return prove(s, s.one) }, "Sectors_WindowNotOpen",
		},
		"in the block before": {
			func(s setting) []byte { data := prove(s, s.one); s.block--; return data }, "Sectors_WindowNotOpen",
		},
		"of a window that never is": {func(setting) []byte {
			return sectorABI.PackProvePossession(deadlines, 0, []uint64{1}, [][]byte{{}})
		}, "Sectors_WindowNotOpen"},
		"twice in one call": {func(s setting) []byte { return prove(s, s.one, s.one) }, "Sectors_AlreadyProven"},
		"in another deadline's window": {func(s setting) []byte {
			return sectorABI.PackProvePossession(1, 0, []uint64{s.elsewhere.number}, [][]byte{{}})
		}, "Sectors_WrongPartition"},
		"in another partition": {func(s setting) []byte {
			return sectorABI.PackProvePossession(1, 1, []uint64{1}, [][]byte{s.possession(s.one, s.block/periodBlocks)})
		}, "Sectors_WrongPartition"},
		"of two partitions": {func(s setting) []byte {
			return sectorABI.PackProvePossession(1, 0, []uint64{1, 16}, [][]byte{s.possession(s.one, s.block/periodBlocks), {}})
		}, "Sectors_WrongPartition"},
		"of nothing":      {func(setting) []byte { return sectorABI.PackProvePossession(1, 0, nil, nil) }, "Sectors_NothingToProve"},
		"without a proof": {func(setting) []byte { return sectorABI.PackProvePossession(1, 0, []uint64{1}, nil) }, "Sectors_ProofCount"},
		"with an empty proof": {func(setting) []byte {
			return sectorABI.PackProvePossession(1, 0, []uint64{1}, [][]byte{{}})
		}, "Sectors_ProofLength"},
		"with a proof too many": {func(setting) []byte {
			return sectorABI.PackProvePossession(1, 0, []uint64{1}, [][]byte{{}, {}})
		}, "Sectors_ProofCount"},
		"of an unknown sector": {func(setting) []byte {
			return sectorABI.PackProvePossession(1, 0, []uint64{11}, [][]byte{{}})
		}, "Sectors_NotLive"},
		"with the proofs the wrong way round": {func(s setting) []byte {
			p := s.block / periodBlocks
			return sectorABI.PackProvePossession(1, 0, []uint64{1, 6}, [][]byte{s.possession(s.other, p), s.possession(s.one, p)})
		}, "Sectors_InvalidProof"},
		"with the randomness of the period before": {func(s setting) []byte {
			return sectorABI.PackProvePossession(1, 0, []uint64{1}, [][]byte{s.possession(s.one, s.block/periodBlocks-1)})
		}, "Sectors_InvalidProof"},
		"with the randomness of the next block": {func(s setting) []byte {
			c := challenge{"possession", s.one.ticket, s.hash(s.block), alice, 1}
			return sectorABI.PackProvePossession(1, 0, []uint64{1}, [][]byte{s.one.tree.prove(c, windowLeaves)})
		}, "Sectors_InvalidProof"},
		"with the proof of the commit": {func(s setting) []byte {
			return sectorABI.PackProvePossession(1, 0, []uint64{1}, [][]byte{s.one.tree.prove(s.one.sealChallenge(), windowLeaves)})
		}, "Sectors_InvalidProof"},
		"with a wrong one among right ones": {func(s setting) []byte {
			p := s.block / periodBlocks
			wrong := s.possession(s.other, p)
			wrong[len(wrong)-1] ^= 1
			return sectorABI.PackProvePossession(1, 0, []uint64{1, 6}, [][]byte{s.possession(s.one, p), wrong})
		}, "Sectors_InvalidProof"},
		"after a reorganisation": {func(s setting) []byte { data := prove(s, s.one); s.fork++; return data }, "Sectors_InvalidProof"},
	} {
		t.Run(name, func(t *testing.T) {
			y := newYard(t)
			all := y.actives(alice, 1, 6, 2)
			s := setting{y, all[0], all[1], all[2]}
			y.toWindow(s.one)
			data := test.data(s)
			before := y.info(alice, 1).NextPeriod
			if y.trial(bob, data) == "" {
				t.Fatalf("a stranger proves it")
			}
			y.refused(alice, data, test.want)
			proven := y.info(alice, 1).NextPeriod != before || y.info(alice, 6).NextPeriod != before
			if proven != (test.want == "") {
				t.Fatalf("proven is %t", proven)
			}
			if test.want == "" {
				y.refused(alice, data, "Sectors_AlreadyProven")
			}
		})
	}
}

// Which window a sector proves first follows from the block of its commit.
func TestFirstProofIsDueInTheNextWindowThatOpens(t *testing.T) {
	for name, test := range map[string]struct {
		before uint64 // blocks from the commit to the opening
		first  uint64 // periods later
	}{"one block before it opens": {1, 0}, "in its first block": {0, 1}} {
		t.Run(name, func(t *testing.T) {
			y := newYard(t)
			s := y.announces(alice, 3)
			y.block = s.opens(y.block/periodBlocks) - test.before - seedDelay - 1
			s = y.preCommitted(alice, 3)
			y.block += seedDelay + 1
			y.does(alice, s.packCommit())
			period := y.block / periodBlocks
			y.block = s.opens(period)
			if got := y.info(alice, 3).NextPeriod; got != period+test.first {
				t.Fatalf("first period is %d, want %d", got, period+test.first)
			}
			want := ""
			if test.first > 0 {
				want = "Sectors_NotDue"
			}
			y.refused(alice, y.packProof(s), want)
			y.block = s.opens(period + 1)
			y.wantStatus(s, contracts.SectorActive) // Nothing was missed.
			y.proves(s)
		})
	}
}

func TestMissedWindowCostsAFeeWhoeverPointsAtIt(t *testing.T) {
	for name, touch := range map[string]func(y *yard, s *testSector, period uint64) []string{
		"marked by a stranger": func(y *yard, s *testSector, period uint64) []string {
			return y.sectorEvents(y.does(nobody, sectorABI.PackMarkMissed(alice, s.number, period)))
		},
		"marked by the provider": func(y *yard, s *testSector, period uint64) []string {
			return y.sectorEvents(y.does(alice, sectorABI.PackMarkMissed(alice, s.number, period)))
		},
		"recovery declared": func(y *yard, s *testSector, _ uint64) []string {
			return y.sectorEvents(y.declareRecovery(s))[:1]
		},
		"fault declared too late": func(y *yard, s *testSector, _ uint64) []string {
			y.declareFault(s)
			return []string{"Missed"}
		},
		"by nobody": func(*yard, *testSector, uint64) []string { return []string{"Missed"} },
	} {
		t.Run(name, func(t *testing.T) {
			y := newYard(t)
			s := y.active(alice, 1)
			period := y.toWindow(s)
			y.block += windowBlocks - 1
			y.refused(nobody, sectorABI.PackMarkMissed(alice, 1, period), "Sectors_NotMissed")
			y.wantStatus(s, contracts.SectorActive)
			y.block++
			y.wantStatus(s, contracts.SectorFaulty) // Before it was reported.
			y.wantMoney(s, deposit-missedFee, 0)
			y.refused(nobody, sectorABI.PackMarkMissed(alice, 1, period+1), "Sectors_NotMissed")
			y.refused(nobody, sectorABI.PackMarkMissed(alice, 1, period-1), "Sectors_NotMissed")
			y.refused(nobody, sectorABI.PackMarkMissed(bob, 1, period), "Sectors_NotMissed")
			if diff := cmp.Diff([]string{"Missed"}, touch(y, s, period)); diff != "" {
				t.Fatalf("events differ (-want +got):\n%s", diff)
			}
			if name != "by nobody" {
				y.wantMoney(s, deposit-missedFee, missedFee)
				y.refused(nobody, sectorABI.PackMarkMissed(alice, 1, period), "Sectors_NotMissed")
			}
			y.checkBooks(s)
		})
	}
}

func TestProvenWindowCannotBeMarked(t *testing.T) {
	y := newYard(t)
	s := y.active(alice, 1)
	period := y.toWindow(s)
	y.proves(s)
	y.block += periodBlocks - 1
	for _, p := range []uint64{0, period - 1, period, period + 1, 1<<64 - 1} {
		y.refused(nobody, sectorABI.PackMarkMissed(alice, 1, p), "Sectors_NotMissed")
	}
	y.wantMoney(s, deposit, 0)
}

// A part of a partition is proven; only what is left out is missed.
func TestSectorsLeftOutOfAPartitionAreMissed(t *testing.T) {
	y := newYard(t)
	s := y.actives(alice, 1, 6, 11)
	period := y.toWindow(s[0])
	y.does(alice, y.packProof(s[0]))
	y.block += windowBlocks - 1
	y.does(alice, y.packProof(s[2])) // In a call of its own.
	y.block++
	y.wantStatus(s[0], contracts.SectorActive)
	y.wantStatus(s[1], contracts.SectorFaulty)
	y.wantStatus(s[2], contracts.SectorActive)
	y.does(nobody, sectorABI.PackMarkMissed(alice, 6, period))
	// In the next period the whole partition cannot be proven until it has recovered.
	y.toWindow(s[0])
	y.refused(alice, y.packProof(s...), "Sectors_NotDue")
	y.does(alice, y.packProof(s[0], s[2]))
}
