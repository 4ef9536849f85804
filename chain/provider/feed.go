package provider

import (
	"context"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/hostnode/hostnode/chain/contracts"
	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/chain/feed"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// Limits of following: as long as the market's defaults.
const (
	longestFollowWait = 15 * time.Second
	silentBlocks      = 5
	leastSilence      = 15 * time.Second
)

// heard is what the contract said about sectors of one provider.
type heard struct {
	by   common.Address
	said events.SectorSaid
}

// readers read the logs that are about sectors.
func (c *Chain) readers() feed.Readers[heard] {
	known := c.abi.GetABI()
	all := feed.Readers[heard]{}
	for _, name := range []string{
		"PreCommitted", "SeedPinned", "Committed", "PreCommitExpired", "Proven", "Missed", "FaultDeclared",
		"RecoveryDeclared", "Recovered", "Terminated", "Expired",
	} {
		all[known.Events[name].ID] = func(_ context.Context, l *types.Log, at *messages.ChainLog) (heard, error) {
			e, err := contracts.UnpackSectorEvent(l)
			if err != nil {
				return heard{}, feed.Skip(err)
			}
			// Both are topics of each of them; of Proven the second one is the period.
			h := heard{by: common.BytesToAddress(l.Topics[1][:]), said: events.SectorSaid{
				Numbers: []uint64{l.Topics[2].Big().Uint64()}, Name: name,
				Block: at.GetBlock(), Tx: events.Hash(l.TxHash),
			}}
			if p, ok := e.(*bindings.SectorProviderProven); ok {
				h.said.Numbers = p.Numbers
			}
			return h, nil
		}
	}
	return all
}

// Follow delivers what the contract says about sectors of this account after the cursor, oldest first,
// as the market's feed does: each log once for each block that holds it, a reorganisation before the
// blocks that replace those that are gone. It reconnects by itself, until ctx ends or deliver fails.
func (c *Chain) Follow(
	ctx context.Context, from events.Cursor, deliver func(context.Context, events.SectorUpdate) error,
) error {
	f := feed.New(c.conn, c.blocks, feed.Config{
		Contract: c.contract, DeployedAt: c.cfg.DeployedAt, LogRange: c.cfg.LogRange, LongestWait: longestFollowWait,
		SilentBlocks: silentBlocks, LeastSilence: leastSilence, Log: c.log,
	}, c.readers())
	return f.Follow(ctx, from, func(ctx context.Context, u feed.Update[heard]) error {
		update := events.SectorUpdate{Reorganized: u.Reorganized, Head: u.Head, Live: u.Live}
		for _, h := range u.Logs {
			if h.by == c.account {
				update.Said = append(update.Said, h.said)
			}
		}
		return deliver(ctx, update)
	})
}
