// Package merkle has the keyed Merkle trees of the storage proofs.
//
// One form serves four levels: the 32 cells of a block, the blocks of a slot and the slots of a
// dataset, all hashed with Poseidon2, and the blocks of a dataset by content, hashed with SHA-256.
// A tree is built layer by layer from the left; a node left over at the end of a layer is
// compressed with zero. The key of every compression says whether the children are leaves and
// whether there is only one, so the root commits to the number of leaves. A tree of one leaf is
// compressed once; without leaves there is no root.
//
// A storage host uses it like this:
//
//	roots, err := merkle.HashBlocks(ctx, blocks)  // while downloading, some blocks at a time
//	tree, err := merkle.NewSlotTree(roots)        // pads with blocks of zeros
//	tree.Root()                                   // compare with the manifest
//	tree.Path(block)                              // at proving time
//
// It is enough to keep the block roots: 32 bytes for 64 KiB of data. The tree inside a sampled
// block is computed again from the block (NewBlockTree).
//
// Functions are pure and safe for concurrent use; a Tree never changes.
package merkle
