package sale

import (
	"fmt"
	"math/bits"
	"time"

	"github.com/hostnode/hostnode/events"
)

// This file says when a download is too slow to come to anything: a worker that stays
// with it until the request expires is lost to all other slots.

// forever is the longest duration.
const forever = time.Duration(1<<63 - 1)

// Pace is how a download came along in a stretch of time.
type Pace struct {
	Took    time.Duration
	Came    events.Bytes // in that time
	Missing events.Bytes // behind it
}

// Needs is how long what is missing takes at this pace; the longest duration when it
// never comes, or takes longer than that.
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

// Late says whether a download that goes on at this pace is not done in the time that is
// left, and why.
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

// Moment is a point in time by both clocks. A stretch took what it took by the one that
// went less far, so that neither a machine that slept nor a chain that stood still, and
// then went on, is held against a client.
type Moment struct{ Chain, Machine time.Time }

func (m Moment) since(o Moment) time.Duration {
	return max(0, min(m.Chain.Sub(o.Chain), m.Machine.Sub(o.Machine)))
}

// PaceMeter measures the pace of one download over all its tries, one stretch after the
// other. The pauses between tries do not count. The zero PaceMeter finds nothing late.
type PaceMeter struct {
	// Stretch is over how long a pace is measured; 0: it is not.
	Stretch time.Duration
	// By is when the download must be done, in chain time.
	By time.Time

	spent time.Duration // in tries of this stretch that have ended
	since Moment        // of the running try, or of the stretch if that began later
	known bool
	first events.Bytes // what was missing when the stretch began
}

// Begin starts a try.
func (m PaceMeter) Begin(at Moment) PaceMeter {
	m.since = at
	return m
}

// End ends a try.
func (m PaceMeter) End(at Moment) PaceMeter {
	m.spent += at.since(m.since)
	m.since = at
	return m
}

// Arrived notes that something came and how much is missing still. At the end of a
// stretch it says whether the download is late, and why.
func (m PaceMeter) Arrived(missing events.Bytes, at Moment) (_ PaceMeter, reason string, late bool) {
	if !m.known {
		m.known, m.first = true, missing+events.BlockSize
	}
	took := m.spent + at.since(m.since)
	if m.Stretch <= 0 || took < m.Stretch {
		return m, "", false
	}
	came := m.first - min(m.first, missing)
	reason, late = Pace{Took: took, Came: came, Missing: missing}.Late(m.By.Sub(at.Chain))
	m.spent, m.since, m.first = 0, at, missing
	return m, reason, late
}

// PaceStretch is over how long the pace of a download is measured that begins now: as
// long as is set, but not more than a quarter of the time that there is, so that a request
// that expires soon does not hold a worker to its end. 0, not at all, when that time is
// over already: then it is this host that comes late.
func PaceStretch(set time.Duration, now, by time.Time) time.Duration {
	if set <= 0 || !by.After(now) {
		return 0
	}
	return max(time.Second, min(set, by.Sub(now)/4))
}
