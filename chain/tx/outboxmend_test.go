package tx

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/events/transactions"
)

// writtenBox is a file with events of these keys, and the offsets of its frames.
func writtenBox(t *testing.T, dir string, all ...string) (path string, raw []byte, frames []int64) {
	t.Helper()
	path = filepath.Join(dir, owner().Stream+outboxSuffix)
	o, _ := openBox(t, path)
	for _, key := range all {
		frames = append(frames, o.size)
		if _, err := o.add(abandoned(key), ""); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, raw, frames
}

func TestNoFlippedBitOfTheOutboxIsTakenForATornEnd(t *testing.T) {
	_, raw, _ := writtenBox(t, t.TempDir(), "first", "second", "third")
	for i := range raw {
		for bit := range 8 {
			flipped := bytes.Clone(raw)
			flipped[i] ^= 1 << bit
			if payloads, _, err := splitFrames(flipped); !errors.Is(err, ErrOutboxDamaged) {
				t.Fatalf("bit %d of byte %d: %d frames, %v", bit, i, len(payloads), err)
			}
		}
	}
}

func TestWhatIsNoOutboxIsNotTakenForAnEmptyOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "box")
	for _, text := range []string{"x", "garbage that has nothing to do with it", "{}", "\x40\x00\x00\x00\x01\x02\x03\x04{\"a"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := openOutbox(path, owner()); !errors.Is(err, ErrOutboxDamaged) {
			t.Errorf("%q: %v, want ErrOutboxDamaged", text, err)
		}
		if left, err := os.ReadFile(path); err != nil || string(left) != text {
			t.Errorf("%q became %q, %v", text, left, err)
		}
	}
}

func TestDamagedOutboxIsMendedFromTheRecordAndFromWhatIsLegible(t *testing.T) {
	written := []string{"first", "second", "third", "fourth"}
	for name, c := range map[string]struct {
		recorded int // events in the account's stream
		hurt     int // the damaged frame; -1: all bytes
		want     []string
		rescued  int
		lost     int
	}{
		"all is recorded":              {4, 1, written, 0, 0},
		"the end is not recorded":      {2, 1, written, 2, 0},
		"what is damaged is not":       {1, 1, written[:1], 0, 2},
		"the last one is damaged":      {3, 3, written[:3], 0, 0},
		"nothing of it is an outbox":   {3, -1, nil, 0, 0},
		"nothing was ever recorded":    {0, 2, written[:2], 2, 1},
		"the first one and no records": {0, 0, nil, 0, 3},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path, raw, frames := writtenBox(t, dir, written...)
			store := storetest.NewMemory()
			_, entries := openBox(t, path)
			c2 := &copier{stream: owner().Stream, codec: events.NewCodec(transactions.Table())}
			for _, r := range entries[:c.recorded] {
				e, err := c2.event(r)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := store.Append(t.Context(), c2.stream, events.Any(), []events.NewEvent{e}); err != nil {
					t.Fatal(err)
				}
			}
			if c.hurt < 0 {
				raw = bytes.Repeat([]byte{0xa5}, len(raw))
			} else {
				raw[frames[c.hurt]+frameHeaderBytes+5] ^= 1
			}
			if err := os.WriteFile(path, raw, 0o600); err != nil {
				t.Fatal(err)
			}
			found, err := ExamineOutboxes(t.Context(), dir, store)
			if err != nil || len(found) != 1 {
				t.Fatalf("%d damaged outboxes, %v", len(found), err)
			}
			d := found[0]
			if d.Recorded != c.recorded || d.Rescued != c.rescued || d.LostEvents != c.lost ||
				d.Lost == 0 || !errors.Is(d.Problem, ErrOutboxDamaged) {
				t.Fatalf("found %d recorded, %d rescued, %d lost, %d bytes, %v",
					d.Recorded, d.Rescued, d.LostEvents, d.Lost, d.Problem)
			}
			aside, err := d.Mend(time.Unix(0, 0))
			if err != nil {
				t.Fatal(err)
			}
			if kept, err := os.ReadFile(aside); err != nil || !bytes.Equal(kept, raw) {
				t.Fatalf("the damaged file is not kept: %v", err)
			}
			mended, got := openBox(t, path)
			if diff := cmp.Diff(c.want, keys(got)); diff != "" {
				t.Fatalf("records (-want +got):\n%s", diff)
			}
			if c.hurt >= 0 && (mended.copied != uint64(c.recorded) || mended.next != uint64(len(c.want))) {
				t.Fatalf("%d copied, next is %d", mended.copied, mended.next)
			}
			if found, err := ExamineOutboxes(t.Context(), dir, store); err != nil || len(found) != 0 {
				t.Fatalf("%d are damaged after mending, %v", len(found), err)
			}
		})
	}
}
