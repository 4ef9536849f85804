package demo

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/hostnode/hostnode/events"
)

// tokens prints base units as tokens of 10^18, to six digits.
func tokens(a events.Amount) string { return decimal(a.Big(), 6) }

// signed prints the difference b-a as tokens.
func signed(a, b events.Amount) string {
	d := new(big.Int).Sub(b.Big(), a.Big())
	if d.Sign() < 0 {
		return "-" + decimal(d.Neg(d), 6)
	}
	return "+" + decimal(d, 6)
}

// decimal prints a number of base units with some of their 18 places.
func decimal(n *big.Int, shown int) string {
	const places = 18
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(places)), nil)
	whole, rest := new(big.Int).QuoRem(n, unit, new(big.Int))
	fraction := fmt.Sprintf("%0*s", places, rest.String())[:shown]
	if fraction = strings.TrimRight(fraction, "0"); fraction == "" {
		return whole.String()
	}
	return whole.String() + "." + fraction
}
