package node

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/chain/devchain"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/keys"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/localchain"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/embedded"
	"github.com/hostnode/hostnode/projections"
)

// Process is a host with everything around it, in one data directory: lock,
// event store, chain if it is the embedded one, node, and views.
type Process struct {
	*Node
	Dir       *datadir.Dir
	Store     *embedded.Store
	Projector *projections.Projector
	// Local is the embedded chain; nil when the configuration names an endpoint.
	Local *localchain.Chain
	// Endpoint is how the chain is reached; Development that it is a development
	// chain.
	Endpoint    string
	Development bool

	log    *logrus.Entry
	cancel context.CancelFunc
	sealed chan error
}

// Open takes the data directory, opens everything in order, and starts the
// host. It fails with what to do when the directory is in use or damaged, the
// account has no key, or the chain is the wrong one; a chain that does not
// answer is waited for until ctx ends.
func Open(ctx context.Context, c config.Config, version string, log *logrus.Entry) (*Process, error) {
	p := &Process{log: log, cancel: func() {}}
	if err := p.open(ctx, c, version); err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

func (p *Process) open(ctx context.Context, c config.Config, version string) error {
	var err error
	if p.Dir, err = datadir.Open(c.DataDir, time.Now()); err != nil {
		return err
	}
	if err := p.openStore(c); err != nil {
		return err
	}
	key, err := accountKey(c, p.Dir.Layout, p.log)
	if err != nil {
		return err
	}
	provingKeys, err := DevelopmentKeys(ctx, c.Prover, func(step string) { p.log.Info("proving keys: " + step) })
	if err != nil {
		return err
	}
	parts := Parts{
		Dir: p.Dir.Layout, Store: p.Store, Key: key, Keys: provingKeys, Endpoint: c.Chain.Endpoint,
		Node: nodeName(), Version: version, Log: p.log,
	}
	if c.Embedded() {
		err = p.openChain(ctx, c, &parts)
	} else {
		err = remoteChain(ctx, c, &parts)
	}
	if err != nil {
		return err
	}
	p.Endpoint, p.Development = parts.Endpoint, parts.Development
	options, err := FromConfig(c, parts)
	if err != nil {
		return err
	}
	if p.Node, err = Start(ctx, options); err != nil {
		return err
	}
	if p.Projector, err = projections.Open(ctx, p.Store, projections.Config{Dir: p.Dir.Views()}); err != nil {
		return fmt.Errorf("open the views: %w", err)
	}
	p.Projector.Follow(context.WithoutCancel(ctx))
	if p.Local != nil {
		p.pace(ctx, c.Devchain.BlockInterval)
	}
	return nil
}

func (p *Process) openStore(c config.Config) error {
	store, report, err := embedded.Open(p.Dir.Events(), embedded.Config{CacheBytes: int64(c.EventStore.CacheBytes)})
	if err != nil {
		return fmt.Errorf("open the event store: %w", err)
	}
	p.Store = store
	entry := p.log.WithField("position", report.Last)
	switch {
	case report.Created:
		entry.Info("made a new event store")
	case report.Clean:
		entry.Info("opened the event store")
	case report.Tail.Dropped > 0:
		entry.Warnf("the last run did not stop in good order; %d bytes of a write that was never "+
			"acknowledged were dropped from the end of the log", report.Tail.Dropped)
	default:
		entry.Info("the last run did not stop in good order; nothing that was acknowledged is lost")
	}
	return nil
}

// accountKey loads the host's key. On the embedded chain, whose money is worth
// nothing, a first start makes one.
func accountKey(c config.Config, dir datadir.Layout, log *logrus.Entry) (*ecdsa.PrivateKey, error) {
	path := c.Account.KeyFile
	if path == "" {
		path = filepath.Join(dir.Root, "account.key")
	}
	key, err := keys.Load(path)
	if errors.Is(err, keys.ErrMissing) && c.Embedded() {
		address, err := keys.Create(path)
		if err != nil {
			return nil, err
		}
		log.WithField("account", address.String()).Info("made an account for the development chain")
		return keys.Load(path)
	}
	return key, err
}

func (p *Process) openChain(ctx context.Context, c config.Config, parts *Parts) error {
	local, err := LocalChain(ctx, c, p.Dir.Layout, parts.Keys)
	if err != nil {
		return err
	}
	p.Local = local
	if err := ProvideDevelopmentFunds(ctx, local, keys.AddressOf(parts.Key)); err != nil {
		return err
	}
	parts.Development = true
	parts.Endpoint, parts.Contract, parts.DeployedAt = local.IPCPath(), local.Marketplace, local.Block
	p.log.WithFields(logrus.Fields{"contract": local.Marketplace.String(), "ipc": local.IPCPath()}).Info(
		"running on the embedded development chain; its tokens are worth nothing")
	return nil
}

// pace lets the embedded chain's time run. It begins when the host runs, so
// that no time passes while nobody could prove.
func (p *Process) pace(ctx context.Context, interval time.Duration) {
	sealing, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p.cancel, p.sealed = cancel, make(chan error, 1)
	go func() { p.sealed <- p.Local.Run(sealing, devchain.FixedPace(interval)) }()
}

// remoteChain asks the configured endpoint which chain it is. Development
// chains are known by their chain id; everything else is real money.
func remoteChain(ctx context.Context, c config.Config, parts *Parts) error {
	contract, err := events.ParseAddress(c.Chain.Contract)
	if err != nil {
		return fmt.Errorf("chain.contract: %w", err)
	}
	parts.Contract = contract
	for {
		id, err := askChainID(ctx, c.Chain.Endpoint)
		if err == nil {
			parts.Development = id == devchain.ChainID
			return nil
		}
		parts.Log.Warnf("the chain at %s does not answer, trying again: %v", c.Chain.Endpoint, err)
		select {
		case <-time.After(dialPause):
		case <-ctx.Done():
			return fmt.Errorf("connect to the chain at %s: %w", c.Chain.Endpoint, errors.Join(err, ctx.Err()))
		}
	}
}

func askChainID(ctx context.Context, endpoint string) (uint64, error) {
	client, err := ethclient.DialContext(ctx, endpoint)
	if err != nil {
		return 0, err
	}
	defer client.Close()
	id, err := client.ChainID(ctx)
	if err != nil {
		return 0, err
	}
	return id.Uint64(), nil
}

func nodeName() string {
	name, err := os.Hostname()
	if err != nil {
		return "hostnode"
	}
	return name
}

// SealingFailed is told when the embedded chain can make no more blocks; nil
// when the chain is not ours.
func (p *Process) SealingFailed() <-chan error { return p.sealed }

// Close stops the host in good order and gives the directory back.
func (p *Process) Close(ctx context.Context) error {
	var err error
	if p.Node != nil {
		err = p.Node.Stop(ctx)
		p.Node = nil
	}
	return errors.Join(err, p.close())
}

func (p *Process) close() error {
	var errs []error
	if p.Projector != nil {
		errs = append(errs, p.Projector.Close())
	}
	p.cancel()
	if p.Local != nil {
		errs = append(errs, p.Local.Close())
	}
	if p.Store != nil {
		errs = append(errs, p.Store.Close())
	}
	if p.Dir != nil {
		errs = append(errs, p.Dir.Close())
	}
	return errors.Join(errs...)
}
