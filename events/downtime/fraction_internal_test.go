package downtime

import (
	"math/big"
	"testing"
)

func TestAFractionIsRoundedAsARationalIs(t *testing.T) {
	for of := int64(1); of <= 300; of++ {
		for part := range of + 1 {
			if got, want := sixDigits(part, of), big.NewRat(part, of).FloatString(6); got != want {
				t.Fatalf("%d of %d is %s, want %s", part, of, got, want)
			}
		}
	}
	if got, want := sixDigits(1, 64_000_000), "0.000000"; got != want {
		t.Errorf("it is %s, want %s", got, want)
	}
}
