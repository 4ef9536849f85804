package dataset

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
	"github.com/klauspost/reedsolomon"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/internal/durable"
	"github.com/hostnode/hostnode/prover/merkle"
)

// batchBlocks is roughly how many blocks are in memory at a time: enough to keep all processors
// hashing. One codeword is the minimum, so it may be 256 blocks (16 MiB).
const batchBlocks = 64

// The files of a prepared dataset.
const (
	manifestFile = "manifest" // the manifest block
	blocksFile   = "blocks"   // all blocks at their offsets; empty ones are holes
	digestsFile  = "digests"  // the SHA-256 of every block, 32 bytes each
	partialMark  = ".partial" // suffix of a directory that is not complete yet
)

// ErrExists says that the directory exists already.
var ErrExists = errors.New("directory exists already")

// Options are the optional settings of Prepare.
type Options struct {
	// Filename and MimeType are written to the manifest when not empty.
	Filename, MimeType string
	// Progress, if set, is called after each batch, in the goroutine of Prepare, with the bytes of
	// the coded dataset that are done.
	Progress func(done, total events.Bytes)
}

// PrepareFile prepares the file at path; see Prepare.
func PrepareFile(
	ctx context.Context, path, dir string, p Params, o Options,
) (_ *Dataset, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the file to store: %w; check its name and permissions", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("read the file to store: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file, give the name of one: %w",
			path, fs.ErrInvalid)
	}
	if o.Filename == "" {
		o.Filename = filepath.Base(path)
	}
	return Prepare(ctx, file, info.Size(), dir, p, o)
}

// Prepare writes the coded dataset of size bytes of source to the new directory dir: blocks with
// parity, digests, slot roots, manifest. It reads source once, and needs memory for one batch of
// codewords, at most 16 MiB, and 64 bytes per block. When it fails, nothing is left behind. It
// returns ErrParams, ErrEmpty, ErrTooSmall, ErrTooLarge and ErrExists.
func Prepare(
	ctx context.Context, source io.ReaderAt, size int64, dir string, p Params, o Options,
) (*Dataset, error) {
	layout, err := NewLayout(uint64(max(size, 0)), p)
	if err != nil {
		return nil, err
	}
	return build(dir, func(partial string) error {
		c, err := newCoder(layout, source, o)
		if err != nil {
			return err
		}
		if err := c.codeBlocks(ctx, filepath.Join(partial, blocksFile)); err != nil {
			return err
		}
		return writeNames(partial, c.digests, c.manifest())
	})
}

// build has the files of a dataset written to a partial directory, which becomes dir when all are there. When that
// fails, nothing is left behind.
func build(dir string, write func(partial string) error) (_ *Dataset, err error) {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w; remove it or choose another", dir, ErrExists)
	}
	partial := dir + partialMark
	if err := errors.Join(os.RemoveAll(partial), os.MkdirAll(partial, 0o755)); err != nil {
		return nil, fmt.Errorf("make the dataset's directory: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(partial))
		}
	}()
	if err := write(partial); err != nil {
		return nil, err
	}
	if err := os.Rename(partial, dir); err != nil {
		return nil, fmt.Errorf("name the finished dataset: %w", err)
	}
	if err := durable.Sync(filepath.Dir(dir)); err != nil {
		return nil, err
	}
	return Open(dir)
}

// coder is one run of Prepare.
type coder struct {
	layout  Layout
	source  io.ReaderAt
	options Options
	encoder reedsolomon.Encoder
	digests [][32]byte     // of all blocks
	roots   [][]fr.Element // block roots by slot
	width   uint64         // codewords per batch
	shards  [][]byte       // width blocks of each slot
}

func newCoder(l Layout, source io.ReaderAt, o Options) (*coder, error) {
	encoder, err := newEncoder(l.Params)
	if err != nil {
		return nil, err
	}
	c := &coder{
		layout: l, source: source, options: o, encoder: encoder,
		digests: make([][32]byte, l.Total()),
		width:   batchWidth(l),
	}
	for range l.Slots() {
		c.roots = append(c.roots, make([]fr.Element, l.Steps))
		c.shards = append(c.shards, make([]byte, c.width*BlockSize))
	}
	return c, nil
}

// batchWidth is the number of codewords that are coded together. The code treats each 64 bytes of a
// shard separately, so neighbouring codewords can be coded in one go: the parity of the joined
// shards is the joined parities.
func batchWidth(l Layout) uint64 {
	return min(max(batchBlocks/uint64(l.Slots()), 1), l.Steps)
}

// codeBlocks writes all blocks and collects their digests and roots.
func (c *coder) codeBlocks(ctx context.Context, path string) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write blocks: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := file.Truncate(int64(c.layout.CodedSize())); err != nil {
		return fmt.Errorf("write blocks: %w", err)
	}
	for step := uint64(0); step < c.layout.Steps; step += c.width {
		width := min(c.width, c.layout.Steps-step)
		if err := c.codeBatch(ctx, file, step, width); err != nil {
			return err
		}
		if c.options.Progress != nil {
			done := (step + width) * uint64(c.layout.Slots()) * BlockSize
			c.options.Progress(events.Bytes(done), events.Bytes(c.layout.CodedSize()))
		}
	}
	if err := file.Sync(); err != nil {
		return fmt.Errorf("write blocks: %w", err)
	}
	return nil
}

// codeBatch codes the codewords from step on.
func (c *coder) codeBatch(ctx context.Context, file io.WriterAt, step, width uint64) error {
	shards := make([][]byte, len(c.shards))
	for slot := range shards {
		shards[slot] = c.shards[slot][:width*BlockSize]
		if slot < c.layout.K {
			if err := c.read(shards[slot], c.layout.Block(slot, step)); err != nil {
				return err
			}
		}
	}
	if err := c.encoder.Encode(shards); err != nil {
		return fmt.Errorf("compute parity: %w", err)
	}
	var blocks [][]byte
	var roots []*fr.Element
	for slot, shard := range shards {
		first := c.layout.Block(slot, step)
		count := width
		if slot < c.layout.K { // Whatever follows the original blocks is empty.
			count = min(width, c.layout.Blocks-min(first, c.layout.Blocks))
		}
		if _, err := file.WriteAt(shard[:count*BlockSize], int64(first*BlockSize)); err != nil {
			return fmt.Errorf("write blocks: %w; is the disk full?", err)
		}
		for i := range width {
			if i >= count {
				c.digests[first+i] = EmptyBlock().Digest()
				c.roots[slot][step+i] = merkle.ZeroBlockRoot()
				continue
			}
			block := shard[i*BlockSize : (i+1)*BlockSize]
			c.digests[first+i] = sha256.Sum256(block)
			blocks = append(blocks, block)
			roots = append(roots, &c.roots[slot][step+i])
		}
	}
	hashed, err := merkle.HashBlocks(ctx, blocks)
	if err != nil {
		return fmt.Errorf("prepare dataset: %w", err)
	}
	for i, root := range hashed {
		*roots[i] = root
	}
	return nil
}

// read fills shard with original blocks from block on, and with zeros after the end of the data.
func (c *coder) read(shard []byte, block uint64) error {
	offset := block * BlockSize
	count := min(uint64(len(shard)), c.layout.Size-min(offset, c.layout.Size))
	clear(shard[count:])
	if count == 0 {
		return nil
	}
	n, err := c.source.ReadAt(shard[:count], int64(offset))
	if uint64(n) == count {
		return nil // io.EOF right at the end is fine.
	}
	return fmt.Errorf("read %d bytes at %d, got %d (did the file change?): %w",
		count, offset, n, err)
}

// manifest computes all trees. Each has leaves, and none too many, or there would be no such layout.
func (c *coder) manifest() Manifest {
	coded, _ := merkle.ContentRoot(c.digests)
	original, _ := merkle.ContentRoot(c.digests[:c.layout.Blocks])
	v := &Verification{Strategy: Linear}
	slotRoots := make([]fr.Element, c.layout.Slots())
	for i, roots := range c.roots {
		slotRoots[i], _ = merkle.SlotRoot(roots)
		v.SlotRoots = append(v.SlotRoots, SlotRootCID(slotRoots[i]))
	}
	verifyRoot, _ := merkle.DatasetRoot(slotRoots)
	v.VerifyRoot = ProvingRootCID(verifyRoot)
	return Manifest{
		Tree: TreeCID(coded), Size: c.layout.CodedSize(),
		Filename: c.options.Filename, MimeType: c.options.MimeType,
		Erasure: &Erasure{
			Params: c.layout.Params, OriginalTree: TreeCID(original),
			OriginalSize: c.layout.Size, Strategy: Stepped, Verification: v,
		},
	}
}

// writeNames writes the digests and, last of all, the manifest.
func writeNames(dir string, all [][32]byte, m Manifest) error {
	block, err := m.Encode()
	if err != nil {
		return err
	}
	digests := make([]byte, 0, 32*len(all))
	for i := range all {
		digests = append(digests, all[i][:]...)
	}
	for _, f := range []struct {
		name string
		data []byte
	}{{digestsFile, digests}, {manifestFile, block}} {
		path := filepath.Join(dir, f.name)
		if err := os.WriteFile(path, f.data, 0o644); err != nil {
			return fmt.Errorf("write %s: %w", f.name, err)
		}
		if err := durable.Sync(path); err != nil {
			return err
		}
	}
	return durable.Sync(dir)
}
