package actors

import (
	"context"
	"time"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/sales"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
)

// This file looks for damage in stored data, and tells the sales that need it.

// scrubPiece is how many bytes are checked at once: a tenth of a second of one processor.
const scrubPiece = 1 << 20

// scrubPatience is the longest pause before it is checked again whether a pass is due, so that
// a corrected clock delays none for long.
const scrubPatience = time.Hour

// scrub checks the stored data of slots.
type scrub struct {
	*shell.Base
	repo           port.Repo
	every          time.Duration // 0: never
	bytesPerSecond events.Bytes
	root           *shell.Part
}

// run checks all stored data, again and again, at a bounded pace.
func (s *scrub) run(ctx context.Context) {
	for pause := time.Duration(0); shell.Sleep(ctx, s.Clock, pause) == nil; {
		s.Yield(ctx, "scrub")
		if pause = s.untilDue(); pause > 0 {
			continue
		}
		var piece events.Scrubbed
		err := s.RT.Guarded("scrub", func() (err error) {
			piece, err = s.repo.Scrub(ctx, s.Clock.Now(), scrubPiece)
			return err
		})
		if err != nil {
			s.Log.Warnf("check the stored data for damage, will try again: %v", err)
			pause = s.RetryMost
		}
		if piece.Damage != nil {
			s.root.Tell(scrubFound{piece.Slot, *piece.Damage, "the scrub"})
		}
		pause = max(pause, time.Duration(float64(piece.Bytes)/float64(s.bytesPerSecond)*float64(time.Second)))
	}
}

// untilDue is the time until the next pass is due; 0: one runs, or is due.
func (s *scrub) untilDue() time.Duration {
	p := s.repo.ScrubProgress()
	now := s.Clock.Now()
	if !p.Began.IsZero() || p.LastBegan.IsZero() || events.Waited(now, p.LastBegan, s.every) {
		return 0
	}
	return min(s.every-max(0, now.Sub(p.LastBegan)), scrubPatience)
}

// scrubFound says that stored data is damaged, and what found that.
type scrubFound struct {
	slot   events.SlotID
	damage events.DamageError
	by     string
}

// tellDamaged tells living sales, before they do anything, which of their data is missing or
// damaged. The disk was examined before anything was running.
func (s *roster) tellDamaged(stored []events.StoredSlot) {
	disk := make(map[events.SlotID]events.StoredSlot, len(stored))
	for _, st := range stored {
		disk[st.Slot] = st
	}
	for _, slot := range s.slots() {
		st, here := disk[slot]
		var what string
		switch {
		case !here:
			what = "the slot is not on disk"
		case !st.Complete:
			what = "the slot is not complete on disk"
		case st.Damage != "":
			what = st.Damage
		default:
			continue
		}
		s.agents[slot].Ref().Tell(sales.Command{Cmd: sale.ReportDamaged{
			At: s.ChainTime(), Whole: true, FoundBy: "the start: " + what,
		}, Cause: "start"})
	}
}

func (s *roster) onScrubFound(m scrubFound) {
	ag := s.agents[m.slot]
	if ag == nil {
		s.Log.WithField("slot", m.slot.String()).Warnf("stored data is damaged, but no sale needs it: %v", &m.damage)
		return
	}
	ag.Ref().Tell(sales.Command{Cmd: sale.ReportDamaged{
		At: s.ChainTime(), Blocks: m.damage.Blocks, Whole: m.damage.Whole, FoundBy: m.by + ": " + m.damage.Error(),
	}, Cause: "scrub"})
}
