package api

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
)

func TestAnIDIsFoundByItsBeginningOnlyWhenItIsTheOnlyOne(t *testing.T) {
	a, b := "0x"+strings.Repeat("ab", 32), "0xabab"+strings.Repeat("0", 60)
	ids := []string{a, a, b} // Two attempts at one slot.
	for text, want := range map[string]string{
		a: a, a[2:]: a, strings.ToUpper(a[2:]): a, "0xababa": a, "abab0": b, " 0xabab0 ": b, b[:20]: b,
	} {
		if got, err := resolve("slot", text, problem.ErrUnknownSale, ids); err != nil || got != want {
			t.Errorf("%q is %q, %v", text, got, err)
		}
	}
	for text, want := range map[string]error{
		"0xabab": problem.ErrAmbiguous, "0xbeef": problem.ErrUnknownSale, "": problem.ErrBadRequest, "0x": problem.ErrBadRequest, "0xaba": problem.ErrBadRequest,
		"0xghij": problem.ErrBadRequest, a + "0": problem.ErrBadRequest, "abab/..": problem.ErrBadRequest,
	} {
		if got, err := resolve("slot", text, problem.ErrUnknownSale, ids); !errors.Is(err, want) {
			t.Errorf("%q is %q, %v; want %v", text, got, err, want)
		}
	}
}

func TestWhatIsFoundBeginsAsAsked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfN(rapid.StringMatching("0x[0-3]{64}"), 0, 20).Draw(t, "ids")
		text := rapid.StringMatching("(0x)?[0-3]{0,8}").Draw(t, "text")
		got, err := resolve("slot", text, problem.ErrUnknownSale, ids)
		if err == nil && !strings.HasPrefix(got, "0x"+strings.TrimPrefix(text, "0x")) {
			t.Fatalf("%q found %q", text, got)
		}
	})
}

func FuzzResolve(f *testing.F) {
	f.Add("0xabab")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		_, err := resolve("slot", text, problem.ErrUnknownSale, []string{"0x" + strings.Repeat("ab", 32)})
		if err != nil && !errors.Is(err, problem.ErrBadRequest) && !errors.Is(err, problem.ErrUnknownSale) {
			t.Fatalf("%q: %v", text, err)
		}
	})
}
