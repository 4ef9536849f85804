package embedded

import (
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/hostnode/hostnode/events"
)

// made is a request that its caller has given to a committer.
func made(n, size int) *request {
	r := newRequest("a-1", events.Any(), numbered(n, size))
	r.take()
	return r
}

func answered(t *testing.T, r *request) bool {
	t.Helper()
	select {
	case <-r.done:
		if r.err != nil {
			t.Fatal(r.err)
		}
		return true
	default:
		return false
	}
}

func TestALargeAppendHasABatchOfItsOwn(t *testing.T) {
	s, _ := mustOpen(t, "store", Config{FS: vfs.NewMem()})
	defer mustClose(t, s)
	c := newCommitter(s, 0)
	defer c.batch.Close()
	before, after, large := made(1, 100), made(2, 100), made(3, largeBytes)
	size := c.accept(before, 0)
	if size != before.bytes || answered(t, before) {
		t.Fatalf("a small one was not left to wait: the batch has %d bytes, its own are %d", size, before.bytes)
	}
	if size = c.accept(large, size); size != 0 || !answered(t, before) || !answered(t, large) {
		t.Fatalf("a large one was left to wait, with a batch of %d bytes", size)
	}
	if large.events[0].record != nil {
		t.Error("its record is kept although the batch had it")
	}
	if size = c.accept(after, 0); size != after.bytes || answered(t, after) {
		t.Fatalf("a small one behind it was not left to wait: the batch has %d bytes", size)
	}
	c.commit()
	if syncs := s.syncs.Load(); syncs != 3 || !answered(t, after) {
		t.Errorf("%d syncs, want 3", syncs)
	}
}

func TestTheBatchOfALargeAppendNeedNotGrow(t *testing.T) {
	for name, batch := range map[string][]events.NewEvent{
		"one event":   numbered(1, 3<<20),
		"many events": many(20_000, 60),
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := mustOpen(t, "store", Config{FS: vfs.NewMem()})
			defer mustClose(t, s)
			c := newCommitter(s, 0)
			r := newRequest("a-1", events.Any(), batch)
			usual := c.batch
			defer usual.Close()
			c.batch = s.db.NewBatch(pebble.WithInitialSizeBytes(r.bytes + batchSlack))
			defer c.batch.Close()
			c.handle(r)
			for _, e := range c.changed {
				if err := c.index(e); err != nil {
					t.Fatal(err)
				}
			}
			if got := len(c.batch.Repr()); got > r.bytes+batchSlack || got < (r.bytes+batchSlack)*3/4 {
				t.Errorf("the batch has %d bytes, it was made for %d", got, r.bytes+batchSlack)
			}
		})
	}
}

// many are events of a size.
func many(n, size int) []events.NewEvent {
	all := make([]events.NewEvent, 0, n)
	for i := range n {
		all = append(all, numbered(i, size)...)
	}
	return all
}
