package money_test

import (
	"math/big"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/money"
	"github.com/hostnode/hostnode/events"
)

var tst = money.Token{Symbol: "TST", Decimals: 18}

func TestAmountsArePrintedForPeople(t *testing.T) {
	usd, whole := money.Token{Symbol: "USDX", Decimals: 6}, money.Token{Symbol: "PT"}
	for _, row := range []struct{ got, want string }{
		{tst.Amount("12500000000000000000"), "12.5 TST"},
		{tst.Amount("1234567000000000000000000"), "1,234,567 TST"},
		{tst.Amount("12345678900000000000"), "≈12.345679 TST"},
		{tst.Amount("999999999999999999"), "≈1 TST"},
		{tst.Amount("-500000000000000000"), "-0.5 TST"},
		{tst.Amount("0"), "0 TST"},
		{tst.Amount("1234567891000"), "≈0.00000123457 TST"},
		{tst.Amount("65538"), "65,538 base units"},
		{tst.Amount("1"), "1 base unit"},
		{usd.Amount("1"), "0.000001 USDX"},
		{whole.Amount("1234"), "1,234 PT"},
		{money.Token{}.Amount("1234"), "1,234 base units"},
		{tst.Amount(""), ""},
		{tst.Amount("1e9"), "1e9"},
		{tst.Amount("unknown"), "unknown"},
		{money.Gas("2500000000000000000"), "2.5 coins"},
		{money.Gas("600000000000000"), "0.0006 coins"},
		{money.Gas("12"), "12 wei"},
		{tst.Price("180"), "≈0.500965 TST/GiB/month (180 base units/byte/s)"},
		{tst.Price("1"), "≈0.00278314 TST/GiB/month (1 base unit/byte/s)"},
		{usd.Price("1"), "2,783,138,807.808 USDX/GiB/month (1 base unit/byte/s)"},
		{money.Token{Symbol: "X", Decimals: 36}.Price("1"), "1 base unit/byte/s"},
		{money.Token{}.Price("1800"), "1,800 base units/byte/s"},
		{money.Grouped("-1234567"), "-1,234,567"},
		{money.Grouped("999"), "999"},
		{money.Grouped(""), ""},
	} {
		if row.got != row.want {
			t.Errorf("%q, want %q", row.got, row.want)
		}
	}
}

func TestSentencesTellAmountsInTokens(t *testing.T) {
	for said, want := range map[string]string{
		"it holds 2500000000000000000 base units, and a proof costs 600000000000000 wei.": "it holds 2.5 TST, " +
			"and a proof costs 0.0006 coins.",
		"at 180 base units per byte and second": "at ≈0.500965 TST/GiB/month (180 base units/byte/s)",
		"1,000 base units of 10000000000000000": "1,000 base units of 10000000000000000",
		"180 base units/byte/s":                 "180 base units/byte/s",
		"0x12500000000000000000 base units":     "0x12500000000000000000 base units",
		"after 12 base unitsy and 3 weight":     "after 12 base unitsy and 3 weight",
	} {
		got := tst.Told(said)
		if got != want {
			t.Errorf("%q is told as %q, want %q", said, got, want)
		}
		if again := tst.Told(got); again != got {
			t.Errorf("%q is told again as %q", got, again)
		}
	}
}

func TestOnlyPlainSymbolsAreShown(t *testing.T) {
	for symbol, want := range map[string]string{
		"TST": "TST", "USD.e": "USD.e", "1INCH": "1INCH", "$WIF": "$WIF", "ABCDEFGHIJK": "ABCDEFGHIJK",
		"": "tokens", "ABCDEFGHIJKL": "tokens", "$ABCDEFGHIJK": "tokens", "A B": "tokens", "A\x1b[2J": "tokens",
		"TSТ": "tokens", "A/B": "tokens", "123": "tokens", "base": "tokens", "Wei": "tokens", "A\n": "tokens",
		"T\u200bST": "tokens", "-": "tokens",
	} {
		if got := money.Of(symbol, 18).Symbol; got != want {
			t.Errorf("%q is shown as %q, want %q", symbol, got, want)
		}
	}
	if got := money.Of("TST", 37); got.Known() {
		t.Errorf("37 decimals: %v", got)
	}
}

func word(n byte) []byte { return append(make([]byte, 31), n) }

func TestATokenIsWhatItsContractAnswers(t *testing.T) {
	text := func(offset, size byte, data string) []byte {
		return append(append(word(offset), word(size)...), append([]byte(data), make([]byte, 32-len(data))...)...)
	}
	for name, row := range map[string]struct {
		symbol, decimals []byte
		want             money.Token
	}{
		"as in the standard":        {text(32, 3, "TST"), word(18), tst},
		"a symbol of 32 bytes":      {append([]byte("MKR"), make([]byte, 29)...), word(18), money.Of("MKR", 18)},
		"no symbol":                 {nil, word(18), money.Of("tokens", 18)},
		"a symbol beyond its end":   {text(32, 33, "TST"), word(18), money.Of("tokens", 18)},
		"a symbol at another place": {text(64, 3, "TST"), word(18), money.Of("tokens", 18)},
		"no decimals":               {text(32, 3, "TST"), nil, money.Token{}},
		"too many decimals":         {text(32, 3, "TST"), word(37), money.Token{}},
		"huge decimals":             {text(32, 3, "TST"), append([]byte{1}, word(18)[1:]...), money.Token{}},
	} {
		if got := money.FromContract(row.symbol, row.decimals); got != row.want {
			t.Errorf("%s: %v, want %v", name, got, row.want)
		}
	}
}

func FuzzFromContract(f *testing.F) {
	f.Add(word(32), word(18))
	f.Fuzz(func(t *testing.T, symbol, decimals []byte) {
		got := money.FromContract(symbol, decimals)
		if len(got.Symbol) > 11 || got.Decimals > 36 || strings.ContainsFunc(got.Symbol, unicode.IsControl) {
			t.Errorf("%v", got)
		}
	})
}

func TestSomeTokensCannotPriceStorage(t *testing.T) {
	for decimals, want := range map[uint8]bool{0: true, 6: true, 15: true, 16: false, 18: false, 36: false} {
		if got := (money.Token{Symbol: "T", Decimals: decimals}).Unpriceable() != ""; got != want {
			t.Errorf("%d decimals: %v, want %v", decimals, got, want)
		}
	}
	if got := (money.Token{}).Unpriceable(); got != "" {
		t.Errorf("of an unknown token: %s", got)
	}
}

func in(t money.Token, text string, kind money.Kind) (string, error) {
	e, err := money.Parse(text, kind)
	if err != nil {
		return "", err
	}
	a, err := e.In(t)
	return a.String(), err
}

func TestAmountsAreReadAsTyped(t *testing.T) {
	six := money.Token{Symbol: "USDX", Decimals: 6}
	for _, row := range []struct {
		of   money.Token
		text string
		kind money.Kind
		want string
	}{
		{tst, "1000", money.Amount, "1000"},
		{money.Token{}, "1,000 base", money.Amount, "1000"},
		{tst, "65,538 base units", money.Amount, "65538"},
		{tst, "0.5 TST", money.Amount, "500000000000000000"},
		{tst, " 12.5tst ", money.Amount, "12500000000000000000"},
		{money.Of("1INCH", 18), "2 1INCH", money.Amount, "2000000000000000000"},
		{six, "1.0000019 USDX", money.Amount, "1000001"}, // Never more than was typed.
		{tst, "180", money.PerByteSecond, "180"},
		{tst, "0.5/GiB/month", money.PerByteSecond, "180"},
		{tst, "0.5 TST/GiB/month", money.PerByteSecond, "180"},
		{tst, "0.000000000000000001 TST/byte/s", money.PerByteSecond, "1"},
		{tst, "180 base units/byte/s", money.PerByteSecond, "180"},
		{tst, "512/TiB/month", money.PerByteSecond, "180"},
		{tst, "0.0166/gib/day", money.PerByteSecond, "179"},
		{tst, "0.5 base/kib/hour", money.PerByteSecond, "1"},
		{money.Token{}, "180 base/byte/second", money.PerByteSecond, "180"},
		{six, "1/GiB/month", money.PerByteSecond, "1"}, // Rounded up, and shown.
		{tst, "100", money.PerByte, "100"},
		{tst, "0.0000001 TST/GiB", money.PerByte, "94"},
		{tst, "1 base/byte", money.PerByte, "1"},
	} {
		if got, err := in(row.of, row.text, row.kind); err != nil || got != row.want {
			t.Errorf("%q is %s (%v), want %s", row.text, got, err, row.want)
		}
	}
}

func TestWhatIsAmbiguousIsRefused(t *testing.T) {
	six := money.Token{Symbol: "USDX", Decimals: 6}
	for _, row := range []struct {
		of   money.Token
		text string
		kind money.Kind
		want string
	}{
		{tst, "", money.Amount, "not an amount"},
		{tst, "lots", money.Amount, "not an amount"},
		{tst, "-5", money.Amount, "not an amount"},
		{tst, "0,5 TST", money.Amount, "not an amount"},
		{tst, "1,50 TST", money.Amount, "not an amount"},
		{tst, "1e18", money.Amount, "the market pays in TST"},
		{tst, ".5 TST", money.Amount, "not an amount"},
		{tst, "0 TST", money.Amount, "more than zero"},
		{tst, "1.5", money.Amount, "whole number of base units"},
		{tst, "1.5", money.PerByteSecond, "whole number of base units"},
		{tst, "1.5 base", money.Amount, "whole number of base units"},
		{tst, "0.5 ETH", money.Amount, "the market pays in TST"},
		{tst, "0.5 TST", money.PerByteSecond, "for how many bytes"},
		{tst, "0.5/GiB", money.PerByteSecond, "for something else"},
		{tst, "0.5/GiB/month", money.Amount, "for something else"},
		{tst, "0.5/GiB/month", money.PerByte, "for something else"},
		{tst, "0.5/GiB/year", money.PerByteSecond, `called "year"`},
		{tst, "0.5/month/GiB", money.PerByteSecond, `called "month"`},
		{tst, "180/byte/s", money.PerByteSecond, "tokens or base units"},
		{tst, "0.0000000000000000001 TST", money.Amount, "less than one base unit"},
		{tst, strings.Repeat("9", 70) + " TST", money.Amount, "more than there can be"},
		{tst, strings.Repeat("9", 151), money.Amount, "too long"},
		{six, "1 TST", money.Amount, "the market pays in USDX"},
		{money.Token{}, "1 TST", money.Amount, "not known yet"},
		{money.Token{}, "0.5/GiB/month", money.PerByteSecond, "not known yet"},
	} {
		if got, err := in(row.of, row.text, row.kind); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%q is %s (%v), want %s", row.text, got, err, row.want)
		}
	}
}

func anyToken(t *rapid.T) money.Token {
	return money.Token{Symbol: "TOK", Decimals: rapid.Uint8Range(0, 36).Draw(t, "decimals")}
}

func anyAmount(t *rapid.T) string {
	bytes := rapid.SliceOfN(rapid.Byte(), 1, 31).Draw(t, "amount")
	return new(big.Int).Add(new(big.Int).SetBytes(bytes), big.NewInt(1)).String()
}

func TestWhatIsShownIsReadAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		of, base := anyToken(t), anyAmount(t)
		if shown := of.Amount(base); !strings.HasPrefix(shown, "≈") {
			if got, err := in(of, shown, money.Amount); err != nil || got != base {
				t.Fatalf("%s is shown as %s, which is read as %s (%v)", base, shown, got, err)
			}
		}
		price := of.Price(base)
		if _, exact, about := strings.Cut(price, "("); about {
			price = strings.TrimSuffix(exact, ")")
		}
		if got, err := in(of, price, money.PerByteSecond); err != nil || got != base {
			t.Fatalf("a price of %s is shown as %s, which is read as %s (%v)", base, price, got, err)
		}
	})
}

func TestRoundedAmountsAreNearWhatTheyStandFor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		of, base := anyToken(t), anyAmount(t)
		shown, about := strings.CutPrefix(of.Amount(base), "≈")
		if !about {
			return
		}
		number, _, _ := strings.Cut(strings.ReplaceAll(shown, ",", ""), " ")
		is, ok := new(big.Rat).SetString(number)
		exact, _ := new(big.Rat).SetString(base)
		exact.Quo(exact, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(of.Decimals)), nil)))
		off := new(big.Rat).Sub(is, exact)
		if limit := new(big.Rat).Mul(exact, big.NewRat(5, 1_000_000)); !ok || off.Abs(off).Cmp(limit) > 0 {
			t.Fatalf("%s base units of %d decimals are shown as %s", base, of.Decimals, shown)
		}
	})
}

// A price is never less than typed, an amount never more, and both by less than one base unit.
func TestRoundingHasADirection(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		of := anyToken(t)
		number := rapid.StringMatching(`[1-9][0-9]{0,9}(\.[0-9]{1,20})?`).Draw(t, "number")
		typed, _ := new(big.Rat).SetString(number)
		typed.Mul(typed, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(of.Decimals)), nil)))
		check := func(text string, kind money.Kind, exact *big.Rat, sign int) {
			got, err := in(of, text, kind)
			if err != nil && exact.Cmp(big.NewRat(1, 1)) >= 0 {
				t.Fatalf("%s: %v", text, err)
			}
			is, ok := new(big.Rat).SetString(got)
			if err != nil || !ok {
				return
			}
			off := new(big.Rat).Sub(is, exact)
			if off.Sign() == -sign || off.Abs(off).Cmp(big.NewRat(1, 1)) >= 0 {
				t.Fatalf("%s of %d decimals is %s", text, of.Decimals, got)
			}
		}
		check(number+" TOK", money.Amount, typed, -1)
		check(number+"/GiB/month", money.PerByteSecond, new(big.Rat).Quo(typed, big.NewRat((1<<30)*30*86400, 1)), 1)
		check(number+" TOK/MiB", money.PerByte, new(big.Rat).Quo(typed, big.NewRat(1<<20, 1)), 1)
	})
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"180", "0.5/GiB/month", "12.5 TST", "1,000 base units/byte/s", "0.1 TST/MiB"} {
		f.Add(text, uint8(18))
	}
	f.Fuzz(func(t *testing.T, text string, decimals uint8) {
		for _, kind := range []money.Kind{money.Amount, money.PerByte, money.PerByteSecond} {
			e, err := money.Parse(text, kind)
			if err != nil {
				continue
			}
			if a, err := e.In(money.Of("TST", decimals)); err == nil && a == (events.Amount{}) {
				t.Errorf("%q is nothing", text)
			}
		}
	})
}

func TestNothingNeedsNoUnit(t *testing.T) {
	for got, want := range map[string]string{
		money.Base("0"): "0", money.Wei(""): "", money.Base("7"): "7 base units", money.Wei("7"): "7 wei",
		money.BasePrice("7"): "7 base units per byte and second",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
