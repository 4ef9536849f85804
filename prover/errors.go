package prover

import (
	"errors"
	"sync"

	"github.com/consensys/gnark/logger"
)

// ErrCommitments says that a circuit or key does not fit the verifier on the chain,
// which takes three public inputs and no commitments.
var ErrCommitments = errors.New("not a plain Groth16 statement of three inputs")

// silence stops the proof library from writing its own log lines to standard output.
var silence = sync.OnceFunc(logger.Disable)
