package tx

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/crypto"
	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/events/transactions"
	"github.com/hostnode/hostnode/messages"
)

func numbered(first uint64, all ...messages.TxEvent) (entries []entry) {
	for i, e := range all {
		entries = append(entries, entry{Revision: first + uint64(i), Event: e, Correlation: "c"})
	}
	return entries
}

// sentWith is an attempt whose hash tells it apart.
func sentWith(key string, nonce uint64, hash byte) messages.TxEvent {
	return &messages.TxSent{
		Key: key, Nonce: nonce, TxHash: events.Hash{hash}.String(), GasLimit: 1, FeeCapWei: "1", TipCapWei: "1",
	}
}

func minedAs(key string) messages.TxEvent {
	return &messages.TxMined{Key: key, Succeeded: true, Receipt: &messages.Receipt{Block: 3}}
}

// told is a short form of an entry: kind, key, and nonce of an attempt.
func told(r entry) string {
	switch e := r.Event.(type) {
	case *messages.TxIntended:
		return fmt.Sprintf("%d wants %s", r.Revision, e.GetKey())
	case *messages.TxSent:
		return fmt.Sprintf("%d sends %s at %d", r.Revision, e.GetKey(), e.GetNonce())
	case *messages.TxMined:
		return fmt.Sprintf("%d mined %s", r.Revision, e.GetKey())
	case *messages.TxAbandoned:
		return fmt.Sprintf("%d ends %s", r.Revision, e.GetKey())
	default:
		return fmt.Sprintf("%d %T", r.Revision, e)
	}
}

func TestWhatOnlyAReturnedOwnersOutboxHasFollowsTheRecord(t *testing.T) {
	for name, tc := range map[string]struct {
		shared, theirs, ours []messages.TxEvent
		want                 []string // after theirs
		twice                []string
	}{
		"another call": {
			theirs: []messages.TxEvent{intended("a#1"), sentWith("a#1", 1, 1)},
			ours:   []messages.TxEvent{intended("p#1"), sentWith("p#1", 0, 2), minedAs("p#1")},
			want:   []string{"wants p#1", "sends p#1 at 0", "mined p#1"},
		},
		"the same call with another nonce": {
			theirs: []messages.TxEvent{intended("p#1"), sentWith("p#1", 1, 1)},
			ours:   []messages.TxEvent{intended("p#1"), sentWith("p#1", 0, 2)},
			want:   []string{"wants p#2", "sends p#2 at 0"},
			twice:  []string{"p"},
		},
		"the same call, tried several times": {
			theirs: []messages.TxEvent{intended("p#1"), sentWith("p#1", 1, 1), abandoned("p#1"), intended("p#2")},
			ours:   []messages.TxEvent{intended("p#1"), sentWith("p#1", 0, 2)},
			want:   []string{"wants p#3", "sends p#3 at 0"},
			twice:  []string{"p"},
		},
		"an attempt of a call that they gave up": {
			shared: []messages.TxEvent{intended("p#1")},
			theirs: []messages.TxEvent{abandoned("p#1")},
			ours:   []messages.TxEvent{sentWith("p#1", 0, 2), minedAs("p#1")},
			want:   []string{"wants p#2", "sends p#2 at 0", "mined p#2"},
			twice:  []string{"p"},
		},
		"higher fees that both offered": {
			shared: []messages.TxEvent{intended("p#1"), sentWith("p#1", 0, 1)},
			theirs: []messages.TxEvent{sentWith("p#1", 0, 2)},
			ours:   []messages.TxEvent{sentWith("p#1", 0, 3)},
			want:   []string{"sends p#1 at 0"},
		},
		"the same higher fees": {
			shared: []messages.TxEvent{intended("p#1"), sentWith("p#1", 0, 1)},
			theirs: []messages.TxEvent{sentWith("p#1", 0, 2)},
			ours:   []messages.TxEvent{sentWith("p#1", 0, 2), minedAs("p#1")},
			want:   []string{"mined p#1"},
		},
		"an end that they know better": {
			shared: []messages.TxEvent{intended("p#1"), sentWith("p#1", 0, 1)},
			theirs: []messages.TxEvent{minedAs("p#1")},
			ours:   []messages.TxEvent{sentWith("p#1", 0, 3), abandoned("p#1")},
			want:   []string{"sends p#1 at 0"},
		},
		"a count": {
			theirs: []messages.TxEvent{intended("a#1")},
			ours:   []messages.TxEvent{&messages.TxCountObserved{Count: 7}},
			want:   []string{"*messages.TxCountObserved"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			shared := numbered(10, tc.shared...)
			theirs := numbered(10+uint64(len(shared)), tc.theirs...)
			ours := numbered(10+uint64(len(shared)), tc.ours...)
			before := append(slices.Clone(shared), theirs...)
			all, twice := merged(shared, theirs, ours)
			if diff := cmp.Diff(tc.twice, twice); diff != "" {
				t.Fatalf("sent twice: %s", diff)
			}
			var want, got []string
			for _, r := range before {
				want = append(want, told(r))
			}
			for i, text := range tc.want {
				want = append(want, fmt.Sprintf("%d %s", 10+len(before)+i, text))
			}
			for _, r := range all {
				got = append(got, told(r))
				if r.Correlation != "c" {
					t.Errorf("%s lost its correlation", told(r))
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatal(diff)
			}
		})
	}
}

// recording opens account and outbox as Open does, without a chain.
func recording(t *testing.T, store events.Store, path string) (*outbox, *copier, []entry) {
	t.Helper()
	box, entries := openBox(t, path)
	cfg := Config{Key: testKey(t), Log: quietLog(), RecordFirst: true}
	entries, copied, away, err := cfg.join(t.Context(), store, box, entries)
	if err != nil || away != nil {
		t.Fatalf("join: %v, away: %v", err, away)
	}
	c := startCopier(cfg, store, owner().Stream, slices.DeleteFunc(slices.Clone(entries), func(r entry) bool {
		return r.Revision < copied
	}))
	t.Cleanup(c.close)
	return box, c, entries
}

func noted(t *testing.T, box *outbox, c *copier, e messages.TxEvent) {
	t.Helper()
	r, err := box.add(e, "")
	if err != nil {
		t.Fatal(err)
	}
	c.put(r)
}

func TestAReturnedOwnersTailIsRecordedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory, dir := storetest.NewMemory(), t.TempDir()
		away := false
		flaky := wanting{memory, func(_ []events.NewEvent, commit func() error) error {
			if away {
				return events.ErrAway
			}
			return commit()
		}}
		first, c, _ := recording(t, flaky, filepath.Join(dir, "first"))
		noted(t, first, c, abandoned("a"))
		synctest.Wait()
		away = true
		noted(t, first, c, abandoned("p"))
		c.close()

		second, c, _ := recording(t, memory, filepath.Join(dir, "second"))
		noted(t, second, c, abandoned("b"))
		synctest.Wait()
		c.close()

		away = false
		for range 2 { // The second time there is nothing to merge.
			_, c, entries := recording(t, flaky, filepath.Join(dir, "first"))
			synctest.Wait()
			c.close()
			if diff := cmp.Diff([]string{"a", "b", "p"}, keys(entries)); diff != "" {
				t.Fatalf("the outbox has %s", diff)
			}
			if diff := cmp.Diff([]string{"a", "b", "p"}, streamKeys(t, memory)); diff != "" {
				t.Fatalf("the record has %s", diff)
			}
		}
		_, c, entries := recording(t, memory, filepath.Join(dir, "second"))
		if diff := cmp.Diff([]string{"a", "b", "p"}, keys(entries)); diff != "" || c.failure() != nil {
			t.Fatalf("the other owner's outbox: %v, %s", c.failure(), diff)
		}
		if kept, err := filepath.Glob(filepath.Join(dir, "first"+asideSuffix+"*")); err != nil || len(kept) != 1 {
			t.Fatalf("former outboxes: %v, %v", kept, err)
		}
	})
}

// A merge is a rewritten file and then appends; a crash between them leaves nothing to be done but the appends.
func TestAMergeThatWasInterruptedGoesOn(t *testing.T) {
	for _, appended := range []int{0, 1, 2} {
		t.Run(fmt.Sprint(appended, " appended"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, path := storetest.NewMemory(), filepath.Join(t.TempDir(), "box")
				box, _ := openBox(t, path)
				copierOn(t, store, entriesOf(0, "x", "y"))
				synctest.Wait()
				if err := box.put(entriesOf(0, "p", "q")...); err != nil {
					t.Fatal(err)
				}
				_, entries := openBox(t, path)
				cfg := Config{Key: testKey(t), Log: quietLog(), RecordFirst: true}
				all, length, err := cfg.merge(t.Context(), store, box, entries)
				if err != nil || length != 2 {
					t.Fatalf("merged after %d: %v", length, err)
				}
				copierOn(t, store, all[length:int(length)+appended])
				synctest.Wait()
				copierOn(t, store, entriesOf(length+uint64(appended), "z")) // Another owner, in between.
				synctest.Wait()
				time.Sleep(time.Second)
				_, _, _ = recording(t, store, path)
				synctest.Wait()
				want := slices.Insert([]string{"x", "y", "p", "q"}, 2+appended, "z")
				if diff := cmp.Diff(want, streamKeys(t, store)); diff != "" {
					t.Fatal(diff)
				}
			})
		})
	}
}

func TestWithoutRecordFirstAnotherOwnersEventsEndTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storetest.NewMemory()
		copierOn(t, store, entriesOf(0, "x"))
		synctest.Wait()
		box, _ := openBox(t, filepath.Join(t.TempDir(), "box"))
		if err := box.put(entriesOf(0, "a")...); err != nil {
			t.Fatal(err)
		}
		cfg := Config{Key: testKey(t), Log: quietLog()}
		if _, _, _, err := cfg.join(t.Context(), store, box, entriesOf(0, "a")); !errors.Is(err, ErrTakenOver) {
			t.Fatalf("it begins: %v", err)
		}
	})
}

// silent is a store that answers appends only when their context ends.
type silent struct{ events.Store }

func (silent) Append(ctx context.Context, _ string, _ events.Expected, _ []events.NewEvent) (events.AppendResult, error) {
	<-ctx.Done()
	return events.AppendResult{}, ctx.Err()
}

func TestAStoreThatDoesNotAnswerIsAwayForWhatWaitsForIt(t *testing.T) {
	for _, first := range []bool{true, false} {
		t.Run(fmt.Sprintf("RecordFirst=%t", first), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := startCopier(Config{Log: quietLog(), RecordFirst: first}, silent{storetest.NewMemory()},
					owner().Stream, entriesOf(0, "a"))
				t.Cleanup(c.close)
				time.Sleep(recordTime + time.Millisecond)
				synctest.Wait()
				if _, why := c.away(); errors.Is(why, events.ErrAway) != first || c.has(0) {
					t.Fatalf("away: %v, recorded: %t", why, c.has(0))
				}
				select {
				case <-c.news:
				default:
					if first {
						t.Fatal("nobody is told")
					}
				}
			})
		})
	}
}

func TestTwoAttemptsWithANonceAreFollowedByTheDearer(t *testing.T) {
	sent := func(fee string) messages.TxEvent {
		e := sentAs("p#1", 4).(*messages.TxSent)
		e.FeeCapWei, e.TipCapWei = fee, fee
		return e
	}
	b := newBook(nil)
	for i, e := range []messages.TxEvent{intended("p#1"), sent("100"), sent("150"), sent("120")} {
		b.apply(entry{Revision: uint64(i), Event: e})
	}
	in := b.latest["p"]
	if len(in.attempts) != 3 || in.last().feeCap.Int64() != 150 {
		t.Fatalf("%d attempts, the last one offers %s", len(in.attempts), in.last().feeCap)
	}
}

func TestRecordsOfEarlierVersionsFoldAsTheyDid(t *testing.T) {
	files, err := filepath.Glob("../../testdata/history/v1/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d histories: %v", len(files), err)
	}
	sent := 0
	for _, path := range files {
		for stream, entries := range accounts(t, path) {
			b := newBook(nil)
			for _, r := range entries {
				b.apply(r)
			}
			for _, in := range b.intents {
				sent += len(in.attempts)
				inOrder := func(x, y attempt) int { return int(x.revision) - int(y.revision) }
				if !slices.IsSortedFunc(in.attempts, inOrder) {
					t.Errorf("%s of %s: the attempts of %s are not in the order of the record", stream, path, in.key)
				}
			}
			// Two owners with the same record agree, and one that has it all has nothing to merge.
			if all, twice := merged(entries, entries[:0], nil); len(all) != len(entries) || twice != nil {
				t.Errorf("%s of %s: %d events became %d", stream, path, len(entries), len(all))
			}
		}
	}
	if sent == 0 {
		t.Fatal("no history has a transaction")
	}
}

// accounts are the entries of all accounts' streams in an exported history.
func accounts(t *testing.T, path string) map[string][]entry {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	codec, all := events.NewCodec(transactions.Table()), map[string][]entry{}
	for line := range bytes.Lines(raw) {
		var e struct {
			Stream   string
			Revision uint64
			Type     string
			Data     json.RawMessage
		}
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if !strings.HasPrefix(e.Stream, events.TxStream(events.Address{})[:3]) {
			continue
		}
		m, err := codec.Decode(events.Recorded{
			Stream: e.Stream, Revision: e.Revision, Type: e.Type, Data: e.Data, Meta: events.Metadata{Version: 1},
		})
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all[e.Stream] = append(all[e.Stream], entry{Revision: e.Revision, Event: m})
	}
	return all
}

func testKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := crypto.ToECDSA(crypto.Keccak256([]byte(t.Name())))
	if err != nil {
		t.Fatal(err)
	}
	return key
}
