package events

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/sha3"
)

// ErrMalformed means that a text or some bytes do not have the form that their
// type demands. The error that wraps it says what was read and what was
// expected.
var ErrMalformed = errors.New("malformed value")

// The identifiers of the market (spec/marketplace.md §1.3). All are printed and
// stored as 0x-hex in lower case; all are comparable and may be map keys.
type (
	// RequestID is the keccak256 of the ABI encoding of a storage request.
	RequestID [32]byte
	// SlotID is the keccak256 of a request id and a slot index.
	SlotID [32]byte
	// AvailabilityID names what an operator offers for sale.
	AvailabilityID [32]byte
	// ReservationID names a local claim on part of an availability, for one
	// slot and one attempt at it.
	ReservationID [32]byte
	// Hash is the hash of a block, a transaction or a genesis block.
	Hash [32]byte
	// Challenge is the contract's challenge for a slot in a period: the hash of
	// a block hash. Its first 31 bytes, little-endian, are the entropy.
	Challenge [32]byte
	// Root is a Poseidon2 root as it stands on chain and in CIDs: the canonical
	// integer below the field order as 32 bytes little-endian (spec/proofs.md §2).
	Root [32]byte
	// Address is an account or a contract.
	Address [20]byte
)

func (id RequestID) String() string      { return hex0x(id[:]) }
func (id SlotID) String() string         { return hex0x(id[:]) }
func (id AvailabilityID) String() string { return hex0x(id[:]) }
func (id ReservationID) String() string  { return hex0x(id[:]) }
func (h Hash) String() string            { return hex0x(h[:]) }
func (c Challenge) String() string       { return hex0x(c[:]) }
func (r Root) String() string            { return hex0x(r[:]) }
func (a Address) String() string         { return hex0x(a[:]) }

// Short is the first four bytes of an id, for lines that people read.
func (id SlotID) Short() string { return hex0x(id[:4]) }

// Compare orders slots by their ids.
func (id SlotID) Compare(other SlotID) int { return bytes.Compare(id[:], other[:]) }

// Short is the first four bytes of an id, for lines that people read.
func (id RequestID) Short() string { return hex0x(id[:4]) }

// Zero reports whether the hash was never set.
func (h Hash) Zero() bool { return h == Hash{} }

// Zero reports whether the address is the zero address.
func (a Address) Zero() bool { return a == Address{} }

// Zero reports whether the id was never set.
func (id ReservationID) Zero() bool { return id == ReservationID{} }

// ParseRequestID reads 64 hex digits, with or without 0x.
func ParseRequestID(s string) (RequestID, error) { return parse32[RequestID]("request id", s) }

// ParseSlotID reads 64 hex digits, with or without 0x.
func ParseSlotID(s string) (SlotID, error) { return parse32[SlotID]("slot id", s) }

// ParseAvailabilityID reads 64 hex digits, with or without 0x.
func ParseAvailabilityID(s string) (AvailabilityID, error) {
	return parse32[AvailabilityID]("availability id", s)
}

// ParseReservationID reads 64 hex digits, with or without 0x.
func ParseReservationID(s string) (ReservationID, error) {
	return parse32[ReservationID]("reservation id", s)
}

// ParseHash reads 64 hex digits, with or without 0x.
func ParseHash(s string) (Hash, error) { return parse32[Hash]("hash", s) }

// ParseChallenge reads 64 hex digits, with or without 0x.
func ParseChallenge(s string) (Challenge, error) { return parse32[Challenge]("challenge", s) }

// ParseRoot reads 64 hex digits, with or without 0x. It does not check that
// the value is below the field order: the chain does not either.
func ParseRoot(s string) (Root, error) { return parse32[Root]("root", s) }

// ParseAddress reads 40 hex digits, with or without 0x, in any case.
func ParseAddress(s string) (Address, error) {
	var a Address
	if err := parseHex("address", s, a[:]); err != nil {
		return a, err
	}
	return a, checkSum(s[len(s)-2*len(a):], a)
}

// ErrChecksum: the upper and lower case of an address do not fit its digits, so one was mistyped.
var ErrChecksum = errors.New("the address has a wrong checksum")

// checkSum compares the case of an address's letters with the checksum of its digits
// (EIP-55). An address in one case has no checksum and passes.
func checkSum(digits string, a Address) error {
	lower := hex.EncodeToString(a[:])
	if digits == lower || digits == strings.ToUpper(lower) {
		return nil
	}
	h := sha3.NewLegacyKeccak256()
	h.Write([]byte(lower))
	sum := h.Sum(nil)
	want := []byte(lower)
	for i, c := range want {
		const half = 8
		if nibble := sum[i/2] >> (4 * (1 - i%2)) & 0xf; c >= 'a' && nibble >= half {
			want[i] = c - 'a' + 'A'
		}
	}
	if digits != string(want) {
		return fmt.Errorf("%w: %w: 0x%s; a digit may be mistyped. If you are sure, write it in small letters",
			ErrMalformed, ErrChecksum, digits)
	}
	return nil
}

func parse32[T ~[32]byte](what, s string) (T, error) {
	var buf [32]byte
	err := parseHex(what, s, buf[:])
	return T(buf), err
}

func parseHex(what, s string, into []byte) error {
	digits := strings.TrimPrefix(strings.TrimPrefix(s, "0x"), "0X")
	if len(digits) != 2*len(into) {
		return fmt.Errorf("%w: %s %q has %d hex digits, want %d",
			ErrMalformed, what, clip(s), len(digits), 2*len(into))
	}
	raw, err := hex.DecodeString(digits)
	if err != nil {
		return fmt.Errorf("%w: %s %q: %w", ErrMalformed, what, clip(s), err)
	}
	copy(into, raw)
	return nil
}

func hex0x(b []byte) string { return "0x" + hex.EncodeToString(b) }

// clip shortens hostile input in error messages.
func clip(s string) string {
	const most = 80
	return Clip(s, most)
}

// Clip returns a text for an error, shortened if it has more than so many bytes.
func Clip(text string, most int) string {
	if len(text) > most {
		return text[:most] + "..."
	}
	return text
}

// NameOf is the name of a value of a type that has few: the one in its place, or without one its number
// in the form of other.
func NameOf[T ~uint8](value T, other string, names ...string) string {
	if int(value) < len(names) {
		return names[value]
	}
	return fmt.Sprintf(other, uint8(value))
}

// SlotIDOf is the keccak256 of the request id and the slot index as a 32-byte
// big-endian word (spec/marketplace.md §1.3).
func SlotIDOf(request RequestID, index uint64) SlotID {
	var word [32]byte
	binary.BigEndian.PutUint64(word[24:], index)
	h := sha3.NewLegacyKeccak256()
	h.Write(request[:])
	h.Write(word[:])
	return SlotID(h.Sum(nil))
}
