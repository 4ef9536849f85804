package chain_test

import (
	"context"
	"errors"
	"io"
	"math/big"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/chain/feed"
	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/messages"
)

// submit sends a call of another contract.
func submit(ctx context.Context, m *chain.Market, call tx.Call) (r *types.Receipt, err error) {
	err = m.Shared().Tx.WithManager(ctx, func(ctx context.Context, manager *tx.Manager) error {
		r, err = manager.Submit(ctx, call)
		return err
	})
	return r, err
}

// A contract that is no marketplace, here the token, is called and followed through the market's
// own parts: one connection, one account, one feed.
func TestAnotherContractSharesConnectionAccountAndFeed(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	w.mint("host", 1000)
	cfg := w.config("host")
	cfg.OtherContracts = []tx.Contract{{Kinds: map[string]tx.Kind{"give": {AtOnce: true}}}}
	m, err := w.dial(cfg, storetest.NewMemory(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	token, friend := bindings.NewTestToken(), common.Address(w.account("friend"))
	give := func(key string, amount int64) (r *types.Receipt, err error) {
		err = w.try("host", func(ctx context.Context) (err error) {
			r, err = submit(ctx, m, tx.Call{
				Key: key, To: common.Address(m.Token()), Data: token.PackTransfer(friend, big.NewInt(amount)), Gas: 100_000,
			})
			return err
		})
		return r, err
	}
	receipt, err := give("give:friend:1", 7)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := give("give:friend:1", 7); err != nil || again.TxHash != receipt.TxHash {
		t.Fatalf("repeated, it is another transaction: %v", err)
	}
	if _, err := give("give:friend:2", 5000); !errors.Is(err, events.ErrInsufficientFunds) {
		t.Fatalf("more than it has: %v", err)
	}

	err = w.try("host", func(ctx context.Context) error {
		_, err := submit(ctx, m, tx.Call{
			Key: "pay:friend:1", To: friend, Value: events.NewAmount(70), Gas: 30_000,
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if has, err := w.client.BalanceAt(t.Context(), friend, nil); err != nil || has.Int64() != 70 {
		t.Fatalf("it was paid %v wei: %v", has, err)
	}

	type gift struct {
		To            common.Address
		Amount, Block uint64
	}
	log := logrus.New()
	log.SetOutput(io.Discard)
	f := feed.New(m.Shared().Conn, m.Shared().Blocks, feed.Config{
		Contract: common.Address(m.Token()), DeployedAt: w.at.Block, LogRange: 1000, LongestWait: 20 * time.Millisecond,
		SilentBlocks: 5, LeastSilence: 15 * time.Second, Log: log,
	}, feed.Readers[gift]{
		token.GetABI().Events["Transfer"].ID: feed.Read(token.UnpackTransferEvent,
			func(e *bindings.TestTokenTransfer, at *messages.ChainLog) gift {
				return gift{e.To, e.Value.Uint64(), at.GetBlock()}
			}),
	})
	var given []gift
	caughtUp := errors.New("caught up")
	err = f.Follow(t.Context(), events.Cursor{}, func(_ context.Context, u events.ChainUpdateOf[gift]) error {
		given = append(given, u.Logs...)
		if u.Live {
			return caughtUp
		}
		return nil
	})
	if !errors.Is(err, caughtUp) {
		t.Fatal(err)
	}
	want := gift{friend, 7, receipt.BlockNumber.Uint64()}
	if len(given) == 0 || given[len(given)-1] != want {
		t.Fatalf("told (-want +got):\n%s", cmp.Diff(want, given))
	}
}
