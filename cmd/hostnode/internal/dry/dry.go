// Package dry is what a host has instead of the world when it only tries out what it would sell (`hostnode run --dry`).
//
// The host is the real one: its queue, its admission, its ledger and its sales decide, and record in a data directory
// of their own. It reads the real chain. But whatever a sale would send, fetch, store or prove is answered here
// (Market, and files.go), as if it had succeeded: nothing reaches the chain, because the market is given only what
// reads (Reads). So a slot that was free when the host wanted it counts as filled by it until its request is over,
// with its space and its collateral, and then as paid for. Whether the host would really have been the first to fill
// it is not known, nor whether its data could have been fetched: what a dry run earns is the most that could have been
// earned.
package dry

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/keys"
	"github.com/hostnode/hostnode/events"
)

// Dir is where the dry runs beside the host of a data directory are.
func Dir(root string) string { return filepath.Join(root, "dry") }

// Place puts the settings of a host to where its dry runs have their record.
func Place(c config.Config) config.Config {
	none := config.Default()
	c.DataDir, c.EventStore, c.Cluster = Dir(c.DataDir), none.EventStore, none.Cluster
	return c
}

// Settings are those of the dry run of a host: a directory of its own with its own record, and nothing that acts for
// the host, costs money or takes a port. The account is only named; its key stays where it is.
func Settings(c config.Config) (config.Config, error) {
	if c.Embedded() {
		return c, fmt.Errorf("%w: a dry run needs a chain with clients: set chain.endpoint and chain.contract",
			config.ErrInvalid)
	}
	if c.AccountAddress().Zero() {
		path := c.Account.KeyFile
		if path == "" {
			path = datadir.At(c.DataDir).KeyFile()
		}
		address, err := keys.Address(path)
		if err != nil {
			return c, fmt.Errorf("%w: a dry run needs an address, not its key: set account.address to any (%w)",
				config.ErrInvalid, err)
		}
		c.Account.Address = address.String()
	}
	c, none := Place(c), config.Default()
	c.Account = config.Account{Address: c.Account.Address}
	c.ServeEvents, c.API, c.Alerts, c.Validator = none.ServeEvents, none.API, none.Alerts, none.Validator
	c.Sectors, c.Nodes, c.Aggregation = none.Sectors, none.Nodes, none.Aggregation
	return c, nil
}

// Ports are those of a host that runs dry: its clock, its record and its view of the chain are as given, and what acts
// is replaced. What the record counts as filled stays so.
func Ports(ctx context.Context, p actors.Ports, chain Reads) (actors.Ports, error) {
	m := NewMarket(chain)
	if err := m.restore(ctx, p.Store); err != nil {
		return p, fmt.Errorf("read what the dry run has sold: %w", err)
	}
	terms, err := chain.Config(ctx)
	if err != nil {
		return p, fmt.Errorf("read the contract's terms: %w", err)
	}
	return actors.Ports{
		Market: m, Feed: p.Feed, Prover: proofs{terms.Proofs.KeyHash}, Repo: files{p.Repo, m}, Content: content{},
		Clock: p.Clock, Store: p.Store, Witness: p.Witness,
	}, nil
}

// proofs are those that would have been made.
type proofs struct{ keyHash string }

func (p proofs) KeyHash() string { return p.keyHash }

func (proofs) Prove(_ context.Context, job events.ProofJob) (events.ProofResult, error) {
	return events.ProofResult{Challenge: job.Challenge}, nil
}
