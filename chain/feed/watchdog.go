package feed

import "time"

// watchdog measures how often blocks come, and notices when none do. It uses the machine's clock,
// because the timestamps of blocks say nothing about silence.
type watchdog struct {
	limit uint64 // in block times
	least time.Duration
	// blockTime is measured; 0 before two blocks were seen.
	blockTime time.Duration
	top       uint64    // the highest block so far
	news      time.Time // when it was first seen
	quiet     bool      // the current silence was reported
}

func newWatchdog(limit uint64, least time.Duration, now time.Time) *watchdog {
	return &watchdog{limit: limit, least: least, news: now}
}

// saw takes the newest block. It returns the time since the one before, and whether that ended a
// silence which had been reported.
func (w *watchdog) saw(number uint64, now time.Time) (silence time.Duration, ended bool) {
	if number <= w.top {
		return 0, false
	}
	since := now.Sub(w.news)
	if w.top != 0 && !w.quiet { // A pause is not a block time.
		each := since / time.Duration(number-w.top)
		if w.blockTime == 0 {
			w.blockTime = each
		}
		w.blockTime = (3*w.blockTime + each) / 4
	}
	ended = w.quiet
	w.top, w.news, w.quiet = number, now, false
	return since, ended
}

// silence is the time without a new block that counts as too long.
func (w *watchdog) silence() time.Duration {
	return max(w.least, time.Duration(w.limit)*w.blockTime)
}

// silent says whether no new block came for too long since the connection was made. first is true
// when this silence is found for the first time.
func (w *watchdog) silent(opened, now time.Time) (yes, first bool) {
	since := w.news
	if opened.After(since) {
		since = opened
	}
	if now.Sub(since) < w.silence() {
		return false, false
	}
	first = !w.quiet
	w.quiet = true
	return true, first
}

// look is how long to wait for a hint of a new block before looking anyway, after so many looks
// without a hint.
func (w *watchdog) look(poll time.Duration, misses int) time.Duration {
	wait := max(poll, 2*w.blockTime)
	if w.blockTime == 0 {
		wait = w.least
	}
	return min(wait<<min(misses, 8), max(poll, w.least))
}
