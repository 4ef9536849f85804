// Package dataset turns a file into a dataset that storage hosts can hold, and
// names its parts.
//
// A file is cut into blocks of 64 KiB. An erasure code (Leopard Reed-Solomon)
// adds parity blocks, so that any K of the K+M slots give the file back. Every
// block is named by its SHA-256; a Merkle tree over those digests names the
// whole (treeCid). A second kind of tree, hashed with Poseidon2, is what hosts
// prove against: blocks to a slot root, slot roots to the verify root that
// stands in the storage request. The manifest holds all of this together.
//
// Start with layout.go (which block lies where), then prepare.go (file to
// dataset, one pass, bounded memory), manifest.go (what hosts read first),
// restore.go (slots back to the file), cid.go (names).
//
// # How hosts find the blocks of a slot
//
// A manifest names the tree but not the blocks under it. The list of their
// digests is served like a block, under the name of the tree: the object
// treeCid is the concatenation of the 32-byte SHA-256 digests of all blocks of
// the coded dataset, in order. It verifies itself, because the root of the
// SHA-256 tree over those digests is the digest inside treeCid (TreeVerifier).
// An answer never exceeds 65,536 bytes, so a longer list is asked for in pieces
// with "Range: bytes=first-last", and is used only after the whole was verified.
// The blocks of slot i are the digests i*Steps to (i+1)*Steps-1. A digest equal
// to that of the empty string stands for a block of zeros; it is not fetched.
//
// Not for: holding slots for others (package storage) and making proofs
// (package prover). Everything here is safe for concurrent reading.
package dataset
