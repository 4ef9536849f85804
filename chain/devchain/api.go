package devchain

import (
	"context"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/hostnode/hostnode/events"
)

// api is the namespace devchain. It is served over IPC alone, because whoever reaches it
// can do with the chain as he likes.
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

// Remote controls a chain, also in another process. Its client speaks over IPC or comes
// from Attach. The methods are those of Chain.
type Remote struct{ Client *rpc.Client }

func (r Remote) call(ctx context.Context, what, method string, args ...any) error {
	if err := r.Client.CallContext(ctx, nil, method, args...); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// Seal is Chain.Seal.
func (r Remote) Seal(ctx context.Context, n uint64) error {
	return r.call(ctx, fmt.Sprintf("seal %d blocks", n), "devchain_seal", n)
}

// Fork is Chain.Fork.
func (r Remote) Fork(ctx context.Context, to events.Hash, drop bool) error {
	return r.call(ctx, "fork to "+to.String(), "devchain_fork", common.Hash(to), drop)
}

// Reorganize is Chain.Reorganize.
func (r Remote) Reorganize(ctx context.Context, depth uint64, drop bool) error {
	return r.call(ctx, fmt.Sprintf("replace %d blocks", depth), "devchain_reorganize", depth, drop)
}

// Warp is Chain.Warp.
func (r Remote) Warp(ctx context.Context, seconds uint64) error {
	return r.call(ctx, fmt.Sprintf("go %d seconds ahead", seconds), "devchain_warp", seconds)
}

// Pause is Chain.Pause.
func (r Remote) Pause(ctx context.Context, on bool) error {
	return r.call(ctx, "pause", "devchain_pause", on)
}

// Hold is Chain.Hold.
func (r Remote) Hold(ctx context.Context, on bool) error {
	return r.call(ctx, "hold transactions", "devchain_hold", on)
}

// RaiseBaseFee is Chain.RaiseBaseFee.
func (r Remote) RaiseBaseFee(ctx context.Context, gwei uint64) error {
	return r.call(ctx, "raise the base fee", "devchain_raiseBaseFee", gwei)
}

// Fund is Chain.Fund.
func (r Remote) Fund(ctx context.Context, to events.Address, wei events.Amount) error {
	return r.call(ctx, "fund "+to.String(), "devchain_fund", common.Address(to), wei.String())
}
