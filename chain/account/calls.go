package account

import (
	"context"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/core/types"

	"github.com/hostnode/hostnode/chain/feed"
	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/events"
)

// GasMargin is how much more gas than a call was measured to use it may use, in percent: for refunds, at most a fifth
// of the gas, which measurements do not show, and for contracts that differ a little.
const GasMargin = 50

// WithMargin is the gas limit of a call that was measured to use some gas.
func WithMargin(measured uint64) uint64 { return measured + measured*GasMargin/100 }

// Account is what the contracts of one account share.
type Account struct {
	Address  events.Address
	Conn     *rpc.Conn
	Blocks   *rpc.BlockTime
	Tx       Transactions
	Finality *feed.Finality
}

// Transactions are the account's, while this process owns them.
type Transactions interface {
	// WithManager runs call with the transaction manager. The context of call ends with the ownership; then,
	// and while there is none, the error is ErrNotOwner.
	WithManager(ctx context.Context, call func(context.Context, *tx.Manager) error) error
	// DutiesDue tells by when, in chain time, the earliest unsubmitted duty of a kind must be mined. It
	// does not block.
	DutiesDue(kind string, next time.Time)
}

// WithManager is Transactions.WithManager, or does the same for a process that does not own the transactions.
type WithManager func(ctx context.Context, call func(context.Context, *tx.Manager) error) error

// Do makes a call with a result. Its errors say what was being done.
func Do[T any](
	ctx context.Context, with WithManager, doing string, call func(context.Context, *tx.Manager) (T, error),
) (result T, err error) {
	err = with(ctx, func(ctx context.Context, manager *tx.Manager) (err error) {
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
	hash, ok, err := manager.Earlier(ctx, meant)
	if err != nil || !ok {
		return nil, err
	}
	r, err := conn.MinedReceipt(ctx, hash)
	if err != nil || !rpc.Succeeded(r) {
		return nil, err
	}
	return r, nil
}
