package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sort"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/storage/dataset"
)

// An entry in the file names is the start of a block's SHA-256 and its index. A block that is found
// is hashed before it is served, so the start is enough.
const (
	nameSize   = 16
	namePrefix = 12
)

// encodeNames returns the file names: an entry for every block that is not empty, sorted.
func encodeNames(digests [][32]byte) []byte {
	entries := make([][nameSize]byte, 0, len(digests))
	for i, digest := range digests {
		if digest == dataset.EmptyBlock().Digest() {
			continue
		}
		var b [nameSize]byte
		copy(b[:namePrefix], digest[:])
		binary.BigEndian.PutUint32(b[namePrefix:], uint32(i))
		entries = append(entries, b)
	}
	slices.SortFunc(entries, func(a, b [nameSize]byte) int { return bytes.Compare(a[:], b[:]) })
	all := make([]byte, 0, len(entries)*nameSize)
	for _, e := range entries {
		all = append(all, e[:]...)
	}
	return all
}

// Object returns the content with a name: the manifest of a stored slot, or a block of a complete
// one. It does not have the lists of block digests, because a host has only a part of them; the
// client that prepared the dataset serves them. It returns dataset.ErrNotFound, and dataset.ErrDamaged when the
// bytes on disk no longer match their name. It searches the slots in turn, with some 20 short reads
// each.
func (r *Repo) Object(c dataset.CID) ([]byte, error) {
	if c.Empty() {
		return nil, nil
	}
	if err := r.here(); err != nil {
		return nil, err
	}
	for _, e := range r.serving(c) {
		data, err := r.objectIn(e, c)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, dataset.ErrNotFound) {
			continue // Not here, or deleted while we looked.
		}
		return data, err
	}
	return nil, fmt.Errorf("%s: %w", c, dataset.ErrNotFound)
}

// serving lists the slots that may have the object.
func (r *Repo) serving(c dataset.CID) []*entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []*entry
	for _, e := range r.slots {
		switch c.Codec() {
		case dataset.CodecManifest:
			if e.known && e.meta.Manifest == c {
				list = append(list, e)
			}
		case dataset.CodecBlock:
			if e.known && e.meta.Complete {
				list = append(list, e)
			}
		case dataset.CodecTree, dataset.CodecSlotRoot, dataset.CodecProvingRoot, dataset.CodecSlotCell:
			// Trees and roots are not served.
		}
	}
	return list
}

func (r *Repo) objectIn(e *entry, c dataset.CID) ([]byte, error) {
	if c.Codec() == dataset.CodecManifest {
		_, b, err := r.readManifest(e, c)
		return b, err
	}
	index, err := r.findBlock(e, c.Digest())
	if err != nil {
		return nil, err
	}
	block := make([]byte, events.BlockSize)
	if err := r.readBlock(e, index, block); err != nil {
		return nil, err
	}
	if !c.Verify(block) {
		return nil, fmt.Errorf("block %d of slot %s: %w", index, e.id, dataset.ErrDamaged)
	}
	return block, nil
}

// findBlock looks a digest up in the file names.
func (r *Repo) findBlock(e *entry, digest [32]byte) (index uint64, err error) {
	path := filepath.Join(e.dir, namesFile)
	length, _, err := r.disk.Sizes(path)
	if err != nil {
		return 0, err
	}
	f, err := r.disk.Open(path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var b [nameSize]byte
	var readErr error
	count := int(length / nameSize)
	read := func(i int) []byte {
		if _, err := f.ReadAt(b[:], int64(i*nameSize)); err != nil {
			readErr = errors.Join(readErr, err)
		}
		return b[:namePrefix]
	}
	at := sort.Search(count, func(i int) bool {
		return bytes.Compare(read(i), digest[:namePrefix]) >= 0
	})
	if readErr != nil {
		return 0, fmt.Errorf("read names: %w", readErr)
	}
	if at == count || !bytes.Equal(read(at), digest[:namePrefix]) {
		return 0, dataset.ErrNotFound
	}
	return uint64(binary.BigEndian.Uint32(b[namePrefix:])), readErr
}
