package api

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/projections"
)

// SectorFaults are the sectors of this host with a fault that is not recovered, first those that nobody attends to.
type SectorFaults struct {
	AsOf   AsOf          `json:"asOf"`
	Faults []SectorFault `json:"faults"`
}

// SectorFault is a fault of a sector. The contract takes a fee for each proving period with it,
// and terminates the sector when it lasts too long.
type SectorFault struct {
	SectorNumber uint64 `json:"sectorNumber"`
	State        string `json:"state"`
	// Since is when it was found, by the machine's clock; zero: that event cannot be read.
	Since time.Time `json:"since,omitzero"`
	// Reason is the event that said so.
	Reason string `json:"reason"`
	// Next is what happens next, or what somebody has to do.
	Next string `json:"next"`
	// Deposit is what is at stake, DepositLost what was lost so far.
	Deposit     string `json:"deposit"`
	DepositLost string `json:"depositLost"`
}

// nextAfter says what the host does about a fault, by the state of the sector.
var nextAfter = map[sector.State]string{
	sector.Faulty:           "the host declares the fault",
	sector.FaultReported:    "the host waits until the chain knows of the fault",
	sector.FaultedFinal:     "the host mends the data from the pieces",
	sector.Recovering:       "the host declares the recovery",
	sector.RecoveryReported: "the host proves it in its next window",
}

// bleedNext is what somebody has to do about a sector that bleeds.
func bleedNext(number uint64) string {
	return fmt.Sprintf("terminate it: hostnode sectors terminate %d --reason …", number)
}

// faulty reports whether a sector has a fault that is not recovered.
func faulty(state string) bool { return sector.State(state).Faulty() }

// SectorFaults implements SectorReader.
func (r *reader) SectorFaults(context.Context) (SectorFaults, error) {
	out := SectorFaults{AsOf: r.asOf(), Faults: []SectorFault{}}
	for _, s := range r.provider().Sectors {
		if !faulty(s.State) && !s.Bleeds {
			continue
		}
		f := SectorFault{
			SectorNumber: s.SectorNumber, State: s.State, Next: nextAfter[sector.State(s.State)],
			Deposit: s.Deposit, DepositLost: s.DepositLost,
		}
		switch {
		case s.Bleeds:
			f.Since, f.Next = s.Since, bleedNext(s.SectorNumber)
			f.Reason = "the contract has it, and nobody proves it in this state"
			out.Faults = append(out.Faults, f)
			continue
		case s.Parked != "":
			f.Next = fmt.Sprintf("somebody has to decide (hostnode sectors status %d): %s", s.SectorNumber, s.Parked)
		case !s.PausedUntil.IsZero():
			f.Next += fmt.Sprintf(", again at %s: %s", s.PausedUntil.UTC().Format(health.SinceFormat), s.LastErr)
		}
		f.Since, f.Reason = s.Fault.At, s.Fault.Reason
		out.Faults = append(out.Faults, f)
	}
	return out, nil
}

// SectorSummary is how the sectors of a host are together.
type SectorSummary struct {
	// Counts are of the states that some sector is in, in the order of a good life.
	Counts []projections.StateCount `json:"counts"`
	// Parked wait for somebody, Paused until they are tried again; Faulty have a fault that is
	// not recovered.
	Parked uint64 `json:"parked"`
	Paused uint64 `json:"paused"`
	Faulty uint64 `json:"faulty"`
	// Deposit is what is at stake in all, Returned and Lost are of all deposits, also of sectors that are over;
	// Withdrawn is what the contract has paid: returned deposits and rewards. All in base units.
	Deposit   string `json:"deposit"`
	Returned  string `json:"returned"`
	Lost      string `json:"lost"`
	Withdrawn string `json:"withdrawn"`
	// Owed is what the contract still owes the account, in base units; empty: not
	// known.
	Owed string `json:"owed,omitempty"`
}

// sectorSummary is nil for a host that never had a sector.
func (r *reader) sectorSummary() *SectorSummary {
	p := r.provider()
	if len(p.Sectors) == 0 {
		return nil
	}
	sum := &SectorSummary{Counts: p.Counts, Parked: p.Parked, Paused: p.Paused}
	for _, s := range p.Sectors {
		if faulty(s.State) {
			sum.Faulty++
		}
	}
	d := r.ledger().Deposits // Without a ledger they are empty.
	sum.Deposit, sum.Returned = cmp.Or(d.Held, "0"), cmp.Or(d.Returned, "0")
	sum.Lost, sum.Withdrawn = cmp.Or(d.Lost, "0"), cmp.Or(d.Withdrawn, "0")
	return sum
}
