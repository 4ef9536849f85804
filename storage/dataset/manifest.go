package dataset

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/hostnode/hostnode/prover/merkle"
	"github.com/hostnode/hostnode/prover/poseidon2"
)

// ErrManifest says that a block is not a manifest of this network, or one that
// contradicts itself.
var ErrManifest = errors.New("invalid manifest")

// Limits of a manifest. It travels as one block.
const (
	MaxManifestSize = BlockSize // bytes
	MaxNameLength   = 1024      // bytes of a file name or media type
	manifestVersion = 1
)

// Manifest says what a dataset is (spec/proofs.md §10.4).
type Manifest struct {
	// Tree names the content tree: of the coded dataset when Erasure is set.
	Tree CID
	// Size is the number of bytes of the dataset that Tree names.
	Size uint64
	// Erasure is nil for a plain file.
	Erasure *Erasure
	// Filename and MimeType are those of the upload, or empty.
	Filename string
	MimeType string
}

// Erasure says how a dataset was coded.
type Erasure struct {
	Params
	OriginalTree CID
	OriginalSize uint64
	// Strategy divides the dataset into codewords; Stepped on this network.
	Strategy Strategy
	// Verification is nil for a dataset without slot roots.
	Verification *Verification
}

// Verification holds the roots that storage proofs lead to.
type Verification struct {
	VerifyRoot CID
	SlotRoots  []CID // in slot order
	// Strategy divides the dataset into slots; Linear on this network.
	Strategy Strategy
}

// Layout is the layout of a coded dataset. It returns ErrManifest for a plain one.
func (m Manifest) Layout() (Layout, error) {
	if m.Erasure == nil {
		return Layout{}, fmt.Errorf("dataset is not erasure coded: %w", ErrManifest)
	}
	l, err := NewLayout(m.Erasure.OriginalSize, m.Erasure.Params)
	if err != nil {
		return Layout{}, fmt.Errorf("%w: %w", ErrManifest, err)
	}
	return l, nil
}

// SlotTree is the tree over the slot roots of a verifiable dataset. It returns ErrManifest for any
// other.
func (m Manifest) SlotTree() (*merkle.FieldTree, error) {
	if m.Erasure == nil || m.Erasure.Verification == nil {
		return nil, fmt.Errorf("dataset has no slot roots: %w", ErrManifest)
	}
	cids := m.Erasure.Verification.SlotRoots
	roots := make([]fr.Element, len(cids))
	for i, c := range cids {
		digest := c.Digest()
		root, err := poseidon2.Decode(digest[:])
		if err != nil {
			return nil, fmt.Errorf("slot root %d: %w: %w", i, err, ErrManifest)
		}
		roots[i] = root
	}
	tree, err := merkle.NewTree(roots)
	if err != nil {
		return nil, fmt.Errorf("slot roots: %w: %w", err, ErrManifest)
	}
	return tree, nil
}

// Check returns ErrManifest for a manifest that contradicts itself: wrong kinds of CIDs, sizes that
// do not fit the layout, or slot roots that do not lead to the verify root.
func (m Manifest) Check() error {
	if m.Tree.Codec() != CodecTree {
		return fmt.Errorf("tree is a %s: %w", m.Tree.Codec(), ErrManifest)
	}
	if err := errors.Join(checkText("file name", m.Filename),
		checkText("media type", m.MimeType)); err != nil {
		return err
	}
	if m.Erasure == nil {
		return nil
	}
	if m.Erasure.OriginalTree.Codec() != CodecTree {
		return fmt.Errorf("original tree is a %s: %w", m.Erasure.OriginalTree.Codec(), ErrManifest)
	}
	if m.Erasure.Strategy != Stepped {
		return fmt.Errorf("protected strategy %d, want %d (stepped): %w",
			m.Erasure.Strategy, Stepped, ErrManifest)
	}
	layout, err := m.Layout()
	if err != nil {
		return err
	}
	if m.Size != layout.CodedSize() {
		return fmt.Errorf("coded dataset of %d bytes, the layout has %d: %w",
			m.Size, layout.CodedSize(), ErrManifest)
	}
	return m.checkVerification(layout)
}

func (m Manifest) checkVerification(layout Layout) error {
	v := m.Erasure.Verification
	if v == nil {
		return nil
	}
	if v.Strategy != Linear {
		return fmt.Errorf("verifiable strategy %d, want %d (linear): %w",
			v.Strategy, Linear, ErrManifest)
	}
	if len(v.SlotRoots) != layout.Slots() {
		return fmt.Errorf("%d slot roots for %d slots: %w",
			len(v.SlotRoots), layout.Slots(), ErrManifest)
	}
	for i, c := range v.SlotRoots {
		if c.Codec() != CodecSlotRoot {
			return fmt.Errorf("slot root %d is a %s: %w", i, c.Codec(), ErrManifest)
		}
	}
	tree, err := m.SlotTree()
	if err != nil {
		return err
	}
	if got := ProvingRootCID(tree.Root()); got != v.VerifyRoot {
		return fmt.Errorf("slot roots lead to %s, the verify root is %s: %w",
			got, v.VerifyRoot, ErrManifest)
	}
	return nil
}

func checkText(what, s string) error {
	if len(s) > MaxNameLength || !utf8.ValidString(s) {
		return fmt.Errorf("%s of %d bytes, want UTF-8 of at most %d bytes: %w",
			what, len(s), MaxNameLength, ErrManifest)
	}
	return nil
}
