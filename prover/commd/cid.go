package commd

import (
	"encoding/base32"
	"fmt"
)

// A piece CID of version 1 consists of the CID's version 1, codec fil-commitment-unsealed (0xf101),
// hash sha2-256-trunc254-padded (0x1012) of 32 bytes, and the root; numbers are varints. As text it
// is "b" and base32 in lower case without padding.
var cidPrefix = [7]byte{0x01, 0x81, 0xe2, 0x03, 0x92, 0x20, 0x20}

const (
	cidSize = len(cidPrefix) + NodeSize
	// cidLength is the number of characters of a piece CID.
	cidLength = 1 + (cidSize*8+4)/5
)

var cidText = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// CID is the text of a piece's or sector's root: "baga6ea4seaq…". It does not include the size.
func CID(root Node) string {
	return "b" + cidText.EncodeToString(append(cidPrefix[:], root[:]...))
}

// ParseCID is the root in a piece CID of version 1. Each root has only one text. It returns
// ErrMalformed, for CIDs of version 2 too.
func ParseCID(text string) (Node, error) {
	if len(text) != cidLength || text[0] != 'b' {
		return Node{}, cidError(text, "want %d characters that begin with baga6ea4seaq", cidLength)
	}
	b, err := cidText.DecodeString(text[1:])
	switch {
	case err != nil:
		return Node{}, cidError(text, "%v", err)
	case len(b) != cidSize: // The decoder takes the byte 0xff for the end, and passes over ends of lines.
		return Node{}, cidError(text, "it is no base32")
	case [len(cidPrefix)]byte(b) != cidPrefix:
		return Node{}, cidError(text, "another kind of CID")
	}
	root := Node(b[len(cidPrefix):])
	switch {
	case !root.valid():
		return Node{}, cidError(text, "no commitment has its top bits set")
	case CID(root) != text:
		return Node{}, cidError(text, "bits are set after the last byte")
	}
	return root, nil
}

func cidError(text, format string, values ...any) error {
	if len(text) > cidLength {
		text = text[:cidLength] + "…"
	}
	return fmt.Errorf("piece CID %q: %s: %w", text, fmt.Sprintf(format, values...), ErrMalformed)
}

// BinaryCID is the binary form of a piece CID.
func BinaryCID(root Node) []byte { return append(cidPrefix[:], root[:]...) }
