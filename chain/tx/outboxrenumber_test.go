package tx

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/messages"
)

func intended(key string) messages.TxEvent {
	return &messages.TxIntended{Key: key, To: events.Address{}.String(), Data: "0x00"}
}

func sentAs(key string, nonce uint64) messages.TxEvent {
	return &messages.TxSent{
		Key: key, Nonce: nonce, TxHash: events.Hash{}.String(), GasLimit: 1, FeeCapWei: "1", TipCapWei: "1",
	}
}

func TestWhatAnOlderStreamLacksFollowsItsEnd(t *testing.T) {
	outbox := []entry{ // Compacted at 8: finished intents are gone, the highest nonce is known.
		{Revision: 1, Event: sentAs("forgotten#1", 9)},
		{Revision: 4, Event: intended("a#1")},
		{Revision: 6, Event: sentAs("a#1", 7)},
		{Revision: 8, Event: intended("b#1")},
		{Revision: 9, Event: sentAs("b#1", 8)},
	}
	for name, tc := range map[string]struct {
		length uint64
		want   []string
	}{
		"an empty store":    {0, []string{"count 10 0", "a#1 1", "a#1 2", "b#1 3", "b#1 4"}},
		"a very old copy":   {2, []string{"forgotten#1 1", "count 10 2", "a#1 3", "a#1 4", "b#1 5", "b#1 6"}},
		"one that has some": {5, []string{"forgotten#1 1", "a#1 4", "count 10 5", "a#1 6", "b#1 7", "b#1 8"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, r := range completed(outbox, tc.length, 8, time.Now()) {
				got = append(got, short(r))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Fatal(diff)
			}
		})
	}
}

func TestARenumberedOutboxIsReadAsItWasWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "box")
	o, _ := openBox(t, path)
	for _, e := range []messages.TxEvent{intended("a#1"), sentAs("a#1", 0), intended("b#1")} {
		if _, err := o.add(e, ""); err != nil {
			t.Fatal(err)
		}
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, entries := openBox(t, path)
	aside, err := o.renumber(completed(entries, 1, 3, time.Now()), 1, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.add(intended("c#1"), ""); err != nil {
		t.Fatal(err)
	}
	again, entries := openBox(t, path)
	var got []string
	for _, r := range entries {
		got = append(got, short(r))
	}
	want := []string{"a#1 0", "count 1 1", "a#1 2", "b#1 3", "c#1 4"}
	if diff := cmp.Diff(want, got); diff != "" || again.copied != 1 || again.next != 5 {
		t.Fatalf("copied %d, next %d: %s", again.copied, again.next, diff)
	}
	if kept, err := os.ReadFile(aside); err != nil || string(kept) != string(before) {
		t.Fatalf("%s does not hold the file of before: %v", aside, err)
	}
}

// short is a short form of an entry.
func short(r entry) string {
	key := ""
	switch e := r.Event.(type) {
	case *messages.TxCountObserved:
		key = "count " + events.NewAmount(e.GetCount()).String()
	case interface{ GetKey() string }:
		key = e.GetKey()
	}
	return key + " " + events.NewAmount(r.Revision).String()
}

// TestAStreamThatIsShortIsWaitedFor: transactions go on, because the outbox has their events.
func TestAStreamThatIsShortIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storetest.NewMemory()
		copierOn(t, store, entriesOf(0, "a"))
		synctest.Wait()
		c := copierOn(t, store, entriesOf(2, "c"))
		synctest.Wait()
		if _, reason := c.away(); c.failure() != nil || !errors.Is(reason, ErrStreamShort) {
			t.Fatalf("failed with %v, away for %v", c.failure(), reason)
		}
		copierOn(t, store, entriesOf(1, "b")) // The store is the right one again.
		time.Sleep(2 * longestCopyWait)
		synctest.Wait()
		if diff := cmp.Diff([]string{"a", "b", "c"}, streamKeys(t, store)); diff != "" || !c.drained() {
			t.Fatal(diff)
		}
	})
}
