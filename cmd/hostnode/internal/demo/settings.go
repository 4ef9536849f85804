package demo

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
)

// fixed are the settings that the demonstration chooses itself, and why. All others
// apply to its host, too.
var fixed = map[string]string{
	"chain.endpoint":           "it brings its own chain",
	"chain.fallbacks":          "it brings its own chain",
	"chain.contract":           "it brings its own chain",
	"chain.deployedAt":         "it brings its own chain",
	"sectors.contract":         "it brings its own chain",
	"sectors.sealer":           "it shows how slots are sold",
	"devchain.blockInterval":   "its chain waits for the host, and is fast otherwise",
	"chain.silentBlocks":       "its chain waits for the host, and is fast otherwise",
	"account.signer":           "its host has a key of its own",
	"account.rewardRecipient":  "it looks for the payout on the host's own account",
	"sales.maxSlotsPerRequest": "its host takes all slots of the request",
	"log.level":                "it reads the host's log",
	"log.format":               "it reads the host's log",
}

// refuseSettings names the first given setting that must not be given, or whose section must not be.
func (o Options) refuseSettings(fixed ...map[string]string) error {
	for key := range o.Config.Changed() {
		for _, reasons := range fixed {
			section, _, _ := strings.Cut(key, ".")
			if why := cmp.Or(reasons[key], reasons[section]); why != "" {
				return fmt.Errorf("%w: %s cannot be set for a demonstration: %s; leave it out",
					problem.ErrDemoOptions, key, why)
			}
		}
	}
	return nil
}

// hostConfig is the host's configuration: the given settings, and those that
// the demonstration chooses.
func (o Options) hostConfig(endpoint, contract string, sources ...string) config.Config {
	c := o.Config
	c.Chain.Endpoint, c.Chain.Contract = endpoint, contract
	c.Devchain.BlockInterval, c.Chain.SilentBlocks = idlePace, silentBlocks
	c.Content.Sources = slices.Concat(sources, c.Content.Sources)
	c.Sales.MaxSlotsPerRequest = cmp.Or(o.Slots, c.Sales.MaxSlotsPerRequest)
	c.Log.Format = "json"
	return c
}
