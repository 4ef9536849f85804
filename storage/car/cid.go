package car

import (
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"

	"golang.org/x/crypto/blake2b"
	"golang.org/x/crypto/blake2s"
	"golang.org/x/crypto/sha3"

	"github.com/hostnode/hostnode/events"
)

// Link is the SHA-256 of a CAR. Its text is the CID of the CAR, version 1 with codec car (0x0202): "bagbaiera…".
type Link [sha256.Size]byte

var (
	linkPrefix = []byte{1, 0x82, 0x04, sha2_256, sha256.Size}
	linkText   = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)
)

// ParseLink reads the CID of a CAR. Each CAR has one text: another base, or bits behind the digest, are
// events.ErrMalformed.
func ParseLink(text string) (Link, error) {
	const length = 61 // characters: "b", and 37 bytes in base32
	if len(text) == length {
		b, err := linkText.DecodeString(text[1:])
		if digest, found := bytes.CutPrefix(b, linkPrefix); err == nil && found && len(digest) == len(Link{}) {
			if link := Link(digest); link.String() == text {
				return link, nil
			}
		}
	}
	return Link{}, fmt.Errorf("CAR CID %.64q, want %d characters that begin with bagbaiera: %w",
		text, length, events.ErrMalformed)
}

func (l Link) String() string {
	return "b" + linkText.EncodeToString(append(bytes.Clone(linkPrefix), l[:]...))
}

// Codes of hash functions in CIDs.
const (
	identity   = 0x00
	sha2_256   = 0x12
	sha2_512   = 0x13
	sha3_512   = 0x14
	sha3_384   = 0x15
	sha3_256   = 0x16
	sha3_224   = 0x17
	shake256   = 0x19
	keccak224  = 0x1a
	keccak256  = 0x1b
	keccak384  = 0x1c
	keccak512  = 0x1d
	blake3     = 0x1e
	twice256   = 0x56 // the SHA-256 of the SHA-256
	blake2bMin = 0xb200
	blake2bMax = blake2bMin + blake2b.Size
	blake2sMin = blake2bMax
	blake2sMax = blake2sMin + blake2s.Size
)

const (
	minDigest = 20
	maxDigest = 128
	// maxCID is above all CIDs whose digest is allowed: a version, two codes and a length, which are varints of at most
	// 10 bytes, and the digest.
	maxCID = 160
)

// cid is a CID in its binary form.
type cid struct {
	hash, digestSize uint64
	digest           []byte
	size             int // of the whole CID; 0 where digestSize is more than maxDigest
}

// uvarint reads a number in its shortest form, and its length: 0 if b ends before, and negative if it has no such form.
func uvarint(b []byte) (value uint64, n int) {
	value, n = binary.Uvarint(b)
	if n > 1 && b[n-1] == 0 || n == 0 && len(b) >= binary.MaxVarintLen64 {
		return 0, -1
	}
	return value, n
}

// parseCID reads the CID at the beginning of b.
func parseCID(b []byte) (c cid, err error) {
	rest, fields := b, [4]uint64{}
	for i := range fields {
		if i == 0 && len(b) > 1 && b[0] == sha2_256 && b[1] == sha256.Size { // Version 0 has a hash only.
			fields, rest = [4]uint64{0, 0, sha2_256, sha256.Size}, b[2:]
			break
		}
		n := 0
		if fields[i], n = uvarint(rest); n <= 0 {
			return c, errors.New("its CID is malformed")
		}
		if i == 0 && fields[0] != 1 {
			return c, fmt.Errorf("its CID is of version %d, want 0 or 1", fields[0])
		}
		rest = rest[n:]
	}
	c.hash, c.digestSize = fields[2], fields[3]
	switch {
	case c.digestSize > maxDigest:
		return c, nil
	case c.digestSize > uint64(len(rest)):
		return c, fmt.Errorf("its CID has a digest of %d bytes, and %d are left for it", c.digestSize, len(rest))
	}
	c.digest = rest[:c.digestSize]
	c.size = len(b) - len(rest) + len(c.digest)
	return c, nil
}

// allowed is an error for a hash that is not on the list of boxo/verifcid, or cannot be computed here.
func allowed(code, size uint64) error {
	switch {
	case code == blake3 || code == keccak224 || code == keccak384 ||
		code > blake2sMin+minDigest-1 && code < blake2sMax:
		return fmt.Errorf("hash function %#x is secure, but cannot be computed here", code)
	case newHash(code) == nil || code >= blake2bMin && code < blake2bMin+minDigest:
		return fmt.Errorf("hash function %#x is insecure or unknown", code)
	case size > maxDigest || size < minDigest && code != identity:
		return fmt.Errorf("hash of %d bytes, want %d to %d", size, minDigest, maxDigest)
	}
	return nil
}

// newHash is nil for what cannot be computed here.
func newHash(code uint64) hash.Hash {
	switch code {
	case identity:
		return &itself{}
	case sha2_256:
		return sha256.New()
	case twice256:
		return twice{sha256.New()}
	case sha2_512:
		return sha512.New()
	case sha3_224:
		return sha3.New224()
	case sha3_256:
		return sha3.New256()
	case sha3_384:
		return sha3.New384()
	case sha3_512:
		return sha3.New512()
	case shake256:
		return sha3.NewShake256()
	case keccak256:
		return sha3.NewLegacyKeccak256()
	case keccak512:
		return sha3.NewLegacyKeccak512()
	case blake2sMax:
		h, _ := blake2s.New256(nil) // Only a key can be wrong.
		return h
	}
	if code > blake2bMin && code <= blake2bMax {
		h, _ := blake2b.New(int(code-blake2bMin), nil) // Only a key or the size can be wrong.
		return h
	}
	return nil
}

// twice hashes the hash.
type twice struct{ hash.Hash }

func (t twice) Sum(b []byte) []byte {
	sum := sha256.Sum256(t.Hash.Sum(nil))
	return append(b, sum[:]...)
}

// itself is the identity as a hash, of at most maxDigest bytes.
type itself struct{ bytes.Buffer }

func (i *itself) Sum(b []byte) []byte { return append(b, i.Bytes()...) }
func (*itself) Size() int             { return maxDigest }
func (*itself) BlockSize() int        { return 1 }
