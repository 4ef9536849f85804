package embedded

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/events"
)

func sealed(stream string, e events.NewEvent, position events.Position, revision uint64) []byte {
	b := encodeRecord(stream, e)
	sealRecord(b, position, revision, time.Unix(1_700_000_000, 5))
	return b
}

// layout1 is a record of an event without additions as format 1 had it.
func layout1(b []byte) []byte {
	b = bytes.Clone(b[:len(b)-1])
	b[crcBytes] = recordLayout1
	binary.BigEndian.PutUint32(b, crc32.Checksum(b[crcBytes:], crcTable))
	return b
}

func FuzzDecodeRecord(f *testing.F) {
	f.Add(sealed("a-1", numbered(1, 10)[0], 1, 0), false)
	f.Add(sealed("\x00\xff", events.NewEvent{Type: "t"}, 1<<63, 1<<62), true)
	f.Add(sealed("a-1", events.NewEvent{Type: "t", Foreign: []byte("x"), Binary: true}, 1, 0), false)
	f.Add(sealed("a-1", events.NewEvent{
		Type: "t", Meta: events.Metadata{Cause: "look"}, Foreign: []byte(`{"cause":"look","by":1}`),
	}, 1, 0), false)
	f.Add(layout1(sealed("a-1", numbered(1, 10)[0], 1, 0)), false)
	f.Add(bytes.Repeat([]byte{0xff}, headerBytes+60), true)
	f.Add([]byte{}, false)
	f.Fuzz(func(t *testing.T, b []byte, fix bool) {
		if fix && len(b) > headerBytes { // Go behind the checksum and the layout.
			b = bytes.Clone(b)
			at := time.Unix(0, int64(len(b)))
			sealRecord(b, events.Position(b[0]), uint64(b[1]), at)
		}
		var names interner
		r, err := decodeRecord(b, &names)
		if err != nil {
			return
		}
		e := events.NewEvent{
			ID: r.ID, Type: r.Type, Data: r.Data, Meta: r.Meta, Foreign: r.Foreign, Binary: r.Binary,
		}
		again := encodeRecord(r.Stream, e)
		sealRecord(again, r.Position, r.Revision, r.Recorded)
		back, err := decodeRecord(again, &names)
		if diff := cmp.Diff(r, back); err != nil || diff != "" {
			t.Fatalf("decoded, encoded, decoded: %v (-first +second):\n%s", err, diff)
		}
	})
}

func FuzzDecodeKeys(f *testing.F) {
	f.Add(appendEventKey(nil, 7))
	f.Add(appendIndexKey(nil, "a-\x00-1", 9))
	f.Add(appendHeadKey(nil, ""))
	f.Add(appendIndexKey(nil, "$ce-a", 9))
	f.Add(appendHeadKey(nil, "$streams"))
	f.Add([]byte{prefixIndex, 0, nameEscape, 0, nameEnd, 0, 0})
	f.Fuzz(func(t *testing.T, key []byte) {
		if position, err := parseEventKey(key); err == nil {
			if again := appendEventKey(nil, position); !bytes.Equal(again, key) {
				t.Fatalf("event key %x is written %x", key, again)
			}
		}
		for _, letter := range []byte{prefixIndex, prefixVirtual} {
			if stream, revision, err := parseIndexKey(key, letter); err == nil {
				again := binary.BigEndian.AppendUint64(appendName([]byte{letter}, stream), revision)
				if !bytes.Equal(again, key) {
					t.Fatalf("index key %x is written %x", key, again)
				}
			}
		}
		for _, letter := range []byte{prefixHead, prefixVirtualHead} {
			if stream, err := parseHeadKey(key, letter); err == nil {
				if again := appendName([]byte{letter}, stream); !bytes.Equal(again, key) {
					t.Fatalf("head key %x is written %x", key, again)
				}
			}
		}
	})
}

func FuzzNamesKeepTheirOrderAndApart(f *testing.F) {
	f.Add("a", "a-1")
	f.Add("a\x00", "a\x00\xff")
	f.Add("", "\x00\x01")
	f.Fuzz(func(t *testing.T, a, b string) {
		x, y := appendName(nil, a), appendName(nil, b)
		if got, want := bytes.Compare(x, y), strings.Compare(a, b); got != want {
			t.Fatalf("%q and %q compare %d, their keys %d", a, b, want, got)
		}
		if a != b && (bytes.HasPrefix(x, y) || bytes.HasPrefix(y, x)) {
			t.Fatalf("the keys of %q and %q are parts of each other", a, b)
		}
	})
}

func FuzzDecodeValues(f *testing.F) {
	f.Add(appendHead(nil, head{count: 3}))
	f.Add(appendHead(nil, head{count: 3, ended: true, metadata: 7, shown: shown{1, 2, 3}}))
	f.Add([]byte{headLayout1, 0, 0, 0, 0, 0, 0, 0, 5})
	f.Add(appendVirtualEntry(nil, 7))
	f.Add(appendIndexEntry(nil, indexEntry{3, events.EventID{1}}))
	f.Add([]byte(formatPrefix + "1\n"))
	f.Fuzz(func(t *testing.T, value []byte) {
		if h, err := parseHead(value); err == nil {
			if again, err := parseHead(appendHead(nil, h)); err != nil || again != h {
				t.Fatalf("head %x is %+v, and written and read again %+v, %v", value, h, again, err)
			}
		}
		if entry, err := parseEntry(value, prefixIndex); err == nil {
			if again := appendIndexEntry(nil, entry); !bytes.Equal(again, value) {
				t.Fatalf("index entry %x is written %x", value, again)
			}
		}
		if entry, err := parseEntry(value, prefixVirtual); err == nil {
			if again := appendVirtualEntry(nil, entry.position); !bytes.Equal(again, value) {
				t.Fatalf("virtual entry %x is written %x", value, again)
			}
		}
		if _, _, known := parseMark(value); known && len(value) != markBytes {
			t.Fatalf("mark of %d bytes was accepted", len(value))
		}
		if _, _, err := parseFormat("dir", string(value)); err == nil &&
			!strings.HasPrefix(string(value), formatPrefix) {
			t.Fatalf("format %q was accepted", value)
		}
	})
}

func TestHeadsAndRecentForgetTheOldest(t *testing.T) {
	h := newHeads(nil, 4)
	for n := range 10 {
		h.add(string(rune('a'+n)), head{count: uint64(n)})
		h.forget()
		if e := h.get("a"); e == nil || e.head.count != 0 {
			t.Fatalf("after %d: the stream that is asked for was forgotten", n)
		}
	}
	if e := h.get("b"); e != nil || len(h.young)+len(h.old) > 4 {
		t.Fatalf("%d heads are kept, want at most 4", len(h.young)+len(h.old))
	}
	r := newRecent(3)
	ids := make([]newEvent, 5)
	for n := range ids {
		ids[n].id = events.EventID{byte(n)}
		r.add(recentEvent{recentKey: recentKey{ids[n].id, "a"}, revision: uint64(n)})
	}
	if _, known := r.known("a", ids[1:]); known != 0 {
		t.Fatal("an event that was pushed out is known")
	}
	if last, known := r.known("a", ids[2:]); known != 3 || last.revision != 4 || len(r.byID) != 3 {
		t.Fatalf("known %d, last %+v, %d ids kept", known, last, len(r.byID))
	}
	if _, known := r.known("b", ids[2:]); known != 0 {
		t.Fatal("the events of another stream are known")
	}
}
