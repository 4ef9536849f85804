// Package dataset turns a file into a dataset that storage hosts can store, and names its parts.
//
// A file is cut into blocks of 64 KiB. An erasure code (Leopard Reed-Solomon) adds parity blocks,
// so that the file can be restored from any K of the K+M slots. Every block is named by its
// SHA-256, and a Merkle tree over those digests names the whole (treeCid). A second kind of tree,
// hashed with Poseidon2, is what hosts prove against: it leads from blocks to a slot root, and from
// slot roots to the verify root in the storage request. The manifest describes all of this.
//
// Start with layout.go (where each block lies), then prepare.go (from file to dataset, in one pass
// and bounded memory), manifest.go (what hosts read first), restore_test.go (from slots back to the
// file), cid.go (names).
//
// # How hosts find the blocks of a slot
//
// A manifest names the tree but not the blocks in it. The list of their digests is served like a
// block, under the name of the tree: the object treeCid is the concatenation of the 32-byte SHA-256
// digests of all blocks of the coded dataset, in order. It verifies itself, because the root of the
// SHA-256 tree over those digests is the digest inside treeCid (TreeVerifier). An answer never
// exceeds 65,536 bytes, so a longer list is requested in pieces with "Range: bytes=first-last", and
// is used only after all of it was verified. The blocks of slot i have the digests i*Steps to
// (i+1)*Steps-1. A digest equal to that of the empty string stands for a block of zeros, which is
// not fetched.
//
// Not for: storing slots for others (package storage) and making proofs (package prover).
// Everything here may be read concurrently.
package dataset
