package account

import (
	"context"
	"fmt"

	"github.com/ethereum/go-ethereum/core/types"

	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/chain/tx"
)

// GasMargin is how much more gas than a call was measured to use it may use, in percent: for refunds, at most a fifth
// of the gas, which measurements do not show, and for contracts that differ a little.
const GasMargin = 50

// WithMargin is the gas limit of a call that was measured to use some gas.
func WithMargin(measured uint64) uint64 { return measured + measured*GasMargin/100 }

// During runs a call with the account's transaction manager. The context of the call ends with this process's
// ownership of the transactions; while there is none, the error is ErrNotOwner.
type During func(ctx context.Context, call func(context.Context, *tx.Manager) error) error

// Perform makes a call with a result. Its errors say what was being done.
func Perform[T any](
	ctx context.Context, during During, doing string, call func(context.Context, *tx.Manager) (T, error),
) (result T, err error) {
	err = during(ctx, func(ctx context.Context, manager *tx.Manager) (err error) {
		result, err = call(ctx, manager)
		return err
	})
	if err != nil {
		var none T
		return none, fmt.Errorf("%s: %w", doing, err)
	}
	return result, nil
}

// Mined is the receipt of the newest success with one of these keys, after those under way; nil: there is none, or a
// reorganisation undid it and it failed when it was mined again.
func Mined(
	ctx context.Context, conn *rpc.Conn, manager *tx.Manager, meant func(key string) bool,
) (*types.Receipt, error) {
	hashes, err := manager.Succeeded(ctx, meant)
	if err != nil || len(hashes) == 0 {
		return nil, err
	}
	r, err := conn.MinedReceipt(ctx, hashes[len(hashes)-1])
	if err != nil || !rpc.Succeeded(r) {
		return nil, err
	}
	return r, nil
}
