package esdb_test

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/esdb"
	"github.com/hostnode/hostnode/events/esdb/standin"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/events/witness"
)

// believed is how long a thawed leader believes that it leads. A real one was seen to for 3.5 s.
const believed = 1500 * time.Millisecond

// thawed is a cluster whose first node led until it was frozen, and has just been thawed. Another
// one has taken half of the events since, and acknowledged all of them to a witness with this
// file.
func thawed(t *testing.T, path string) *standin.Cluster {
	t.Helper()
	c := standin.New(t, storetest.NewMemory(), 3)
	s := open(t, hostly(c.URL()))
	defer s.Close()
	w, _, err := witness.New(t.Context(), s, path)
	if err != nil {
		t.Fatal(err)
	}
	const half = 3
	for n := range 2 * half {
		if n == half {
			c.Freeze(0)
			c.Lead(1)
		}
		for {
			_, err := w.Append(t.Context(), "host-x", events.ExpectNext(uint64(n)), numberedEvent("host-x", n))
			if err == nil {
				break
			}
			if !errors.Is(err, events.ErrAway) {
				t.Fatal(err)
			}
		}
	}
	c.Thaw(0, believed)
	return c
}

// TestAStartDoesNotBelieveAThawedLeader: it answers reads that demand the leader from its old log.
func TestAStartDoesNotBelieveAThawedLeader(t *testing.T) {
	path := filepath.Join(t.TempDir(), "acknowledged")
	c := thawed(t, path)
	s := open(t, hostly(c.URLOf(0)))
	defer s.Close()
	if last, _, err := events.Last(t.Context(), s, "host-x"); err != nil || last.Revision != 2 {
		t.Fatalf("it does not answer from its old log: revision %d, %v", last.Revision, err)
	}
	for {
		w, _, err := witness.New(t.Context(), s, path)
		if errors.Is(err, events.ErrAway) {
			continue // A start waits.
		}
		if err != nil || !w.Lost().None() {
			t.Fatalf("lost %+v: %v", w.Lost(), err)
		}
		return
	}
}

// TestAThawedLeaderConfirmsNothing until it knows who leads; then the one who does confirms.
func TestAThawedLeaderConfirmsNothing(t *testing.T) {
	bothWays(t, "", func(t *testing.T, noBatch bool) {
		c := thawed(t, filepath.Join(t.TempDir(), "acknowledged"))
		cfg := hostly(c.URLOf(0))
		cfg.NoBatch = noBatch
		s := open(t, cfg)
		defer s.Close()
		began := time.Now()
		for _, stream := range []string{"host-x", "host-nobody"} {
			var err error
			for err = events.ErrAway; errors.Is(err, events.ErrAway); {
				err = events.Confirm(t.Context(), s, stream)
			}
			if err != nil {
				t.Fatal(err)
			}
			if last, _, err := events.Last(t.Context(), s, "host-x"); err != nil || last.Revision != 5 {
				t.Fatalf("after %v: confirmed at revision %d, %v", time.Since(began), last.Revision, err)
			}
		}
		if head, err := c.Store.Head(t.Context()); err != nil || head != 6 {
			t.Errorf("it has written something: %d, %v", head, err)
		}
	})
}

var _ events.Watchful = (*esdb.Store)(nil)
