package node

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/chain/devchain"
	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/localchain"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/internal/retry"
)

// This file connects to the chain: the embedded one, or the configured one.

func (p *Process) openChain(ctx context.Context, c config.Config, parts *Parts) error {
	if err := p.chainIsHere(); err != nil {
		return err
	}
	local, err := LocalChain(ctx, c, p.Dir.Layout, parts.Keys, nil)
	if err != nil {
		return err
	}
	p.Local = local
	if err := ProvideDevelopmentFunds(ctx, local, parts.Account); err != nil {
		return err
	}
	parts.Development = true
	parts.Endpoint, parts.Contract, parts.DeployedAt = local.IPCPath(), local.Marketplace, local.Block
	parts.Sectors, parts.SectorsDeployedAt = local.SectorProvider, local.SectorBlock
	p.log.WithFields(logrus.Fields{"contract": local.Marketplace.String(), "ipc": local.IPCPath()}).Info(
		"running on the embedded development chain; its tokens are worth nothing")
	return nil
}

// chainIsHere refuses to make a new chain where a host has used one: its events and
// transactions would be of a market that is gone.
func (p *Process) chainIsHere() error {
	used, err := p.Dir.Used()
	if err != nil || !used {
		return err
	}
	return localchain.Whole(p.Dir.Chain())
}

// pace lets the embedded chain's time run, from when the host runs, so that no
// time passes while nobody could prove.
func (p *Process) pace(ctx context.Context, interval time.Duration) {
	sealing, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p.cancel, p.sealed = cancel, make(chan error, 1)
	go func() { p.sealed <- p.Local.Run(sealing, devchain.FixedPace(interval)) }()
}

// remoteChain asks the configured endpoint which chain it is. Development
// chains are recognised by their chain id; everything else is real money.
func (p *Process) remoteChain(ctx context.Context, c config.Config, parts *Parts) error {
	parts.Contract = c.ContractAddress()
	id, genesis, err := p.whichChain(ctx, c, parts.Waits)
	if err != nil {
		return err
	}
	parts.Development = id == devchain.ChainID
	if p.begin.Dry { // It sends nothing, so the host itself may run beside it.
		return nil
	}
	return p.lockAccount(parts.Account, parts.Contract, genesis)
}

// whichChain asks the configured endpoints until one of them says which chain it is.
func (p *Process) whichChain(ctx context.Context, c config.Config, waits func(error)) (
	id uint64, genesis events.Hash, _ error,
) {
	said := ""
	err := retry.Until(ctx, dialPause, func() error {
		var failed []error
		for _, endpoint := range append([]string{c.Chain.Endpoint}, c.Chain.Fallbacks...) {
			var err error
			if id, genesis, err = askChain(ctx, endpoint); err == nil {
				return nil
			}
			failed = append(failed, fmt.Errorf("%s: %w", rpc.Redact(endpoint), err))
		}
		return errors.Join(failed...)
	}, func(error) bool { return false }, func(err error) {
		waits(err)
		if why := err.Error(); why != said { // Said once, however long it lasts.
			p.log.Warnf("the chain does not answer, trying again: %v", err)
			said = why
		}
	})
	if err != nil {
		return 0, genesis, fmt.Errorf("connect to the chain: %w", err)
	}
	waits(nil)
	return id, genesis, nil
}

// askTime is how long an endpoint may take to say which chain it is on.
const askTime = 10 * time.Second

// askChain asks an endpoint for the id and the first block of its chain.
func askChain(ctx context.Context, endpoint string) (id uint64, genesis events.Hash, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	client, err := ethclient.DialContext(ctx, endpoint)
	if err != nil {
		return 0, genesis, rpc.WithoutSecrets(endpoint, err)
	}
	defer client.Close()
	number, err := client.ChainID(ctx)
	if err != nil {
		return 0, genesis, rpc.WithoutSecrets(endpoint, err)
	}
	first, err := client.HeaderByNumber(ctx, new(big.Int))
	if err != nil {
		return 0, genesis, rpc.WithoutSecrets(endpoint, err)
	}
	return number.Uint64(), events.Hash(first.Hash()), nil
}

// lockAccount refuses to start while another process on this machine, of the same user,
// runs the account in this market: for a copied data directory nothing else would
// notice. If no lock can be made, the host starts without it. The lock is taken once.
func (p *Process) lockAccount(account, contract events.Address, genesis events.Hash) error {
	p.opening.Lock()
	defer p.opening.Unlock()
	if p.account != nil {
		return nil
	}
	name := fmt.Sprintf("%s at %s on %s", account, contract, genesis)
	if member := p.config.Member(); member != "" {
		name += " as " + string(member)
	}
	lock, err := p.Dir.LockAccount(name, time.Now())
	if errors.Is(err, datadir.ErrAccountInUse) {
		return fmt.Errorf("account %s: %w", account, err)
	}
	if err != nil {
		p.log.Warnf("it is not known whether another process on this machine runs the account: %v", err)
		return nil
	}
	p.account = lock
	return nil
}
