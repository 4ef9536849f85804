package localchain

import (
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/events"
)

// ErrNoChain: a directory has no development chain.
var ErrNoChain = errors.New("there is no development chain")

// ErrStopped: the process that runs a development chain does not run.
var ErrStopped = errors.New("the development chain runs only while its host, or hostnode devchain, does")

// Remote is a development chain that another process runs and seals.
type Remote struct {
	// Endpoint is its IPC socket.
	Endpoint    string
	Marketplace events.Address
}

// Find reads from a chain's directory where its marketplace is. ErrNoChain.
func Find(dir, endpoint string) (Remote, error) {
	text, err := os.ReadFile(filepath.Join(dir, deploymentFile))
	if errors.Is(err, fs.ErrNotExist) {
		return Remote{}, fmt.Errorf("%w in %s", ErrNoChain, dir)
	}
	if err != nil {
		return Remote{}, fmt.Errorf("find the marketplace: %w", err)
	}
	var deployment struct {
		Marketplace string `json:"marketplace"`
	}
	if err := json.Unmarshal(text, &deployment); err != nil {
		return Remote{}, fmt.Errorf("find the marketplace: %w", err)
	}
	address, err := events.ParseAddress(deployment.Marketplace)
	return Remote{endpoint, address}, err
}

// Client dials the marketplace with a key.
func (r Remote) Client(ctx context.Context, key *ecdsa.PrivateKey) (*chain.Requester, error) {
	c, err := chain.DialRequester(ctx, chain.Config{Endpoint: r.Endpoint, Marketplace: r.Marketplace, Key: key})
	if errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ECONNREFUSED) { // The latter after a kill.
		return nil, fmt.Errorf("%w: nobody answers at %s", ErrStopped, r.Endpoint)
	}
	if err != nil {
		return nil, fmt.Errorf("dial the marketplace: %w", err)
	}
	return c, nil
}

// Provide gives an account that many wei and tokens.
func (r Remote) Provide(ctx context.Context, account events.Address, wei, tokens events.Amount) error {
	client, err := rpc.DialContext(ctx, r.Endpoint)
	if err != nil {
		return fmt.Errorf("fund %s: %w", account, err)
	}
	defer client.Close()
	key, err := crypto.GenerateKey()
	if err != nil {
		return err
	}
	bank, err := r.Client(ctx, key)
	if err != nil {
		return err
	}
	defer bank.Close()
	for _, who := range []events.Address{account, bank.Account()} {
		if err := client.CallContext(ctx, nil, "devchain_fund", common.Address(who), wei.String()); err != nil {
			return fmt.Errorf("fund %s: %w", who, err)
		}
	}
	return bank.Mint(ctx, account, tokens)
}
