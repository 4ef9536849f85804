package cli

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/money"
)

func TestTheLogForPeopleIsInTokens(t *testing.T) {
	for format, want := range map[string]string{"text": "it pays 12.5 TST", "json": "it pays 12500000000000000000 base units"} {
		c := config.Default()
		c.Log.Format, c.DataDir = format, t.TempDir()
		var out bytes.Buffer
		log := NewLog(c, &out)
		if err := datadir.At(c.DataDir).KeepToken(money.Token{Symbol: "TST", Decimals: 18}); err != nil {
			t.Fatal(err)
		}
		log.Info("it pays 12500000000000000000 base units")
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s: %s", format, out.String())
		}
	}
}

func TestAPageIsInTokens(t *testing.T) {
	p := &Printer{Token: money.Token{Symbol: "TST", Decimals: 18}}
	p.Line("paid %s", money.Base("12500000000000000000"))
	p.Rows([][]string{{"reward", money.Base("500000000000000000")}, {"gas", money.Wei("1")}})
	exact := &Printer{}
	exact.Line("paid %s", money.Base("12500000000000000000"))
	if got := p.Text() + exact.Text(); got != "paid 12.5 TST\nreward  0.5 TST\ngas     1 wei\n"+
		"paid 12,500,000,000,000,000,000 base units\n" {
		t.Errorf("%q", got)
	}
}

func TestTheLogShowsNoSecretOfASetting(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		c := config.Default()
		c.Log.Format = format
		c.Chain.Endpoint = "https://a.example/v3/planted-secret-of-32-characters"
		c.Content.Sources = []string{"http://b.example/planted-secret-of-a-source"}
		c.Alerts.Command = "curl -H planted-token https://hooks.example"
		var out bytes.Buffer
		log := NewLog(c, &out)
		err := fmt.Errorf("Get %q: %w", c.Content.Sources[0]+"/ipfs/z", errors.New("planted-token"))
		log.WithError(err).WithField("endpoint", c.Chain.Endpoint).Errorf("cannot reach %s: %v", c.Chain.Endpoint, err)
		log.Warn(c.Alerts.Command)
		if strings.Contains(out.String(), "planted") || strings.Count(out.String(), "***") < 5 {
			t.Errorf("%s: %s", format, out.String())
		}
	}
}
