package sectors

import (
	"context"
	"errors"
	"time"

	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sector"
)

// The scrub reads the data of all sectors that are proven, again and again at a bounded pace: a challenge
// meets only a few leaves of each. What is damaged is a fault, as if a challenge had found it.

const (
	// scrubPart is how many bytes are read at once.
	scrubPart = 1 << 20
	// scrubPatience is the longest pause before it is looked again whether a pass is due, so that a
	// corrected clock delays none for long.
	scrubPatience = time.Hour
)

type (
	// atRest asks for the first sector that is proven, from a number on; the answer is its Info,
	// without a number if there is none.
	atRest struct{ from uint64 }
	// scrubFound says that the data of a sector is damaged, and what found that.
	scrubFound struct {
		number     uint64
		by, reason string
	}
)

func (s *Sectors) onAtRest(m atRest, answer shell.Answer) {
	var first sector.Info
	for n, c := range s.children {
		if n >= m.from && c.info.State == sector.Proving && (first.Number == 0 || n < first.Number) {
			first = c.info
		}
	}
	answer(first, nil)
}

// onScrubFound reports a fault, unless a challenge was faster.
func (s *Sectors) onScrubFound(m scrubFound) {
	if c := s.children[m.number]; c != nil && c.info.State == sector.Proving {
		s.Log.WithField("sector", m.number).Errorf("the sector is damaged and is reported faulty: %s", m.reason)
		c.Ref().Tell(unproven{m.by + ": " + m.reason})
	}
}

// scrub runs until Sectors ends, or until it turns out that the sealer has nothing to compare data with.
func (s *Sectors) scrub(ctx context.Context, self shell.Ref) {
	for pause := time.Duration(0); shell.Sleep(ctx, s.Clock, pause) == nil; {
		s.Yield(ctx, "scrub of sectors")
		err := s.RT.Guarded("scrub of sectors", func() (err error) {
			pause, err = s.scrubNext(ctx, self)
			return err
		})
		switch {
		case errors.Is(err, events.ErrNoVerifier):
			s.Log.Infof("sectors are not scrubbed: %v", err)
			return
		case err != nil && ctx.Err() == nil:
			s.Log.Warnf("check the data of sectors for damage, will try again: %v", err)
			pause = s.RetryMost
		}
	}
}

// scrubNext reads the next part of a sector, and returns when another one is due.
func (s *Sectors) scrubNext(ctx context.Context, self shell.Ref) (pause time.Duration, err error) {
	p, now := s.Files.ScrubProgress(), s.Clock.Now()
	if p.Began.IsZero() && !p.LastBegan.IsZero() && !events.Waited(now, p.LastBegan, s.ScrubEvery) {
		return min(s.ScrubEvery-max(0, now.Sub(p.LastBegan)), scrubPatience), nil
	}
	if p.Began.IsZero() {
		p.Began, p.Sector, p.Offset = now, 0, 0
	}
	st, err := shell.AskActor[sector.Info](self, atRest{p.Sector}).Wait(ctx)
	if err == nil && st.Number == p.Sector && p.Offset >= st.Size && st.Number != 0 {
		p.Sector++
		st, err = shell.AskActor[sector.Info](self, atRest{p.Sector}).Wait(ctx)
	}
	if err != nil {
		return 0, err
	}
	if st.Number == 0 {
		return 0, s.Files.SetScrubProgress(events.SectorScrub{LastBegan: p.Began, LastEnded: now})
	}
	if st.Number != p.Sector {
		p.Sector, p.Offset = st.Number, 0
	}
	from := p.Offset
	var damaged string
	if p.Offset, damaged, err = s.readPart(ctx, st, from); err != nil {
		return 0, err
	}
	if damaged != "" {
		self.Tell(scrubFound{st.Number, "the scrub", damaged})
	}
	seconds := float64(max(p.Offset, from)-from) / float64(s.ScrubBytesPerSecond)
	return time.Duration(seconds * float64(time.Second)), s.Files.SetScrubProgress(p)
}
