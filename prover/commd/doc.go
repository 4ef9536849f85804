// Package commd computes what Filecoin calls the data commitment of a sector, and proofs that the
// data is there.
//
// A payload becomes a piece: FR32 padding (two zero bits after every 254, so 127 bytes become 128),
// then zeros up to a power of two, then a binary tree over leaves of 32 bytes. A node is the
// SHA-256 of both children with the two top bits of the last byte cleared. The root is the piece
// commitment, commP; its text is a piece CID: of version 1, or of version 2 with size and payload.
// Pieces in a sector are at multiples of their own size, and gaps between them count as zeros; the
// root over the sector is CommD.
//
//	calc := commd.NewCalc()                          // commP of a stream of payload
//	commD, err := commd.CommD(size, pieces)          // of a sector, from its pieces
//	root, err := commd.BuildTree(ctx, file, size, treeFile, progress)
//	tree, err := commd.OpenTree(treeFile, size)
//	proof, err := commd.Prove(tree, file, challenge)
//	err = commd.Verify(commD, size, challenge, proof) // by anyone, also by a contract
//
// # What a proof shows
//
// Possession, not replication. A proof consists of some leaves of the data, selected by a ticket
// and a seed, with their paths to CommD: the prover had these leaves at that moment. It does
// not show that the host keeps a copy of its own, that it keeps the data between two challenges, or
// that it has any leaf that was not asked for. It is no proof of replication (PoRep), and CommR
// here is no commitment to a replica, because there is none: see CommR.
//
// # On disk
//
// A sector's data is in FR32 form in one file, leaf i at offset 32·i. The tree's file has
//
//	offset 0   16 bytes  "hostnode/tree/1\n"
//	offset 16   8 bytes  the sector's size, big-endian
//	offset 24   8 bytes  the lowest layer that is stored, b, big-endian
//	offset 32            layer b, then b+1, …, then the root: 32 bytes per node
//
// Layer 0 is the leaves. b is 7, or the root's layer in a smaller tree: a node of layer 7 stands
// for 4 KiB of data, which is read and hashed again for a proof. So a tree takes a 64th of the size
// of its sector.
//
// Functions are pure except for the readers and writers they are given, start no goroutines and
// keep at most some hundred KiB. A Calc, Hasher, Writer or Reader may be used by one goroutine at a
// time; everything else is safe for concurrent use.
package commd
