// Package money is how people read and write amounts: in the market's token, by the decimals and the symbol that its
// contract names, and for gas in the chain's own coin. Programs are given base units, and so is the record.
//
// Whatever makes a text writes the exact amount with its unit, by Base, BasePrice or Wei or in the same words. Where a
// text is shown, on a page of a command or in the log, Token.Told puts it into tokens; so nothing else needs to know
// the token. Parse reads what a person typed. Where the token is not known, all of it is in base units, and says so. A
// month is 30 days.
package money

import (
	"bytes"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
)

// Token is what the market pays with. The zero value is one of which nothing is known.
type Token struct {
	// Symbol is what it is called.
	Symbol string `json:"symbol"`
	// Decimals: 10 to the power of it base units are a token.
	Decimals uint8 `json:"decimals"`
}

const (
	// maxDecimals is the most that is believed; no contract in use has more than 24.
	maxDecimals = 36
	// Unnamed is what a token is called whose contract does not say so in letters that can be trusted.
	Unnamed = "tokens"
	// CoinDecimals are those of the coin that gas is paid with, on every chain of Ethereum's kind.
	CoinDecimals = 18
)

// plainSymbol leaves out all that could look like another symbol, or command a terminal.
var plainSymbol = regexp.MustCompile(`^[$]?[0-9A-Za-z][0-9A-Za-z.+_-]{0,10}$`)

// Of is the token whose contract says so. With decimals that make no sense, nothing is known of it.
func Of(symbol string, decimals uint8) Token {
	if decimals > maxDecimals {
		return Token{}
	}
	reserved := slices.Contains([]string{"base", "coins", "wei"}, strings.ToLower(symbol))
	if !plainSymbol.MatchString(symbol) || len(symbol) > 11 || reserved || !strings.ContainsFunc(symbol, isLetter) {
		symbol = Unnamed
	}
	return Token{symbol, decimals}
}

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }

// Known reports whether amounts can be shown in tokens.
func (t Token) Known() bool { return t.Symbol != "" }

func (t Token) units() *big.Rat {
	return new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.Decimals)), nil))
}

// Base is an amount of base units, as Told finds it; nothing needs no unit.
func Base(n string) string { return with(n, " base units") }

// BasePrice is a price in base units per byte and second, as Told finds it.
func BasePrice(n string) string { return with(n, " base units per byte and second") }

// Wei is an amount of wei, as Told finds it.
func Wei(n string) string { return with(n, " wei") }

func with(n, unit string) string {
	if n == "" || n == "0" {
		return n
	}
	return n + unit
}

// Amount prints base units, which may be negative, for people: in tokens, rounded with ≈ in front if it has more than
// six digits after the point; less than a millionth of a token in base units. What is no number stays as it is.
func (t Token) Amount(base string) string { return t.print(base, "base units") }

// Gas prints wei in the chain's own coin, in the same way.
func Gas(wei string) string { return Token{"coins", CoinDecimals}.print(wei, "wei") }

func (t Token) print(base, unit string) string {
	n, ok := whole(base)
	if !ok {
		return base
	}
	if t.Known() {
		if text, ok := decimal(n.Quo(n, t.units())); ok {
			return text + " " + t.Symbol
		}
	}
	if base == "1" {
		unit = strings.TrimSuffix(unit, "s")
	}
	return Grouped(base) + " " + unit
}

// whole reads a whole number, and nothing in another notation, which might be huge.
func whole(text string) (*big.Rat, bool) {
	n, ok := new(big.Int).SetString(text, 10)
	if !ok {
		return nil, false
	}
	return new(big.Rat).SetInt(n), true
}

// decimal prints a number with six digits after the point or, if it is less than one, after its leading zeros. False:
// these are more than five.
func decimal(n *big.Rat) (text string, ok bool) {
	const digits = 6
	places, size := digits, new(big.Rat).Abs(n)
	for tenth := big.NewRat(1, 10); size.Sign() != 0 && size.Cmp(tenth) < 0; places++ {
		size.Mul(size, big.NewRat(10, 1))
	}
	if places >= 2*digits {
		return "", false
	}
	text = n.FloatString(places)
	front, part, _ := strings.Cut(text, ".")
	if part = strings.TrimRight(part, "0"); part != "" {
		part = "." + part
	}
	about := ""
	if shown, _ := new(big.Rat).SetString(text); shown.Cmp(n) != 0 {
		about = "≈"
	}
	return about + Grouped(front) + part, true
}

// Grouped puts commas into a decimal number, which may be negative.
func Grouped(number string) string {
	first := len(number) - len(strings.TrimPrefix(number, "-"))
	for i := len(number) - 3; i > first; i -= 3 {
		number = number[:i] + "," + number[i:]
	}
	return number
}

// Price prints a price in base units per byte and second as what a GiB costs in a month, with the exact one beside it.
func (t Token) Price(base string) string {
	exact := Grouped(base) + " base units/byte/s"
	if base == "1" {
		exact = "1 base unit/byte/s"
	}
	if n, ok := whole(base); ok && t.Known() {
		if text, ok := decimal(t.perGiBMonth(n)); ok {
			return fmt.Sprintf("%s %s/GiB/month (%s)", text, t.Symbol, exact)
		}
	}
	return exact
}

func (t Token) perGiBMonth(base *big.Rat) *big.Rat {
	n := new(big.Rat).Mul(base, new(big.Rat).SetInt64(sizes["gib"]*times["month"]))
	return n.Quo(n, t.units())
}

// Unpriceable says what the least price is, if that is more than a token for a GiB and a month: with such a token
// nobody can price storage. Empty: it can.
func (t Token) Unpriceable() string {
	if !t.Known() || t.perGiBMonth(big.NewRat(1, 1)).Cmp(big.NewRat(1, 1)) <= 0 {
		return ""
	}
	return t.Price("1")
}

// told are the amounts in a text. One with /byte/s is from Price.
var told = regexp.MustCompile(`\b[0-9][0-9,.]* (base units? per byte and second|base units?|wei)\b(/byte)?`)

// Mentions reports whether a text has an amount that Told would find.
func Mentions(text string) bool { return told.MatchString(text) }

// Told is a text in which each amount is printed for people. What has been told before stays as it is.
func (t Token) Told(text string) string {
	return told.ReplaceAllStringFunc(text, func(found string) string {
		number, unit, _ := strings.Cut(found, " ")
		switch {
		case strings.HasSuffix(unit, "/byte") || strings.ContainsAny(number, ",."):
			return found
		case unit == "wei":
			return Gas(number)
		case strings.HasSuffix(unit, "second"):
			return t.Price(number)
		}
		return t.Amount(number)
	})
}

// FromContract is the token of which a contract answers symbol() and decimals() so, as bytes of the ABI. A contract
// without decimals() is not known. Some old contracts have a symbol of 32 bytes instead of a string.
func FromContract(symbol, decimals []byte) Token {
	const word = 32
	n := new(big.Int).SetBytes(decimals)
	if len(decimals) != word || n.Cmp(big.NewInt(maxDecimals)) > 0 {
		return Token{}
	}
	name := ""
	switch {
	case len(symbol) == word:
		name = string(bytes.TrimRight(symbol, "\x00"))
	case len(symbol) > 2*word:
		at, size := new(big.Int).SetBytes(symbol[:word]), new(big.Int).SetBytes(symbol[word:2*word])
		if rest := symbol[2*word:]; at.Cmp(big.NewInt(word)) == 0 && size.Cmp(big.NewInt(int64(len(rest)))) <= 0 {
			name = string(rest[:size.Int64()])
		}
	}
	return Of(name, uint8(n.Uint64()))
}
