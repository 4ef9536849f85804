//go:build e2e

package demo

import (
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/chain/nodetest"
	"github.com/hostnode/hostnode/events"
)

// remote is a development chain that another process runs and seals.
type remote struct {
	Endpoint    string
	Marketplace events.Address
}

// findRemote reads from a chain's directory where its marketplace is.
func findRemote(dir, endpoint string) (remote, error) {
	text, err := os.ReadFile(filepath.Join(dir, "deployment.json"))
	if err != nil {
		return remote{}, fmt.Errorf("find the marketplace: %w", err)
	}
	var deployment struct {
		Marketplace string `json:"marketplace"`
	}
	if err := json.Unmarshal(text, &deployment); err != nil {
		return remote{}, fmt.Errorf("find the marketplace: %w", err)
	}
	address, err := events.ParseAddress(deployment.Marketplace)
	return remote{endpoint, address}, err
}

// Client dials the marketplace with a key.
func (r remote) Client(ctx context.Context, key *ecdsa.PrivateKey) (*chain.Requester, error) {
	return chain.DialRequester(ctx, chain.Config{Endpoint: r.Endpoint, Marketplace: r.Marketplace, Key: key})
}

// Provide gives an account that many wei and tokens.
func (r remote) Provide(ctx context.Context, account events.Address, wei, tokens events.Amount) error {
	client, err := rpc.DialContext(ctx, r.Endpoint)
	if err != nil {
		return err
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
		if err := (nodetest.Remote{Client: client}).Fund(ctx, who, wei); err != nil {
			return err
		}
	}
	return bank.Mint(ctx, account, tokens)
}
