package devchain_test

import (
	"context"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/hostnode/hostnode/chain/devchain"
	"github.com/hostnode/hostnode/chain/nodetest"
)

// controlled is a chain with its remote control, and a client that can pay.
func controlled(t *testing.T) (*devchain.Chain, nodetest.Remote, *ethclient.Client) {
	t.Helper()
	key := payer(t)
	c := open(t, devchain.Config{
		Dir: shortDir(t), HTTPPort: devchain.AnyPort, WSPort: devchain.AnyPort,
		Alloc: map[common.Address]*big.Int{key: new(big.Int).Lsh(big.NewInt(1), 100)},
	})
	socket, err := rpc.DialContext(t.Context(), c.IPCPath())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(socket.Close)
	return c, nodetest.Remote{Client: socket}, ethclient.NewClient(socket)
}

func payer(t *testing.T) common.Address {
	key, err := crypto.ToECDSA(crypto.Keccak256([]byte("payer")))
	if err != nil {
		t.Fatal(err)
	}
	return crypto.PubkeyToAddress(key.PublicKey)
}

// pay sends a payment that a block can take.
func pay(t *testing.T, client *ethclient.Client) common.Hash {
	t.Helper()
	key, err := crypto.ToECDSA(crypto.Keccak256([]byte("payer")))
	if err != nil {
		t.Fatal(err)
	}
	nonce, err := client.PendingNonceAt(t.Context(), payer(t))
	if err != nil {
		t.Fatal(err)
	}
	tx, err := types.SignNewTx(key, types.LatestSignerForChainID(big.NewInt(devchain.ChainID)), &types.DynamicFeeTx{
		ChainID: big.NewInt(devchain.ChainID), Nonce: nonce, GasTipCap: big.NewInt(2 * params.GWei),
		GasFeeCap: big.NewInt(2000 * params.GWei), Gas: params.TxGas, To: &common.Address{1}, Value: big.NewInt(1),
	})
	if err == nil {
		err = client.SendTransaction(t.Context(), tx)
	}
	if err != nil {
		t.Fatal(err)
	}
	return tx.Hash()
}

func mined(t *testing.T, client *ethclient.Client, tx common.Hash) bool {
	t.Helper()
	_, pending, err := client.TransactionByHash(t.Context(), tx)
	return err == nil && !pending
}

func TestControlsAreOfferedOverTheSocketAlone(t *testing.T) {
	c, _, _ := controlled(t)
	for _, endpoint := range []string{c.HTTPEndpoint(), c.WSEndpoint()} {
		client, err := rpc.DialContext(t.Context(), endpoint)
		if err != nil {
			t.Fatalf("%s: %v", endpoint, err)
		}
		defer client.Close()
		for _, method := range []string{"seal", "fork", "reorganize", "warp", "fund", "pause", "hold", "raiseBaseFee"} {
			err := client.CallContext(t.Context(), nil, "devchain_"+method)
			if err == nil || !strings.Contains(err.Error(), "does not exist") {
				t.Errorf("%s offers %s: %v", endpoint, method, err)
			}
		}
	}
}

func TestReorganisationReplacesBlocksByALongerBranch(t *testing.T) {
	for name, drop := range map[string]bool{"with its transactions": false, "without": true} {
		t.Run(name, func(t *testing.T) {
			c, remote, client := controlled(t)
			if _, err := c.Seal(t.Context(), 2); err != nil {
				t.Fatal(err)
			}
			ancestor := c.Head()
			tx := pay(t, client)
			old, err := c.Seal(t.Context(), 3)
			if err != nil {
				t.Fatal(err)
			}
			if err := remote.Reorganize(t.Context(), 3, drop); err != nil {
				t.Fatal(err)
			}
			head := c.Head()
			if head.Number != old.Number+1 || head.Hash == old.Hash {
				t.Fatalf("head is %+v after %+v", head, old)
			}
			kept, err := client.HeaderByNumber(t.Context(), new(big.Int).SetUint64(ancestor.Number))
			if err != nil || kept.Hash() != common.Hash(ancestor.Hash) {
				t.Fatalf("block %d changed too (%v)", ancestor.Number, err)
			}
			if mined(t, client, tx) == drop {
				t.Fatalf("transaction is mined again: %v", !drop)
			}
		})
	}
	_, remote, _ := controlled(t)
	for _, depth := range []uint64{0, 257, 1 << 60} {
		if err := remote.Reorganize(t.Context(), depth, false); err == nil {
			t.Errorf("a reorganisation of %d blocks", depth)
		}
	}
}

func TestHeldTransactionsWaitUntilTheyAreLetGo(t *testing.T) {
	c, remote, client := controlled(t)
	if err := remote.Hold(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	tx := pay(t, client)
	if err := remote.Seal(t.Context(), 60); err != nil || mined(t, client, tx) {
		t.Fatalf("a held transaction was mined (%v)", err)
	}
	if err := remote.Hold(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Seal(t.Context(), 1); err != nil || !mined(t, client, tx) {
		t.Fatalf("the transaction was lost (%v)", err)
	}
}

func TestPausedChainSealsNothingByItself(t *testing.T) {
	c, remote, _ := controlled(t)
	if err := remote.Pause(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	before := c.Head()
	beats := 0
	errDone := errors.New("done")
	pace := func(context.Context) error {
		if beats++; beats == 4 {
			c.Pause(false) // The fourth beat seals, the fifth ends.
		}
		if beats == 5 {
			return errDone
		}
		return nil
	}
	if err := c.Run(t.Context(), pace); !errors.Is(err, errDone) || c.Head().Number != before.Number+1 {
		t.Fatalf("%d blocks were sealed (%v), want 1", c.Head().Number-before.Number, err)
	}
}

func TestWarpMovesTimeByOneBlock(t *testing.T) {
	c, remote, _ := controlled(t)
	before := c.Head()
	if err := remote.Warp(t.Context(), 3600); err != nil {
		t.Fatal(err)
	}
	if got := c.Head(); got.Number != before.Number+1 || !got.Time.Equal(before.Time.Add(time.Hour)) {
		t.Fatalf("head is %+v after %+v", got, before)
	}
	if err := remote.Warp(t.Context(), 0); err == nil {
		t.Fatal("time stood still")
	}
}

func TestBaseFeeIsRaisedByWorkAndHeldThere(t *testing.T) {
	c, remote, client := controlled(t)
	fee := func() *big.Int {
		head, err := client.HeaderByNumber(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return head.BaseFee
	}
	if err := remote.RaiseBaseFee(t.Context(), 20); err != nil {
		t.Fatal(err)
	}
	wanted := big.NewInt(20 * params.GWei)
	for range 300 { // From nearly nothing.
		if fee().Cmp(wanted) >= 0 {
			break
		}
		if _, err := c.Seal(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
	}
	tx := pay(t, client)
	if _, err := c.Seal(t.Context(), 10); err != nil {
		t.Fatal(err)
	}
	least, most := big.NewInt(15*params.GWei), big.NewInt(30*params.GWei)
	if got := fee(); got.Cmp(least) < 0 || got.Cmp(most) > 0 || !mined(t, client, tx) {
		t.Fatalf("base fee is %v wei, want about %v; a payment was mined: %v", got, wanted, mined(t, client, tx))
	}
	if err := remote.RaiseBaseFee(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Seal(t.Context(), 20); err != nil || fee().Cmp(least) >= 0 {
		t.Fatalf("base fee is %v wei after the work ended (%v)", fee(), err)
	}
}
