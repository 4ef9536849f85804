package doctor

import (
	"context"
	"errors"
	"io"
	"math/big"
	"net"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/keys"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/localchain"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/node"
	"github.com/hostnode/hostnode/events"
)

// This file measures the chain, from each end point and from the contract.

// account is the one that would sell.
type account struct {
	Address events.Address // zero: the first start makes one
	By      string         // what signs for it
}

func (e *exam) measureAccount(context.Context) (a account, err error) {
	c := e.Config
	if c.Account.Signer != "" {
		return account{c.AccountAddress(), "the signer"}, nil
	}
	if c.Clustered() && !c.Account.Transactions {
		return account{c.AccountAddress(), "other members"}, nil
	}
	owner, err := e.dir.Owner()
	if err != nil {
		return a, err
	}
	key, err := node.AccountKey(c, e.dir, owner, false, nil)
	if errors.Is(err, keys.ErrMissing) && c.Embedded() {
		return a, nil
	}
	if err != nil {
		return a, err
	}
	return account{keys.AddressOf(key), node.KeyFile(c)}, nil
}

// endpoint is what one end point of the chain says.
type endpoint struct {
	Name    string
	url     string // with secrets
	ID      rpc.Identity
	Head    events.Head
	Latency time.Duration
	Err     error
}

// reach is what all of them say.
type reach struct {
	// Closed: the development chain in the directory does not run.
	Closed    bool
	Contract  events.Address
	Endpoints []endpoint
	At        time.Time // when they were asked, by this machine's clock
}

// first is the first that answers; nil: none does.
func (r reach) first() *endpoint {
	for i := range r.Endpoints {
		if r.Endpoints[i].Err == nil {
			return &r.Endpoints[i]
		}
	}
	return nil
}

// newest is the newest block that any of them has on the chain of the first.
func (r reach) newest() (h events.Head) {
	for _, p := range r.Endpoints {
		if p.Err == nil && p.ID == r.first().ID && p.Head.Number >= h.Number {
			h = p.Head
		}
	}
	return h
}

func (e *exam) measureEndpoints(ctx context.Context) (r reach, err error) {
	c := e.Config
	r.Contract = c.ContractAddress()
	urls := append([]string{c.Chain.Endpoint}, c.Chain.Fallbacks...)
	if c.Embedded() {
		remote, err := localchain.Find(e.dir.Chain(), "")
		if errors.Is(err, localchain.ErrNoChain) {
			return reach{Closed: true}, nil
		}
		if err != nil {
			return r, err
		}
		socket, err := e.dir.SocketPath("chain/devchain.ipc")
		if err != nil {
			return r, err
		}
		there, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
		if err != nil {
			return reach{Closed: true}, ctx.Err()
		}
		_ = there.Close()
		r.Contract, urls = remote.Marketplace, []string{socket}
	}
	r.Endpoints = make([]endpoint, len(urls))
	var all sync.WaitGroup
	for i, url := range urls {
		all.Go(func() { r.Endpoints[i] = e.measureEndpoint(ctx, url, r.Contract) })
	}
	all.Wait()
	r.At = e.Now()
	return r, nil
}

func (e *exam) measureEndpoint(ctx context.Context, url string, contract events.Address) endpoint {
	// One that is silent must not keep what the others say from being judged.
	ctx, cancel := context.WithTimeout(ctx, e.Timeout*3/4)
	defer cancel()
	p := endpoint{Name: rpc.Redact(url), url: url}
	conn := rpc.New(rpc.Config{
		Endpoints: []string{url}, CallTimeout: e.Timeout, LongestWait: e.Timeout, ReturnAfter: e.Timeout, Log: silent(),
	}, common.Address(contract))
	defer conn.Close()
	if p.ID, p.Err = conn.Identity(ctx); p.Err != nil {
		return p
	}
	began := time.Now()
	p.Head, p.Err = conn.Head(ctx)
	p.Latency = time.Since(began)
	return p
}

func silent() *logrus.Logger {
	log := logrus.New()
	log.SetOutput(io.Discard)
	return log
}

// market is what the contract says, and what it costs to use it.
type market struct {
	Known     bool
	Terms     events.MarketConfig
	BlockTime time.Duration
	Balance   events.Balance // of the account, if there is one
	Fees      fees
}

// fees are what the chain wants, in wei, beside the limits of the settings.
type fees struct {
	Base, Tip              *big.Int
	MaxFeeGwei, MaxTipGwei uint64
}

func (e *exam) measureMarket(ctx context.Context, r reach, who events.Address) (m market, err error) {
	limits := e.Config.Fees
	reader := who
	if who.Zero() {
		reader = r.Contract // A question needs to come from an account.
	}
	c, err := chain.DialReader(ctx, chain.Config{
		Endpoint: r.first().url, Marketplace: r.Contract, Account: reader, BlockTime: e.Config.Chain.BlockTime,
		MaxFeeCapWei: limits.MaxFeeGwei * gwei, MaxTipWei: limits.MaxTipGwei * gwei, CallTimeout: e.Timeout,
	})
	if err != nil {
		return m, err
	}
	defer c.Close()
	if m.Terms, err = c.Config(ctx); err != nil {
		return m, err
	}
	if m.Balance, err = c.Balance(ctx); err != nil {
		return m, err
	}
	conn := c.Shared().Conn
	head, err := conn.Latest(ctx)
	if err != nil {
		return m, err
	}
	tip, err := conn.Tip(ctx, head)
	if err != nil {
		return m, err
	}
	if floor := conn.Floor(ctx); floor.Cmp(tip) > 0 {
		tip = floor
	}
	m.Fees = fees{head.LeastPrice(), tip, limits.MaxFeeGwei, limits.MaxTipGwei}
	m.BlockTime, _ = c.BlockTime()
	m.Known = true
	return m, nil
}

// clock is the age of the newest block by this machine's clock.
type clock struct {
	Ahead       time.Duration
	Block       time.Duration // usual time between blocks
	Silent      uint64        // after so many of them without a new one the host connects again
	Development bool
}

// balance is what the account has, beside what is on offer.
type balance struct {
	events.Balance
	Collateral events.Amount // zero: nothing is on offer, or no host runs that could say
}
