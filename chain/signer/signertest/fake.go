// Package signertest is a fake of go-ethereum's clef: its JSON-RPC calls over loopback or a unix
// socket, with rules that a test sets instead of a person. signer_test.go says how to run the same suite
// against a real one.
//
// It is for tests; nothing that is shipped imports it.
package signertest

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rpc"
	"github.com/ethereum/go-ethereum/signer/core/apitypes"
	"github.com/ethereum/go-ethereum/signer/fourbyte"
)

// ErrDenied is what clef says when a person or a rule denies something.
var ErrDenied = errors.New("request denied")

// Rules are what the fake does. Unset ones do what clef does when everything is approved.
type Rules struct {
	// Sign approves a transaction, perhaps another one than was asked, or denies it. Its context is that
	// of the call.
	Sign func(context.Context, apitypes.SendTxArgs) (apitypes.SendTxArgs, error)
	// Key signs, whatever account is asked for.
	Key *ecdsa.PrivateKey
	// Raw changes the signed transaction.
	Raw func([]byte) []byte
	// List are the accounts that are shown; Hidden denies that.
	List   []common.Address
	Hidden bool
}

// Fake is a signer with one account. It is safe for concurrent use.
type Fake struct {
	// URL is where it is served, Socket the same as a unix socket.
	URL string

	key    *ecdsa.PrivateKey
	server *rpc.Server

	mu    sync.Mutex
	rules Rules
	asked []apitypes.SendTxArgs

	away atomic.Bool
}

// New serves a signer with a key until the test ends.
func New(t *testing.T, key *ecdsa.PrivateKey) *Fake {
	t.Helper()
	f := &Fake{key: key, server: rpc.NewServer()}
	if err := f.server.RegisterName("account", &api{f}); err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f.away.Load() {
			panic(http.ErrAbortHandler)
		}
		f.server.ServeHTTP(w, r)
	}))
	f.URL = web.URL
	t.Cleanup(func() {
		f.server.Stop()
		web.CloseClientConnections()
		web.Close()
	})
	return f
}

// Listen serves the signer at a unix socket as well, until the test ends or stop is called.
func (f *Fake) Listen(t *testing.T, path string) (stop func()) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	// A server of its own, because to stop it is what ends its connections.
	server := rpc.NewServer()
	if err := server.RegisterName("account", &api{f}); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.ServeListener(l)
	}()
	stop = sync.OnceFunc(func() {
		_ = l.Close()
		server.Stop()
		<-done
	})
	t.Cleanup(stop)
	return stop
}

// Address is the signer's account.
func (f *Fake) Address() common.Address { return crypto.PubkeyToAddress(f.key.PublicKey) }

// Set replaces the rules.
func (f *Fake) Set(r Rules) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules = r
}

// Away makes it drop every connection, or answer again.
func (f *Fake) Away(away bool) { f.away.Store(away) }

// Asked are the transactions that were to be signed so far.
func (f *Fake) Asked() []apitypes.SendTxArgs {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]apitypes.SendTxArgs(nil), f.asked...)
}

func (f *Fake) now() Rules {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rules
}

// api are clef's calls.
type api struct{ f *Fake }

// Version answers account_version.
func (a *api) Version() string { return "6.1.0" }

// List answers account_list.
func (a *api) List() ([]common.Address, error) {
	r := a.f.now()
	switch {
	case r.Hidden:
		return nil, ErrDenied
	case r.List != nil:
		return r.List, nil
	}
	return []common.Address{a.f.Address()}, nil
}

// Signed is clef's answer to account_signTransaction.
type Signed struct {
	Raw hexutil.Bytes      `json:"raw"`
	Tx  *types.Transaction `json:"tx"`
}

// known are the methods that clef knows, in clef's own code. It takes a while to load.
var known = struct {
	sync.Mutex
	load func() (*fourbyte.Database, error)
}{load: sync.OnceValues(fourbyte.New)}

// validate refuses what clef refuses before any rule is asked, unless it is started with --advanced.
func validate(args apitypes.SendTxArgs, method *string) error {
	known.Lock()
	defer known.Unlock()
	methods, err := known.load()
	if err != nil {
		return err
	}
	messages, err := methods.ValidateTransaction(method, &args)
	if err != nil {
		return err
	}
	return messages.GetWarnings()
}

// SignTransaction answers account_signTransaction.
func (a *api) SignTransaction(ctx context.Context, args apitypes.SendTxArgs, method *string) (*Signed, error) {
	f := a.f
	f.mu.Lock()
	f.asked = append(f.asked, args)
	r := f.rules
	f.mu.Unlock()
	if err := validate(args, method); err != nil {
		return nil, err
	}
	if r.Sign != nil {
		var err error
		if args, err = r.Sign(ctx, args); err != nil {
			return nil, err
		}
	}
	key := r.Key
	if key == nil {
		if key = f.key; args.From.Address() != f.Address() {
			return nil, errors.New("unknown account")
		}
	}
	unsigned, err := args.ToTransaction()
	if err != nil {
		return nil, err
	}
	signed, err := types.SignTx(unsigned, types.LatestSignerForChainID(args.ChainID.ToInt()), key)
	if err != nil {
		return nil, err
	}
	raw, err := signed.MarshalBinary()
	if err != nil {
		return nil, err
	}
	if r.Raw != nil {
		raw = r.Raw(raw)
	}
	return &Signed{raw, signed}, nil
}
