package events

import (
	"errors"
	"time"
)

// Proof is a Groth16 proof as eight big-endian words in the contract's order:
// a.x, a.y, b.x.real, b.x.imag, b.y.real, b.y.imag, c.x, c.y (spec/marketplace.md §1.1).
type Proof [8][32]byte

// Invalid reports whether this is the all-zero proof, which no verifier takes.
func (p Proof) Invalid() bool { return p == Proof{} }

// String prints the 256 bytes as 0x-hex, as they are stored.
func (p Proof) String() string {
	buf := make([]byte, 0, 256)
	for _, w := range p {
		buf = append(buf, w[:]...)
	}
	return hex0x(buf)
}

// ParseProof reads 512 hex digits, with or without 0x.
func ParseProof(s string) (Proof, error) {
	var buf [256]byte
	if err := parseHex("proof", s, buf[:]); err != nil {
		return Proof{}, err
	}
	var p Proof
	for i := range p {
		copy(p[i][:], buf[32*i:])
	}
	return p, nil
}

// ProofResult is a proof with what it was made for and how long it took.
type ProofResult struct {
	Proof     Proof
	Challenge Challenge
	// Took is the wall time of witness, proof and local verification.
	Took time.Duration
}

// The errors of a prover.
var (
	// ErrBitRot: a sampled block on disk no longer has the root it was stored with.
	ErrBitRot = errors.New("stored block is damaged")
	// ErrProofDoesNotVerify: our own verifier refused our own proof.
	ErrProofDoesNotVerify = errors.New("proof does not verify")
)

// DamageError says what of a stored slot is damaged or gone. It is an ErrBitRot.
type DamageError struct {
	// Blocks are the damaged blocks, ascending.
	Blocks []uint64
	// Whole says that it is not known which blocks are damaged, or that more than
	// blocks is: the files around them, or the whole slot.
	Whole  bool
	Reason string
}

// Error says what was found.
func (e *DamageError) Error() string { return e.Reason }

// Unwrap makes errors.Is find ErrBitRot.
func (e *DamageError) Unwrap() error { return ErrBitRot }

// The errors of storage and retrieval.
var (
	// ErrQuotaExceeded: a write would exceed what the ledger granted the sale.
	ErrQuotaExceeded = errors.New("reservation of the sale is used up")
	// ErrContentMismatch: bytes do not match their CID, or the manifest does not
	// match the request, or the slot does not have the root the manifest names.
	// Another try at the same sources does not help.
	ErrContentMismatch = errors.New("content does not match")
	// ErrContentUnavailable: no source has the content now.
	ErrContentUnavailable = errors.New("content is not available from any source")
	// ErrNoSource: none of the sources could be reached, or none is configured. It
	// comes with ErrContentUnavailable and says that the content is not to blame.
	ErrNoSource = errors.New("no source of content can be reached")
	// ErrDiskFull: the file system of this machine has no room left, or cannot be
	// written. Neither the content nor its client is to blame.
	ErrDiskFull = errors.New("the disk is full")
	// ErrDiskAway: the directory with the data is not the one that it was, as when its disk is not
	// mounted. What it has, and what is damaged, is not known until it is back.
	ErrDiskAway = errors.New("the disk with the data is away")
	// ErrNoSuchSlot: the repo holds no such slot.
	ErrNoSuchSlot = errors.New("slot is not stored here")
)
