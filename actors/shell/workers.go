package shell

import "sync"

// mostIdle is how many goroutines wait for work at most; others end.
const mostIdle = 1024

// workers runs actors and their tasks, each on a goroutine that was used before, if one is idle. A new goroutine begins
// with a small stack; growing it again for each message took two fifths of the processor time (make bench-sectors).
// It implements the library's Dispatcher.
type workers struct {
	mu    sync.Mutex
	idle  []chan func()
	ended bool
}

// Schedule runs a function; it never waits for another one.
func (w *workers) Schedule(run func()) {
	w.mu.Lock()
	if last := len(w.idle) - 1; last >= 0 { // The one whose stack was used last.
		next := w.idle[last]
		w.idle = w.idle[:last]
		w.mu.Unlock()
		next <- run
		return
	}
	w.mu.Unlock()
	go w.work(run)
}

// Throughput is how many messages an actor takes before others may run.
func (*workers) Throughput() int { return 300 }

func (w *workers) work(run func()) {
	next := make(chan func(), 1)
	for ok := true; ok; run, ok = <-next {
		run()
		w.mu.Lock()
		if w.ended || len(w.idle) == mostIdle {
			w.mu.Unlock()
			return
		}
		w.idle = append(w.idle, next)
		w.mu.Unlock()
	}
}

// end makes idle goroutines end, now and later.
func (w *workers) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	for _, next := range w.idle {
		close(next)
	}
	w.idle = nil
}
