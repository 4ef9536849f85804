package events_test

import (
	"errors"
	"math"
	"testing"

	"github.com/hostnode/hostnode/events"
)

func TestWhatNoContractOfSectorsCanAnswerIsImpossible(t *testing.T) {
	cfg := events.SectorConfig{
		ChallengeDelay: 4, PeriodBlocks: 60, Deadlines: 2, PartitionSize: 2, DepositPerByte: events.NewAmount(10),
	}
	good := func() events.SectorOnChain {
		return events.SectorOnChain{
			SectorFacts: events.SectorFacts{Active: true, SeedEpoch: 24},
			Block:       events.Head{Number: 100, Hash: events.Hash{1}, Time: events.Unix(1_700_000_000)},
			Size:        2048, TicketEpoch: 10, PreCommitEpoch: 20, Activation: 30, Deadline: 1, Partition: 1,
			Deposit: events.NewAmount(20480),
		}
	}
	if err := events.CheckSector(cfg, 5, good()); err != nil {
		t.Error(err)
	}
	if err := events.CheckSector(cfg, 5, events.SectorOnChain{Block: good().Block}); err != nil {
		t.Errorf("no sector: %v", err)
	}
	for name, change := range map[string]func(*events.SectorOnChain){
		"two states":                func(s *events.SectorOnChain) { s.PreCommitted = true },
		"no state":                  func(s *events.SectorOnChain) { s.Active = false },
		"faulty and not active":     func(s *events.SectorOnChain) { s.Active, s.Void, s.Faulty = false, true, true },
		"ended and not terminated":  func(s *events.SectorOnChain) { s.Ended = true },
		"no size":                   func(s *events.SectorOnChain) { s.Size = 0 },
		"too large a deposit":       func(s *events.SectorOnChain) { s.Deposit = events.NewAmount(20481) },
		"proven in a later block":   func(s *events.SectorOnChain) { s.Activation = 101 },
		"a ticket of its precommit": func(s *events.SectorOnChain) { s.TicketEpoch = 20 },
		"a seed of another block":   func(s *events.SectorOnChain) { s.SeedEpoch = 25 },
		"another deadline":          func(s *events.SectorOnChain) { s.Deadline = 0 },
		"another partition":         func(s *events.SectorOnChain) { s.Partition = 2 },
	} {
		s := good()
		change(&s)
		if err := events.CheckSector(cfg, 5, s); !errors.Is(err, events.ErrImpossible) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := events.CheckWindow(cfg, events.SectorWindow{Period: 3, Deadline: 1, Opens: 210, Closes: 240}); err != nil {
		t.Error(err)
	}
	for _, w := range []events.SectorWindow{
		{Period: math.MaxUint64, Deadline: 1, Opens: 210, Closes: 240},
		{Period: 3, Deadline: 2, Opens: 240, Closes: 270},
		{Period: 3, Deadline: 1, Opens: 210, Closes: 210},
		{Period: 3, Deadline: 1, Opens: 211, Closes: 241},
	} {
		if err := events.CheckWindow(cfg, w); !errors.Is(err, events.ErrImpossible) {
			t.Errorf("%+v: %v", w, err)
		}
	}
	if err := events.CheckDrawn(events.Hash{1}, 7); err != nil {
		t.Error(err)
	}
	if events.CheckDrawn(events.Hash{}, 7) == nil || events.CheckDrawn(events.Hash{1}, math.MaxUint64) == nil {
		t.Error("a hash of zeros, or of a block that there is not, is believed")
	}
}
