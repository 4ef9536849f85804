package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/merkle"
)

// Errors of reading a dataset.
var (
	// ErrNotFound: the dataset has no such content.
	ErrNotFound = errors.New("content is not in this dataset")
	// ErrDamaged: the bytes on disk are not what was written.
	ErrDamaged = errors.New("dataset is damaged")
)

// Dataset is a prepared or a plain dataset on disk. It is safe for concurrent use. It keeps
// 36 bytes per block in memory.
type Dataset struct {
	manifest      Manifest
	manifestBlock []byte
	cid           CID
	layout        Layout
	digests       []byte   // 32 bytes per block
	order         []uint32 // block indices sorted by digest
	blocks        *os.File
}

// Open opens the dataset that Prepare or Store made in dir. It returns ErrDamaged and
// ErrManifest.
func Open(dir string) (*Dataset, error) {
	block, err := os.ReadFile(filepath.Join(dir, manifestFile))
	if err != nil {
		return nil, fmt.Errorf("open dataset: %w; is this the directory of a prepared dataset?", err)
	}
	d := &Dataset{manifestBlock: block, cid: ManifestCID(block)}
	if d.manifest, err = DecodeManifest(block); err != nil {
		return nil, fmt.Errorf("open dataset: %w", err)
	}
	if d.layout, err = d.manifest.Blocks(); err != nil {
		return nil, fmt.Errorf("open dataset: %w", err)
	}
	if d.digests, err = os.ReadFile(filepath.Join(dir, digestsFile)); err != nil {
		return nil, fmt.Errorf("open dataset: %w", err)
	}
	if err := d.index(); err != nil {
		return nil, fmt.Errorf("open dataset: %w", err)
	}
	d.blocks, err = os.Open(filepath.Join(dir, blocksFile))
	if errors.Is(err, fs.ErrNotExist) {
		return d, nil // Discard deleted it.
	}
	if err != nil {
		return nil, fmt.Errorf("open dataset: %w", err)
	}
	return d, nil
}

// index checks the digests against the tree's name and sorts them.
func (d *Dataset) index() error {
	var tree TreeVerifier
	for b := d.digests; len(b) >= 32; b = b[32:] {
		tree.Add([32]byte(b))
	}
	root, err := tree.Root()
	if err != nil || tree.Count() != d.layout.Total() || TreeCID(root) != d.manifest.Tree {
		return fmt.Errorf("the digests of the blocks do not lead to %s: %w",
			d.manifest.Tree, ErrDamaged)
	}
	if d.layout.Total() > 1<<32 {
		return fmt.Errorf("%d blocks, at most 2^32 can be served: %w", d.layout.Total(), ErrTooLarge)
	}
	d.order = make([]uint32, d.layout.Total())
	for i := range d.order {
		d.order[i] = uint32(i)
	}
	slices.SortFunc(d.order, func(a, b uint32) int { return bytes.Compare(d.digest(a), d.digest(b)) })
	return nil
}

func (d *Dataset) digest(block uint32) []byte { return d.digests[32*int(block):][:32] }

// Close closes the files.
func (d *Dataset) Close() error {
	if d.Gone() {
		return nil
	}
	return d.blocks.Close()
}

// Manifest is the manifest, which hosts read first. The caller must not change its parts.
func (d *Dataset) Manifest() Manifest { return d.manifest }

// CID is the name of the manifest: content.cid of a storage request.
func (d *Dataset) CID() CID { return d.cid }

// Layout says where each block lies.
func (d *Dataset) Layout() Layout { return d.layout }

// MerkleRoot is the verify root: content.merkleRoot of a storage request. A plain dataset has none.
func (d *Dataset) MerkleRoot() events.Root {
	return d.manifest.Erasure.Verification.VerifyRoot.Root()
}

// Content is the content of a storage request for this dataset.
func (d *Dataset) Content() events.Content {
	return events.Content{CID: string(d.cid.Bytes()), MerkleRoot: d.MerkleRoot()}
}

// BlockCID is the name of a block of the dataset; block is below Layout().Total().
func (d *Dataset) BlockCID(block uint64) CID {
	return BlockCID([32]byte(d.digest(uint32(block))))
}

// ReadBlock reads a block of the dataset by its index into buffer, which has
// BlockSize bytes. It returns ErrNotFound and ErrDamaged.
func (d *Dataset) ReadBlock(block uint64, buffer []byte) error {
	if block >= d.layout.Total() || len(buffer) != BlockSize || d.Gone() {
		return fmt.Errorf("block %d of %d: %w", block, d.layout.Total(), ErrNotFound)
	}
	if d.layout.Empty(block) {
		clear(buffer)
		return nil
	}
	if _, err := d.blocks.ReadAt(buffer, int64(block*BlockSize)); err != nil {
		return fmt.Errorf("read block %d: %w", block, err)
	}
	if !d.BlockCID(block).Verify(buffer) {
		return fmt.Errorf("block %d, prepare the dataset again: %w", block, ErrDamaged)
	}
	return nil
}

// Object returns the content with a name: the manifest, a block, or, for the tree's name, the list
// of block digests. It returns ErrNotFound and ErrDamaged.
func (d *Dataset) Object(c CID) ([]byte, error) {
	switch {
	case c == d.cid:
		return d.manifestBlock, nil
	case c == d.manifest.Tree:
		return d.digests, nil
	case c.Empty():
		return nil, nil
	case c.Codec() != CodecBlock:
		return nil, fmt.Errorf("%s: %w", c, ErrNotFound)
	}
	at, found := slices.BinarySearchFunc(d.order, c.Digest(), func(block uint32, want [32]byte) int {
		return bytes.Compare(d.digest(block), want[:])
	})
	if !found {
		return nil, fmt.Errorf("%s: %w", c, ErrNotFound)
	}
	block := make([]byte, merkle.BlockSize)
	return block, d.ReadBlock(uint64(d.order[at]), block)
}
