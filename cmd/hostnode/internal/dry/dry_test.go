package dry

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/keys"
)

func TestADryRunHasTheSettingsOfTheHostButNothingThatActs(t *testing.T) {
	c := config.Default()
	c.DataDir = t.TempDir()
	if _, err := Settings(c); !errors.Is(err, config.ErrInvalid) {
		t.Errorf("without a chain: %v", err)
	}
	c.Chain.Endpoint = "http://127.0.0.1:1"
	c.Account.KeyFile = filepath.Join(c.DataDir, "account.key")
	if _, err := Settings(c); !errors.Is(err, config.ErrInvalid) || !errors.Is(err, keys.ErrMissing) {
		t.Errorf("without an account: %v", err)
	}
	account, err := keys.Create(c.Account.KeyFile, "")
	if err != nil {
		t.Fatal(err)
	}
	c.EventStore.URL, c.API.Listen, c.Alerts.Webhook, c.Cluster.Name = "esdb://x", "127.0.0.1:1", "http://x", "x"
	c.ServeEvents.Listen, c.Validator.Enabled, c.Sectors.Sealer, c.Account.Signer = "127.0.0.1:1", true, "commd", "http://x"
	c.Sales.MaxWorkers = 9
	got, err := Settings(c)
	if err != nil {
		t.Fatal(err)
	}
	if got.EventStore.URL != "" || got.API.Listen != "" || got.Alerts.Webhook != "" || got.Clustered() || got.ServeEvents.Listen != "" ||
		got.Validator.Enabled || got.Seals() || got.Account.Signer != "" || got.Account.KeyFile != "" {
		t.Errorf("it acts: %+v", got)
	}
	if got.DataDir != filepath.Join(c.DataDir, "dry") || got.Sales.MaxWorkers != 9 || got.AccountAddress() != account {
		t.Errorf("it is not that of the host: %+v", got)
	}
}
