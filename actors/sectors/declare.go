package sectors

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
)

// Declarations of faults and recoveries. The contract takes those of many sectors in one message. One
// message of a kind is under way at a time, and what is wanted meanwhile goes into the next: when
// hundreds of sectors are faulty at once, a few messages are enough. What is refused is split in
// halves, until the sector to blame is alone. A refused call costs no gas.

// mostDeclared is how many sectors share a message: they take about a million and a half of gas.
const mostDeclared = 64

// declarations are the messages of one kind. Safe for concurrent use.
type declarations struct {
	name string
	send func(ctx context.Context, key string, numbers []uint64) (events.Receipt, error)

	mu      sync.Mutex // over what follows, and over withdrawn of each wish
	waiting []*wish
	sending bool
}

// wish is a sector's declaration, by the key of its step.
type wish struct {
	key     string
	number  uint64
	receipt events.Receipt
	err     error
	done    chan struct{} // closed when it has an answer
	// withdrawn: its step has ended, by an order or with the agent.
	withdrawn bool
}

// declare has a sector declared, in a message with others.
func (d *declarations) declare(ctx context.Context, r *room, key string, number uint64) (events.Receipt, error) {
	w := &wish{key: key, number: number, done: make(chan struct{})}
	d.mu.Lock()
	begins := !d.sending
	d.sending, d.waiting = true, append(d.waiting, w)
	d.mu.Unlock()
	if begins {
		r.RT.Do(d.name, func(context.Context) { d.run(r) })
	}
	select {
	case <-w.done:
		r.Yield(ctx, key) // One message answers many.
		return w.receipt, w.err
	case <-ctx.Done():
		d.mu.Lock()
		defer d.mu.Unlock()
		w.withdrawn = true
		return events.Receipt{}, context.Cause(ctx)
	}
}

// run sends what waits, until nothing does.
func (d *declarations) run(r *room) {
	for {
		d.mu.Lock()
		d.waiting = wanted(d.waiting)
		some := slices.Clone(d.waiting[:min(len(d.waiting), mostDeclared)])
		d.waiting, d.sending = d.waiting[len(some):], len(some) > 0
		d.mu.Unlock()
		if len(some) == 0 {
			return
		}
		slices.SortFunc(some, func(a, b *wish) int { return cmp.Compare(a.number, b.number) })
		d.together(r, some)
	}
}

// together sends one message, or several if it is refused.
func (d *declarations) together(r *room, some []*wish) {
	var receipt events.Receipt
	err := r.RT.Guarded(d.name, func() (err error) {
		receipt, err = shell.In(r.ctx, r.proofs, time.Time{}, func() (events.Receipt, error) {
			d.mu.Lock()
			some = wanted(some) // It may have waited for its slot.
			d.mu.Unlock()
			if len(some) == 0 {
				return events.Receipt{}, nil
			}
			var numbers []uint64
			for _, w := range some {
				numbers = append(numbers, w.number)
			}
			return d.send(r.ctx, joined(some), numbers)
		})
		return err
	})
	if len(some) > 1 && blamesOne(err) {
		half := len(some) / 2
		d.together(r, some[:half])
		d.together(r, some[half:])
		return
	}
	for _, w := range some {
		w.receipt, w.err = receipt, err
		close(w.done)
	}
}

// wanted are those that were not withdrawn.
func wanted(some []*wish) []*wish {
	return slices.DeleteFunc(some, func(w *wish) bool { return w.withdrawn })
}

// joined is the key of a message: that of the first step, and what is different in those of the
// others, which are of the same kind.
func joined(some []*wish) string {
	key := some[0].key
	for _, w := range some[1:] {
		_, different, _ := strings.Cut(w.key, ":")
		key += "+" + different
	}
	return key
}
