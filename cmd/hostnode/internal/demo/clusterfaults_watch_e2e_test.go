//go:build e2e

package demo

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/events"
)

// graceOfReturn is how long a member may need until it follows the chain again after a fault that kept
// it from that. Whoever has just started needs event store and etcd too, and has no limit.
const graceOfReturn = 20 * time.Second

// watch knows when a member could prove: it lived, was not stopped, had its disk, and reached the chain.
type watch struct {
	mu       sync.Mutex
	faults   map[string]int // that keep it from proving, and how many of each there are now
	booting  bool           // it was started, and does not follow the chain yet
	returned time.Time      // when the last fault ended
	follows  bool
	unable   []span
}

// span is from when to when something lasted, in chain time. To is zero while it lasts.
type span struct {
	from, to time.Time
	why      string
}

// hinder notes that a fault which keeps the member from proving begins, or ends.
func (w *watch) hinder(why string, begins, starts bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.faults == nil {
		w.faults = map[string]int{}
	}
	if begins {
		w.faults[why]++
		return
	}
	if w.faults[why]--; w.faults[why] == 0 {
		delete(w.faults, why)
	}
	w.returned, w.follows = time.Now(), false
	w.booting = w.booting || starts
}

// note says at a moment of chain time whether the member follows the chain.
func (w *watch) note(at time.Time, follows bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.follows = follows
	if follows && len(w.faults) == 0 {
		w.booting = false
	}
	why := ""
	for fault := range w.faults {
		why = fault
	}
	switch {
	case why != "":
	case w.booting:
		why = "it has just started"
	case !follows && time.Since(w.returned) < graceOfReturn:
		why = "it has just returned"
	}
	n := len(w.unable) - 1
	lasts := n >= 0 && w.unable[n].to.IsZero()
	switch {
	case why != "" && !lasts:
		w.unable = append(w.unable, span{from: at, why: why})
	case why == "" && lasts:
		w.unable[n].to = at
	}
}

// could says whether the member could prove during the whole of a period; if not, why.
func (w *watch) could(from, to time.Time) (bool, string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.unable {
		if s.from.Before(to) && (s.to.IsZero() || !s.to.Before(from)) {
			return false, s.why
		}
	}
	return true, ""
}

// able says whether nothing keeps the member from proving now.
func (w *watch) able() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.follows && len(w.faults) == 0 && !w.booting
}

// observe watches all members until ctx ends. A member that ends by itself is started again, as a
// supervisor does.
func (f *faultRig) observe(ctx context.Context) (done func()) {
	ctx, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	for _, m := range f.members {
		all.Go(func() {
			tick := time.NewTicker(blocksPerLook * f.beat)
			defer tick.Stop()
			for ctx.Err() == nil {
				select {
				case <-tick.C:
					f.look(ctx, m)
				case <-ctx.Done():
				}
			}
		})
	}
	return func() { stop(); all.Wait() }
}

func (f *faultRig) look(ctx context.Context, m *faulted) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	head, err := f.eth.HeaderByNumber(ctx, nil)
	if err != nil {
		return
	}
	s, err := api.ShowStatus.Ask(ctx, m.api, api.Then{})
	m.watch.note(events.Unix(head.Time), err == nil && s.Chain.Head+4*blocksPerLook >= head.Number.Uint64())
	m.life.Lock()
	defer m.life.Unlock()
	alive, died := m.alive()
	if alive || !m.watch.lives() || ctx.Err() != nil {
		return
	}
	m.ended++
	f.t.Logf("%s: member %s ended by itself: %v; its last words:\n%s", f.clock(), m.name, died, m.said(8))
	m.watch.hinder(endedItself, true, false)
	if err := m.start(); err != nil {
		f.t.Errorf("member %s does not start: %v", m.name, err)
	}
	m.watch.hinder(endedItself, false, true)
}

const (
	blocksPerLook = 2
	endedItself   = "it ended by itself"
	notThere      = "it did not run"
)

// lives says that the member should run now.
func (w *watch) lives() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.faults[notThere] == 0
}

// clock is how long the run lasts.
func (f *faultRig) clock() string { return fmt.Sprintf("%5.1f s", time.Since(f.began).Seconds()) }
