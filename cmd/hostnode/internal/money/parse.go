package money

import (
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strings"

	"github.com/hostnode/hostnode/events"
)

// Kind is what is typed.
type Kind string

// The kinds, as they are shown to people who typed something else.
const (
	Amount        Kind = "1000000 (base units) or 12.5 TOKEN"
	PerByte       Kind = "100 (base units per byte) or 0.0001 TOKEN/GiB"
	PerByteSecond Kind = "180 (base units per byte and second) or 0.5/GiB/month"
)

// Entry is an amount as a person typed it, of a token that need not be known yet.
type Entry struct {
	text   string
	number *big.Rat
	unit   string // "" and !tokens: base units
	tokens bool
	kind   Kind
}

// sizes in bytes and times in seconds, by what a person may call them.
var (
	sizes = map[string]int64{"byte": 1, "b": 1, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40}
	times = map[string]int64{
		"s": 1, "second": 1, "h": 3600, "hour": 3600, "d": 86400, "day": 86400, "month": 30 * 86400,
	}
)

// maxTyped bounds what is read, in bytes.
const maxTyped = 150

// typed is a number, whose digits may be grouped as output shows them, and perhaps a unit.
var typed = regexp.MustCompile(`^([0-9]+|[1-9][0-9]{0,2}(?:,[0-9]{3})+)(\.[0-9]+)?(?:\s*([^\s0-9,./].*)|\s+(\S.*))?$`)

// Parse reads an amount:
//
//	180                              base units (per byte, and second)
//	12.5 TST   180 base units        with its unit: the token's symbol, or base units
//	0.5/GiB/month   0.5 TST/GiB      a price may leave the symbol out where it says what it is for
//
// A number that has neither is base units, so it has to be whole. Zero is refused.
func Parse(text string, kind Kind) (Entry, error) {
	text = strings.TrimSpace(text)
	no := func(why string) (Entry, error) {
		return Entry{}, fmt.Errorf("%s: write for example %s", why, kind)
	}
	if len(text) > maxTyped {
		return no("this is too long for an amount")
	}
	head, per, priced := strings.Cut(text, "/")
	m := typed.FindStringSubmatch(strings.TrimSpace(head))
	if m == nil {
		return no("not an amount")
	}
	number, _ := new(big.Rat).SetString(strings.ReplaceAll(m[1], ",", "") + m[2])
	e := Entry{text: text, number: number, unit: m[3] + m[4], kind: kind}
	switch strings.Join(strings.Fields(strings.ToLower(e.unit)), " ") {
	case "base", "base unit", "base units":
		e.unit = ""
	case "":
		e.tokens = priced
	default:
		e.tokens = true
	}
	switch {
	case number.Sign() == 0:
		return no("it must be more than zero")
	case !e.tokens && !priced && !number.IsInt():
		return no("without a token's symbol it is a whole number of base units")
	}
	if !priced {
		if e.tokens && kind != Amount {
			return no("it does not say for how many bytes")
		}
		return e, nil
	}
	over, err := denominator(per, kind)
	if err != nil {
		return no(err.Error())
	}
	if e.tokens && e.unit == "" && over.Cmp(big.NewRat(1, 1)) == 0 {
		return no("it does not say whether it is tokens or base units")
	}
	e.number.Quo(e.number, over)
	return e, nil
}

// denominator is by how many bytes, and seconds, a price is divided.
func denominator(text string, kind Kind) (*big.Rat, error) {
	units := map[Kind][]map[string]int64{PerByte: {sizes}, PerByteSecond: {sizes, times}}[kind]
	names := strings.Split(text, "/")
	if len(names) != len(units) {
		return nil, errors.New("it is for something else")
	}
	n := big.NewRat(1, 1)
	for i, name := range names {
		size, known := units[i][strings.ToLower(strings.TrimSpace(name))]
		if !known {
			return nil, fmt.Errorf("no unit is called %q", name)
		}
		n.Mul(n, new(big.Rat).SetInt64(size))
	}
	return n, nil
}

// In is the amount in base units of a token. A price is rounded up, so that the least price is never less than what
// was typed, and a client who types the same as a host pays enough; any other amount down, so that it never is more.
// What rounds to nothing is refused, and so is what a token of another name was typed for.
func (e Entry) In(t Token) (events.Amount, error) {
	n := new(big.Rat).Set(e.number)
	if e.tokens {
		switch {
		case !t.Known():
			return events.Amount{}, fmt.Errorf("%s is in tokens, and it is not known yet how many base units a token "+
				"has: wait until the host has started once, or write base units", e.text)
		case e.unit != "" && !strings.EqualFold(e.unit, t.Symbol):
			return events.Amount{}, fmt.Errorf("the market pays in %s, and %s is in %s", t.Symbol, e.text, e.unit)
		}
		n.Mul(n, t.units())
	}
	whole, rest := new(big.Int).QuoRem(n.Num(), n.Denom(), new(big.Int))
	if e.kind != Amount && rest.Sign() > 0 {
		whole.Add(whole, big.NewInt(1))
	}
	a, err := events.AmountFromBig(whole)
	switch {
	case err != nil:
		return a, fmt.Errorf("%s is more than there can be of any token: %w", e.text, err)
	case a.IsZero():
		return a, fmt.Errorf("%s is less than one base unit of the token", e.text)
	}
	return a, nil
}
