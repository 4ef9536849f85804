package sectors

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events/sector"
)

// Calls of sealers, files and sources of pieces may last for hours, or for ever. One call runs
// at a time for each sector (locks), and a limited number of each kind for all sectors (pools).
// A call that takes too long, or is no longer wanted, is cancelled. If it does not notice that,
// its slot in the pool is given to another sector, but its own sector waits for its end,
// because two calls must not write the same files.

// errTooLong: a call was cancelled because of its limit.
var errTooLong = errors.New("it took too long and was cancelled")

// local are the steps that sealers and the store of files perform.
var local = map[sector.Step]bool{
	sector.StepAddPiece: true, sector.StepPack: true, sector.StepPreCommit1: true, sector.StepPreCommit2: true,
	sector.StepCommit: true, sector.StepFinalize: true, sector.StepRestore: true, sector.StepRemove: true,
	sector.StepReleaseScratch: true, sector.StepReleaseSpace: true,
}

// locks let one call of a sector run at a time, over all lives of its agent: one that touches files,
// and one of the others, so that a hanging sealer does not prevent the sector from being ended on chain.
type locks struct{ files, others *shell.Pool }

func newLocks() locks { return locks{shell.NewPool("files", 1), shell.NewPool("others", 1)} }

func (l locks) of(step sector.Step) *shell.Pool {
	if local[step] {
		return l.files
	}
	return l.others
}

// limit is how long a call of a step may take; zero: there is no limit.
func (r *room) limit(step sector.Step) time.Duration {
	if limit, ok := r.StepLimits[step]; ok || !local[step] {
		return limit
	}
	return r.StepLimit
}

// poolSlot is where a call waits until it may run: in a pool, if there is one, with a deadline. When it
// is cancelled, it has a grace period to end. Leave is called when it has ended.
type poolSlot struct {
	pool     *shell.Pool
	deadline time.Time
	grace    time.Duration
	leave    func()
}

// within runs a call, and waits for it until it is cancelled, and for Settings.CancelWait
// longer.
func within[T any](ctx context.Context, r *room, name string, at poolSlot, call func() (T, error)) (none T, err error) {
	leave := at.leave
	if at.pool != nil {
		free, err := at.pool.Enter(ctx, at.deadline)
		if err != nil {
			leave()
			return none, err
		}
		defer free()
		r.Yield(ctx, name)
	}
	type answer struct {
		value T
		err   error
	}
	came := make(chan answer, 1)
	r.RT.Do(name, func(context.Context) {
		defer leave()
		var a answer
		if a.err = r.RT.Guarded(name, func() (err error) { a.value, err = call(); return err }); a.err != nil {
			a.value = none
		}
		came <- a
	})
	select {
	case a := <-came:
		return a.value, a.err
	case <-ctx.Done():
	}
	late := make(chan struct{})
	defer r.Clock.After(at.grace, func() { close(late) })()
	select {
	case a := <-came:
		return a.value, a.err
	case <-late:
		r.Log.Warnf("%s was cancelled and has not ended after %s; its place is given to another sector", name,
			at.grace)
		return none, fmt.Errorf("%s has not ended: %w", name, context.Cause(ctx))
	case <-r.ctx.Done(): // The host stops; it waits for its tasks.
		return none, ctx.Err()
	}
}

// In which order calls are served.

// Pools are what bounds the work on sectors, in a fixed order. Safe for concurrent use.
func (s *Sectors) Pools() []*shell.Pool {
	return []*shell.Pool{
		s.pools[sector.StepAddPiece], s.pools[sector.StepPack], s.pools[sector.StepPreCommit1],
		s.pools[sector.StepPreCommit2], s.pools[sector.StepCommit], s.challenges, s.proofs, s.transactions, s.reads,
		s.pools[sector.StepFinalize],
	}
}

// first is before every block in the order of a pool.
var first = time.Unix(1, 0)

// restsOn puts messages in the order of the blocks whose hashes they rest on: the contract does not see those for ever.
func restsOn(epoch uint64) time.Time { return first.Add(time.Duration(epoch) * time.Second) }

// turn is when a step is served in its pool: a repair before what is packed for new sectors, as each window costs.
func turn(st sector.Info, step sector.Step) time.Time {
	switch step { //nolint:exhaustive // All others wait for their turn.
	case sector.StepRestore:
		return first
	case sector.StepSendPreCommit:
		return restsOn(st.TicketEpoch)
	case sector.StepSendCommit:
		return restsOn(st.SeedEpoch)
	}
	return time.Time{}
}

// Call is the running call of a sector on a sealer or on files. Without a key no call runs: the
// step in the record waits for a slot, for a cancelled call to end, or for the chain.
type Call struct {
	Key      string
	Since    time.Time // by the machine's clock, like all times here
	Progress float64   // from 0 to 1
	Moved    time.Time // when its progress was last more than before
}

// gauge shows the progress of the running call. Safe for concurrent use.
type gauge struct {
	mu  sync.Mutex
	now Call
}

// begin says which call runs, and returns what is told its progress until it is cancelled, and what ends it.
func (g *gauge) begin(ctx context.Context, clock shell.Clock, key string) (told func(float64), end func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	began := clock.Now()
	g.now = Call{Key: key, Since: began, Moved: began}
	mine := func() bool { return ctx.Err() == nil && g.now.Key == key && g.now.Since.Equal(began) }
	told = func(done float64) {
		g.mu.Lock()
		defer g.mu.Unlock()
		if mine() && done > g.now.Progress {
			g.now.Progress, g.now.Moved = done, clock.Now()
		}
	}
	return told, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.now.Key == key && g.now.Since.Equal(began) {
			g.now = Call{}
		}
	}
}

func (g *gauge) get() Call {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.now
}
