package events

import (
	"fmt"
	"math/big"

	"github.com/holiman/uint256"
)

// Amount is a 256-bit amount of base units of the market's token, or of wei
// where a name says so. It is never negative, comparable, and its zero value
// is zero. Arithmetic that would leave the range panics: callers check with
// Cmp first, because an amount that wraps is a bug, not an outcome.
type Amount struct{ v uint256.Int }

// NewAmount is n base units.
func NewAmount(n uint64) Amount { return Amount{*uint256.NewInt(n)} }

// AmountFromBig converts a non-negative integer below 2^256.
func AmountFromBig(b *big.Int) (Amount, error) {
	if b == nil || b.Sign() < 0 {
		return Amount{}, fmt.Errorf("%w: amount %v is not a non-negative integer", ErrMalformed, b)
	}
	v, overflow := uint256.FromBig(b)
	if overflow {
		return Amount{}, fmt.Errorf("%w: amount has more than 256 bits", ErrMalformed)
	}
	return Amount{*v}, nil
}

// ParseAmount reads a decimal integer of at most 256 bits.
func ParseAmount(s string) (Amount, error) {
	if s == "" || len(s) > 78 {
		return Amount{}, fmt.Errorf("%w: amount %q, want 1 to 78 decimal digits", ErrMalformed, clip(s))
	}
	for _, r := range s {
		if r < '0' || r > '9' {
			return Amount{}, fmt.Errorf("%w: amount %q, want decimal digits only", ErrMalformed, clip(s))
		}
	}
	v, err := uint256.FromDecimal(s)
	if err != nil {
		return Amount{}, fmt.Errorf("%w: amount %q: %w", ErrMalformed, clip(s), err)
	}
	return Amount{*v}, nil
}

// String prints the amount in decimal, as it is stored.
func (a Amount) String() string { return a.v.Dec() }

// MarshalText implements encoding.TextMarshaler: decimal digits.
func (a Amount) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler, as ParseAmount.
func (a *Amount) UnmarshalText(text []byte) (err error) {
	*a, err = ParseAmount(string(text))
	return err
}

// Big returns a copy that the caller may change.
func (a Amount) Big() *big.Int { return a.v.ToBig() }

// IsZero reports whether the amount is zero.
func (a Amount) IsZero() bool { return a.v.IsZero() }

// Cmp is -1, 0 or +1 as a is less than, equal to or greater than b.
func (a Amount) Cmp(b Amount) int { return a.v.Cmp(&b.v) }

// Less reports whether a is smaller than b.
func (a Amount) Less(b Amount) bool { return a.v.Lt(&b.v) }

// Add returns a+b; it panics above 2^256-1.
func (a Amount) Add(b Amount) Amount {
	var r uint256.Int
	if _, overflow := r.AddOverflow(&a.v, &b.v); overflow {
		panic("events: amount overflow in " + a.String() + " + " + b.String())
	}
	return Amount{r}
}

// Sub returns a-b; it panics when b is larger than a.
func (a Amount) Sub(b Amount) Amount {
	var r uint256.Int
	if _, underflow := r.SubOverflow(&a.v, &b.v); underflow {
		panic("events: amount underflow in " + a.String() + " - " + b.String())
	}
	return Amount{r}
}

// SubFloor returns a-b, or zero when b is larger than a.
func (a Amount) SubFloor(b Amount) Amount {
	if a.Less(b) {
		return Amount{}
	}
	return a.Sub(b)
}

// Mul returns a*n and whether the product fits in 256 bits.
func (a Amount) Mul(n uint64) (Amount, bool) {
	var r uint256.Int
	_, overflow := r.MulOverflow(&a.v, uint256.NewInt(n))
	return Amount{r}, !overflow
}

// MulSaturating returns a*n, or the largest amount when that does not fit.
// It ranks hostile offers without letting them wrap around.
func (a Amount) MulSaturating(n uint64) Amount {
	if r, ok := a.Mul(n); ok {
		return r
	}
	return MaxAmount()
}

// AddSaturating returns a+b, or the largest amount when that does not fit: a total never
// fails, and one that large fails every comparison as it should.
func (a Amount) AddSaturating(b Amount) Amount {
	var r uint256.Int
	if _, overflow := r.AddOverflow(&a.v, &b.v); overflow {
		return MaxAmount()
	}
	return Amount{r}
}

// Div returns a/n rounded down; n must not be zero.
func (a Amount) Div(n uint64) Amount {
	var r uint256.Int
	r.Div(&a.v, uint256.NewInt(n))
	return Amount{r}
}

// MaxAmount is 2^256-1.
func MaxAmount() Amount {
	var r uint256.Int
	return Amount{*r.SetAllOne()}
}

// MarshalBinary is the amount as 32 bytes, the highest first; for our own
// files, where text would be slow.
func (a Amount) MarshalBinary() ([]byte, error) {
	b := a.v.Bytes32()
	return b[:], nil
}

// UnmarshalBinary reads what MarshalBinary made. Anything else is ErrMalformed.
func (a *Amount) UnmarshalBinary(b []byte) error {
	if len(b) != 32 {
		return fmt.Errorf("%w: amount of %d bytes, want 32", ErrMalformed, len(b))
	}
	a.v.SetBytes32(b)
	return nil
}
