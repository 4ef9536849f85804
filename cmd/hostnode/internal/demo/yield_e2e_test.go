//go:build e2e

package demo

import (
	"context"
	"time"

	"github.com/ethereum/go-ethereum/ethclient"

	"github.com/hostnode/hostnode/chain/nodetest"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
)

// yields stops chain time while the host of this box proves or downloads, so that a slow
// machine costs time but no proofs. It does not soften faults: while a host cannot see the
// chain it does not prove, and time goes on. It ends with ctx.
func (b *oneBox) yields(ctx context.Context, ipc string) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	var line *ethclient.Client
	defer func() {
		if line != nil {
			line.Close()
		}
	}()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if line == nil { // The chain's process may be killed; a new one begins unpaused.
			var err error
			if line, err = ethclient.DialContext(ctx, ipc); err != nil {
				continue
			}
		}
		if err := (nodetest.Remote{Client: line.Client()}).Pause(ctx, b.works(ctx)); err != nil {
			line.Close()
			line = nil
		}
	}
}

// works reports whether the host proves or downloads.
func (b *oneBox) works(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	s, err := api.ShowStatus.Ask(ctx, b.api, api.Then{})
	if err != nil {
		return false
	}
	for _, p := range s.Pools {
		if (p.Name == "proofs" || p.Name == "downloads") && p.Running+p.Waiting > 0 {
			return true
		}
	}
	return false
}
