package segment

import "testing"

// BenchmarkBuild makes an aggregate of as many pieces as 32 GiB can have of 128 KiB.
func BenchmarkBuild(b *testing.B) {
	pieces := same(262_016, 128<<10)
	b.ReportAllocs()
	for b.Loop() {
		build(b, 32<<30, pieces)
	}
}

// BenchmarkProof makes proofs in such an aggregate.
func BenchmarkProof(b *testing.B) {
	a := build(b, 32<<30, same(262_016, 128<<10))
	i := 0
	for b.Loop() {
		i = (i + 7919) % a.Len()
		proofOf(b, a, i)
	}
}
