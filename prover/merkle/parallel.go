package merkle

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
)

// HashBlocks returns the roots of blocks, in order, using all processors that the process may use.
// Call it with some blocks at a time (16 or more keep the processors busy) to hash a slot while it
// arrives. It stops early with the error of ctx, or of a block that does not have BlockSize bytes.
func HashBlocks(ctx context.Context, blocks [][]byte) ([]fr.Element, error) {
	for i, block := range blocks {
		if len(block) != BlockSize {
			_, err := BlockRoot(block)
			return nil, fmt.Errorf("hash block %d: %w", i, err)
		}
	}
	roots := make([]fr.Element, len(blocks))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(blocks)) {
		workers.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(blocks) {
					return
				}
				// The length was checked above; there is no other error.
				roots[i], _ = BlockRoot(blocks[i])
			}
		})
	}
	workers.Wait()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("hash %d blocks: %w", len(blocks), err)
	}
	return roots, nil
}
