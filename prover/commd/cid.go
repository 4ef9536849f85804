package commd

import (
	"bytes"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"strings"
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
// ErrMalformed, for CIDs of version 2 too: see ParsePieceCID.
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
	case !root.Valid():
		return Node{}, cidError(text, "no commitment has its top bits set")
	case CID(root) != text:
		return Node{}, cidError(text, "bits are set after the last byte")
	}
	return root, nil
}

// A piece CID of version 2 consists of the CID's version 1, codec raw (0x55), hash fr32-sha256-trunc254-padbintree
// (0x1011) with its length, and as that hash: the number of zeros behind the payload as a varint, the number of layers
// above the leaves as a byte, and the root.
var cid2Prefix = [4]byte{0x01, 0x55, 0x91, 0x20}

const (
	// MinPayloadV2 is the smallest payload that has a piece CID of version 2, a whole quad.
	MinPayloadV2 = QuadPayload

	// cid2Start begins each piece CID of version 2, and is as much of it as is the same in all of them.
	cid2Start = "bafkzci"
	// cid2Length is the number of characters of the longest: the zeros of a piece of 64 GiB are five bytes.
	cid2Length = 1 + ((len(cid2Prefix)+1+5+1+NodeSize)*8+4)/5
)

// CIDv2 is the text of a piece's root, size and payload: "bafkzci…". It returns ErrPayload for a payload below
// MinPayloadV2, and for one that fits into half of the piece: neither has such a text.
func CIDv2(c Commitment) (string, error) {
	size, err := PieceSize(c.Payload)
	switch {
	case err != nil:
		return "", err
	case c.Payload < MinPayloadV2 || c.Size != size:
		return "", fmt.Errorf("payload of %d bytes in a piece of %d has no piece CID of version 2, "+
			"use version 1 and name the size: %w", c.Payload, c.Size, ErrPayload)
	}
	digest := binary.AppendUvarint(make([]byte, 0, NodeSize+6), PayloadRoom(size)-c.Payload)
	digest = append(digest, byte(Depth(size)))
	digest = append(digest, c.Root[:]...)
	b := append(cid2Prefix[:], byte(len(digest)))
	return "b" + cidText.EncodeToString(append(b, digest...)), nil
}

// ParsePieceCID is the piece that a piece CID of either version names. One of version 1 does not include the size, so
// the size must be given, and the payload remains 0, unknown. With version 2 the size may be 0; otherwise it must be
// the same. Each piece has one text per version. It returns ErrMalformed, or ErrSize.
func ParsePieceCID(text string, size uint64) (Commitment, error) {
	if strings.HasPrefix(text, cid2Start) {
		c, err := parseCIDv2(text)
		if err == nil && size != 0 && size != c.Size {
			return Commitment{}, fmt.Errorf("piece CID %s is of %d bytes, not of %d: %w", text, c.Size, size, ErrSize)
		}
		return c, err
	}
	root, err := ParseCID(text)
	if err != nil {
		return Commitment{}, err
	}
	if err := CheckPieceSize(size); err != nil {
		return Commitment{}, fmt.Errorf("a piece CID of version 1 needs the padded size beside it: %w", err)
	}
	return Commitment{Root: root, Size: size}, nil
}

func parseCIDv2(text string) (Commitment, error) {
	if len(text) > cid2Length {
		return Commitment{}, cidError(text, "longer than %d characters", cid2Length)
	}
	b, err := cidText.DecodeString(text[1:])
	if err != nil {
		return Commitment{}, cidError(text, "%v", err)
	}
	digest, ok := bytes.CutPrefix(b, cid2Prefix[:])
	if !ok || len(digest) < 1+1+1+NodeSize || int(digest[0]) != len(digest)-1 {
		return Commitment{}, cidError(text, "another kind of CID")
	}
	digest = digest[1:]
	zeros, n := binary.Uvarint(digest)
	if n <= 0 || n+1+NodeSize != len(digest) {
		return Commitment{}, cidError(text, "another kind of CID")
	}
	size := uint64(NodeSize) << digest[n] // 0 if shifted by more than it has bits.
	c := Commitment{Root: Node(digest[n+1:]), Size: size, Payload: PayloadRoom(size) - zeros}
	switch again, err := CIDv2(c); {
	case err != nil: // The zeros are too many, too.
		return Commitment{}, cidError(text, "no payload has %d zeros behind it in a piece of %d bytes", zeros, size)
	case !c.Root.Valid():
		return Commitment{}, cidError(text, "no commitment has its top bits set")
	case again != text:
		return Commitment{}, cidError(text, "it is not written in the only form")
	}
	return c, nil
}

func cidError(text, format string, values ...any) error {
	if len(text) > cid2Length {
		text = text[:cid2Length] + "…"
	}
	return fmt.Errorf("piece CID %q: %s: %w", text, fmt.Sprintf(format, values...), ErrMalformed)
}

// BinaryCID is the binary form of a piece CID.
func BinaryCID(root Node) []byte { return append(cidPrefix[:], root[:]...) }
