//go:build !amd64 && !arm64

package commd

func hashPairs(dst, src []byte) { hashPairsPlain(dst, src) }
