package datadir

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/money"
	"github.com/hostnode/hostnode/internal/durable"
)

// Token is the market's token, as its contract was read at the last start; zero: not known. Only what is shown and
// typed depends on it, so a file that cannot be read is the same as none.
func (l Layout) Token() (t money.Token) {
	text, err := os.ReadFile(l.tokenFile())
	if err != nil || json.Unmarshal(text, &t) != nil || t.Symbol == "" {
		return money.Token{}
	}
	return money.Of(t.Symbol, t.Decimals)
}

// KeepToken keeps what Token returns.
func (l Layout) KeepToken(t money.Token) error {
	text, err := json.Marshal(t)
	if err == nil {
		err = durable.Replace(l.tokenFile(), text)
	}
	if err != nil {
		return fmt.Errorf("keep the token's decimals: %w", err)
	}
	return nil
}
