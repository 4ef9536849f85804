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
			y.wantStatus(s, contracts.SectorFaulty) // Before anybody has said so.
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

// Part of a partition is proven; what is left out is missed, and only that.
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

// The cutoff lies before the block whose hash is the challenge is made.
func TestFaultDeclaredAfterTheCutoffDoesNotAvoidTheFee(t *testing.T) {
	for name, test := range map[string]struct {
		after int64 // blocks from the opening to the declaration
		late  bool
		fee   int64
	}{
		"long before":                         {-30, false, faultFee},
		"one block before the cutoff":         {-faultCutoff - 1, false, faultFee},
		"at the cutoff":                       {-faultCutoff, true, missedFee},
		"as the challenge's block is made":    {-1, true, missedFee},
		"when the challenge is known":         {0, true, missedFee},
		"in the last block of the window":     {windowBlocks - 1, true, missedFee},
		"in the block after, when it is over": {windowBlocks, true, missedFee},
	} {
		t.Run(name, func(t *testing.T) {
			y := newYard(t)
			s := y.active(alice, 4) // Its window is the last of a period.
			period := y.toWindow(s)
			y.block = uint64(int64(s.opens(period)) + test.after)
			logs := y.declareFault(s)
			if test.after < windowBlocks {
				declared, err := sectorABI.UnpackFaultDeclaredEvent(logs[0])
				want := period
				if test.late {
					want++
				}
				if err != nil || declared.FromPeriod != want {
					t.Fatalf("event is %+v, %v, want period %d", declared, err, want)
				}
			}
			y.wantStatus(s, contracts.SectorFaulty)
			y.block = s.opens(period) + windowBlocks
			y.wantStatus(s, contracts.SectorFaulty)
			y.wantLeft(s, deposit-test.fee)
			y.block += periodBlocks
			y.wantLeft(s, deposit-test.fee-faultFee)
			if got := y.info(alice, 4).FaultPeriods; got != 2 {
				t.Fatalf("%d fault periods, want 2", got)
			}
			y.checkBooks(s)
		})
	}
}

// A fault that is declared within a window counts from the next one on, and the present
// one can still be proven.
func TestFaultDeclaredInAWindowLeavesThatWindowOpen(t *testing.T) {
	y := newYard(t)
	s := y.active(alice, 1)
	period := y.toWindow(s)
	y.declareFault(s)
	if names := y.sectorEvents(y.declareFault(s)); len(names) != 0 {
		t.Fatalf("declared twice: %v", names)
	}
	if diff := cmp.Diff([]string{"Proven"}, y.sectorEvents(y.proves(s))); diff != "" {
		t.Fatalf("events differ (-want +got):\n%s", diff)
	}
	y.wantStatus(s, contracts.SectorFaulty)
	y.toWindow(s)
	y.refused(alice, y.packProof(s), "Sectors_NotDue")
	y.block += windowBlocks
	y.wantMoney(s, deposit-faultFee, 0)
	y.does(nobody, sectorABI.PackMarkMissed(alice, 1, period+1))
	y.wantMoney(s, deposit-faultFee, faultFee)
}

func TestRecoveryTakesAProofInTheNextWindow(t *testing.T) {
	y := newYard(t)
	s := y.active(alice, 1)
	y.refused(alice, sectorABI.PackDeclareRecoveries([]uint64{1}), "Sectors_NotFaulty")
	y.missWindow(s)
	logs := y.declareRecovery(s)
	if diff := cmp.Diff([]string{"Missed", "RecoveryDeclared"}, y.sectorEvents(logs)); diff != "" {
		t.Fatalf("events differ (-want +got):\n%s", diff)
	}
	y.wantStatus(s, contracts.SectorFaulty) // Until it is proven.
	if names := y.sectorEvents(y.declareRecovery(s)); len(names) != 0 {
		t.Fatalf("declared twice: %v", names)
	}
	y.toWindow(s)
	if diff := cmp.Diff([]string{"Recovered", "Proven"}, y.sectorEvents(y.proves(s))); diff != "" {
		t.Fatalf("events differ (-want +got):\n%s", diff)
	}
	y.wantStatus(s, contracts.SectorActive)
	y.wantMoney(s, deposit-missedFee, missedFee)
	if info := y.info(alice, 1); info.FaultPeriods != 0 || info.RecoverAt != 0 || info.FaultyFrom != 0 {
		t.Fatalf("the fault is remembered: %+v", info)
	}
	y.toWindow(s)
	y.proves(s)
	y.checkBooks(s)
}

func TestRecoveryDeclaredAfterTheCutoffCountsForTheWindowAfter(t *testing.T) {
	y := newYard(t)
	s := y.active(alice, 1)
	y.missWindow(s)
	period := y.toWindow(s)
	y.block -= faultCutoff
	logs := y.declareRecovery(s)
	declared, err := sectorABI.UnpackRecoveryDeclaredEvent(logs[len(logs)-1])
	if err != nil || declared.Period != period+1 {
		t.Fatalf("event is %+v, %v, want period %d", declared, err, period+1)
	}
	y.block += faultCutoff
	y.refused(alice, y.packProof(s), "Sectors_NotDue")
	y.toWindow(s)
	y.proves(s)
	y.wantMoney(s, deposit-missedFee-faultFee, missedFee+faultFee)
	y.wantStatus(s, contracts.SectorActive)
}

// Else a provider that lost a part of its data would declare fault and recovery each
// time, and prove when it is not asked for what it lost.
func TestRecoveryWithoutProofCostsAsMuchAsAMiss(t *testing.T) {
	y := newYard(t)
	s := y.active(alice, 1)
	y.declareFault(s)
	y.declareRecovery(s)
	period := y.missWindow(s)
	y.wantStatus(s, contracts.SectorFaulty)
	y.wantMoney(s, deposit-missedFee, 0)
	// It has to be promised again.
	y.toWindow(s)
	y.refused(alice, y.packProof(s), "Sectors_NotDue")
	y.does(nobody, sectorABI.PackMarkMissed(alice, 1, period))
	y.block += windowBlocks
	y.wantMoney(s, deposit-missedFee-faultFee, missedFee)
}

func TestPromiseToRecoverCanBeTakenBackBeforeTheCutoff(t *testing.T) {
	for name, test := range map[string]struct {
		before uint64
		fee    int64
	}{"one block before": {faultCutoff + 1, faultFee}, "at the cutoff": {faultCutoff, missedFee}} {
		t.Run(name, func(t *testing.T) {
			y := newYard(t)
			s := y.active(alice, 1)
			y.declareFault(s)
			y.declareRecovery(s)
			y.toWindow(s)
			y.block -= test.before
			y.declareFault(s)
			y.block += test.before + windowBlocks
			y.wantMoney(s, deposit-test.fee, 0)
		})
	}
}

func TestFaultAndRecoveryBeforeTheSameWindowCostNothing(t *testing.T) {
	y := newYard(t)
	s := y.active(alice, 1)
	y.declareFault(s)
	y.declareRecovery(s)
	y.toWindow(s)
	y.proves(s)
	y.wantStatus(s, contracts.SectorActive)
	y.wantMoney(s, deposit, 0)
}

func TestSectorIsTerminatedAfterTooManyFaultyPeriods(t *testing.T) {
	for name, test := range map[string]struct {
		declared bool
		fees     int64
	}{"declared": {true, maxFaults * faultFee}, "undeclared": {false, missedFee + (maxFaults-1)*faultFee}} {
		t.Run(name, func(t *testing.T) {
			y := newYard(t)
			s := y.active(alice, 1)
			if test.declared {
				y.declareFault(s)
			}
			for range maxFaults - 1 {
				y.missWindow(s)
				y.wantStatus(s, contracts.SectorFaulty)
			}
			last := y.toWindow(s)
			y.block += windowBlocks - 1
			y.wantStatus(s, contracts.SectorFaulty)
			y.block++
			y.wantStatus(s, contracts.SectorTerminated)
			y.block += 10 * periodBlocks // Late is as dear as in time.
			for call, data := range map[string][]byte{
				"proof":    sectorABI.PackProvePossession(0, 0, []uint64{1}, [][]byte{{}}),
				"fault":    sectorABI.PackDeclareFaults([]uint64{1}),
				"recovery": sectorABI.PackDeclareRecoveries([]uint64{1}),
			} {
				if got := y.trial(alice, data); got == "" {
					t.Fatalf("%s of a terminated sector is taken", call)
				}
			}
			logs := y.does(nobody, sectorABI.PackMarkMissed(alice, 1, last))
			if diff := cmp.Diff([]string{"Missed", "Terminated"}, y.sectorEvents(logs)); diff != "" {
				t.Fatalf("events differ (-want +got):\n%s", diff)
			}
			ended, err := sectorABI.UnpackTerminatedEvent(logs[1])
			if err != nil || contracts.TerminationReason(ended.Reason) != contracts.TerminatedByFaultAge ||
				ended.Fee.Int64() != terminateFee || ended.Returned.Int64() != deposit-test.fees-terminateFee {
				t.Fatalf("event is %+v, %v", ended, err)
			}
			y.wantMoney(s, 0, test.fees+terminateFee)
			if got := y.owed(alice); got != deposit-test.fees-terminateFee {
				t.Fatalf("owed %d", got)
			}
			y.checkBooks(s)
		})
	}
}

// With nothing at stake any more a sector is over, and no fee takes more than there is.
func TestSectorIsTerminatedWhenItsDepositIsSpent(t *testing.T) {
	config := sectorConfig()
	config.Deposits.MissedFee, config.Deposits.TerminationFee = 4000, 4000
	config.Proving.MaxFaultPeriods = 100
	y := newYardWith(t, config)
	s := y.active(alice, 1)
	for range 2 { // 40 % each.
		y.missWindow(s)
		y.declareRecovery(s)
		y.toWindow(s)
		y.proves(s)
		y.wantStatus(s, contracts.SectorActive)
	}
	period := y.missWindow(s)
	y.wantStatus(s, contracts.SectorTerminated)
	logs := y.does(nobody, sectorABI.PackMarkMissed(alice, 1, period))
	ended, err := sectorABI.UnpackTerminatedEvent(logs[1])
	if err != nil || contracts.TerminationReason(ended.Reason) != contracts.TerminatedByDepositSpent ||
		ended.Fee.Sign() != 0 || ended.Returned.Sign() != 0 {
		t.Fatalf("event is %+v, %v", ended, err)
	}
	y.wantMoney(s, 0, deposit)
	y.checkBooks(s)
}

// The smallest deposit that can be has one token for each byte; no fee rounds to nothing.
func TestFeesOfTheSmallestDepositAreNotZero(t *testing.T) {
	config := sectorConfig()
	config.Deposits.DepositPerByte = 1
	config.Deposits.VoidFee, config.Deposits.MissedFee = 1, 1
	config.Deposits.FaultFee, config.Deposits.TerminationFee = 1, 1
	y := newYardWith(t, config)
	s := y.active(alice, 1)
	y.missWindow(s)
	y.wantMoney(s, smallest-1, 0)
	y.missWindow(s)
	y.wantMoney(s, smallest-2, 0)
	y.does(alice, sectorABI.PackTerminate(1))
	y.wantMoney(s, 0, 3)
	y.checkBooks(s)
}

func TestTerminationCostsAFeeAndReturnsTheRest(t *testing.T) {
	for name, test := range map[string]struct {
		when func(y *yard, s *testSector)
		fee  int64
	}{
		"active":                     {func(*yard, *testSector) {}, terminateFee},
		"faulty":                     {func(y *yard, s *testSector) { y.declareFault(s) }, terminateFee},
		"with an unproven challenge": {func(y *yard, s *testSector) { y.toWindow(s) }, terminateFee},
		"after a miss":               {func(y *yard, s *testSector) { y.missWindow(s) }, missedFee + terminateFee},
	} {
		t.Run(name, func(t *testing.T) {
			y := newYard(t)
			s := y.active(alice, 1)
			test.when(y, s)
			y.refused(bob, sectorABI.PackTerminate(1), "Sectors_NotLive")
			y.does(alice, sectorABI.PackTerminate(1))
			y.wantStatus(s, contracts.SectorTerminated)
			y.wantMoney(s, 0, test.fee)
			if got := y.owed(alice); got != deposit-test.fee {
				t.Fatalf("owed %d, want %d", got, deposit-test.fee)
			}
			y.refused(alice, sectorABI.PackTerminate(1), "Sectors_NotLive")
			y.checkBooks(s)
		})
	}
}

// What a provider asks for when its faults have ended the sector is done already.
func TestTerminationAfterTheFaultsWereFasterSettlesThem(t *testing.T) {
	for name, data := range map[string][]byte{
		"terminate": sectorABI.PackTerminate(1), "expire": sectorABI.PackExpire(1),
	} {
		y := newYard(t)
		s := y.active(alice, 1)
		y.block += (maxFaults + 1) * periodBlocks
		names := y.sectorEvents(y.does(alice, data))
		if diff := cmp.Diff([]string{"Missed", "Terminated"}, names); diff != "" {
			t.Fatalf("%s: events differ (-want +got):\n%s", name, diff)
		}
		y.wantMoney(s, 0, missedFee+(maxFaults-1)*faultFee+terminateFee)
	}
}

// A sector owes each window that opens before its expiration, also one that is open
// then: it does not expire out of a challenge.
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
			y.block += 20 * periodBlocks // There is nothing more to miss.
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

// Whoever chooses numbers that share a deadline only has more to do in its window; and
// the greatest number has its place as every other.
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

// The longest window that can be configured still knows its challenge in its last block.
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
