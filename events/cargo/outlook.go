package cargo

import "time"

// inflowHours is over how many hours the inflow is measured.
const inflowHours = 24

// flowed notes that bytes came in.
func (s State) flowed(at int64, bytes uint64) {
	now := at / 3600
	if n := len(s.inflow); n > 0 && s.inflow[n-1].Number >= now {
		s.inflow[n-1].Bytes += bytes
		return
	}
	s.inflow = append(s.inflow, hour{now, bytes})
	for s.inflow[0].Number <= now-inflowHours {
		s.inflow = s.inflow[1:]
	}
}

// Inflow is how many padded bytes came in, a second, over the last day or since the first piece; 0: none did.
func (s State) Inflow(now time.Time) float64 {
	sum, since := uint64(0), now.Unix()
	for _, h := range s.inflow {
		if h.Number > now.Unix()/3600-inflowHours {
			sum += h.Bytes
			since = min(since, h.Number*3600)
		}
	}
	return float64(sum) / float64(max(3600, now.Unix()-since))
}

// Oldest is when the oldest piece was queued that is queued still; false: none is.
func (s State) Oldest() (at time.Time, waits bool) {
	return s.queuedAt(s.head)
}

func (s State) queuedAt(priority uint64) (at time.Time, known bool) {
	p, known := s.Piece(priority)
	if known {
		at = time.Unix(p.At, 0).UTC()
	}
	return at, known
}

// Ahead is how many queued pieces have a lower priority, and their bytes.
func (s State) Ahead(priority uint64) (pieces int, bytes uint64) {
	for other := s.head; other < priority && other <= s.count; other++ {
		if p, _ := s.Piece(other); p.Status == Queued {
			pieces++
			bytes += p.Size()
		}
	}
	return pieces, bytes
}

// Expected is when a queued piece is likely to be in an aggregate: when what is queued is enough for the next one, by
// the measured inflow, and what is ahead of it for those before. Zero: nobody knows, because nothing comes in.
func (p Packing) Expected(s State, priority uint64, now time.Time) time.Time {
	if p.MinFill == 0 { // No packing was set yet.
		return time.Time{}
	}
	_, ahead := s.Ahead(priority)
	var queued uint64
	for _, g := range s.Groups {
		queued += g.Queued
	}
	whole := (ahead + s.size(priority) + p.MinFill - 1) / p.MinFill // aggregates until it is in one
	if whole*p.MinFill <= queued {
		return now
	}
	flow := s.Inflow(now)
	if flow == 0 {
		return time.Time{}
	}
	seconds := float64(whole*p.MinFill-queued) / flow
	if seconds > maxOutlook.Seconds() {
		return time.Time{}
	}
	return now.Add(time.Duration(seconds * float64(time.Second)))
}

// maxOutlook is how far an outlook goes.
const maxOutlook = 10 * 365 * 24 * time.Hour
