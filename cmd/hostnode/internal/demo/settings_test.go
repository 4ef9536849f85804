//go:build !race

package demo

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
)

// shown is a demonstration, with the settings that it chooses itself.
type shown struct {
	fixed map[string]string
	check func(config.Config) error
	host  func(config.Config) config.Config
}

// Every setting either reaches the host or is refused.
func TestEachSettingReachesTheHostOrIsRefused(t *testing.T) {
	ofSectors := func(c config.Config) SectorOptions { return SectorOptions{Options: Options{Config: c}, Days: 3} }
	seals := maps.Clone(fixed)
	maps.Copy(seals, fixedForSectors)
	delete(seals, "sectors.sealer") // The one that is shown may be given.
	watches := maps.Clone(fixed)
	maps.Copy(watches, fixedForDowntime)
	aggregates := maps.Clone(fixed)
	maps.Copy(aggregates, fixedForAggregation)
	home, others := "HOME="+t.TempDir(), map[string]config.Loaded{}
	for name, demo := range map[string]shown{
		"a sale": {
			fixed, func(c config.Config) error { return Options{Config: c, Slots: 3, Periods: 3}.check() },
			func(c config.Config) config.Config {
				return Options{Config: c, Slots: 3}.hostConfig("/chain.ipc", someContract, "http://client")
			},
		},
		"sectors": {
			seals, func(c config.Config) error { return ofSectors(c).check() },
			func(c config.Config) config.Config {
				return ofSectors(c).hostConfig("/chain.ipc", someContract, otherContract)
			},
		},
		"downtime": {
			watches, func(c config.Config) error { return Options{Config: c}.refuseSettings(watches) },
			func(c config.Config) config.Config {
				return Options{Config: c, Slots: 3}.hostConfig("/chain.ipc", someContract)
			},
		},
		"aggregation": {
			aggregates, func(c config.Config) error { return Options{Config: c}.refuseSettings(aggregates) },
			func(c config.Config) config.Config {
				return ofSectors(c).hostConfig("/chain.ipc", someContract, otherContract)
			},
		},
	} {
		t.Run(name, func(t *testing.T) { eachSetting(t, demo, home, others) })
	}
}

const (
	someContract  = "0x00000000000000000000000000000000000000bb"
	otherContract = "0x00000000000000000000000000000000000000dd"
)

// eachSetting gives each setting alone another value than the usual one; others has those that were found before.
func eachSetting(t *testing.T, demo shown, home string, others map[string]config.Loaded) {
	usual, err := config.Load(config.Sources{Environ: []string{home}})
	check(t, err)
	values := []string{
		"true", "2", "3", "7", "200", "200MiB", "90m", "3s", "1500ms", "window", "finalized", "debug", "json", "https://there.example/",
		"127.0.0.1:2113", "0x00000000000000000000000000000000000000aa", "esdb://127.0.0.1:2113?tls=false", "/some/file",
		"commd", "possession", "simulated", "4KiB", "2GiB", "20000000",
		"false", "scored", "proposed", "north=https://there.example/", "greedy", "source", "http", "alertmanager", "50h", "100h",
	}
	// Some can be set only beside others.
	chain := []string{
		"HOSTNODE_CHAIN_ENDPOINT=https://here.example/",
		"HOSTNODE_CHAIN_CONTRACT=0x00000000000000000000000000000000000000cc",
	}
	beside := map[string][]string{
		"chain.endpoint": chain, "chain.fallbacks": chain, "chain.contract": chain, "sectors.contract": chain,
		"eventStore.passwordFile": {"HOSTNODE_EVENT_STORE_URL=esdb://me@127.0.0.1:2113?tls=true"},
		"validator.groupIndex":    {"HOSTNODE_VALIDATOR_GROUPS=9"},
		"aggregation.run": {
			"HOSTNODE_AGGREGATION_BROKER_KIND=http", "HOSTNODE_AGGREGATION_BROKER_URL=https://here.example/",
			"HOSTNODE_AGGREGATION_BROKER_TOKEN_FILE=/some/file",
		},
		"account.signer": slices.Concat(chain, []string{
			"HOSTNODE_ACCOUNT_ADDRESS=0x00000000000000000000000000000000000000ee",
		}),
	}
	for _, setting := range usual.Settings() {
		// A member needs a chain of its own, which the demonstrations refuse.
		if strings.HasPrefix(setting.Key, "cluster.") || setting.Key == "account.address" ||
			setting.Key == "account.transactions" {
			continue
		}
		given, found := others[setting.Key]
		for i := 0; i < len(values) && !found; i++ {
			with := append([]string{home}, beside[setting.Key]...)
			given, err = config.Load(config.Sources{Environ: append(with, setting.Variable+"="+values[i])})
			found = err == nil && values[i] != setting.Value
		}
		if !found {
			t.Errorf("%s: none of the values is another one that it can have: %v", setting.Key, err)
			continue
		}
		others[setting.Key] = given
		section, _, _ := strings.Cut(setting.Key, ".")
		if err := demo.check(given.Config); demo.fixed[setting.Key] != "" || demo.fixed[section] != "" {
			named := strings.Contains(fmt.Sprint(err), section) || beside[setting.Key] != nil // The error names it first.
			if !errors.Is(err, problem.ErrDemoOptions) || !named {
				t.Errorf("%s is taken, and then ignored: %v", setting.Key, err)
			}
			continue
		} else if err != nil {
			t.Errorf("%s is refused: %v", setting.Key, err)
		}
		host, err := config.Load(config.Sources{Environ: demo.host(given.Config).Environ()})
		check(t, err)
		for i, s := range host.Settings() {
			if s.Key == setting.Key && !strings.Contains(s.Value, given.Settings()[i].Value) {
				t.Errorf("%s: the host has %q, given was %q", s.Key, s.Value, given.Settings()[i].Value)
			}
		}
	}
}
