package car

import (
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"slices"

	"golang.org/x/crypto/blake2b"
	"golang.org/x/crypto/blake2s"
	"golang.org/x/crypto/sha3"
)

// Codes of hash functions. A code of blake2 is its minimum and the number of bytes.
const (
	identity, sha2_256     = 0x00, 0x12
	blake2bMin, blake2bMax = 0xb200, 0xb200 + blake2b.Size
	blake2sMin, blake2sMax = blake2bMax, blake2bMax + blake2s.Size
)

const (
	minDigest = 20
	maxDigest = 128
	// maxCID is above all CIDs whose digest is allowed: a version, two codes and a length, which are varints of at most
	// 10 bytes, and the digest.
	maxCID = 160
)

// hashes are those that are allowed and computed here, without blake2b. Keys do not occur, so blake2s has no error.
var hashes = map[uint64]func() hash.Hash{
	identity: func() hash.Hash { return &itself{} },
	sha2_256: sha256.New, 0x13: sha512.New,
	0x17: sha3.New224, 0x16: sha3.New256, 0x15: sha3.New384, 0x14: sha3.New512,
	0x19: func() hash.Hash { return sha3.NewShake256() },
	0x1b: sha3.NewLegacyKeccak256, 0x1d: sha3.NewLegacyKeccak512,
	blake2sMax: func() hash.Hash { h, _ := blake2s.New256(nil); return h },
}

func isBlake2b(code uint64) bool { return code >= blake2bMin+minDigest && code <= blake2bMax }

func newHash(code uint64) hash.Hash {
	if isBlake2b(code) {
		h, _ := blake2b.New(int(code-blake2bMin), nil) // A key or a size would be wrong.
		return h
	}
	return hashes[code]()
}

// allowed is an error for a hash that is not on the list of boxo/verifcid, or cannot be computed here.
func allowed(code, size uint64) error {
	switch {
	case slices.Contains([]uint64{0x1a, 0x1c, 0x1e, 0x56}, code) || // keccak-224, keccak-384, blake3, dbl-sha2-256
		code >= blake2sMin+minDigest && code < blake2sMax:
		return fmt.Errorf("hash function %#x is secure, but cannot be computed here", code)
	case hashes[code] == nil && !isBlake2b(code):
		return fmt.Errorf("hash function %#x is insecure or unknown", code)
	case size > maxDigest || size < minDigest && code != identity:
		return fmt.Errorf("hash of %d bytes, want %d to %d", size, minDigest, maxDigest)
	}
	return nil
}

// uvarint reads a number in its shortest form, and its length: 0 if b ends before, and negative if it has no such form.
func uvarint(b []byte) (value uint64, n int) {
	value, n = binary.Uvarint(b)
	if n > 1 && b[n-1] == 0 || n == 0 && len(b) >= binary.MaxVarintLen64 {
		return 0, -1
	}
	return value, n
}

// cid is a CID in its binary form.
type cid struct {
	hash, digestSize uint64
	digest           []byte
	size             int // of the whole CID; 0 where digestSize is more than maxDigest
}

// parseCID reads the CID at the beginning of b.
func parseCID(b []byte) (c cid, err error) {
	rest := b
	number := func() uint64 {
		value, n := uvarint(rest)
		if n <= 0 {
			n, err = len(rest), errors.New("its CID is malformed")
		}
		rest = rest[n:]
		return value
	}
	if !bytes.HasPrefix(b, []byte{sha2_256, sha256.Size}) { // Version 0 is a SHA-256 only.
		if version := number(); version != 1 {
			return c, fmt.Errorf("its CID has version %d, want 0 or 1", version)
		}
		number() // The codec says nothing that is asked here.
	}
	c.hash, c.digestSize = number(), number()
	if err != nil || c.digestSize > maxDigest {
		return c, err
	} else if c.digestSize > uint64(len(rest)) {
		return c, fmt.Errorf("its CID has a digest of %d bytes, and %d are left for it", c.digestSize, len(rest))
	}
	c.digest = rest[:c.digestSize]
	c.size = len(b) - len(rest) + len(c.digest)
	return c, nil
}

// itself is the identity as a hash, of at most maxDigest bytes.
type itself struct{ bytes.Buffer }

func (i *itself) Sum(b []byte) []byte { return append(b, i.Bytes()...) }
func (*itself) Size() int             { return maxDigest }
func (*itself) BlockSize() int        { return 1 }
