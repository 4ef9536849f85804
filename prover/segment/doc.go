// Package segment makes aggregates: many pieces as one, with an index, so that each client can be given a proof that
// its piece is inside (FRC-0058). Everything is byte-equal to what go-data-segment makes.
//
// An aggregate is a power of two of padded bytes. Its pieces are at multiples of their own size from the beginning, and
// its index is in the last 64·E bytes, where E, the number of entries, follows from the aggregate's size: see Entries.
// An entry has 64 bytes: the piece's root, its offset (8 bytes, little-endian), its size (8), and a checksum (16): the
// first 126 bits of SHA-256 over the entry without a checksum. The rest is zeros. The root over all of it is the
// aggregate's piece commitment.
//
//	pieces = segment.Order(pieces)               // largest first: then no byte is lost between them
//	a, err := segment.Build(size, pieces)        // hashes roots and index only, never a payload
//	_, err = a.WriteTo(file)                     // from which Open answers everything again
//	proof, err := a.Proof(i)
//	err = proof.Verify(piece, a.Root(), a.Size()) // by anyone
//	o, err := segment.NewObject(size, pieces, open) // the aggregate's bytes, as a reader that can seek
//
// # A proof
//
// consists of two Merkle paths to the aggregate's root, one from the piece's root, and one from the node over its entry
// in the index. The first shows that the piece is inside, and where; the second that the index says so, so that
// a client of the storage provider finds it. A proof is always for one aggregate: compare root and size with
// the deal.
//
// # What is stored
//
// In this order, with numbers big-endian:
//
//	offset 0    16 bytes  "hostnode/aggr/1\n"
//	offset 16    8 bytes  the aggregate's size
//	offset 24  232 bytes  how many pieces it has of each size, from 128 bytes to 32 GiB: 8 bytes each
//	offset 256            layer 1, then layer 2, …, then the root: 32 bytes per node
//
// Of a layer are stored the nodes over pieces, in one run, and those over entries, in one run. All others are the root
// of zeros, or lie within a piece. Where the runs begin and end follows from the header, because the pieces are
// ordered: at each layer, the roots of the pieces of that size come first, and then the parents of the layer below.
// Roots and entries have no place of their own, since they follow from this. An aggregate of 262,016 pieces takes
// 34 MB, in memory as on disk, for which Build needs 0.3 s and, for a moment, 20 MB more.
//
// Functions start no goroutines. An Aggregate is safe for concurrent use if its file is; an Object is not.
package segment
