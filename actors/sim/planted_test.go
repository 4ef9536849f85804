package sim

import (
	"strings"
	"testing"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/messages"
)

// plantedWithin is how many seeds an error may hide for.
const plantedWithin = 12

// A simulation that finds nothing proves little. Each of these hosts has one
// rule broken; a few seeds must find it.
func TestTheSimulationFindsAPlantedError(t *testing.T) {
	for name, tc := range map[string]struct {
		sc    Scenario
		cores actors.Cores
		says  string // part of the complaint
	}{
		"bytes come back before the data is deleted": {
			cores: actors.Cores{NextSale: settlesBeforeDeleting}, says: "before its data was gone",
		},
		"the slot is freed before that is decided": {
			cores: actors.Cores{NextSale: freesWhatItHosts}, says: "free of slot",
		},
		"late news of a rival ends a slot that is ours": {
			sc: Scenario{Rival: 4, Requests: 3, Slots: 3}, cores: actors.Cores{DecideSale: ignoresWhatItHosts},
		},
		"a miss is never recorded": {
			sc:    Scenario{Fail: 300, Block: 200},
			cores: actors.Cores{DecideSale: callsMissesSubmitted}, says: "was slashed for period",
		},
		"the ledger returns too much collateral": {
			sc:    Scenario{Block: 300, Fail: 100, Requests: 3},
			cores: actors.Cores{DecideCapacity: returnsWhatWasLost}, says: "settled with",
		},
		"the ledger forgets the overhead": {
			cores: actors.Cores{DecideCapacity: forgetsOverhead}, says: "for trees",
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.sc.Cores, tc.sc.MaxSteps = tc.cores, 6_000
			for seed := range uint64(plantedWithin) {
				out := Run(t, seed, tc.sc)
				if out.Problem != nil && strings.Contains(out.Problem.Error(), tc.says) {
					t.Logf("seed %d, step %d: %.200s", seed, out.Steps, out.Problem)
					return
				}
			}
			t.Fatalf("%d seeds did not find it", plantedWithin)
		})
	}
}

func settlesBeforeDeleting(s sale.State) []sale.Effect {
	if s.Ended() && !s.OnChain && !s.Deleted && !s.Over() {
		returned, lost := s.Settlement()
		return []sale.Effect{
			sale.Settle{Attempt: s.Attempt, Returned: returned, Lost: lost},
			sale.DeleteData{Attempt: s.Attempt},
		}
	}
	return sale.Next(s)
}

// freesWhatItHosts asks the contract for the payout before the record says
// that the request has ended.
func freesWhatItHosts(s sale.State) []sale.Effect {
	effects := sale.Next(s)
	if s.Phase == sale.Proving {
		effects = append(effects, sale.Free{Attempt: s.Attempt})
	}
	return effects
}

func ignoresWhatItHosts(s sale.State, c sale.Command) ([]sale.Event, error) {
	if c, ok := c.(sale.ReportChain); ok && s.Hosting() && c.Facts.RequestState == events.RequestStarted {
		return []sale.Event{&messages.SaleIgnored{At: events.TimeToMessage(c.Facts.At.Time), Reason: "late"}}, nil
	}
	return sale.Decide(s, c)
}

func callsMissesSubmitted(s sale.State, c sale.Command) ([]sale.Event, error) {
	decided, err := sale.Decide(s, c)
	for i, e := range decided {
		if m, ok := e.(*messages.ProofMissed); ok {
			decided[i] = &messages.ProofSubmitted{At: m.GetAt(), Period: m.GetPeriod()}
		}
	}
	return decided, err
}

func returnsWhatWasLost(s capacity.State, c capacity.Command) ([]capacity.Event, error) {
	if settle, ok := c.(capacity.Settle); ok {
		settle.CollateralReturned = settle.CollateralReturned.Add(settle.CollateralLost)
		settle.CollateralLost = events.Amount{}
		return capacity.Decide(s, settle)
	}
	return capacity.Decide(s, c)
}

func forgetsOverhead(s capacity.State, c capacity.Command) ([]capacity.Event, error) {
	if r, ok := c.(capacity.Reserve); ok {
		r.Ask.Overhead = 0
		return capacity.Decide(s, r)
	}
	return capacity.Decide(s, c)
}
