//go:build amd64 || arm64

package commd

import "github.com/prysmaticlabs/gohashtree"

// hashPairs writes the parents of nodes. Both slices have whole nodes, src an even number of them
// and dst half as many, and they must not overlap.
func hashPairs(dst, src []byte) {
	if err := gohashtree.HashByteSlice(dst, src); err != nil {
		panic(err) // It fails only for wrong lengths.
	}
	maskNodes(dst)
}
