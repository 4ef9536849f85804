package sale

import (
	"fmt"
	"math/bits"
	"time"

	"github.com/hostnode/hostnode/events"
)

// This file decides when a download is too slow to finish in time. A worker that
// stays with such a download until the request expires is lost to all other slots.

// forever is the longest duration.
const forever = time.Duration(1<<63 - 1)

// Pace is how much of a download came in an interval.
type Pace struct {
	Took    time.Duration
	Came    events.Bytes // in that time
	Missing events.Bytes // when that time was over
}

// Needs is how long the missing bytes take at this pace; the longest duration if
// they never come.
func (p Pace) Needs() time.Duration {
	if p.Missing == 0 || p.Took <= 0 {
		return 0
	}
	high, low := bits.Mul64(uint64(p.Missing), uint64(p.Took))
	if high >= uint64(p.Came) {
		return forever
	}
	need, _ := bits.Div64(high, low, uint64(p.Came))
	return time.Duration(min(need, uint64(forever)))
}

// Late reports whether a download at this pace will not finish in the time that is left,
// and why.
func (p Pace) Late(left time.Duration) (reason string, late bool) {
	if p.Missing == 0 || p.Needs() <= left {
		return "", false
	}
	takes := "never come"
	if need := p.Needs(); need < forever {
		takes = "take " + need.Round(time.Second).String()
	}
	return fmt.Sprintf("%d bytes came in %s; at this pace the missing %d %s, and %s are left before the fill "+
		"must begin", p.Came, p.Took.Round(time.Second), p.Missing, takes, max(left, 0).Round(time.Second)), true
}

// Instant is one point in time by the clock of the chain and by that of the machine. The
// time between two of them is the shorter of the two differences: so a client is not
// blamed for a machine that was asleep, or for a chain that stood still and then caught
// up.
type Instant struct{ Chain, Machine time.Time }

func (m Instant) since(o Instant) time.Duration {
	return max(0, min(m.Chain.Sub(o.Chain), m.Machine.Sub(o.Machine)))
}

// PaceMeter measures the pace of one download over all its tries, one interval
// after the other. The pauses between tries do not count. The zero PaceMeter finds
// nothing late.
type PaceMeter struct {
	// Interval is the length of one measurement; 0: the pace is not measured.
	Interval time.Duration
	// By is when the download must be done, in chain time.
	By time.Time

	spent time.Duration // in tries of this interval that have ended
	since Instant       // begin of the running try, or of the interval if that is later
	known bool
	first events.Bytes // what was missing when the interval began
}

// Begin starts a try.
func (m PaceMeter) Begin(at Instant) PaceMeter {
	m.since = at
	return m
}

// End ends a try.
func (m PaceMeter) End(at Instant) PaceMeter {
	m.spent += at.since(m.since)
	m.since = at
	return m
}

// Arrived notes that something arrived and how much is still missing. At the end
// of an interval it says whether the download is late, and why.
func (m PaceMeter) Arrived(missing events.Bytes, at Instant) (_ PaceMeter, reason string, late bool) {
	if !m.known {
		m.known, m.first = true, missing+events.BlockSize
	}
	took := m.spent + at.since(m.since)
	if m.Interval <= 0 || took < m.Interval {
		return m, "", false
	}
	came := m.first - min(m.first, missing)
	reason, late = Pace{Took: took, Came: came, Missing: missing}.Late(m.By.Sub(at.Chain))
	m.spent, m.since, m.first = 0, at, missing
	return m, reason, late
}

// PaceInterval is the length of one measurement for a download that begins now: the
// configured one, but at most a quarter of the time that is available, so that a request
// that expires soon does not keep a worker to its end. It is 0, no measurement, when no
// time is left at all: then this host is late, not the client.
func PaceInterval(set time.Duration, now, by time.Time) time.Duration {
	if set <= 0 || !by.After(now) {
		return 0
	}
	return max(time.Second, min(set, by.Sub(now)/4))
}
