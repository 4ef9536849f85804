package localchain

import (
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ethereum/go-ethereum/rpc"

	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/chain/devchain"
	"github.com/hostnode/hostnode/events"
)

// Remote is a development chain that another process runs and seals.
type Remote struct {
	Endpoint    string
	Marketplace events.Address
}

// FindRemote reads from a chain's directory where its marketplace is.
func FindRemote(dir, endpoint string) (Remote, error) {
	text, err := os.ReadFile(filepath.Join(dir, deploymentFile))
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
	return chain.DialRequester(ctx, chain.Config{Endpoint: r.Endpoint, Marketplace: r.Marketplace, Key: key})
}

// Provide sees to it that an account has at least that many wei and tokens.
func (r Remote) Provide(ctx context.Context, account events.Address, wei, tokens events.Amount) error {
	client, err := rpc.DialContext(ctx, r.Endpoint)
	if err != nil {
		return fmt.Errorf("dial the chain: %w", err)
	}
	defer client.Close()
	bank, err := r.Client(ctx, deployerKey())
	if err != nil {
		return err
	}
	defer bank.Close()
	return provide(ctx, bank, account, wei, tokens, func(wei events.Amount) error {
		return devchain.Remote{Client: client}.Fund(ctx, account, wei)
	})
}
