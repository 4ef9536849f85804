package downtime

import (
	"context"
	"fmt"
	"time"

	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/downtime"
)

// WindowReads is what is asked of the contract of sectors. Every error is temporary.
type WindowReads interface {
	// WindowsOfAll is what it said of the windows of all providers in the blocks from first to last, in their order.
	WindowsOfAll(ctx context.Context, first, last uint64) ([]events.ProviderWindows, error)
	// Config is what it was made with.
	Config(ctx context.Context) (events.SectorConfig, error)
}

// Providers audits those who prove sectors to the contract of sectors (source proof). A proof is online when it came.
// A window that closed without one is offline at the end of its period: the contract says it late, and not in which
// window of the period it was.
type Providers struct {
	*chainview.Chain
	Contract    WindowReads
	FinalBlocks uint64
}

// maxPeriods is for how many periods of one log there are audits; earlier ones are kept no longer.
const maxPeriods = 100

// Settled is Market.Settled.
func (p Providers) Settled(ctx context.Context) (time.Time, error) {
	final, err := finalBlock(ctx, p.Chain, p.FinalBlocks)
	return final.Time, err
}

// Findings is Market.Findings, by the blocks in which the contract said it.
func (p Providers) Findings(ctx context.Context, from, until time.Time) (found []Finding, err error) {
	rules, err := p.Contract.Config(ctx)
	if err != nil {
		return nil, fmt.Errorf("the periods of the contract of sectors: %w", err)
	}
	first, err := firstFrom(ctx, p.Chain, from)
	if err != nil {
		return nil, err
	}
	next, err := firstFrom(ctx, p.Chain, until)
	if err != nil || next <= first {
		return nil, err
	}
	all, err := p.Contract.WindowsOfAll(ctx, first, next-1)
	if err != nil {
		return nil, err
	}
	for _, w := range all {
		audit := downtime.Audit{Source: downtime.Proof, Outcome: downtime.Offline}
		if w.Proven {
			audit.Outcome = downtime.Online
		}
		for n := w.Periods - min(w.Periods, maxPeriods); n < w.Periods; n++ {
			block := w.Block
			if !w.Proven {
				block = min(block, (w.Period+n+1)*rules.PeriodBlocks-1)
			}
			head, err := p.Market.HeadAt(ctx, block)
			if err != nil {
				return nil, fmt.Errorf("when a period of sectors ended: %w", err)
			}
			audit.Time, audit.ID = head.Time, fmt.Sprintf("window:%d:%s", w.Period+n, w.Name)
			found = append(found, Finding{events.Node(w.Provider.String()), audit})
		}
	}
	return found, nil
}

// Markets are several sources as one.
type Markets []Market

// Settled is the time before which all of them are.
func (all Markets) Settled(ctx context.Context) (earliest time.Time, err error) {
	for i, m := range all {
		settled, err := m.Settled(ctx)
		if err != nil || settled.IsZero() {
			return time.Time{}, err
		}
		if i == 0 || settled.Before(earliest) {
			earliest = settled
		}
	}
	return earliest, nil
}

// Findings are those of all.
func (all Markets) Findings(ctx context.Context, from, until time.Time) (found []Finding, err error) {
	for _, m := range all {
		some, err := m.Findings(ctx, from, until)
		if err != nil {
			return nil, err
		}
		found = append(found, some...)
	}
	return found, nil
}
