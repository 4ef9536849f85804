package events

import (
	"errors"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// maxDecimal is 2^256-1 in decimal.
const maxDecimal = "115792089237316195423570985008687907853269984665640564039457584007913129639935"

func anyAmount(t *rapid.T, label string) Amount {
	b := rapid.SliceOfN(rapid.Byte(), 0, 32).Draw(t, label)
	a, err := AmountFromBig(new(big.Int).SetBytes(b))
	if err != nil {
		t.Fatalf("amount of %d bytes: %v", len(b), err)
	}
	return a
}

// panics reports whether f panics.
func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}

func TestAmountsCountLikeIntegersOfUnlimitedSize(t *testing.T) {
	limit := new(big.Int).Lsh(big.NewInt(1), 256)
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyAmount(t, "a"), anyAmount(t, "b")
		n := rapid.Uint64().Draw(t, "n")
		x, y := a.Big(), b.Big()
		if a.Cmp(b) != x.Cmp(y) || a.Less(b) != (x.Cmp(y) < 0) || a.IsZero() != (x.Sign() == 0) {
			t.Fatalf("%v and %v compare differently", a, b)
		}
		if sum := new(big.Int).Add(x, y); sum.Cmp(limit) >= 0 {
			if !panics(func() { a.Add(b) }) {
				t.Fatalf("%v + %v does not fit and did not panic", a, b)
			}
			if a.AddSaturating(b) != MaxAmount() {
				t.Fatalf("%v + %v saturates to %v", a, b, a.AddSaturating(b))
			}
		} else if a.Add(b).Big().Cmp(sum) != 0 || a.AddSaturating(b) != a.Add(b) {
			t.Fatalf("%v + %v = %v", a, b, a.Add(b))
		}
		if a.Less(b) {
			if !panics(func() { a.Sub(b) }) || !a.SubFloor(b).IsZero() {
				t.Fatalf("%v - %v is below zero and did not show", a, b)
			}
		} else if want := new(big.Int).Sub(x, y); a.Sub(b).Big().Cmp(want) != 0 || a.SubFloor(b) != a.Sub(b) {
			t.Fatalf("%v - %v = %v", a, b, a.Sub(b))
		}
		product := new(big.Int).Mul(x, new(big.Int).SetUint64(n))
		got, fits := a.Mul(n)
		if fits != (product.Cmp(limit) < 0) || fits && got.Big().Cmp(product) != 0 {
			t.Fatalf("%v * %d = %v, fits %v", a, n, got, fits)
		}
		if !fits && a.MulSaturating(n) != MaxAmount() || fits && a.MulSaturating(n) != got {
			t.Fatalf("%v * %d saturates to %v", a, n, a.MulSaturating(n))
		}
		if n > 0 && a.Div(n).Big().Cmp(new(big.Int).Div(x, new(big.Int).SetUint64(n))) != 0 {
			t.Fatalf("%v / %d = %v", a, n, a.Div(n))
		}
		if back, err := ParseAmount(a.String()); err != nil || back != a || a.String() != x.String() {
			t.Fatalf("%v is read back as %v, %v", a, back, err)
		}
	})
}

func TestParseAmountTakesDecimalsOf256BitsOnly(t *testing.T) {
	for text, ok := range map[string]bool{
		"0": true, "1": true, "0007": true, maxDecimal: true,
		"": false, "-1": false, "+1": false, " 1": false, "1 ": false, "0x10": false, "1e3": false,
		"1_000": false, "١": false, maxDecimal[:77] + "6": false, "9" + maxDecimal[1:]: false,
		maxDecimal + "0": false, strings.Repeat("0", 79): false, strings.Repeat("9", 100_000): false,
	} {
		_, err := ParseAmount(text)
		if (err == nil) != ok || err != nil && !errors.Is(err, ErrMalformed) {
			t.Errorf("%.90q: %v, want success %v", text, err, ok)
		}
		if err != nil && len(err.Error()) > 300 {
			t.Errorf("the error repeats %d bytes of its input", len(err.Error()))
		}
	}
	if a, err := ParseAmount(maxDecimal); err != nil || a != MaxAmount() {
		t.Errorf("2^256-1 is %v, %v", a, err)
	}
}

func TestAmountFromBigRefusesWhatIsNoAmount(t *testing.T) {
	for _, b := range []*big.Int{nil, big.NewInt(-1), new(big.Int).Lsh(big.NewInt(1), 256)} {
		if _, err := AmountFromBig(b); !errors.Is(err, ErrMalformed) {
			t.Errorf("%v: %v, want malformed", b, err)
		}
	}
	a := NewAmount(5)
	a.Big().SetInt64(9)
	if a != NewAmount(5) {
		t.Error("changing what Big returned changed the amount")
	}
}

func FuzzParseAmount(f *testing.F) {
	f.Add("0")
	f.Add(maxDecimal)
	f.Add("-1")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := ParseAmount(text)
		if err != nil {
			return
		}
		want, ok := new(big.Int).SetString(text, 10)
		if !ok || a.Big().Cmp(want) != 0 {
			t.Fatalf("%q was read as %v", text, a)
		}
	})
}

func TestAmountsSurviveTheirBinaryForm(t *testing.T) {
	for _, a := range []Amount{{}, NewAmount(1), NewAmount(1 << 63), MaxAmount()} {
		b, err := a.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		var got Amount
		if err := got.UnmarshalBinary(b); err != nil || got != a {
			t.Errorf("%s became %s: %v", a, got, err)
		}
	}
	var a Amount
	if err := a.UnmarshalBinary([]byte{1}); !errors.Is(err, ErrMalformed) {
		t.Errorf("one byte: %v", err)
	}
}
