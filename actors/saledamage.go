package actors

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hostnode/hostnode/actors/sales"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
)

// This file keeps the data of a slot sound: what is damaged is recorded, fetched again, and
// what could not be done without it is tried again at once. The damage is met by a
// proof, by the scrub, or at the start.

// maxRepairs is how many repairs run at once. Each fetches a block at a time, and those that
// look at a whole slot run for long: they must not hold up the one block of a proof.
const maxRepairs = 16

// damageOf is the report of what an error says of the stored slot; nil when it says nothing.
func (s *salesAgent) damageOf(err error, met string) sale.Command {
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

// repair fetches damaged blocks again, in the order of what is due. Before the fill it is
// given up after a while: nothing is owed yet, and space and collateral wait.
func (s *salesAgent) repair(ctx context.Context, st sale.State, e sale.Repair) (sale.Command, error) {
	deadline := st.EndsAt
	if len(st.Duties) > 0 {
		deadline = st.Duties[0].Deadline
	}
	job := events.DownloadJob{Request: st.Request, Slot: s.slot, Index: s.index, Until: st.ExpiresAt}
	if st.Hosting() || st.Adopted || st.Repair {
		job.Until = st.EndsAt
	}
	mended, err := shell.In(ctx, s.repairs, deadline, func() ([]uint64, error) {
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

// onDamaged records damage that a call has met. The call is tried again when it is repaired,
// or after a pause, because it may not need what is damaged by then.
func (s *salesAgent) onDamaged(a *shell.Turn, m effectEnded, w *work) {
	w.damaged = true
	s.submit(a, sales.Command{Cmd: m.cmd, Cause: m.key}, nil)
	s.tryAgain(a, m.key, w)
}

// tryDamagedAgain begins at once what waits for sound data.
func (s *salesAgent) tryDamagedAgain() {
	for key, w := range s.running {
		if w.damaged {
			delete(s.running, key)
		}
	}
}

// whyDamaged says what is damaged and why it is not repaired, for a proof that was missed;
// empty: nothing is.
func (s *salesAgent) whyDamaged() string {
	d := s.journal.Ahead.Damage
	if !d.Any() {
		return ""
	}
	why := "the data is damaged on disk, found by " + d.FoundBy
	for _, e := range s.Cores.NextSale(s.journal.Ahead) {
		if w := s.running[e.Key()]; w != nil && w.lastErr != nil {
			if _, repairs := e.(sale.Repair); repairs {
				return why + "; " + w.lastErr.Error()
			}
		}
	}
	return why
}

// tellDamaged tells living sales what is not on disk as it should be, before they do
// anything. The disk was looked at when nothing was under way.
func (s *supervisor) tellDamaged(stored []events.StoredSlot) {
	disk := make(map[events.SlotID]events.StoredSlot, len(stored))
	for _, st := range stored {
		disk[st.Slot] = st
	}
	for _, slot := range s.slots() {
		st, here := disk[slot]
		var what string
		switch {
		case !here:
			what = "nothing of the slot is on disk"
		case !st.Complete:
			what = "the slot is not complete on disk"
		case st.Damage != "":
			what = st.Damage
		default:
			continue
		}
		s.agents[slot].ref.Tell(sales.Command{Cmd: sale.ReportDamaged{
			At: s.ChainTime(), Whole: true, FoundBy: "the start: " + what,
		}, Cause: "start"})
	}
}

// scrubPiece is how much is looked through at once: a tenth of a second of one processor.
const scrubPiece = 1 << 20

// scrubPatience is the longest pause between two looks whether a pass is due, so that a
// clock that was put right delays none for long.
const scrubPatience = time.Hour

// scrub looks through all that is stored, again and again, at a bounded pace.
func (s *supervisor) scrub(self shell.Ref) func(context.Context) {
	return func(ctx context.Context) {
		for pause := time.Duration(0); shell.Sleep(ctx, s.Clock, pause) == nil; {
			s.Turn(ctx, "scrub")
			if pause = s.untilScrub(); pause > 0 {
				continue
			}
			var piece events.Scrubbed
			err := s.RT.Guarded("scrub", func() (err error) {
				piece, err = s.Repo.Scrub(ctx, s.Clock.Now(), scrubPiece)
				return err
			})
			if err != nil {
				s.Log.Warnf("looking through the stored data is tried again: %v", err)
				pause = s.RetryMost
			}
			if piece.Damage != nil {
				self.Tell(scrubFound{piece.Slot, *piece.Damage})
			}
			pause = max(pause, time.Duration(float64(piece.Bytes)/float64(s.ScrubBytesPerSecond)*float64(time.Second)))
		}
	}
}

// untilScrub is how long the next pass has time; 0: one runs, or is due.
func (s *supervisor) untilScrub() time.Duration {
	p := s.Repo.ScrubProgress()
	since := s.Clock.Now().Sub(p.LastBegan)
	if !p.Began.IsZero() || p.LastBegan.IsZero() || since >= s.ScrubEvery {
		return 0
	}
	return min(s.ScrubEvery-max(0, since), scrubPatience)
}

// scrubFound says that stored data is damaged.
type scrubFound struct {
	slot   events.SlotID
	damage events.DamageError
}

func (s *supervisor) onScrubFound(m scrubFound) {
	ag := s.agents[m.slot]
	if ag == nil {
		s.Log.WithField("slot", m.slot.String()).Warnf("stored data is damaged, and no sale needs it: %v", &m.damage)
		return
	}
	ag.ref.Tell(sales.Command{Cmd: sale.ReportDamaged{
		At: s.ChainTime(), Blocks: m.damage.Blocks, Whole: m.damage.Whole, FoundBy: "the scrub: " + m.damage.Error(),
	}, Cause: "scrub"})
}
