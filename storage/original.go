package storage

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/storage/dataset"
)

// everywhere is all sources and, before them, the slots that are stored here.
func (f *Fetcher) everywhere() *sources {
	all := *f.sources
	all.cfg.Local = anyOf{f.repo}
	if f.cfg.Local != nil {
		all.cfg.Local = anyOf{f.cfg.Local, f.repo}
	}
	return &all
}

// anyOf has what any of the stores has.
type anyOf []Objects

// Object implements Objects.
func (a anyOf) Object(c dataset.CID) ([]byte, error) { return find(c, a) }

// Manifest fetches the manifest of a dataset. Errors: events.ErrContentUnavailable, events.ErrContentMismatch.
func (f *Fetcher) Manifest(ctx context.Context, c dataset.CID) (dataset.Manifest, error) {
	block, err := f.everywhere().fetch(ctx, c)
	if err != nil {
		return dataset.Manifest{}, fmt.Errorf("manifest: %w", err)
	}
	m, err := dataset.DecodeManifest(block)
	if err != nil {
		return m, mismatch("manifest", "a manifest of this network", err)
	}
	return m, nil
}

// CopyOriginal writes the original data of a dataset to w, block by block, each verified. A block that no source has is
// computed from the other blocks of its codeword, if the dataset has parity. Errors: events.ErrContentUnavailable,
// events.ErrContentMismatch, those of w.
func (f *Fetcher) CopyOriginal(ctx context.Context, m dataset.Manifest, w io.Writer) error {
	layout, err := m.Blocks()
	if err != nil {
		return err
	}
	from := f.everywhere()
	digests, err := from.digests(ctx, m.Tree, layout.Total(), 0, layout.Blocks)
	if err != nil {
		return fmt.Errorf("list of blocks: %w", err)
	}
	others := codewords{sources: from, tree: m.Tree, layout: layout}
	for index, digest := range digests {
		at := uint64(index)
		name := dataset.BlockCID(digest)
		data, err := from.fetch(ctx, name)
		if errors.Is(err, events.ErrContentUnavailable) && m.Erasure != nil {
			others.slot = at / layout.Steps
			data, err = others.block(ctx, at%layout.Steps, err)
		}
		if err == nil && len(data) != dataset.BlockSize {
			err = mismatch(fmt.Sprintf("length of block %d", at), dataset.BlockSize, len(data))
		}
		if err != nil {
			return fmt.Errorf("block %d: %w", at, err)
		}
		if _, err := w.Write(data[:min(dataset.BlockSize, layout.Size-at*dataset.BlockSize)]); err != nil {
			return err
		}
	}
	return nil
}
