package devchain

import (
	"context"

	"github.com/ethereum/go-ethereum/common"

	"github.com/hostnode/hostnode/events"
)

// api is the namespace devchain. It is served over IPC only, because a client that reaches it can do
// anything with the chain.
type api struct{ chain *Chain }

// Seal is devchain_seal: n blocks, each one second after its parent.
func (a *api) Seal(ctx context.Context, n uint64) (common.Hash, error) {
	head, err := a.chain.Seal(ctx, n)
	return common.Hash(head.Hash), err
}

// Fork is devchain_fork: see Chain.Fork.
func (a *api) Fork(ctx context.Context, to common.Hash, drop *bool) (common.Hash, error) {
	head, err := a.chain.Fork(ctx, events.Hash(to), drop != nil && *drop)
	return common.Hash(head.Hash), err
}

// Reorganize is devchain_reorganize: see Chain.Reorganize.
func (a *api) Reorganize(ctx context.Context, depth uint64, drop *bool) (common.Hash, error) {
	head, err := a.chain.Reorganize(ctx, depth, drop != nil && *drop)
	return common.Hash(head.Hash), err
}

// Warp is devchain_warp: see Chain.Warp.
func (a *api) Warp(ctx context.Context, seconds uint64) (common.Hash, error) {
	head, err := a.chain.Warp(ctx, seconds)
	return common.Hash(head.Hash), err
}

// Pause is devchain_pause: see Chain.Pause.
func (a *api) Pause(on bool) { a.chain.Pause(on) }

// Hold is devchain_hold: see Chain.Hold.
func (a *api) Hold(on bool) { a.chain.Hold(on) }

// RaiseBaseFee is devchain_raiseBaseFee: see Chain.RaiseBaseFee.
func (a *api) RaiseBaseFee(gwei uint64) error { return a.chain.RaiseBaseFee(gwei) }

// Fund is devchain_fund; wei is a decimal number.
func (a *api) Fund(ctx context.Context, to common.Address, wei string) error {
	amount, err := events.ParseAmount(wei)
	if err != nil {
		return err
	}
	return a.chain.Fund(ctx, events.Address(to), amount)
}
