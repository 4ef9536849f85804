//go:build !unix

package prover

import (
	"context"
	"errors"
	"fmt"
)

// lockFile is not available on this system, and keys are not made without a lock.
func lockFile(context.Context, string, Progress) (unlock func(), err error) {
	return nil, fmt.Errorf("file locks: %w", errors.ErrUnsupported)
}
