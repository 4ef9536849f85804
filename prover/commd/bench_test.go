package commd

import (
	"bytes"
	"testing"

	commp "github.com/filecoin-project/go-fil-commp-hashhash"
)

// BenchmarkCommitment computes the same commitments alternately with this package and with the
// library of the Filecoin project, and reports how many times faster this package is.
func BenchmarkCommitment(b *testing.B) {
	for name, size := range map[string]int{"1KiB": 1 << 10, "64KiB": 64 << 10, "1MiB": 1 << 20, "64MiB": 64 << 20} {
		payload := noise(size, 1)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(size))
			var ours, theirs float64
			for b.Loop() {
				begin := b.Elapsed()
				got, err := Of(payload)
				between := b.Elapsed()
				var c commp.Calc
				_, _ = c.Write(payload)
				root, _, peerErr := c.Digest()
				ours += (between - begin).Seconds()
				theirs += (b.Elapsed() - between).Seconds()
				if err != nil || peerErr != nil || got.Root != Node(root) {
					b.Fatal(err, peerErr)
				}
			}
			b.SetBytes(0) // A rate over both would mean nothing.
			b.ReportMetric(float64(size)*float64(b.N)/ours/1e6, "MB/s")
			b.ReportMetric(float64(size)*float64(b.N)/theirs/1e6, "peer-MB/s")
			b.ReportMetric(theirs/ours, "times-the-peer")
		})
	}
}

// BenchmarkTree builds the tree of a sector in memory.
func BenchmarkTree(b *testing.B) {
	d := data(64<<20, 1)
	file := &memory{b: make([]byte, TreeSize(64<<20))}
	b.SetBytes(64 << 20)
	for b.Loop() {
		if _, err := BuildTree(b.Context(), bytes.NewReader(d), 64<<20, file, nil); err != nil {
			b.Fatal(err)
		}
	}
}
