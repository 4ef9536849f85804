package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/hostnode/hostnode/events"
)

// errWorld is a temporary failure: a node that does not answer, a lost connection.
var errWorld = errors.New("the world did not answer")

// errNoSpace is a disk that is full for a while.
var errNoSpace = fmt.Errorf("no space left on device: %w", events.ErrDiskFull)

// verdict is what happens to a parked call.
type verdict int

const (
	proceed    verdict = iota // it happens, and its answer arrives
	fail                      // it does not happen
	lostAnswer                // it happens, and its answer is lost
	twice                     // it happens twice, and the second answer arrives
	full                      // it does not happen, because the disk is full
	away                      // it does not happen, because the store is away
	dieAfter                  // it happens, and then the host dies
	dieBefore                 // the host dies, and it never happens
	lied                      // it happens, and an impossible answer arrives
	gone                      // it does not happen, because the sealer is away
)

func (v verdict) String() string {
	return [...]string{"ok", "fail", "lost", "twice", "full", "away", "die after", "die before", "lie", "gone"}[v]
}

// err is the error that a failed call returns; nil when it did not fail.
func (v verdict) err() error {
	switch v {
	case fail, dieBefore:
		return errWorld
	case full:
		return errNoSpace
	case away:
		return events.ErrAway
	case gone:
		return events.ErrSealerAway
	case proceed, lostAnswer, twice, dieAfter, lied:
	}
	return nil
}

type call struct {
	key  string
	gate chan verdict
	// number is the order in which calls arrived; used only when calls are reordered.
	number int
	// until is the block before which the call is not released.
	until uint64
	// lie chooses the false answer.
	lie uint64
	// done: it happened, without an error.
	done bool
}

// port is the port and method of a call: the first word of its key.
func (c *call) port() string {
	name, _, _ := strings.Cut(c.key, " ")
	return name
}

// bus parks calls until the simulator releases them.
type bus struct {
	mu      sync.Mutex
	arrived int
	pending []*call
	// tasks are the host's tasks that are ready to go on. They are released one by one, in the
	// order of their names, so that their interplay does not depend on how the machine
	// schedules goroutines.
	tasks []*call
	// open lets every call through at once, because there is no simulator. Then told, if set, is told each.
	open bool
	told func(key string)
	// unplugged: it has no way to the chain; only if it is open.
	unplugged bool
}

// do parks, and then runs the effect if the verdict says so. A caller whose context ended while
// it was parked never sees an answer; the effect may happen all the same, like a transaction
// that was sent before a crash.
func do[T any](ctx context.Context, b *bus, key string, effect func() (T, error)) (T, error) {
	var none T
	if ctx.Err() != nil {
		return none, ctx.Err()
	}
	if b.open {
		if b.cutOff(key) {
			return none, errWorld
		}
		if b.told != nil {
			b.told(key)
		}
		return effect()
	}
	c := &call{key: key, gate: make(chan verdict, 1)}
	v, err := b.park(ctx, &b.pending, c)
	if err == nil {
		err = v.err()
	}
	if err != nil {
		return none, err
	}
	if v == twice {
		_, _ = effect() // Whatever it returns, the call is made again.
	}
	r, err := effect()
	c.done = err == nil
	switch v {
	case lostAnswer:
		return none, errWorld
	case dieAfter:
		<-ctx.Done()
		return none, ctx.Err()
	case lied:
		if err == nil {
			r, _ = falsified(r, c.lie).(T)
		}
	case proceed, fail, twice, full, away, dieBefore, gone:
	}
	return r, err
}

// cutOff reports whether a call has no way to the chain.
func (b *bus) cutOff(key string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.unplugged && (isChain((&call{key: key}).port()) || strings.HasPrefix(key, "account."))
}

// yield is actors.Config.Yield.
func (b *bus) yield(ctx context.Context, task string) {
	_, _ = b.park(ctx, &b.tasks, &call{key: task, gate: make(chan verdict, 1)})
}

func (b *bus) park(ctx context.Context, list *[]*call, c *call) (verdict, error) {
	b.mu.Lock()
	*list = append(*list, c)
	b.mu.Unlock()
	select {
	case v := <-c.gate:
		if err := ctx.Err(); err != nil { // Both came at once: always choose the same one.
			return fail, err
		}
		return v, nil
	case <-ctx.Done():
		b.mu.Lock()
		*list = slices.DeleteFunc(*list, func(p *call) bool { return p == c })
		b.mu.Unlock()
		return fail, ctx.Err()
	}
}

func byKey(a, b *call) int { return strings.Compare(a.key, b.key) }

// nextTask lets the first task go on; false when none is ready.
func (b *bus) nextTask() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.tasks) == 0 {
		return false
	}
	slices.SortStableFunc(b.tasks, byKey)
	b.tasks[0].gate <- proceed
	b.tasks = slices.Delete(b.tasks, 0, 1)
	return true
}

// ready returns the parked calls that may be released at a block, in a fixed order. Calls that
// arrived since the last time are numbered in that order too.
func (b *bus) ready(height uint64) []*call {
	b.mu.Lock()
	defer b.mu.Unlock()
	slices.SortStableFunc(b.pending, byKey)
	var list []*call
	for _, c := range b.pending {
		if c.number == 0 {
			b.arrived++
			c.number = b.arrived
		}
		if c.until <= height {
			list = append(list, c)
		}
	}
	return list
}

// release lets a parked call go on.
func (b *bus) release(c *call, v verdict) {
	b.mu.Lock()
	b.pending = slices.DeleteFunc(b.pending, func(p *call) bool { return p == c })
	b.mu.Unlock()
	c.gate <- v
}

// delays reports whether a call waits for a block that has not come.
func (b *bus) delays(height uint64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.ContainsFunc(b.pending, func(c *call) bool { return c.until > height })
}

// oldest is the call that has waited longest.
func oldest(list []*call) *call {
	return slices.MinFunc(list, func(a, b *call) int { return cmp.Compare(a.number, b.number) })
}

// String names the calls that are parked.
func (b *bus) String() string {
	var keys []string
	for _, c := range b.ready(math.MaxUint64) {
		keys = append(keys, c.key)
	}
	return fmt.Sprint(keys)
}
