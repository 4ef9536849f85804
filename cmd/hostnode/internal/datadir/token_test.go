package datadir

import (
	"os"
	"testing"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/money"
)

func TestTheTokenOfTheMarketIsKept(t *testing.T) {
	l := At(t.TempDir())
	if got := l.Token(); got.Known() {
		t.Fatalf("a new directory knows %v", got)
	}
	for _, want := range []money.Token{{Symbol: "TST", Decimals: 18}, {Symbol: money.Unnamed, Decimals: 6}} {
		if err := l.KeepToken(want); err != nil {
			t.Fatal(err)
		}
		if got := l.Token(); got != want {
			t.Fatalf("kept is %v, want %v", got, want)
		}
	}
	for text, want := range map[string]money.Token{
		"":                                     {},
		`{"decimals": 18}`:                     {},
		`{"symbol": "TST", "decimals": 400}`:   {},
		`{"symbol": "TST", "decimals": 40}`:    {},
		`{"symbol": "T\u0000", "decimals": 1}`: {Symbol: money.Unnamed, Decimals: 1},
	} {
		if err := os.WriteFile(l.tokenFile(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := l.Token(); got != want {
			t.Errorf("%s is %v, want %v", text, got, want)
		}
	}
}
