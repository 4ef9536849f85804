package tx

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/events/transactions"
	"github.com/hostnode/hostnode/messages"
)

// entriesOf are entries with these keys, from revision first on.
func entriesOf(first uint64, names ...string) []entry {
	var entries []entry
	for i, name := range names {
		entries = append(entries, entry{Revision: first + uint64(i), Event: abandoned(name)})
	}
	return entries
}

func quietLog() logrus.FieldLogger {
	log := logrus.New()
	log.SetOutput(io.Discard)
	return log
}

// copierOn is a copier that runs until the test ends.
func copierOn(t *testing.T, store events.Store, pending []entry) *copier {
	t.Helper()
	c := startCopier(Config{Log: quietLog(), Node: "test"}, store, owner().Stream, pending)
	t.Cleanup(c.close)
	return c
}

// streamKeys are the keys of the account's events in the store.
func streamKeys(t *testing.T, store events.Store) (all []string) {
	t.Helper()
	codec := events.NewCodec(transactions.Table())
	for e, err := range store.ReadStream(t.Context(), owner().Stream, events.ReadStream{}) {
		if errors.Is(err, events.ErrStreamNotFound) {
			return nil
		}
		if err != nil {
			t.Fatal(err)
		}
		m, err := codec.Decode(e)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m.(*messages.TxAbandoned).GetKey())
	}
	return all
}

// wanting is a store that answers appends with an error, perhaps after making them.
type wanting struct {
	events.Store
	answer func(batch []events.NewEvent, commit func() error) error
}

func (s wanting) Append(
	ctx context.Context, stream string, expected events.Expected, batch []events.NewEvent,
) (r events.AppendResult, err error) {
	err = s.answer(batch, func() error {
		r, err = s.Store.Append(ctx, stream, expected, batch)
		return err
	})
	return r, err
}

func TestWhatIsCopiedAlreadyIsPassedOver(t *testing.T) {
	for name, tc := range map[string]struct{ there, pending []entry }{
		"nothing is there":                          {nil, entriesOf(0, "a", "b", "c")},
		"a first part is there":                     {entriesOf(0, "a"), entriesOf(0, "a", "b", "c")},
		"all but the last are there":                {entriesOf(0, "a", "b"), entriesOf(0, "a", "b", "c")},
		"all is there":                              {entriesOf(0, "a", "b", "c"), entriesOf(0, "a", "b", "c")},
		"more is there, and it is ours":             {entriesOf(0, "a", "b", "c"), entriesOf(1, "b")},
		"what was compacted away leaves a gap":      {entriesOf(0, "a", "b"), append(entriesOf(0, "a"), entriesOf(2, "c")...)},
		"the gap is followed by what is there, too": {entriesOf(0, "a", "b", "c"), append(entriesOf(0, "a"), entriesOf(2, "c")...)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := storetest.NewMemory()
				copierOn(t, store, tc.there)
				synctest.Wait()
				c := copierOn(t, store, tc.pending)
				synctest.Wait()
				if err := c.failure(); err != nil || !c.drained() {
					t.Fatalf("drained %t: %v", c.drained(), err)
				}
				if diff := cmp.Diff([]string{"a", "b", "c"}, streamKeys(t, store)); diff != "" {
					t.Fatal(diff)
				}
			})
		})
	}
}

func TestWhatIsNotOursInTheStreamIsAnotherOwner(t *testing.T) {
	for name, tc := range map[string]struct {
		there, pending []entry
		want           error
	}{
		"at once":            {entriesOf(0, "x"), entriesOf(0, "a"), ErrTakenOver},
		"after some of ours": {entriesOf(0, "a", "x"), entriesOf(0, "a", "b"), ErrTakenOver},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := storetest.NewMemory()
				copierOn(t, store, tc.there)
				synctest.Wait()
				c := copierOn(t, store, tc.pending)
				synctest.Wait()
				if err := c.failure(); !errors.Is(err, tc.want) {
					t.Fatalf("%v, want %v", err, tc.want)
				}
			})
		})
	}
}

func TestRecordsThatComeWhileTheAnswersAreLostAreAppendedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := storetest.NewMemory()
		var loses atomic.Bool
		loses.Store(true)
		store := wanting{memory, func(_ []events.NewEvent, commit func() error) error {
			err := commit()
			if loses.Load() {
				return events.ErrAway
			}
			return err
		}}
		c := copierOn(t, store, entriesOf(0, "a"))
		synctest.Wait()
		if since, reason := c.away(); since.IsZero() || !errors.Is(reason, events.ErrAway) {
			t.Fatalf("away since %s: %v", since, reason)
		}
		for _, r := range entriesOf(1, "b", "c") {
			c.put(r)
			synctest.Wait()
		}
		loses.Store(false)
		time.Sleep(longestCopyWait)
		synctest.Wait()
		if diff := cmp.Diff([]string{"a", "b", "c"}, streamKeys(t, memory)); diff != "" || c.failure() != nil {
			t.Fatalf("%v: %s", c.failure(), diff)
		}
		if since, reason := c.away(); !since.IsZero() || reason != nil || !c.drained() {
			t.Fatalf("back, but away since %s: %v", since, reason)
		}
	})
}

// Until the account's stream is complete, the host says that it does not sell.
func TestTheStreamIsCompleteWithinFiveSecondsAfterTheStoreIsBack(t *testing.T) {
	for _, outage := range []time.Duration{time.Second, 31 * time.Second, 97 * time.Second, time.Hour + 700*time.Millisecond} {
		t.Run(outage.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				memory := storetest.NewMemory()
				var away atomic.Bool
				away.Store(true)
				c := copierOn(t, wanting{memory, func(_ []events.NewEvent, commit func() error) error {
					if away.Load() {
						return events.ErrAway
					}
					return commit()
				}}, entriesOf(0, "a", "b"))
				time.Sleep(outage)
				away.Store(false)
				time.Sleep(5 * time.Second)
				synctest.Wait()
				if since, reason := c.away(); !since.IsZero() || !c.drained() {
					t.Fatalf("5 s after it came back: away since %s: %v", since, reason)
				}
			})
		})
	}
}

// TestAnAppendOfUnknownOutcomeIsRepeatedUnchanged plays a leader that is cut off from the other
// nodes: it keeps an append in its log without an answer, shows it to no reader, and checks the
// next append against it.
func TestAnAppendOfUnknownOutcomeIsRepeatedUnchanged(t *testing.T) {
	for _, truncates := range []bool{false, true} {
		t.Run(fmt.Sprintf("truncates=%t", truncates), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				memory := storetest.NewMemory()
				var healed, changed atomic.Bool
				var kept []events.NewEvent
				store := wanting{memory, func(batch []events.NewEvent, commit func() error) error {
					same := len(batch) == len(kept)
					for i := range min(len(batch), len(kept)) {
						same = same && batch[i].ID == kept[i].ID
					}
					switch {
					case healed.Load():
						return commit()
					case kept == nil:
						kept = batch
						return events.ErrAway
					case !same:
						changed.Store(true)
						return &events.WrongRevisionError{Actual: uint64(len(kept)) - 1, Exists: true}
					}
					return events.ErrAway
				}}
				c := copierOn(t, store, entriesOf(0, "a", "b"))
				synctest.Wait()
				for _, r := range entriesOf(2, "c", "d") {
					c.put(r)
					synctest.Wait()
				}
				if err := c.failure(); err != nil || changed.Load() {
					t.Fatalf("what is not committed yet is taken for lost: %v, or sent in another way: %t", err, changed.Load())
				}
				if !truncates {
					if _, err := memory.Append(t.Context(), owner().Stream, events.NoStream(), kept); err != nil {
						t.Fatal(err)
					}
				}
				healed.Store(true)
				time.Sleep(longestCopyWait)
				synctest.Wait()
				if diff := cmp.Diff([]string{"a", "b", "c", "d"}, streamKeys(t, memory)); diff != "" || c.failure() != nil {
					t.Fatalf("%v: %s", c.failure(), diff)
				}
			})
		})
	}
}

// TestARevisionBeyondWithNothingToReadIsNotCommitted is the same after a restart, when it is not
// known any more what was appended together.
func TestARevisionBeyondWithNothingToReadIsNotCommitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := storetest.NewMemory()
		var healed atomic.Bool
		store := wanting{memory, func(_ []events.NewEvent, commit func() error) error {
			if healed.Load() {
				return commit()
			}
			return &events.WrongRevisionError{Actual: 1, Exists: true}
		}}
		c := copierOn(t, store, entriesOf(0, "a", "b", "c"))
		synctest.Wait()
		if since, reason := c.away(); since.IsZero() || !errors.Is(reason, events.ErrAway) || c.failure() != nil {
			t.Fatalf("away since %s: %v, failed: %v", since, reason, c.failure())
		}
		healed.Store(true)
		time.Sleep(longestCopyWait)
		synctest.Wait()
		if diff := cmp.Diff([]string{"a", "b", "c"}, streamKeys(t, memory)); diff != "" || c.failure() != nil {
			t.Fatalf("%v: %s", c.failure(), diff)
		}
	})
}

func TestAnEndCopiesWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := storetest.NewMemory()
		store := wanting{memory, func(_ []events.NewEvent, commit func() error) error {
			time.Sleep(copyAtEnd / 4) // The store takes its time.
			return commit()
		}}
		c := copierOn(t, store, entriesOf(0, "a", "b"))
		c.close()
		if diff := cmp.Diff([]string{"a", "b"}, streamKeys(t, memory)); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestAnEndDoesNotWaitLongForAStoreThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := wanting{storetest.NewMemory(), func([]events.NewEvent, func() error) error { return events.ErrAway }}
		c := copierOn(t, store, entriesOf(0, "a"))
		began := time.Now()
		c.close()
		if took := time.Since(began); took > copyAtEnd {
			t.Fatalf("the end took %s", took)
		}
	})
}

func TestBatchesOfTheCopierAreBelowWhatEveryStoreTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var entries []entry
		for i := range uint64(600) {
			e := abandoned(fmt.Sprint(i))
			e.Reason = strings.Repeat("x", 10_000)
			entries = append(entries, entry{Revision: i, Event: e})
		}
		store := wanting{storetest.NewMemory(), func(batch []events.NewEvent, commit func() error) error {
			bytes := 0
			for _, e := range batch {
				bytes += e.Size()
			}
			if bytes > events.PreferredAppendBytes || len(batch) > copyBatch {
				t.Errorf("an append of %d events and %d bytes", len(batch), bytes)
			}
			return commit()
		}}
		c := copierOn(t, store, entries)
		synctest.Wait()
		if n := len(streamKeys(t, store)); n != len(entries) || !c.drained() {
			t.Fatalf("%d of %d were copied", n, len(entries))
		}
	})
}

func TestAStreamThatLagsTooFarTakesNoNewIntents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := wanting{storetest.NewMemory(), func([]events.NewEvent, func() error) error { return events.ErrAway }}
		many := make([]entry, maxUncopied-1)
		for i := range many {
			many[i] = entriesOf(uint64(i), "a")[0]
		}
		c := copierOn(t, store, many)
		if err := c.room(); err != nil {
			t.Fatal(err)
		}
		c.put(entriesOf(maxUncopied-1, "a")[0])
		if err := c.room(); err == nil {
			t.Fatal("there is room for more than the limit")
		}
	})
}

func TestTheStartComparesOutboxAndStream(t *testing.T) {
	for name, tc := range map[string]struct {
		stream, outbox []entry
		missing        []string
		length         uint64
		want           error
	}{
		"both are empty":         {},
		"the stream is empty":    {outbox: entriesOf(0, "a", "b")},
		"the stream lags":        {stream: entriesOf(0, "a"), outbox: entriesOf(0, "a", "b"), length: 1},
		"both are the same":      {stream: entriesOf(0, "a", "b"), outbox: entriesOf(0, "a", "b"), length: 2},
		"the file was lost":      {stream: entriesOf(0, "a", "b"), missing: []string{"a", "b"}, length: 2},
		"the file is older":      {stream: entriesOf(0, "a", "b"), outbox: entriesOf(0, "a"), missing: []string{"b"}, length: 2},
		"both went on":           {stream: entriesOf(0, "a", "x"), outbox: entriesOf(0, "a", "b"), want: ErrTakenOver},
		"the stream went on":     {stream: entriesOf(0, "x", "y"), outbox: entriesOf(0, "a"), want: ErrTakenOver},
		"the outbox went on":     {stream: entriesOf(0, "x"), outbox: entriesOf(0, "a", "b"), want: ErrTakenOver},
		"the past was compacted": {stream: entriesOf(0, "a", "b"), outbox: entriesOf(1, "b"), length: 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := storetest.NewMemory()
				copierOn(t, store, tc.stream)
				synctest.Wait()
				next := uint64(0)
				for _, r := range tc.outbox {
					next = r.Revision + 1
				}
				missing, length, err := catchUp(t.Context(), store, owner().Stream, tc.outbox, next)
				if !errors.Is(err, tc.want) || length != tc.length && tc.want == nil {
					t.Fatalf("%d events: %v", length, err)
				}
				if diff := cmp.Diff(tc.missing, keys(missing)); diff != "" {
					t.Fatal(diff)
				}
			})
		})
	}
}
