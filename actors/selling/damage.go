package selling

import (
	"context"
	"errors"
	"fmt"

	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
)

// This file repairs the data of a slot: damage that a proof, the scrub or the start finds is
// recorded, the data is fetched again, and whatever failed for lack of it is tried again at
// once.

// MaxRepairs is how many repairs run at once. Each fetches one block at a time, and repairs of
// a whole slot take long: they must not hold up the one block that a proof needs.
const MaxRepairs = 16

// damageOf is the report of the damage that an error names; nil when it names none.
func (s *Agent) damageOf(err error, met string) sale.Command {
	report := sale.ReportDamaged{At: s.ChainTime()}
	if found, ok := errors.AsType[*events.DamageError](err); ok {
		report.Blocks, report.Whole, err = found.Blocks, found.Whole, found
	} else if !errors.Is(err, events.ErrBitRot) && !errors.Is(err, events.ErrNoSuchSlot) {
		return nil
	}
	report.Whole = report.Whole || len(report.Blocks) == 0
	report.FoundBy = fmt.Sprintf("%s: %v", met, err)
	return report
}

// repair fetches damaged blocks again, earliest deadline first. Before the fill it gives up
// after a while: nothing is owed yet, and space and collateral are bound.
func (s *Agent) repair(ctx context.Context, st sale.State, e sale.Repair) (sale.Command, error) {
	deadline := st.EndsAt
	if len(st.Duties) > 0 {
		deadline = st.Duties[0].Deadline
	}
	job := events.DownloadJob{Request: st.Request, Slot: s.slot, Index: s.index, Until: st.ExpiresAt}
	if st.Hosting() || st.Adopted || st.Repair {
		job.Until = st.EndsAt
	}
	mended, err := shell.In(ctx, s.Repairs, deadline, func() ([]uint64, error) {
		return s.Content.Repair(ctx, job, e.Blocks)
	})
	switch {
	case err == nil && e.Whole:
		return sale.ReportRepaired{At: s.ChainTime(), Whole: true}, nil
	case len(mended) > 0:
		return sale.ReportRepaired{At: s.ChainTime(), Blocks: mended}, nil
	case err != nil && st.Phase == sale.InitialProving && !st.Adopted &&
		s.ChainTime().Sub(st.Damage.Since) > s.GiveUpDownload:
		return sale.GiveUp{
			At: s.ChainTime(), Reason: "damaged data could not be fetched again: " + err.Error(), LetGo: true,
		}, nil
	case err != nil:
		return nil, fmt.Errorf("repair the data: %w", err)
	}
	return nil, errWaits
}

// whyDamaged says, for a missed proof, what is damaged and why it is not repaired; empty:
// nothing is damaged.
func (s *Agent) whyDamaged() string {
	d := s.journal.Ahead.Damage
	if !d.Any() {
		return ""
	}
	why := "the data is damaged on disk, found by " + d.FoundBy
	for _, e := range s.Next(s.journal.Ahead) {
		if w := s.effects.Of(e.Key()); w != nil && w.Data.lastErr != nil {
			if _, repairs := e.(sale.Repair); repairs {
				return why + "; " + w.Data.lastErr.Error()
			}
		}
	}
	return why
}
