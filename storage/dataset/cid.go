package dataset

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/poseidon2"
)

// ErrCID says that bytes or a text are not a content identifier of this network.
var ErrCID = errors.New("not a content identifier of this network")

// Codec says what a CID names (spec/proofs.md §10.1).
type Codec uint64

// The codecs of the network.
const (
	CodecManifest    Codec = 0xCD01
	CodecBlock       Codec = 0xCD02
	CodecTree        Codec = 0xCD03 // "codex-root": a SHA-256 tree over blocks
	CodecSlotRoot    Codec = 0xCD04
	CodecProvingRoot Codec = 0xCD05
	CodecSlotCell    Codec = 0xCD06
)

// The multihash codes of the network.
const (
	hashIdentity   = 0x00
	hashSHA256     = 0x12
	hashBlockRoot  = 0xCD11 // poseidon2-alt_bn_128-merkle-2kb
	digestSize     = 32
	maxCIDSize     = 40 // bytes: 1 + 3 + 3 + 1 + 32
	maxCIDText     = 64 // characters, well above the 56 that occur
	cidVersion     = 1
	multibase58BTC = "z"
)

// codecs are the codecs that exist, with their hash.
var codecs = map[Codec]struct {
	name string
	hash uint64
}{
	CodecManifest:    {"codex-manifest", hashSHA256},
	CodecBlock:       {"codex-block", hashSHA256},
	CodecTree:        {"codex-root", hashSHA256},
	CodecSlotRoot:    {"codex-slot-root", hashIdentity},
	CodecProvingRoot: {"codex-proving-root", hashIdentity},
	CodecSlotCell:    {"codex-slot-cell", hashBlockRoot},
}

// String is the name of the codec.
func (c Codec) String() string {
	if known, ok := codecs[c]; ok {
		return known.name
	}
	return fmt.Sprintf("codec %#x", uint64(c))
}

// CID names content: a codec and a digest of 32 bytes; the codec determines the
// hash. CIDs are comparable. The zero CID names nothing.
type CID struct {
	codec  Codec
	digest [digestSize]byte
}

// BlockCID names a block by the SHA-256 of its bytes.
func BlockCID(digest [32]byte) CID { return CID{CodecBlock, digest} }

// TreeCID names a dataset by the root of the SHA-256 tree over its blocks.
func TreeCID(root [32]byte) CID { return CID{CodecTree, root} }

// ManifestCID names the manifest block with these bytes.
func ManifestCID(block []byte) CID { return CID{CodecManifest, sha256.Sum256(block)} }

// SlotRootCID names the root of a slot.
func SlotRootCID(root fr.Element) CID { return CID{CodecSlotRoot, poseidon2.Encode(root)} }

// ProvingRootCID names the root over the slot roots of a dataset.
func ProvingRootCID(root fr.Element) CID {
	return CID{CodecProvingRoot, poseidon2.Encode(root)}
}

// Codec says what the CID names.
func (c CID) Codec() Codec { return c.codec }

// Digest is the hash inside the CID: SHA-256, or 32 bytes little-endian of a
// field element.
func (c CID) Digest() [32]byte { return c.digest }

// Root is the digest of a slot root, proving root or slot cell as it stands on
// chain.
func (c CID) Root() events.Root { return events.Root(c.digest) }

// Empty reports whether the CID is that of the empty block, which stands for a
// block of zeros and is never fetched (spec/proofs.md §10.3).
func (c CID) Empty() bool { return c == EmptyBlock() }

// EmptyBlock is the CID of the padding blocks of the erasure code: the CID of
// the empty byte string.
func EmptyBlock() CID { return BlockCID(sha256.Sum256(nil)) }

// Verify reports whether data are the bytes that the CID names. Only blocks and
// manifests can be verified from their bytes alone.
func (c CID) Verify(data []byte) bool {
	return (c.codec == CodecBlock || c.codec == CodecManifest) &&
		sha256.Sum256(data) == c.digest
}

// Bytes is the binary form, 38 or 40 bytes.
func (c CID) Bytes() []byte {
	b := make([]byte, 0, maxCIDSize)
	b = append(b, cidVersion)
	b = binary.AppendUvarint(b, uint64(c.codec))
	b = binary.AppendUvarint(b, codecs[c.codec].hash)
	b = append(b, digestSize)
	return append(b, c.digest[:]...)
}

// String is the text form: base58btc with its prefix z.
func (c CID) String() string { return multibase58BTC + encode58(c.Bytes()) }

// ParseCID reads the text form. It returns ErrCID.
func ParseCID(text string) (CID, error) {
	digits, found := strings.CutPrefix(text, multibase58BTC)
	if !found || len(text) > maxCIDText {
		return CID{}, fmt.Errorf("%.80q, want base58btc text that starts with z: %w", text, ErrCID)
	}
	b, err := decode58(digits)
	if err != nil {
		return CID{}, fmt.Errorf("%.80q: %w: %w", text, err, ErrCID)
	}
	return CIDFromBytes(b)
}

// CIDFromBytes reads the binary form, which must be exactly one CID of this
// network. It returns ErrCID.
func CIDFromBytes(b []byte) (CID, error) {
	if len(b) == 0 || len(b) > maxCIDSize || b[0] != cidVersion {
		return CID{}, fmt.Errorf("%d bytes, want version 1 and at most %d: %w",
			len(b), maxCIDSize, ErrCID)
	}
	codec, rest, err := cutUvarint(b[1:])
	if err != nil {
		return CID{}, err
	}
	known, ok := codecs[Codec(codec)]
	if !ok {
		return CID{}, fmt.Errorf("codec %#x is unknown: %w", codec, ErrCID)
	}
	hash, rest, err := cutUvarint(rest)
	if err != nil {
		return CID{}, err
	}
	if hash != known.hash {
		return CID{}, fmt.Errorf("%s with hash %#x, want %#x: %w", known.name, hash, known.hash, ErrCID)
	}
	if len(rest) != 1+digestSize || rest[0] != digestSize {
		return CID{}, fmt.Errorf("digest is not exactly %d bytes: %w", digestSize, ErrCID)
	}
	c := CID{codec: Codec(codec), digest: [digestSize]byte(rest[1:])}
	if hash != hashSHA256 {
		if _, err := poseidon2.Decode(c.digest[:]); err != nil {
			return CID{}, fmt.Errorf("%s: %w: %w", known.name, err, ErrCID)
		}
	}
	return c, nil
}

// cutUvarint reads a varint in its shortest form, so that a CID has one spelling.
func cutUvarint(b []byte) (value uint64, rest []byte, err error) {
	value, n := binary.Uvarint(b)
	if n <= 0 || (n > 1 && b[n-1] == 0) {
		return 0, nil, fmt.Errorf("malformed varint: %w", ErrCID)
	}
	return value, b[n:], nil
}
