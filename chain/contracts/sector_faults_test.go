package contracts_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/chain/contracts"
)

// Why the contract ended a sector, as it numbers the reasons.
const (
	faultyTooLong = 1
	depositSpent  = 2
)

// The cutoff is before the block whose hash is the challenge.
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

// Otherwise a provider that lost a part of its data would declare fault and recovery each time, and
// prove when not asked for the lost part.
func TestRecoveryWithoutProofCostsAsMuchAsAMiss(t *testing.T) {
	y := newYard(t)
	s := y.active(alice, 1)
	y.declareFault(s)
	y.declareRecovery(s)
	period := y.missWindow(s)
	y.wantStatus(s, contracts.SectorFaulty)
	y.wantMoney(s, deposit-missedFee, 0)
	// It must be declared again.
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
			if err != nil || ended.Reason != faultyTooLong ||
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

// A sector without any deposit left is over, and no fee takes more than is left.
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
	if err != nil || ended.Reason != depositSpent ||
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

// The provider wants to terminate it, but the faults have ended the sector already.
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
