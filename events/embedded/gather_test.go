package embedded

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// slow is a disk whose log takes a while for each sync.
func slow(takes time.Duration) vfs.FS {
	return errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		sync := op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData
		if sync && strings.HasSuffix(op.Path, ".log") {
			time.Sleep(takes)
		}
		return nil
	}))
}

// Two writers who were answered together also share the next sync, if the second one writes soon after the first.
// Nobody waits for a writer who writes alone, or much later.
func TestWritersWhoWereAnsweredTogetherShareTheNextSync(t *testing.T) {
	const takes = 4 * time.Millisecond
	for _, c := range []struct {
		name  string
		later time.Duration // the second writer; 0: never
		syncs uint64
		waits time.Duration // for its append, the first writer, with the wait for the second
	}{
		{name: "soon after", later: takes / 8, syncs: 1, waits: takes + takes/8},
		{name: "much later", later: 2 * takes, syncs: 2, waits: takes + takes/4},
		{name: "never", syncs: 1, waits: takes + takes/4},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, _ := mustOpen(t, "store", Config{FS: slow(takes)})
				var first sync.WaitGroup
				first.Go(func() { mustAppend(t, s, "a-1", 0) })
				synctest.Wait() // It is synced alone; those who come meanwhile are synced together.
				first.Go(func() { mustAppend(t, s, "b-1", 1) })
				first.Go(func() { mustAppend(t, s, "c-1", 2) })
				first.Wait()
				before, begin := s.Stats().Syncs, time.Now()
				var second sync.WaitGroup
				second.Go(func() {
					mustAppend(t, s, "b-1", 3)
					if took := time.Since(begin); took != c.waits {
						t.Errorf("the first writer waited %s, want %s", took, c.waits)
					}
				})
				if c.later > 0 {
					time.Sleep(c.later)
					mustAppend(t, s, "c-1", 4)
				}
				second.Wait()
				if got := s.Stats().Syncs - before; got != c.syncs {
					t.Errorf("%d syncs, want %d", got, c.syncs)
				}
				mustClose(t, s)
			})
		})
	}
}
