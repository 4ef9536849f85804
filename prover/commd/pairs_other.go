//go:build !amd64 && !arm64

package commd

func hashPairs(dst, src []byte) {
	for i := 0; i < len(src); i += 2 * NodeSize {
		above := Parent(Node(src[i:]), Node(src[i+NodeSize:]))
		copy(dst[i/2:], above[:])
	}
}
