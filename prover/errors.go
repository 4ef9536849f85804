package prover

import (
	"errors"
	"fmt"
	"sync"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
	"github.com/consensys/gnark/logger"

	"github.com/hostnode/hostnode/events"
)

var (
	// ErrCommitments says that a circuit or key does not fit the verifier on chain, which takes
	// three public inputs and no commitments.
	ErrCommitments = errors.New("not a plain Groth16 statement of three inputs")

	// ErrInput says that no proof can be made from an input: it contradicts itself or the sizes of
	// the circuit. Trying again does not help.
	ErrInput = errors.New("no proof can be made from this input")

	// ErrKeysMissing says that there are no keys for the circuit in a directory.
	ErrKeysMissing = errors.New("no keys for this circuit")

	// ErrKeysDamaged says that key files have changed since they were written.
	ErrKeysDamaged = errors.New("key files are damaged")
)

// DamagedBlockError names the stored block that prevents a proof. It is an events.ErrBitRot.
type DamagedBlockError struct {
	// Block is the index of the block in its slot.
	Block uint64
	// Tree says that the stored tree is damaged: the block's root and path do not lead to the slot
	// root. Otherwise the bytes of the block are damaged, and the roots below differ.
	Tree             bool
	Stored, Computed fr.Element
}

// Error says which block is damaged, and how.
func (e *DamagedBlockError) Error() string {
	if e.Tree {
		return fmt.Sprintf("block %d: the stored tree does not lead to the slot root", e.Block)
	}
	return fmt.Sprintf("block %d: the bytes have root %s, the stored root is %s",
		e.Block, e.Computed.String(), e.Stored.String())
}

// Unwrap is the damage as an events.ErrBitRot.
func (e *DamagedBlockError) Unwrap() error {
	damage := &events.DamageError{Whole: e.Tree, Reason: e.Error()}
	if !e.Tree {
		damage.Blocks = []uint64{e.Block}
	}
	return damage
}

// silence stops the proof library from writing its own log lines to standard output.
var silence = sync.OnceFunc(logger.Disable)
