package sim

import (
	"fmt"
	"slices"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/messages"
)

// sectorPlants returns errors planted in how a host runs sectors, or in what surrounds it.
func sectorPlants() map[string]planted {
	few := Sectors{Begin: 2}
	return map[string]planted{
		"an event is dropped from a batch": {
			breaks: AcknowledgedIsStored, sc: Scenario{Sectors: few, Plant: Plant{Dropping: true}},
		},
		"a decision leaves out the step that it makes due": {
			breaks: NoneStandsStill, sc: Scenario{Sectors: few}, cores: actors.Cores{DecideSector: forgetsAStep},
		},
		"a message is sent again under another key": {
			breaks: KeyIsKept, sc: Scenario{Sectors: few, Fail: 100}, cores: actors.Cores{DecideSector: changesTheKey},
		},
		"a message is sent again without asking": {
			breaks: SentOnce, sc: Scenario{Sectors: few, Lose: 100, Plant: Plant{Unasking: true}},
		},
		"the result of a step is lost": {
			breaks: ResultsAreKept, sc: Scenario{Sectors: few}, cores: actors.Cores{DecideSector: ignoresAResult},
		},
		"a step is done before it is scheduled": {
			breaks: StoredBeforeSent, sc: Scenario{Sectors: few, Plant: Plant{Hasty: true}},
		},
		"a deposit is not settled": {
			breaks: DepositsAccounted, sc: Scenario{Sectors: few}, cores: actors.Cores{DecideCapacity: keepsDeposits},
		},
		"what the deposit of a precommit lost is not told": {
			breaks: DepositsAccounted, sc: Scenario{Sectors: Sectors{Begin: 3, Early: 60}, Plant: Plant{Lenient: true}},
		},
		"scratch space is not given back": {
			breaks: SectorSpaceIsUsed, sc: Scenario{Sectors: few}, cores: actors.Cores{DecideCapacity: keepsScratch},
		},
		"every window is found too short": {
			breaks: SectorsAreProven, sc: Scenario{Sectors: Sectors{Begin: 2, Chance: 12}, Plant: Plant{Late: true}},
		},
	}
}

func forgetsAStep(s sector.Info, c sector.Command) ([]sector.Event, error) {
	decided, err := sector.Decide(s, c)
	return slices.DeleteFunc(decided, func(e sector.Event) bool {
		m, scheduled := e.(*messages.SectorStepScheduled)
		return scheduled && m.GetStep() == string(sector.StepPreCommit2)
	}), err
}

func changesTheKey(s sector.Info, c sector.Command) ([]sector.Event, error) {
	decided, err := sector.Decide(s, c)
	for _, e := range decided {
		if m, ok := e.(*messages.SectorStepScheduled); ok && s.Sending == sector.Step(m.GetStep()) {
			m.Attempt++
			m.Key = fmt.Sprintf("%s:%d:%d", m.GetStep(), s.Number, m.GetAttempt())
		}
	}
	return decided, err
}

func ignoresAResult(s sector.Info, c sector.Command) ([]sector.Event, error) {
	if h, ok := c.(sector.Happened); ok {
		if _, sealed := h.Event.(*messages.SectorPreCommit2); sealed {
			return nil, nil
		}
	}
	return sector.Decide(s, c)
}

func keepsDeposits(s capacity.State, c capacity.Command) ([]capacity.Event, error) {
	if _, settles := c.(capacity.SettleDeposit); settles {
		return nil, nil
	}
	return capacity.Decide(s, c)
}

func keepsScratch(s capacity.State, c capacity.Command) ([]capacity.Event, error) {
	if r, ok := c.(capacity.ReleasePart); ok && r.Part == capacity.PartScratch {
		return nil, nil
	}
	return capacity.Decide(s, c)
}
