package config

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/hostnode/hostnode/events"
)

// ErrBytes: a text is no size.
var ErrBytes = errors.New("not a size")

// Bytes is a number of bytes as people write it: 512, 4MiB, 20 GB, 1.5GiB.
type Bytes uint64

// units from large to small; binary ones first, so that they are preferred for printing.
var units = []struct {
	name string
	size uint64
}{
	{"EiB", 1 << 60},
	{"PiB", 1 << 50},
	{"TiB", 1 << 40},
	{"GiB", 1 << 30},
	{"MiB", 1 << 20},
	{"KiB", 1 << 10},
	{"EB", 1e18},
	{"PB", 1e15},
	{"TB", 1e12},
	{"GB", 1e9},
	{"MB", 1e6},
	{"kB", 1e3},
	{"KB", 1e3},
	{"B", 1},
}

// maxSizeText is the most characters of a size; the longest sensible one has 25.
const maxSizeText = 40

// ParseBytes reads a size: digits, perhaps a fraction, perhaps a unit (B, kB, MB,
// GB, TB, PB, EB for powers of 1000, KiB ... EiB for powers of 1024). It returns
// ErrBytes for anything else, for a fraction of a byte and for more than 64 bits.
func ParseBytes(text string) (Bytes, error) {
	refuse := func(why string) (Bytes, error) {
		return 0, fmt.Errorf("%w: %q %s; write for example 500MB, 20GiB or a number of bytes",
			ErrBytes, events.Clip(text, maxSizeText), why)
	}
	s := strings.TrimSpace(text)
	digits := strings.TrimLeft(s, "0123456789.")
	number, unit := s[:len(s)-len(digits)], strings.TrimSpace(digits)
	factor, known := unitSize(unit)
	switch {
	case len(text) > maxSizeText:
		return refuse("is too long")
	case strings.HasPrefix(s, "-"):
		return refuse("is negative")
	case number == "":
		return refuse("has no digits")
	case strings.Count(number, ".") > 1 || strings.HasPrefix(number, ".") || strings.HasSuffix(number, "."):
		return refuse("is no number")
	case !known:
		return refuse(fmt.Sprintf("has the unknown unit %q", unit))
	}
	value, ok := new(big.Rat).SetString(number)
	if !ok {
		return refuse("is no number")
	}
	value.Mul(value, new(big.Rat).SetUint64(factor))
	switch {
	case !value.IsInt():
		return refuse("is not a whole number of bytes")
	case !value.Num().IsUint64():
		return refuse("is more than 64 bits can count")
	}
	return Bytes(value.Num().Uint64()), nil
}

func unitSize(name string) (uint64, bool) {
	if name == "" {
		return 1, true
	}
	for _, u := range units {
		if u.name == name {
			return u.size, true
		}
	}
	return 0, false
}

// String prints the size exactly, in the largest unit that divides it. ParseBytes
// reads it back.
func (b Bytes) String() string {
	if b == 0 {
		return "0B"
	}
	for _, u := range units {
		if uint64(b)%u.size == 0 {
			return strconv.FormatUint(uint64(b)/u.size, 10) + u.name
		}
	}
	return strconv.FormatUint(uint64(b), 10) + "B"
}

// Human prints the size for tables; see events.Bytes.
func (b Bytes) Human() string { return events.Bytes(b).Human() }

// Set implements the flag interface.
func (b *Bytes) Set(text string) (err error) {
	*b, err = ParseBytes(text)
	return err
}

// Type implements the flag interface.
func (*Bytes) Type() string { return "size" }
