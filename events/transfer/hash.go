package transfer

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash"
	"io"
	"unicode/utf8"

	"github.com/hostnode/hostnode/events"
)

// Sum is a SHA-256.
type Sum [sha256.Size]byte

func (s Sum) String() string { return hex.EncodeToString(s[:]) }

// hashing writes fields in such a way that different lists of fields give different bytes.
type hashing struct{ hash.Hash }

func newHashing(what string) hashing {
	h := hashing{sha256.New()}
	h.text(what)
	return h
}

func (h hashing) number(n uint64) { h.Write(binary.BigEndian.AppendUint64(nil, n)) }

func (h hashing) bytes(b []byte) {
	h.number(uint64(len(b)))
	h.Write(b)
}

func (h hashing) text(s string) { h.bytes([]byte(s)) }

func (h hashing) sum() (s Sum) {
	h.Sum(s[:0])
	return s
}

// eventSum is the digest of an event's contents, independent of its position.
func eventSum(e events.NewEvent) Sum {
	h := newHashing("event")
	h.Write(e.ID[:])
	h.text(e.Type)
	if e.Binary {
		h.text("binary")
		h.bytes(e.Data)
	} else {
		h.text("json")
		h.bytes(canonical(e.Data))
	}
	h.bytes(canonical(events.EncodeMetadata(e.Meta, e.Foreign)))
	return h.sum()
}

// chain returns the digest of a stream with one more event.
func chain(before, event Sum) Sum {
	h := newHashing("next")
	h.Write(before[:])
	h.Write(event[:])
	return h.sum()
}

// canonical returns JSON without meaningless differences: spaces, the order of
// keys, the spelling of characters. Numbers stay as they are written. What is
// not JSON stays as it is.
func canonical(data []byte) []byte {
	if len(data) == 0 || !utf8.Valid(data) {
		return data
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return data
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return data // More than one value.
	}
	text, err := json.Marshal(v)
	if err != nil {
		return data
	}
	return text
}
