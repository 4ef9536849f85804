package api

import (
	"strings"
	"testing"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/quarantine"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/actors/validator"
	"github.com/hostnode/hostnode/events/membership"
	"github.com/hostnode/hostnode/projections"
)

func TestOnlySectorsThatCostMoneyAreInTrouble(t *testing.T) {
	atStake, begun, trouble := troubledSectors([]projections.Sector{
		{SectorNumber: 1, State: "Proving", PreCommitMessage: "0x1"},
		{SectorNumber: 2, State: "SealFailed", Parked: "the disk"},
		{SectorNumber: 3, State: "CommitFailed", Parked: "the chain", PreCommitMessage: "0x3"},
		{SectorNumber: 4, State: "RecoveryReported", PreCommitMessage: "0x4"},
		{SectorNumber: 5, State: "FaultedFinal", Parked: "no pieces", PreCommitMessage: "0x5"},
		{SectorNumber: 6, State: "Faulty", Over: true, PreCommitMessage: "0x6"},
	})
	if atStake != 4 || begun != 1 || len(trouble) != 3 {
		t.Fatalf("%d at stake, %d begun, %+v", atStake, begun, trouble)
	}
	for i, want := range []string{
		"parked in state CommitFailed: the chain", "next: the host proves it", "parked in state FaultedFinal",
	} {
		if one := trouble[i]; one.Number != uint64(i+3) || !strings.Contains(one.Reason, want) {
			t.Errorf("%+v", one)
		}
	}
}

func TestAQuarantinedSectorIsNotProven(t *testing.T) {
	f := quarantinedSectors([]quarantine.Work{
		{Subject: shell.Subject{Kind: shell.SubjectDuties, Key: "5"}, Reason: "x"},
		{Subject: shell.Subject{Kind: shell.SubjectSector, Key: "7"}, Reason: "its record makes no sense"},
	})
	if len(f) != 1 || f[0] != (health.SectorTrouble{Number: 7, Reason: "is quarantined: its record makes no sense"}) {
		t.Errorf("%+v", f)
	}
}

// TestFactsOfARunningHostReachTheJudgement: what the host tells of itself must not be lost on the way to the status.
func TestFactsOfARunningHostReachTheJudgement(t *testing.T) {
	l := &Live{reader: reader{views: projections.NewViews(projections.Scope{})}}
	of := actors.Status{Booted: true, Overhead: 7, Validator: &validator.Status{Trouble: "no record"}}
	s := Status{
		Ledger: projections.Ledger{Quota: 10, Unallocated: 4},
		Queue: projections.Queue{
			Paused: true, PausedFor: "none fits", Waiting: []projections.WaitingSlots{{Slots: 2}, {Criterion: "gas", Slots: 1}},
			RefusedInARow: []projections.RefusedRequest{{Criterion: "price", Reason: "it pays 1"}},
		},
	}
	f := l.facts(s, of, nil)
	if !f.Validating || f.ValidatorStopped != "no record" || !f.NoSealer || f.Supply.Overhead != 7 ||
		f.Supply.Allocated != 6 || f.Supply.Unallocated != 4 || f.Supply.Paused || f.Supply.NoneFits != "none fits" ||
		f.Supply.Waiting != "2 slots: for a reason that is not known; 1 slot: "+
			"the account's coins would not last for the gas (gas)" || len(f.Supply.Refused) != 1 || f.Supply.Refused[0].Criterion != "price" {
		t.Errorf("%+v", f)
	}
}

func TestAProcessCountsAsSilentAfterThreeHeartbeatsThatItWouldHaveWritten(t *testing.T) {
	if membership.Heartbeat != actors.DefaultHeartbeat {
		t.Fatalf("a process is heard every %s, and is expected every %s", actors.DefaultHeartbeat, membership.Heartbeat)
	}
}
