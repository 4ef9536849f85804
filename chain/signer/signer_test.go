package signer_test

import (
	"context"
	"errors"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/signer/core/apitypes"
	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"

	"github.com/hostnode/hostnode/chain/signer"
	"github.com/hostnode/hostnode/chain/signer/signertest"
	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/events"
)

var _ tx.Signer = (*signer.Signer)(nil)

// patience ends a test that hangs.
const patience = 5 * time.Minute

const chainID = 1337

func keyFor(name string) []byte { return crypto.Keccak256([]byte("signer test " + name)) }

func newFake(t *testing.T) *signertest.Fake {
	t.Helper()
	key, err := crypto.ToECDSA(keyFor("host"))
	if err != nil {
		t.Fatal(err)
	}
	return signertest.New(t, key)
}

func open(t *testing.T, endpoint string, account common.Address, change ...func(*signer.Config)) *signer.Signer {
	t.Helper()
	log, _ := test.NewNullLogger()
	cfg := signer.Config{Endpoint: endpoint, Account: events.Address(account), Timeout: patience, Method: methodOf, Log: logrus.NewEntry(log)}
	for _, c := range change {
		c(&cfg)
	}
	s := signer.Open(cfg)
	t.Cleanup(s.Close)
	return s
}

// method is what wanted calls. No list of signers has it.
const method = "hostnodeTest(uint256)"

func methodOf(data []byte) string {
	if len(data) == 0 {
		return ""
	}
	return method
}

// wanted is a transaction as a host wants it.
func wanted() *types.DynamicFeeTx {
	to := common.HexToAddress("0x00000000000000000000000000000000000000cc")
	return &types.DynamicFeeTx{
		ChainID: big.NewInt(chainID), Nonce: 7, GasTipCap: big.NewInt(1_000_000_000), GasFeeCap: big.NewInt(3_000_000_000),
		Gas: 510_000, To: &to, Value: big.NewInt(5),
		Data: append(crypto.Keccak256([]byte(method))[:4], common.LeftPadBytes([]byte{42}, 32)...),
	}
}

// suite is what every signer must pass.
func suite(t *testing.T, endpoint string, account common.Address) {
	t.Run("a transaction is signed as it was asked", func(t *testing.T) {
		s := open(t, endpoint, account)
		asked := types.NewTx(wanted())
		signed, err := s.Sign(t.Context(), asked)
		if err != nil {
			t.Fatal(err)
		}
		by := types.LatestSignerForChainID(big.NewInt(chainID))
		from, err := types.Sender(by, signed)
		if err != nil || from != account || by.Hash(signed) != by.Hash(asked) {
			t.Fatalf("from %s, %v: %+v", from, err, signed)
		}
	})
	t.Run("an empty transaction to itself is signed as well", func(t *testing.T) {
		s := open(t, endpoint, account)
		want := wanted()
		want.To, want.Data, want.Value, want.Gas = &account, nil, new(big.Int), 21_000
		if _, err := s.Sign(t.Context(), types.NewTx(want)); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("a call of a method that nobody names is refused", func(t *testing.T) {
		s := open(t, endpoint, account, func(c *signer.Config) { c.Method = func([]byte) string { return "" } })
		want := wanted()
		want.Data[0] ^= 0xff
		if _, err := s.Sign(t.Context(), types.NewTx(want)); !errors.Is(err, signer.ErrRefused) {
			t.Fatalf("got %v", err)
		}
	})
	t.Run("an account that it does not have is refused", func(t *testing.T) {
		s := open(t, endpoint, common.Address{19: 1})
		if _, err := s.Sign(t.Context(), types.NewTx(wanted())); !errors.Is(err, signer.ErrRefused) {
			t.Fatalf("got %v", err)
		}
		if trouble, is := s.Trouble(); !is || !strings.Contains(trouble.Reason, "refuses to sign") {
			t.Fatalf("trouble %v %v", trouble, is)
		}
	})
}

func TestAFakeSignerPassesTheSuite(t *testing.T) {
	f := newFake(t)
	suite(t, f.URL, f.Address())
}

func TestASignerAtASocketPassesTheSuite(t *testing.T) {
	f := newFake(t)
	path := filepath.Join(t.TempDir(), "s.ipc")
	f.Listen(t, path)
	suite(t, path, f.Address())
}

// The signer must approve everything by itself: clef --rules with approve functions.
func TestARealSignerPassesTheSuite(t *testing.T) {
	endpoint, account, ok := strings.Cut(os.Getenv("HOSTNODE_TEST_SIGNER"), ",")
	if !ok {
		t.Skip("set HOSTNODE_TEST_SIGNER=http://127.0.0.1:8550,0xACCOUNT to run the suite against a clef of yours " +
			"with --chainid 1337, whose rules approve everything")
	}
	suite(t, endpoint, common.HexToAddress(account))
}

func TestASignatureOfSomethingElseIsNotBelieved(t *testing.T) {
	other, err := crypto.ToECDSA(keyFor("other"))
	if err != nil {
		t.Fatal(err)
	}
	gwei := hexutil.Big(*big.NewInt(1_000_000_000))
	hex := func(n int64) *hexutil.Big { return (*hexutil.Big)(big.NewInt(n)) }
	change := func(f func(*apitypes.SendTxArgs)) signertest.Rules {
		return signertest.Rules{Sign: func(_ context.Context, a apitypes.SendTxArgs) (apitypes.SendTxArgs, error) {
			f(&a)
			return a, nil
		}}
	}
	raw := func(f func([]byte) []byte) signertest.Rules { return signertest.Rules{Raw: f} }
	elsewhere := common.NewMixedcaseAddress(common.Address{19: 9})
	for name, c := range map[string]struct {
		rules signertest.Rules
		says  string
	}{
		"the chain":    {change(func(a *apitypes.SendTxArgs) { a.ChainID = hex(1) }), "its chain id is 1 instead of 1337"},
		"the nonce":    {change(func(a *apitypes.SendTxArgs) { a.Nonce = 8 }), "its nonce is 8 instead of 7"},
		"the gas":      {change(func(a *apitypes.SendTxArgs) { a.Gas = 1 }), "its gas limit is 1 instead of 510000"},
		"the price":    {change(func(a *apitypes.SendTxArgs) { a.MaxFeePerGas = hex(9) }), "its price per gas is 9 instead"},
		"the tip":      {change(func(a *apitypes.SendTxArgs) { a.MaxPriorityFeePerGas = hex(9) }), "its tip per gas is 9 instead"},
		"the value":    {change(func(a *apitypes.SendTxArgs) { a.Value = *hex(6) }), "its value is 6 instead of 5"},
		"the receiver": {change(func(a *apitypes.SendTxArgs) { a.To = &elsewhere }), "its receiver is 0x0000000000000000000000000000000000000009 instead"},
		"no receiver":  {change(func(a *apitypes.SendTxArgs) { a.To = nil }), "another receiver"},
		"the data":     {change(func(a *apitypes.SendTxArgs) { a.Input = &hexutil.Bytes{1} }), "its data is another"},
		"an access list": {change(func(a *apitypes.SendTxArgs) {
			a.AccessList = &types.AccessList{{Address: common.Address{1}}}
		}), "its access list is another"},
		"an old type": {change(func(a *apitypes.SendTxArgs) {
			a.MaxFeePerGas, a.MaxPriorityFeePerGas, a.GasPrice = nil, nil, &gwei
		}), "its type is 0 instead of 2"},
		"another account": {signertest.Rules{Key: other}, "it signed for 0x"},
		"nothing":         {raw(func([]byte) []byte { return nil }), "it is no transaction"},
		"garbage":         {raw(func([]byte) []byte { return []byte("garbage") }), "it is no transaction"},
		"no signature": {raw(func([]byte) []byte {
			b, err := types.NewTx(wanted()).MarshalBinary()
			if err != nil {
				panic(err)
			}
			return b
		}), "the signature is invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.Set(c.rules)
			s := open(t, f.URL, f.Address())
			_, err := s.Sign(t.Context(), types.NewTx(wanted()))
			if !errors.Is(err, signer.ErrWrong) || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("got %v", err)
			}
			if trouble, is := s.Trouble(); !is || !strings.Contains(trouble.String(), c.says) {
				t.Fatalf("trouble %v %v", trouble, is)
			}
			f.Set(signertest.Rules{})
			if _, err := s.Sign(t.Context(), types.NewTx(wanted())); err != nil {
				t.Fatal(err)
			}
			if trouble, is := s.Trouble(); is {
				t.Fatalf("still %v", trouble)
			}
		})
	}
}

func TestARefusalIsToldInTheSignersWords(t *testing.T) {
	f := newFake(t)
	f.Set(signertest.Rules{Sign: func(_ context.Context, a apitypes.SendTxArgs) (apitypes.SendTxArgs, error) {
		return a, signertest.ErrDenied
	}})
	s := open(t, f.URL, f.Address())
	_, err := s.Sign(t.Context(), types.NewTx(wanted()))
	if !errors.Is(err, signer.ErrRefused) || !strings.Contains(err.Error(), "request denied") {
		t.Fatalf("got %v", err)
	}
}

// hold makes a fake wait with its answers until the test ends.
func hold(t *testing.T, f *signertest.Fake) {
	t.Helper()
	free := make(chan struct{})
	t.Cleanup(func() { close(free) })
	f.Set(signertest.Rules{Sign: func(ctx context.Context, a apitypes.SendTxArgs) (apitypes.SendTxArgs, error) {
		select {
		case <-free:
		case <-ctx.Done():
		}
		return a, signertest.ErrDenied
	}})
}

func TestASignerThatTakesTooLongIsAwayForThisTransaction(t *testing.T) {
	f := newFake(t)
	path := filepath.Join(t.TempDir(), "s.ipc")
	f.Listen(t, path)
	hold(t, f)
	for _, endpoint := range []string{f.URL, path} {
		s := open(t, endpoint, f.Address(), func(c *signer.Config) { c.Timeout = 50 * time.Millisecond })
		_, err := s.Sign(t.Context(), types.NewTx(wanted()))
		if !errors.Is(err, signer.ErrAway) || !strings.Contains(err.Error(), "no answer in time") {
			t.Fatalf("%s: got %v", endpoint, err)
		}
	}
}

func TestACallerThatGivesUpSaysNothingAboutTheSigner(t *testing.T) {
	f := newFake(t)
	hold(t, f)
	s := open(t, f.URL, f.Address())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Sign(ctx, types.NewTx(wanted())); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if trouble, is := s.Trouble(); is {
		t.Fatalf("trouble %v", trouble)
	}
}

func TestASignerThatComesBackIsUsedAgain(t *testing.T) {
	f := newFake(t)
	f.Away(true)
	s := open(t, f.URL, f.Address())
	if _, err := s.Sign(t.Context(), types.NewTx(wanted())); !errors.Is(err, signer.ErrAway) {
		t.Fatalf("got %v", err)
	}
	f.Away(false)
	if _, err := s.Sign(t.Context(), types.NewTx(wanted())); err != nil {
		t.Fatal(err)
	}

	path := filepath.Join(t.TempDir(), "s.ipc")
	s = open(t, path, f.Address())
	if _, err := s.Sign(t.Context(), types.NewTx(wanted())); !errors.Is(err, signer.ErrAway) {
		t.Fatalf("got %v", err)
	}
	for range 3 { // It stops and starts again.
		stop := f.Listen(t, path)
		if _, err := s.Sign(t.Context(), types.NewTx(wanted())); err != nil {
			t.Fatal(err)
		}
		stop()
		if _, err := s.Sign(t.Context(), types.NewTx(wanted())); !errors.Is(err, signer.ErrAway) {
			t.Fatalf("got %v", err)
		}
	}
}

// serve answers everything with one text.
func serve(t *testing.T, status int, header, body string) string {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if header != "" {
			w.Header().Set("Location", header)
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(web.Close)
	return web.URL
}

func TestWhatIsNoSignerIsNotBelieved(t *testing.T) {
	f := newFake(t)
	result := func(json string) string { return `{"jsonrpc":"2.0","id":1,"result":` + json + `}` }
	for name, c := range map[string]struct {
		url  string
		want error
	}{
		"a web page":     {serve(t, http.StatusOK, "", "<html>"), signer.ErrWrong},
		"no result":      {serve(t, http.StatusOK, "", `{"jsonrpc":"2.0","id":1}`), signer.ErrWrong},
		"a number":       {serve(t, http.StatusOK, "", result("7")), signer.ErrWrong},
		"no hex":         {serve(t, http.StatusOK, "", result(`{"raw":"zz"}`)), signer.ErrWrong},
		"null":           {serve(t, http.StatusOK, "", result("null")), signer.ErrWrong},
		"without end":    {serve(t, http.StatusOK, "", result(`{"raw":"0x`+strings.Repeat("00", 1<<20)+`"}`)), signer.ErrWrong},
		"not allowed":    {serve(t, http.StatusForbidden, "", ""), signer.ErrAway},
		"somewhere else": {serve(t, http.StatusTemporaryRedirect, f.URL, ""), signer.ErrAway},
	} {
		s := open(t, c.url, f.Address())
		if _, err := s.Sign(t.Context(), types.NewTx(wanted())); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := len(f.Asked()); n != 0 {
		t.Errorf("the transaction went to another server, %d times", n)
	}
}

func TestNoErrorShowsASecretOfTheEndpoint(t *testing.T) {
	url := serve(t, http.StatusForbidden, "", "") + "/?token=planted-secret"
	s := open(t, url, common.Address{19: 1})
	_, err := s.Sign(t.Context(), types.NewTx(wanted()))
	trouble, is := s.Trouble()
	if err == nil || !is || strings.Contains(err.Error()+trouble.String(), "planted-secret") {
		t.Fatalf("%v; %v", err, trouble)
	}
}
