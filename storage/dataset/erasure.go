package dataset

import (
	"errors"
	"fmt"

	"github.com/klauspost/reedsolomon"
)

// leopard8Limit is the largest work size of the 8-bit field.
const leopard8Limit = 256

// newEncoder returns the Leopard code for p. The field is forced, because the
// library's own choice for few shards is another, incompatible code
// (spec/proofs.md §11.3).
func newEncoder(p Params) (reedsolomon.Encoder, error) {
	field := reedsolomon.WithLeopardGF16(true)
	if nextPowerOfTwo(nextPowerOfTwo(p.M)+p.K) <= leopard8Limit {
		field = reedsolomon.WithLeopardGF(true)
	}
	encoder, err := reedsolomon.New(p.K, p.M, field)
	if err != nil {
		return nil, fmt.Errorf("erasure code %d+%d: %w: %w", p.K, p.M, err, ErrParams)
	}
	return encoder, nil
}

// ErrTooFewSlots: fewer than K slots are there.
var ErrTooFewSlots = errors.New("too few slots to restore the data")

// Reconstruct computes the missing shards of one codeword in place. A missing shard is nil or has
// length 0; at least K must be present, each of BlockSize bytes. It returns ErrTooFewSlots.
func Reconstruct(p Params, shards [][]byte) error {
	if err := p.Validate(); err != nil {
		return err
	}
	encoder, err := newEncoder(p)
	if err != nil {
		return err
	}
	if err := encoder.Reconstruct(shards); err != nil {
		return fmt.Errorf("reconstruct codeword: %w: %w", err, ErrTooFewSlots)
	}
	return nil
}
