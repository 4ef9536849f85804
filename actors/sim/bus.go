package sim

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
)

// errWorld is a failure that passes: a node that does not answer, a full disk
// queue, a lost connection.
var errWorld = errors.New("the world did not answer")

// verdict is what becomes of a parked call.
type verdict int

const (
	proceed  verdict = iota // it happens, and its answer arrives
	fail                    // it does not happen
	lostMind                // it happens, and its answer is lost
)

func (v verdict) String() string { return [...]string{"ok", "fail", "lost"}[v] }

type call struct {
	key  string
	gate chan verdict
}

// bus parks calls until the simulator releases them.
type bus struct {
	mu      sync.Mutex
	pending []*call
	// turns are tasks of the host that are ready to go on. They are let go one
	// after the other, in the order of their names, so that what they do to each
	// other does not depend on how the machine schedules goroutines.
	turns []*call
	// open lets every call through at once: there is no simulator.
	open bool
}

// do parks, and then runs the effect if the verdict says so. A caller whose
// context ended while it was parked never sees an answer; the effect may
// happen all the same, as a transaction does that was sent before a crash.
func do[T any](ctx context.Context, b *bus, key string, effect func() (T, error)) (T, error) {
	var none T
	if ctx.Err() != nil {
		return none, ctx.Err()
	}
	if b.open {
		return effect()
	}
	v, err := b.park(ctx, &b.pending, key)
	if err != nil {
		return none, err
	}
	if v == fail {
		return none, errWorld
	}
	r, err := effect()
	if v == lostMind {
		return none, errWorld
	}
	return r, err
}

// turn is actors.Config.Turn.
func (b *bus) turn(ctx context.Context, task string) {
	_, _ = b.park(ctx, &b.turns, task)
}

func (b *bus) park(ctx context.Context, list *[]*call, key string) (verdict, error) {
	c := &call{key: key, gate: make(chan verdict, 1)}
	b.mu.Lock()
	*list = append(*list, c)
	b.mu.Unlock()
	select {
	case v := <-c.gate:
		return v, nil
	case <-ctx.Done():
		b.mu.Lock()
		*list = slices.DeleteFunc(*list, func(p *call) bool { return p == c })
		b.mu.Unlock()
		return fail, ctx.Err()
	}
}

func byKey(a, b *call) int { return strings.Compare(a.key, b.key) }

// nextTurn lets the first task go on; false when none is ready.
func (b *bus) nextTurn() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.turns) == 0 {
		return false
	}
	slices.SortStableFunc(b.turns, byKey)
	b.turns[0].gate <- proceed
	b.turns = slices.Delete(b.turns, 0, 1)
	return true
}

// keys are the parked calls in a fixed order.
func (b *bus) keys() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	slices.SortStableFunc(b.pending, byKey)
	keys := make([]string, len(b.pending))
	for i, c := range b.pending {
		keys[i] = c.key
	}
	return keys
}

// release lets the nth call of keys go on.
func (b *bus) release(n int, v verdict) {
	b.mu.Lock()
	c := b.pending[n]
	b.pending = slices.Delete(b.pending, n, n+1)
	b.mu.Unlock()
	c.gate <- v
}
