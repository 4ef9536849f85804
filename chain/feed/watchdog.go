package feed

import "time"

// watchdog knows how often blocks come and notices when none do. It measures the machine's
// time: how far the chain's own time moves with each block says nothing about that.
type watchdog struct {
	limit uint64 // block times
	least time.Duration
	// blockTime is measured; 0 before two blocks were seen.
	blockTime time.Duration
	top       uint64    // the highest block so far
	news      time.Time // when it was seen first
	quiet     bool      // silence was found, and has not ended
}

func newWatchdog(limit uint64, least time.Duration, now time.Time) *watchdog {
	return &watchdog{limit: limit, least: least, news: now}
}

// saw takes the newest block. It returns how long there had been none, if that was found
// to be too long.
func (w *watchdog) saw(number uint64, now time.Time) (silence time.Duration, ended bool) {
	if number <= w.top {
		return 0, false
	}
	since := now.Sub(w.news)
	if w.top != 0 && !w.quiet { // A pause is no block time.
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

// silence is how long it may be quiet.
func (w *watchdog) silence() time.Duration {
	return max(w.least, time.Duration(w.limit)*w.blockTime)
}

// silent says whether there was no new block for too long since a connection was made.
// first is true when that was not found before.
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

// look is how long to wait for news of a new block before having a look, after so many
// looks without one.
func (w *watchdog) look(poll time.Duration, misses int) time.Duration {
	wait := max(poll, 2*w.blockTime)
	if w.blockTime == 0 {
		wait = w.least
	}
	for range min(misses, 8) {
		wait *= 2
	}
	return min(wait, max(poll, w.least))
}
