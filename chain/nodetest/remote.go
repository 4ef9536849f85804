package nodetest

import (
	"context"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/hostnode/hostnode/events"
)

// Remote controls a development chain, also in another process. Its client speaks over IPC or comes
// from Attach. The methods are those of devchain.Chain.
type Remote struct{ Client *rpc.Client }

func (r Remote) call(ctx context.Context, what, method string, args ...any) error {
	if err := r.Client.CallContext(ctx, nil, method, args...); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// Seal is devchain.Chain.Seal.
func (r Remote) Seal(ctx context.Context, n uint64) error {
	return r.call(ctx, fmt.Sprintf("seal %d blocks", n), "devchain_seal", n)
}

// Fork is devchain.Chain.Fork.
func (r Remote) Fork(ctx context.Context, to events.Hash, drop bool) error {
	return r.call(ctx, "fork to "+to.String(), "devchain_fork", common.Hash(to), drop)
}

// Reorganize is devchain.Chain.Reorganize.
func (r Remote) Reorganize(ctx context.Context, depth uint64, drop bool) error {
	return r.call(ctx, fmt.Sprintf("replace %d blocks", depth), "devchain_reorganize", depth, drop)
}

// Warp is devchain.Chain.Warp.
func (r Remote) Warp(ctx context.Context, seconds uint64) error {
	return r.call(ctx, fmt.Sprintf("go %d seconds ahead", seconds), "devchain_warp", seconds)
}

// Pause is devchain.Chain.Pause.
func (r Remote) Pause(ctx context.Context, on bool) error {
	return r.call(ctx, "pause", "devchain_pause", on)
}

// Hold is devchain.Chain.Hold.
func (r Remote) Hold(ctx context.Context, on bool) error {
	return r.call(ctx, "hold transactions", "devchain_hold", on)
}

// RaiseBaseFee is devchain.Chain.RaiseBaseFee.
func (r Remote) RaiseBaseFee(ctx context.Context, gwei uint64) error {
	return r.call(ctx, "raise the base fee", "devchain_raiseBaseFee", gwei)
}

// Fund is devchain.Chain.Fund.
func (r Remote) Fund(ctx context.Context, to events.Address, wei events.Amount) error {
	return r.call(ctx, "fund "+to.String(), "devchain_fund", common.Address(to), wei.String())
}
