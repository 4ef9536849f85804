package contracts_test

import (
	"errors"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/ethclient/simulated"
	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/chain/contracts"
	"github.com/hostnode/hostnode/chain/contracts/bindings"
)

// creation packs a creation without the checks of MarketplaceCreation.
func creation(config bindings.MarketplaceConfig) []byte {
	code := common.FromHex(bindings.MarketplaceMetaData.Bin)
	return append(code, pack.PackConstructor(config, common.Address{1}, common.Address{2})...)
}

func TestConstructorRefusesConfigurationsThatMakeNoSense(t *testing.T) {
	shared.grow(t)
	for name, test := range map[string]struct {
		change func(*bindings.MarketplaceConfig)
		want   string
	}{
		"repair reward above all": {
			func(c *bindings.MarketplaceConfig) { c.Collateral.RepairRewardPercentage = 101 },
			"Marketplace_RepairRewardPercentageTooHigh",
		},
		"slash above all": {
			func(c *bindings.MarketplaceConfig) {
				c.Collateral.SlashPercentage = 101
				c.Collateral.MaxNumberOfSlashes = 1
			},
			"Marketplace_SlashPercentageTooHigh",
		},
		"all slashes above all": {
			func(c *bindings.MarketplaceConfig) {
				c.Collateral.MaxNumberOfSlashes = 6
			},
			"Marketplace_MaximumSlashingTooHigh",
		},
		"all slashes above eight bits": {
			func(c *bindings.MarketplaceConfig) { c.Collateral.MaxNumberOfSlashes = 13 },
			"Panic(0x11)",
		},
		"no period": {
			func(c *bindings.MarketplaceConfig) { c.Proofs.Period = 0 },
			"Periods_InvalidSecondsPerPeriod",
		},
		"just all": {
			func(c *bindings.MarketplaceConfig) {
				c.Collateral = bindings.CollateralConfig{
					RepairRewardPercentage: 100, MaxNumberOfSlashes: 5, SlashPercentage: 20,
				}
			},
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			config := testConfig()
			test.change(&config)
			_, err := shared.call(t, deployer, nil, creation(config))
			if got := revertName(t, err); got != test.want {
				t.Fatalf("reverts with %q, want %q", got, test.want)
			}
			_, err = contracts.MarketplaceCreation(config, common.Address{1}, common.Address{2})
			if got := errors.Is(err, contracts.ErrInvalidConfig); got != (test.want != "") {
				t.Fatalf("the deployer's check says %v, the contract %q", err, test.want)
			}
		})
	}
}

func TestConstructorRefusesAChainTooShortForChallenges(t *testing.T) {
	backend := simulated.NewBackend(nil, atOsaka)
	defer func() { _ = backend.Close() }()
	young := &chain{backend: backend, keys: shared.keys}
	young.mine(t, contracts.FirstDeploymentBlock-1)
	_, err := young.call(t, deployer, nil, creation(testConfig()))
	if got := revertName(t, err); got != "Proofs_InsufficientBlockHeight" {
		t.Fatalf("at block 256 it reverts with %q", got)
	}
	young.mine(t, 1)
	if _, err := young.call(t, deployer, nil, creation(testConfig())); err != nil {
		t.Fatalf("at block 257 it reverts with %q", revertName(t, err))
	}
}

func TestConfigurationIsTheOneGivenAtDeployment(t *testing.T) {
	config := testConfig()
	config.Proofs.ZkeyHash = "65dfa139e1c6dae5f50102cca2a856b759723c6ec6029343c2c6e926b855a6ca"
	token := common.Address{7}
	m := deployMarket(t, config, token, common.Address{8})
	got := view(m, pack.PackConfiguration(), pack.UnpackConfiguration)
	if diff := cmp.Diff(config, got); diff != "" {
		t.Fatalf("configuration differs (-want +got):\n%s", diff)
	}
	if got := view(m, pack.PackToken(), pack.UnpackToken); got != token {
		t.Fatalf("token is %v, want %v", got, token)
	}
}

func TestMarketplaceIsSmallEnoughToBeDeployed(t *testing.T) {
	m := newMarket(t)
	output, err := m.backend.Client().CodeAt(t.Context(), m.address, nil)
	if err != nil {
		t.Fatalf("read code: %v", err)
	}
	const limit = 24576 // EIP-170
	if len(output) == 0 || len(output) >= limit {
		t.Fatalf("marketplace has %d bytes, limit %d", len(output), limit)
	}
	t.Logf("marketplace: %d bytes", len(output))
}
