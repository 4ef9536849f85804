package api

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/projections"
)

// MaxMoments bounds a page of a sector's timeline.
const MaxMoments = 10_000

// SectorReader tells of sectors.
type SectorReader interface {
	// Sectors lists all, those that need somebody first.
	Sectors(ctx context.Context) (Sectors, error)
	// Sector is one of them; problem.ErrUnknownSector.
	Sector(ctx context.Context, number uint64) (Sector, error)
	// SectorTimeline is a page of its events; problem.ErrUnknownSector.
	SectorTimeline(ctx context.Context, number uint64, page projections.Page) (SectorTimeline, error)
	// SectorFaults are the sectors with a fault that is not recovered.
	SectorFaults(ctx context.Context) (SectorFaults, error)
}

// Sectors are the sectors of this host.
type Sectors struct {
	AsOf AsOf `json:"asOf"`
	projections.Provider
	// Proves is what the proofs of the running host's sealer show: possession, simulated or replication. Each sector
	// that is sealed has its own.
	Proves string `json:"proves,omitempty"`
	// Now are those of which a running host knows more, by number.
	Now []SectorNow `json:"now,omitempty"`
}

// SectorNow is what only the running host knows of a sector.
type SectorNow struct {
	SectorNumber uint64 `json:"sectorNumber"`
	// Progress is how much of the step that runs is done, from 0 to 1.
	Progress float64 `json:"progress,omitempty"`
	// CallSince is when the running call on the sealer or on files began, and CallMoved when it last made
	// progress, by the machine's clock. Absent: no call runs, or the step waits for a place.
	CallSince time.Time `json:"callSince,omitzero"`
	CallMoved time.Time `json:"callMoved,omitzero"`
	// Quarantined is why it is left alone; empty: it is not.
	Quarantined string `json:"quarantined,omitempty"`
	// LosesPerDay is what it loses in a day while nobody proves it, in base units; empty: it does not, or that is not
	// known.
	LosesPerDay string `json:"losesPerDay,omitempty"`
}

// Sector is one of them.
type Sector struct {
	AsOf   AsOf               `json:"asOf"`
	Sector projections.Sector `json:"sector"`
	Proves string             `json:"proves,omitempty"` // as in Sectors
	Now    *SectorNow         `json:"now,omitempty"`    // nil: nothing, or no host runs
	// Chain is what the contract has of it; nil: nothing, or no host runs.
	Chain *SectorChain `json:"chain,omitempty"`
	// Would are the events that a dry run of an order foresees.
	Would []string `json:"would,omitempty"`
}

// SectorChain is what the contract has of a sector. Amounts are in base units.
type SectorChain struct {
	Block      uint64 `json:"block"`      // as of which
	Expiration uint64 `json:"expiration"` // a block
	Deadline   uint64 `json:"deadline"`   // its window in each proving period
	Partition  uint64 `json:"partition"`
	// NextPeriod is the first that is neither proven nor paid for; LastProven the block in which the window opened that
	// was proven last, 0: none was, or the last one was missed.
	NextPeriod uint64 `json:"nextPeriod"`
	LastProven uint64 `json:"lastProven,omitempty"`
	Faulty     bool   `json:"faulty"`
	Deposit    string `json:"deposit"` // what is left of it there
	// RewardPerPeriod is what each proven period earns, by the type of its proofs.
	RewardPerPeriod string `json:"rewardPerPeriod"`
}

// SectorTimeline is a page of the events of a sector.
type SectorTimeline struct {
	AsOf AsOf                       `json:"asOf"`
	Page projections.SectorTimeline `json:"page"`
}

func (r *reader) provider() projections.Provider {
	p := mine(r, r.views.Sectors().Providers, func(p projections.Provider) string { return p.Host })
	if p.Sectors == nil {
		p = projections.Provider{
			Host: r.Account.String(), Counts: []projections.StateCount{}, Sectors: []projections.Sector{},
		}
	}
	return p
}

// Sectors implements SectorReader.
func (r *reader) Sectors(context.Context) (Sectors, error) {
	return Sectors{AsOf: r.asOf(), Provider: r.provider()}, nil
}

// Sector implements SectorReader.
func (r *reader) Sector(_ context.Context, number uint64) (Sector, error) {
	all := r.provider().Sectors
	i := slices.IndexFunc(all, func(s projections.Sector) bool { return s.SectorNumber == number })
	if i < 0 {
		return Sector{}, fmt.Errorf("%w: number %d", problem.ErrUnknownSector, number)
	}
	return Sector{AsOf: r.asOf(), Sector: all[i]}, nil
}

// SectorTimeline implements SectorReader.
func (r *reader) SectorTimeline(ctx context.Context, number uint64, page projections.Page) (SectorTimeline, error) {
	if page.Most < 1 || page.Most > MaxMoments {
		return SectorTimeline{}, fmt.Errorf("%w: most = %d, allowed: 1 to %d",
			problem.ErrBadRequest, page.Most, MaxMoments)
	}
	out, err := projections.ReadSectorTimeline(ctx, r.store, r.Account, number, page, r.past)
	if errors.Is(err, events.ErrStreamNotFound) {
		return SectorTimeline{}, fmt.Errorf("%w: number %d", problem.ErrUnknownSector, number)
	}
	return SectorTimeline{r.asOf(), out}, err
}

// stands is what the host knows of its sectors beyond the record; without an answer soon, nothing.
func (l *Live) stands(ctx context.Context) []SectorNow {
	ctx, cancel := context.WithTimeout(ctx, balancePatience)
	defer cancel()
	all, err := l.cfg.Host.Sectors(ctx)
	if err != nil { // Of its trouble the status tells.
		return nil
	}
	var out []SectorNow
	rules, err := l.cfg.Host.SectorRules(ctx)
	blocks := l.blocksOfADay(ctx)
	for _, one := range all {
		now := SectorNow{SectorNumber: one.Number, Quarantined: one.Quarantined}
		if one.Call.Key != "" && one.Call.Key == one.Info.Step.Key { // Otherwise its step has ended.
			now.Progress, now.CallSince, now.CallMoved = one.Progress, one.Call.Since, one.Call.Moved
		}
		if one.Info.Bleeds() && err == nil && blocks > 0 {
			now.LosesPerDay = rules.LossOf(one.Info.Size, blocks).String()
		}
		if now != (SectorNow{SectorNumber: one.Number}) {
			out = append(out, now)
		}
	}
	return out
}

// onChain asks the contract about a sector; without an answer soon, nothing.
func (l *Live) onChain(ctx context.Context, number uint64) *SectorChain {
	ctx, cancel := context.WithTimeout(ctx, balancePatience)
	defer cancel()
	on, rules, err := l.cfg.Host.SectorOnChain(ctx, number)
	if err != nil || on.Size == 0 {
		return nil
	}
	out := &SectorChain{
		Block: on.Block.Number, Expiration: on.Expiration, Deadline: on.Deadline, Partition: on.Partition,
		NextPeriod: on.NextPeriod, Faulty: on.Faulty, Deposit: on.Deposit.String(),
		RewardPerPeriod: rules.Rewards[on.Proves].MulSaturating(uint64(on.Size)).String(),
	}
	if on.Active && !on.Faulty && on.NextPeriod > 0 && rules.Deadlines > 0 {
		opened := (on.NextPeriod-1)*rules.PeriodBlocks + on.Deadline*(rules.PeriodBlocks/rules.Deadlines)
		if opened > on.Activation {
			out.LastProven = opened
		}
	}
	return out
}

// blocksOfADay is how many blocks the chain has in a day; 0: that is not known.
func (l *Live) blocksOfADay(ctx context.Context) uint64 {
	const day = 24 * time.Hour
	now, err := l.cfg.Host.Standing(ctx)
	if err != nil || now.BlockTime.Usual <= 0 {
		return 0
	}
	return uint64(day / now.BlockTime.Usual) //nolint:gosec // Both are positive.
}

// Sectors implements SectorReader, with what runs.
func (l *Live) Sectors(ctx context.Context) (Sectors, error) {
	answer, err := l.reader.Sectors(ctx)
	if len(answer.Provider.Sectors) > 0 {
		answer.Proves, answer.Now = l.cfg.Proves, l.stands(ctx)
	}
	return answer, err
}

// Sector implements SectorReader, with what runs.
func (l *Live) Sector(ctx context.Context, number uint64) (Sector, error) {
	answer, err := l.reader.Sector(ctx, number)
	if err != nil {
		return Sector{}, err
	}
	answer.Proves = l.cfg.Proves
	answer.Chain = l.onChain(ctx, number)
	for _, now := range l.stands(ctx) {
		if now.SectorNumber == number {
			answer.Now = &now
		}
	}
	return answer, nil
}
