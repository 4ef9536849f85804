// Package poseidon2 is the hash of the storage proofs: Poseidon2 over the scalar field of BN254
// with a state of three elements, S-box x^5, 8 full and 56 partial rounds.
//
// It offers, from the inside out:
//
//   - Permute, the permutation;
//   - Compress, which compresses two children and a key to a tree node (package merkle);
//   - HashElements, the sponge of rate 2 over field elements;
//   - HashBytes and HashCell, the sponge over bytes packed 31 to an element;
//   - Encode and Decode, the 32-byte little-endian form of an element.
//
// There are two paddings, and HashBytes uses both: one byte 0x01 when packing bytes, one element 1
// when absorbing elements.
//
// The round constants are not those of gnark-crypto or of other widely published BN254 instances:
// they come from the Grain LFSR with its S-box field set to 1. The table in constants.go is
// generated; a test derives all 80 numbers again from the LFSR. A library's "Poseidon2 BN254" does
// not give the same hashes.
//
// Everything here is a pure function, safe for concurrent use, and allocates nothing unless its
// comment says so.
package poseidon2

//go:generate go run gen.go
