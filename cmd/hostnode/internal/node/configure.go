package node

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/admission"
	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/localchain"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/validation"
	"github.com/hostnode/hostnode/prover"
	"github.com/hostnode/hostnode/storage"
)

// ProverParams are the sizes of the circuit in a configuration.
func ProverParams(c config.Prover) prover.Params {
	p := prover.NetworkParams()
	p.Samples, p.MaxDepth, p.MaxLog2NSlots = c.Samples, c.MaxDepth, c.MaxLog2Slots
	return p
}

// DevelopmentKeys makes the proving keys on first use and loads them later. Where a host or a
// chain has been set up with them in the data directory, none are made in their place. Making them
// takes minutes and cannot be interrupted. So when ctx ends it does not wait; the
// program then ends, and either all keys are on disk or none.
func DevelopmentKeys(ctx context.Context, c config.Prover, dir datadir.Layout, say prover.Progress) (
	*prover.Keys, error,
) {
	type result struct {
		keys *prover.Keys
		err  error
	}
	neededBy, err := needsKeys(dir)
	if err != nil {
		return nil, err
	}
	done := make(chan result, 1)
	go func() {
		keys, err := prover.DevelopmentKeys(ctx, ProverParams(c), c.KeysDir, neededBy, say)
		done <- result{keys, err}
	}()
	var r result
	select {
	case r = <-done:
	case <-ctx.Done():
		r.err = ctx.Err()
	}
	if r.err != nil {
		return nil, fmt.Errorf("proving keys in %s: %w", c.KeysDir, r.err)
	}
	return r.keys, nil
}

// needsKeys says what in a data directory was set up with proving keys; empty: nothing was.
func needsKeys(dir datadir.Layout) (string, error) {
	if used, err := dir.Used(); err != nil || used {
		return "the host in " + dir.Root, err
	}
	if deployed, err := localchain.Deployed(dir.Chain()); err != nil || deployed {
		return "the contract on the chain in " + dir.Chain(), err
	}
	return "", nil
}

// LocalChain opens the development chain of a data directory. The rules for sectors are those of a
// new chain; nil: the development default.
func LocalChain(ctx context.Context, c config.Config, dir datadir.Layout, keys *prover.Keys,
	sectors *bindings.SectorConfig,
) (*localchain.Chain, error) {
	ipc, err := dir.SocketPath("chain/devchain.ipc")
	if err != nil {
		return nil, fmt.Errorf("open the development chain: %w", err)
	}
	d := c.Devchain
	return localchain.Open(ctx, localchain.Config{
		Dir: dir.Chain(), IPCPath: ipc, HTTPPort: int(d.HTTPPort), WSPort: int(d.WSPort), Keys: keys,
		Sectors: sectors,
		Proofs: events.ProofConfig{
			Period: d.Period, Timeout: d.Timeout,
			Downtime: uint8(d.Downtime), DowntimeProduct: uint8(d.DowntimeProduct),
		},
	})
}

// What a host receives on a development chain: a thousand of the chain's own coins for gas, because a slot whose proofs
// of fees.walletDays it cannot pay is refused, and a million tokens of 10^18 base units for collateral.
const (
	developmentWei    = "1000000000000000000000"
	developmentTokens = "1000000000000000000000000"
)

// ProvideDevelopmentFunds gives an account what a host needs.
func ProvideDevelopmentFunds(ctx context.Context, c *localchain.Chain, account events.Address) error {
	tokens := events.Must(events.ParseAmount(developmentTokens))
	if err := c.Provide(ctx, account, events.Must(events.ParseAmount(developmentWei)), tokens); err != nil {
		return fmt.Errorf("provide the account with development money: %w", err)
	}
	return nil
}

// Parts are what a configuration alone does not say.
type Parts struct {
	Means
	Endpoint   string
	Contract   events.Address
	DeployedAt uint64 // 0: unknown
	// Sectors is the contract of sectors, if the chain is the embedded one, and SectorsDeployedAt its
	// block; otherwise the settings say so.
	Sectors           events.Address
	SectorsDeployedAt uint64
	// Development says that the chain is a development chain.
	Development bool
	// TakeOver starts although, by the chain, the account was used elsewhere.
	TakeOver bool
	Node     string
	Version  string
}

// FromConfig makes the options of a node from a configuration.
func FromConfig(c config.Config, p Parts) (Options, error) {
	if c.Sales.FailEveryNProofs > 0 && !p.Development {
		return Options{}, fmt.Errorf("%w: sales.failEveryNProofs is for development chains only", config.ErrInvalid)
	}
	// How long a node may take to answer at first, and so how long a broken connection may go unnoticed; and the
	// longest pause between two tries to reach it. A development chain is on this machine, its time runs fast, and
	// it is back soon.
	callTimeout, redialWait := 10*time.Second, 15*time.Second
	if p.Development {
		callTimeout, redialWait = 3*time.Second, 2*time.Second
	}
	callTimeout = cmp.Or(c.Chain.CallTimeout, callTimeout)
	o := Options{
		Means: p.Means, Validates: c.Validator.Enabled, Quota: c.Quota,
		Chain: chain.Config{
			Endpoint: p.Endpoint, Fallbacks: c.Chain.Fallbacks, Marketplace: p.Contract,
			DeployedAt: max(p.DeployedAt, c.Chain.DeployedAt), LogRange: c.Chain.LogRange,
			SilentBlocks: c.Chain.SilentBlocks, Finalized: c.Chain.Finality == config.Finalized,
			RewardRecipient: c.RewardRecipient(), StuckBlocks: c.Fees.StuckBlocks,
			MaxFeeCapWei: c.Fees.MaxFeeGwei * gwei, MaxTipWei: c.Fees.MaxTipGwei * gwei, MaxGas: c.Fees.MaxGas,
			MaxInFlight: c.Fees.MaxInFlight, FillHold: c.Fees.FillHold, ExactAllowance: c.Fees.ExactAllowance,
			RecordFirst: p.Cluster != nil,
			TakeOver:    p.TakeOver, Confirmations: c.Confirmations(p.Development),
			LongestRedialWait: redialWait, CallTimeout: callTimeout,
			BlockTime: blockTime(c), PollInterval: pollInterval(c, p.Development),
		},
		SlotsLost: c.Storage.FilesLost,
		Fetch: storage.FetcherConfig{
			Sources: c.Content.Sources, Local: p.Local, InFlight: c.Storage.BlocksInFlight,
			Attempts: c.Storage.FetchRetries, RequestTimeout: c.Storage.FetchTimeout,
		},
		Host: actors.Config{
			Node: p.Node, Version: p.Version,
			MaxWorkers: c.Sales.MaxWorkers, MaxQueued: c.Sales.MaxQueued,
			MaxSlotsPerRequest: c.Sales.MaxSlotsPerRequest, MinFill: c.Sales.MinFill,
			FailEveryNProofs: uint32(min(c.Sales.FailEveryNProofs, math.MaxUint32)),
			FinalBlocks:      c.FinalBlocks(p.Development),
			SnapshotEvery:    c.EventStore.SnapshotEvery,
			Validator: validation.Settings{
				MaxSlots: c.Validator.MaxSlots,
				Groups:   uint32(c.Validator.Groups), GroupIndex: uint32(c.Validator.GroupIndex),
			},
			GiveWayAfter:       c.Cluster.GiveWayAfter,
			CertificateWarning: time.Duration(c.Cluster.TLS.WarnDays) * 24 * time.Hour,
			WalletDays:         c.Fees.WalletDays, MaxCollateralAtRisk: c.MaxCollateralAtRisk(),
			ProofLoad: c.Sales.ProofLoad, GiveUpDownload: c.Sales.GiveUpDownload, JudgePace: c.Sales.JudgePace,
			AvoidClient: c.Sales.AvoidClient, QuarantineRetry: c.Sales.QuarantineRetry,
			KeepFree:   c.Storage.KeepFree,
			ScrubEvery: c.Storage.ScrubEvery, ScrubBytesPerSecond: c.Storage.ScrubBytesPerSecond,
			MayReserve: dispersalPolicy(c.Sales.Dispersal),
			Margin:     duty.Margin{Blocks: c.Sales.ProofBlocks, BlockTime: blockTime(c)},
			Downloads:  c.Pools.Downloads, Proofs: c.Pools.Proofs, Transactions: c.Pools.Transactions,
		},
	}
	return o, o.addSectors(c, p)
}

// gwei is a billion wei, the unit in which fees are set.
const gwei = 1_000_000_000

// blockTime is the usual chain time between two blocks; 0: it is measured.
func blockTime(c config.Config) time.Duration {
	if c.Embedded() { // The embedded chain, which knows.
		return time.Second
	}
	return c.Chain.BlockTime
}

// pollInterval is how often a new block is looked for; 0: by the block time. The time
// of a development chain runs as fast as configured.
func pollInterval(c config.Config, development bool) time.Duration {
	if c.Chain.PollInterval == 0 && development {
		return min(time.Second, max(c.Devchain.BlockInterval/4, 20*time.Millisecond))
	}
	return c.Chain.PollInterval
}

// dispersalPolicy returns the policy of sales.dispersal, which has only these two
// values.
func dispersalPolicy(name string) func(admission.MayReserve) admission.Permission {
	if name == "window" {
		return admission.ReserveInWindow
	}
	return admission.ReserveAlways
}
