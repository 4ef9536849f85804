//go:build e2e

package demo

import (
	"context"
	"time"

	"github.com/ethereum/go-ethereum/ethclient"

	"github.com/hostnode/hostnode/chain/nodetest"
)

// yields lets chain time stand still while the host of this box proves or downloads, so
// that a slow machine costs time and no proofs. Faults are as they are: a host that
// cannot see the chain does not prove, and time goes on. It ends with ctx.
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
		if line == nil { // The chain's process is killed at times; it begins anew unpaused.
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
	s, err := b.api.Status(ctx)
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
