// Package car validates the bytes of a CAR (a content-addressable archive, version 1), and derives its piece, in one
// pass. It keeps what the header has, and a buffer; so its memory does not depend on the size of the CAR.
//
//	link, err := events.ParseContentLink("bagbaiera…")
//	content, err := car.Examine(ctx, r, car.Want{Link: link, Size: size}, car.Options{})
//	if refusal, ok := errors.AsType[*car.Refusal](err); ok {
//		// The content is bad, and stays so: refusal.Code, refusal.Detail.
//	} else if err != nil {
//		// Its source failed: try again.
//	}
//
// # The format
//
// A CAR is a header and sections, each with its length in front, a varint. The header is DAG-CBOR: a map with "roots",
// a list of CIDs, and "version", 1. A section is a CID and the block that it names. Numbers have their shortest form.
// Nothing marks the end: a CAR that was cut between two blocks is a good CAR of fewer blocks, and bytes that were added
// are read as sections. Only the declared size and the CID of the CAR show either.
//
// # Which refusal it is
//
// What is declared is judged first, without reading: empty, too-small, too-large. Then the bytes are, in their order,
// and the first fault is reported; no more is read. So a flipped byte of a block is block-digest, and not
// digest-differs. What follows the declared size is size-differs, and one byte of it is read. At the end come, in this
// order, cut-between-blocks, digest-differs, root-absent and piece-differs.
//
// A hash function is allowed if it is on the list of boxo/verifcid: no insecure ones, digests of 20 to 128 bytes,
// identity up to 128. Of these blake3, dbl-sha2-256, keccak-224, keccak-384 and blake2s other than blake2s-256 are
// refused too, because neither the standard library nor golang.org/x/crypto has them.
package car
