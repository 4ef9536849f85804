package chain_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/events/storetest"
)

// TestTheOutboxOfBeforeGoesWithTheRightStore is the last resort of docs/record.md: the host was
// started on the wrong store, which renumbered the outbox, and now continues with the right one.
func TestTheOutboxOfBeforeGoesWithTheRightStore(t *testing.T) {
	for name, sends := range map[string]bool{"nothing was sent meanwhile": false, "something was sent meanwhile": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.fund("host")
			dir, store := t.TempDir(), storetest.NewMemory()
			request := w.request()
			m := w.host("host", dir, store)
			first := w.reserve(m, "host", callFor(request, 0))
			w.await("the record is complete", func() bool { return len(historyOf(t, store, m.Account())) == 3 })
			ended := func(errs ...error) {
				t.Helper()
				if err := errors.Join(append(errs, m.Close())...); err != nil {
					t.Fatal(err)
				}
			}
			ended(m.Compact(t.Context()))
			wrong := storetest.NewMemory()
			m = w.host("host", dir, wrong)
			w.await("the wrong record is complete", func() bool { return len(historyOf(t, wrong, m.Account())) > 0 })
			if sends {
				w.reserve(m, "host", callFor(request, 1))
			}
			ended()
			before, err := filepath.Glob(filepath.Join(dir, "*.before-*"))
			if err != nil || len(before) != 1 {
				t.Fatalf("the outboxes of before: %v, %v", before, err)
			}
			path, _, _ := strings.Cut(before[0], ".before-")
			if err := os.Rename(before[0], path); err != nil {
				t.Fatal(err)
			}
			if sends {
				if _, err := w.dial(w.config("host"), store, dir); !errors.Is(err, tx.ErrUsedElsewhere) {
					t.Fatalf("with transactions that the outbox does not know: %v", err)
				}
				cfg := w.config("host")
				cfg.TakeOver = true
				if m, err = w.dial(cfg, store, dir); err != nil {
					t.Fatal(err)
				}
			} else {
				m = w.host("host", dir, store)
			}
			if again := w.reserve(m, "host", callFor(request, 0)); again.TxHash != first.TxHash {
				t.Fatalf("receipt of %s, want that of %s", again.TxHash, first.TxHash)
			}
			ended()
		})
	}
}
