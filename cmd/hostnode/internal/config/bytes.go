package config

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/hostnode/hostnode/events"
)

// ErrBytes: a text is no size.
var ErrBytes = errors.New("not a size")

// units from large to small; binary ones first, so that they are preferred for printing.
var units = []unit{
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

type unit struct {
	name string
	size uint64
}

// maxSizeText is the most characters of a size; the longest sensible one has 25.
const maxSizeText = 40

// ParseBytes reads a size: digits, perhaps a fraction, perhaps a unit (B, kB, MB,
// GB, TB, PB, EB for powers of 1000, KiB ... EiB for powers of 1024). It returns
// ErrBytes for anything else, for a fraction of a byte and for more than 64 bits.
func ParseBytes(text string) (events.Bytes, error) {
	refuse := func(why string) (events.Bytes, error) {
		return 0, fmt.Errorf("%w: %q %s; write for example 500MB, 20GiB or a number of bytes",
			ErrBytes, events.Clip(text, maxSizeText), why)
	}
	s := strings.TrimSpace(text)
	digits := strings.TrimLeft(s, "0123456789.")
	number, name := s[:len(s)-len(digits)], strings.TrimSpace(digits)
	i := slices.IndexFunc(units, func(u unit) bool { return u.name == cmp.Or(name, "B") })
	switch {
	case len(text) > maxSizeText:
		return refuse("is too long")
	case strings.HasPrefix(s, "-"):
		return refuse("is negative")
	case number == "":
		return refuse("has no digits")
	case strings.Count(number, ".") > 1 || strings.HasPrefix(number, ".") || strings.HasSuffix(number, "."):
		return refuse("is no number")
	case i < 0:
		return refuse(fmt.Sprintf("has the unknown unit %q", name))
	}
	value, ok := new(big.Rat).SetString(number)
	if !ok {
		return refuse("is no number")
	}
	value.Mul(value, new(big.Rat).SetUint64(units[i].size))
	switch {
	case !value.IsInt():
		return refuse("is not a whole number of bytes")
	case !value.Num().IsUint64():
		return refuse("is more than 64 bits can count")
	}
	return events.Bytes(value.Num().Uint64()), nil
}

// bytesText prints a size exactly, in the largest unit that divides it. ParseBytes
// reads it back.
func bytesText(b events.Bytes) string {
	if b == 0 {
		return "0B"
	}
	u := units[slices.IndexFunc(units, func(u unit) bool { return uint64(b)%u.size == 0 })] // 1 divides it.
	return strconv.FormatUint(uint64(b)/u.size, 10) + u.name
}
