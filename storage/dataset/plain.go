package dataset

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/hostnode/hostnode/prover/merkle"
)

// Store writes what source has to the new directory dir as a plain dataset, without parity, so that it has a name
// before it is known how it will be coded. Its tree is the original tree of every dataset that Prepare makes of the
// same bytes. It needs memory for one block, and 64 bytes per block. When it fails, nothing is left behind. It returns
// ErrEmpty, ErrTooLarge, ErrExists and ErrManifest (a name in o is too long), and the error of source.
func Store(ctx context.Context, source io.Reader, dir string, o Options) (*Dataset, error) {
	if err := errors.Join(checkText("file name", o.Filename), checkText("media type", o.MimeType)); err != nil {
		return nil, err
	}
	return build(dir, func(partial string) error {
		size, digests, err := copyBlocks(ctx, source, filepath.Join(partial, blocksFile))
		if err != nil {
			return err
		}
		if size == 0 {
			return fmt.Errorf("nothing to store: %w", ErrEmpty)
		}
		root, _ := merkle.ContentRoot(digests) // There is a leaf.
		return writeNames(partial, digests, Manifest{
			Tree: TreeCID(root), Size: size, Filename: o.Filename, MimeType: o.MimeType,
		})
	})
}

// copyBlocks writes whole blocks to a new file, the last one with zeros at its end.
func copyBlocks(ctx context.Context, source io.Reader, path string) (size uint64, digests [][32]byte, err error) {
	file, err := os.Create(path)
	if err != nil {
		return 0, nil, fmt.Errorf("write blocks: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	block := make([]byte, BlockSize)
	for {
		if err := ctx.Err(); err != nil {
			return 0, nil, fmt.Errorf("store dataset: %w", err)
		}
		n, err := fill(block, source)
		if err != nil {
			return 0, nil, fmt.Errorf("read what to store: %w", err)
		}
		if n == 0 {
			break
		}
		if len(digests) == MaxDatasetBlocks {
			return 0, nil, fmt.Errorf("more than %d blocks: %w", uint64(MaxDatasetBlocks), ErrTooLarge)
		}
		clear(block[n:])
		if _, err := file.Write(block); err != nil {
			return 0, nil, fmt.Errorf("write blocks: %w; is the disk full?", err)
		}
		size += uint64(n)
		digests = append(digests, sha256.Sum256(block))
		if n < len(block) {
			break
		}
	}
	if err := file.Sync(); err != nil {
		return 0, nil, fmt.Errorf("write blocks: %w", err)
	}
	return size, digests, nil
}

// fill reads until the block is full or the source has ended. Unlike io.ReadFull it tells that end from the
// io.ErrUnexpectedEOF of a source that was cut off.
func fill(block []byte, source io.Reader) (n int, err error) {
	for n < len(block) && err == nil {
		var some int
		some, err = source.Read(block[n:])
		n += some
	}
	if err == io.EOF {
		err = nil
	}
	return n, err
}

// plainLayout is that of a dataset without parity: one slot with all blocks.
func plainLayout(size uint64) (Layout, error) {
	if size == 0 {
		return Layout{}, fmt.Errorf("the manifest's dataset is empty: %w", ErrManifest)
	}
	blocks := (size-1)/BlockSize + 1
	if blocks > MaxDatasetBlocks {
		return Layout{}, fmt.Errorf("%d blocks, at most %d: %w", blocks, uint64(MaxDatasetBlocks), ErrManifest)
	}
	return Layout{Params: Params{K: 1}, Size: size, Blocks: blocks, Steps: blocks}, nil
}

// Blocks is where the blocks of any dataset lie, also of a plain one. It returns ErrManifest.
func (m Manifest) Blocks() (Layout, error) {
	if m.Erasure == nil {
		return plainLayout(m.Size)
	}
	return m.Layout()
}

// Gone says that only the names of the dataset are left on disk, not its blocks.
func (d *Dataset) Gone() bool { return d.blocks == nil }

// Discard deletes the blocks of the dataset in dir, and keeps its names.
func Discard(dir string) error { return os.Remove(filepath.Join(dir, blocksFile)) }

// Adopt gives a dataset whose blocks are gone those of the same dataset in another directory.
func Adopt(dir, from string) error {
	return os.Rename(filepath.Join(from, blocksFile), filepath.Join(dir, blocksFile))
}

// Original reads the original data, and verifies each block.
func (d *Dataset) Original() *io.SectionReader {
	return io.NewSectionReader(original{d}, 0, int64(d.layout.Size))
}

// original reads whole blocks, because only these have a name.
type original struct{ *Dataset }

// ReadAt implements io.ReaderAt.
func (o original) ReadAt(p []byte, at int64) (n int, err error) {
	block := make([]byte, BlockSize)
	for n < len(p) {
		index, offset := uint64(at)/BlockSize, uint64(at)%BlockSize
		if index >= o.layout.Blocks {
			return n, io.EOF
		}
		if err := o.ReadBlock(index, block); err != nil {
			return n, err
		}
		copied := copy(p[n:], block[offset:])
		n, at = n+copied, at+int64(copied)
	}
	return n, nil
}
