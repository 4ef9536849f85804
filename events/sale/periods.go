package sale

import "slices"

// RememberedPeriods is how many periods, back from the last one that opened a duty, a
// sale remembers one by one. Of older periods it remembers a gap at most; a silent
// period before that is no longer recorded.
const RememberedPeriods = 64

// JudgedAgain is how many periods before the last one that opened a duty are judged
// once more at a start and at the end of a sale, where it is not known which ones
// were judged before.
const JudgedAgain = RememberedPeriods / 4

// rememberedJumps is the most jumps of the newest duty that a gap spans. A sale that
// owes a proof only now and then jumps each time, and a start must not judge its whole
// life again.
const rememberedJumps = 4

// Periods is the memory of the periods that opened a duty.
type Periods struct {
	LastPeriod uint64 // the highest period that ever opened a duty
	Opened     uint64 // which of the periods up to it did, the last one in the lowest bit
	Gap        Gap
}

// Gap is a range of periods that may not have been judged: a later period opened a
// duty before anything was reported of them, or only after it was over. The periods
// from the beginning of the gap on are remembered until there was time to judge them,
// which is when the newest duty is RememberedPeriods after the gap.
type Gap struct {
	From []uint64 // where the gap begins, and where it would begin without its first jumps
	To   uint64   // the newest duty when the gap grew last
	Told []uint64 // the periods from its beginning on that opened a duty, ascending
}

// open reports whether there is a gap.
func (g Gap) open() bool { return len(g.From) > 0 }

// Told reports whether a period opened a duty. For periods before the
// remembered ones that is not known any more; they count as told.
func (p Periods) Told(period uint64) bool {
	switch {
	case p.LastPeriod == 0 || period > p.LastPeriod:
		return false
	case p.LastPeriod-period < RememberedPeriods:
		return p.Opened>>(p.LastPeriod-period)&1 == 1
	case p.Gap.open() && period >= p.Gap.From[0]:
		_, told := slices.BinarySearch(p.Gap.Told, period)
		return told
	}
	return true
}

// Remembered is the first period that is remembered one by one.
func (p Periods) Remembered() uint64 {
	first := p.LastPeriod - min(p.LastPeriod, RememberedPeriods-1)
	if p.Gap.open() {
		first = min(first, p.Gap.From[0])
	}
	return first
}

// Unjudged is the first period that may not have been judged.
func (p Periods) Unjudged() uint64 {
	if p.Gap.open() {
		return p.Gap.From[0]
	}
	return p.again()
}

// again is the first period that is judged again.
func (p Periods) again() uint64 { return p.LastPeriod - min(p.LastPeriod, JudgedAgain) }

// Open notes that a period opened a duty; late says that the period was over by
// then, so that nobody was watching while it ran.
func (p Periods) Open(period uint64, late bool) Periods {
	if period > p.LastPeriod {
		p.Gap = p.grown(period, late)
		ahead := period - p.LastPeriod // A shift by the width or more gives zero.
		p.LastPeriod, p.Opened = period, p.Opened<<ahead
	}
	if back := p.LastPeriod - period; back < RememberedPeriods {
		p.Opened |= 1 << back
	}
	if p.Gap.open() && period >= p.Gap.From[0] {
		if at, told := slices.BinarySearch(p.Gap.Told, period); !told {
			p.Gap.Told = slices.Insert(slices.Clone(p.Gap.Told), at, period) // States share their slices.
		}
	}
	return p
}

// grown is the gap after a period later than the last one opens a duty.
func (p Periods) grown(period uint64, late bool) Gap {
	g := p.Gap
	jump := period-p.LastPeriod > JudgedAgain
	switch {
	case !jump && !late:
		if g.open() && period > g.To+RememberedPeriods {
			return Gap{}
		}
		return g
	case !g.open():
		for q := p.again(); q <= p.LastPeriod; q++ {
			if p.LastPeriod > 0 && p.Told(q) {
				g.Told = append(g.Told, q)
			}
		}
		g.From = []uint64{p.again()}
	case jump && !late:
		g.From = append(slices.Clone(g.From), max(p.again(), g.From[len(g.From)-1]))
		if len(g.From) > rememberedJumps {
			g.From = g.From[1:]
			at, _ := slices.BinarySearch(g.Told, g.From[0])
			g.Told = g.Told[at:]
		}
	}
	g.To = period
	return g
}

// Reopen forgets that a period opened a duty.
func (p Periods) Reopen(period uint64) Periods {
	if period > p.LastPeriod {
		return p
	}
	if back := p.LastPeriod - period; back < RememberedPeriods {
		p.Opened &^= 1 << back
	}
	if at, told := slices.BinarySearch(p.Gap.Told, period); told {
		p.Gap.Told = slices.Delete(slices.Clone(p.Gap.Told), at, at+1)
	}
	return p
}
