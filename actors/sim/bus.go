package sim

import (
	"context"
	"errors"
	"sort"
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
}

// do parks, and then runs the effect if the verdict says so. A caller whose
// context ended while it was parked never sees an answer; the effect may
// happen all the same, as a transaction does that was sent before a crash.
func do[T any](ctx context.Context, b *bus, key string, effect func() (T, error)) (T, error) {
	var none T
	if ctx.Err() != nil {
		return none, ctx.Err()
	}
	c := &call{key: key, gate: make(chan verdict, 1)}
	b.mu.Lock()
	b.pending = append(b.pending, c)
	b.mu.Unlock()
	select {
	case v := <-c.gate:
		return finish(v, effect)
	case <-ctx.Done():
		b.mu.Lock()
		for i, p := range b.pending {
			if p == c {
				b.pending = append(b.pending[:i], b.pending[i+1:]...)
				break
			}
		}
		b.mu.Unlock()
		return none, ctx.Err()
	}
}

func finish[T any](v verdict, effect func() (T, error)) (T, error) {
	var none T
	if v == fail {
		return none, errWorld
	}
	r, err := effect()
	if v == lostMind {
		return none, errWorld
	}
	return r, err
}

// keys are the parked calls in a fixed order.
func (b *bus) keys() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	sort.SliceStable(b.pending, func(i, j int) bool { return b.pending[i].key < b.pending[j].key })
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
	b.pending = append(b.pending[:n], b.pending[n+1:]...)
	b.mu.Unlock()
	c.gate <- v
}
