package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/merkle"
	"github.com/hostnode/hostnode/storage/dataset"
)

// Limits of fetching.
const (
	maxBackoff  = 10 * time.Second
	maxInFlight = 1024 // as many as the network's own nodes use

	// writeBatch is the number of blocks that are hashed and written together, 4 MiB: few enough to
	// lose little in a crash, and enough to make syncing cheap.
	writeBatch = 64
)

// FetcherConfig says where content comes from, and how often and how long to try.
type FetcherConfig struct {
	// Sources are base URLs, such as http://10.0.0.7:8080, whose /ipfs/<cid> serves raw content.
	// Nothing is fetched from anywhere else.
	Sources []string
	// Local is asked first, for content on this machine; nil: there is none. It is no source to Reach.
	Local Objects
	// InFlight is the number of blocks of a download that are requested at the same time; 0: 16.
	InFlight int
	// Attempts is how often each piece of content is requested; 0: 5.
	Attempts int
	// RequestTimeout limits one request; 0: 30 s.
	RequestTimeout time.Duration
	// Backoff is the first pause between attempts, doubled up to 10 s; 0: 250 ms.
	Backoff time.Duration
}

// Fetcher fetches slots into a repo. It is safe for concurrent use.
type Fetcher struct {
	repo    *Repo
	cfg     FetcherConfig
	sources *sources
	batch   int // blocks that are written together
}

// NewFetcher returns a fetcher into repo, or events.ErrMalformed if a source is no URL.
func NewFetcher(repo *Repo, cfg FetcherConfig) (*Fetcher, error) {
	cfg.InFlight = min(cmp.Or(cfg.InFlight, 16), maxInFlight) // 1 MiB in flight.
	cfg.Attempts = cmp.Or(cfg.Attempts, 5)                    // Rounds over all sources.
	cfg.RequestTimeout = cmp.Or(cfg.RequestTimeout, 30*time.Second)
	cfg.Backoff = cmp.Or(cfg.Backoff, 250*time.Millisecond)
	s, err := newSources(cfg)
	if err != nil {
		return nil, err
	}
	return &Fetcher{repo: repo, cfg: cfg, sources: s, batch: writeBatch}, nil
}

// Close closes idle connections. No download may be running.
func (f *Fetcher) Close() { f.sources.client.CloseIdleConnections() }

// Download fetches what is missing of a slot, verifies it, stores it and returns when the slot is
// complete; the lifetime of a complete slot is only extended. A block that no source has is
// computed from K blocks of other slots (repair). Before each batch is written it asks job.Grant.
// Two downloads of one slot run one after the other. Whatever was stored stays and is not fetched
// again.
//
// Errors: events.ErrContentMismatch (a *MismatchError says what), events.ErrQuotaExceeded,
// events.ErrNoSuchSlot when the slot is deleted in the meantime, events.ErrDiskFull and
// events.ErrDiskAway (on this machine), events.ErrContentUnavailable (temporary; also events.ErrNoSource when no
// source could be reached), those of Grant, and the cause of ctx.
func (f *Fetcher) Download(
	ctx context.Context, job events.DownloadJob,
) (_ events.SlotContent, err error) {
	defer func() { err = f.repo.place.Unless(FullDisk(err)) }()
	meta, block, manifest, err := f.agree(ctx, job)
	if err != nil {
		return events.SlotContent{}, fmt.Errorf("download slot %s: %w", job.Slot, err)
	}
	e, leave, err := f.repo.acquire(ctx, meta, block)
	if err != nil {
		return events.SlotContent{}, fmt.Errorf("download slot %s: %w", job.Slot, err)
	}
	defer leave()
	w, err := f.repo.openWriter(e)
	if err != nil {
		return events.SlotContent{}, fmt.Errorf("download slot %s: %w", job.Slot, err)
	}
	defer func() { err = errors.Join(err, w.close()) }()
	if stored, err := f.repo.metaOf(e); err != nil || !stored.Complete {
		if err == nil {
			err = f.complete(ctx, job, w, meta, manifest)
		}
		if err != nil {
			return events.SlotContent{}, fmt.Errorf("download slot %s: %w", job.Slot, err)
		}
	}
	return events.SlotContent{Root: meta.SlotRoot, Bytes: w.occupied}, nil
}

// Inspect fetches the manifest of a slot, or reads it from disk, and compares it with the request.
// It stores nothing and fetches no block. Its errors are those of Download before the first block.
func (f *Fetcher) Inspect(ctx context.Context, job events.DownloadJob) error {
	if _, _, _, err := f.agree(ctx, job); err != nil {
		return fmt.Errorf("inspect slot %s: %w", job.Slot, err)
	}
	return nil
}

// agree fetches the manifest, or reads it from disk, and checks it against the request.
func (f *Fetcher) agree(
	ctx context.Context, job events.DownloadJob,
) (meta slotMeta, block []byte, m dataset.Manifest, err error) {
	name, err := checkRequest(job)
	if err == nil {
		err = f.repo.here()
	}
	if err != nil {
		return slotMeta{}, nil, m, err
	}
	err = events.ErrNoSuchSlot
	if e := f.repo.entry(job.Slot); e != nil {
		m, block, err = f.repo.readManifest(e, name)
	}
	if err != nil {
		if block, err = f.sources.fetch(ctx, name); err != nil {
			return slotMeta{}, nil, m, fmt.Errorf("manifest: %w", err)
		}
		if m, err = dataset.DecodeManifest(block); err != nil {
			return slotMeta{}, nil, m, mismatch("manifest", "a manifest of this network", err)
		}
	}
	meta, err = checkManifest(job, name, m)
	return meta, block, m, err
}

// complete fetches the missing blocks and completes the slot.
func (f *Fetcher) complete(
	ctx context.Context, job events.DownloadJob, w *slotWriter, meta slotMeta, m dataset.Manifest,
) error {
	if len(w.missing) == 0 {
		return w.finish(ctx, nil)
	}
	fill, err := f.filling(ctx, meta, m)
	if err != nil {
		return err
	}
	fill.job, fill.writer = job, w
	if err := fill.run(ctx); err != nil {
		return err
	}
	return w.finish(ctx, fill.digests)
}

// filling fetches the list of a slot's blocks, which is needed to fetch them.
func (f *Fetcher) filling(ctx context.Context, meta slotMeta, m dataset.Manifest) (*filling, error) {
	layout, err := m.Layout()
	if err != nil {
		return nil, err
	}
	first := meta.Blocks * meta.Index
	digests, err := f.sources.digests(ctx, m.Tree, meta.Blocks*meta.Slots, first, first+meta.Blocks)
	if err != nil {
		return nil, fmt.Errorf("list of blocks: %w", err)
	}
	return &filling{
		fetcher: f, digests: digests,
		others: &codewords{sources: f.sources, tree: m.Tree, layout: layout, slot: meta.Index},
	}, nil
}

// filling is one run over the missing blocks of a slot.
type filling struct {
	fetcher *Fetcher
	job     events.DownloadJob
	writer  *slotWriter
	digests [][32]byte
	others  *codewords
	batch   []newBlock
}

// fetched is a block on its way from a worker to the writer.
type fetched struct {
	index uint64
	data  []byte
	err   error
}

// run fetches with several workers and stores with one. When a block cannot be fetched, those that
// have arrived are still stored.
func (f *filling) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	results := make(chan fetched, f.fetcher.cfg.InFlight)
	var fetching sync.WaitGroup
	fetching.Go(func() {
		var workers errgroup.Group
		workers.SetLimit(f.fetcher.cfg.InFlight)
		for _, index := range f.writer.missing {
			if ctx.Err() != nil {
				break
			}
			workers.Go(func() error {
				select {
				case results <- f.fetch(ctx, index):
				case <-ctx.Done():
				}
				return nil
			})
		}
		_ = workers.Wait() // They have told their errors with the results.
	})
	defer fetching.Wait()
	defer cancel()
	return f.collect(ctx, results)
}

func (f *filling) fetch(ctx context.Context, index uint64) fetched {
	c := dataset.BlockCID(f.digests[index])
	if c.Empty() {
		return fetched{index: index}
	}
	data, err := f.fetcher.sources.fetch(ctx, c)
	if errors.Is(err, events.ErrContentUnavailable) {
		data, err = f.others.block(ctx, index, err)
	}
	if err == nil && len(data) != int(events.BlockSize) {
		err = mismatch(fmt.Sprintf("length of block %d of the slot", index), events.BlockSize, len(data))
	}
	if err != nil {
		err = fmt.Errorf("block %d of the slot: %w", index, err)
	}
	return fetched{index: index, data: data, err: err}
}

func (f *filling) collect(ctx context.Context, results <-chan fetched) error {
	for n := range f.writer.missing {
		var r fetched
		select {
		case r = <-results:
		case <-ctx.Done():
			return fmt.Errorf("fetch blocks: %w", context.Cause(ctx))
		}
		if r.err != nil {
			return errors.Join(r.err, f.store(ctx))
		}
		if f.job.Arrived != nil {
			f.job.Arrived(events.Bytes(len(f.writer.missing)-n-1) * events.BlockSize)
		}
		f.batch = append(f.batch, newBlock{index: r.index, data: r.data})
		if len(f.batch) == f.fetcher.batch {
			if err := f.store(ctx); err != nil {
				return err
			}
		}
	}
	return f.store(ctx)
}

// store hashes the batch, asks for a grant, and writes it.
func (f *filling) store(ctx context.Context) error {
	if len(f.batch) == 0 || ctx.Err() != nil {
		return context.Cause(ctx)
	}
	batch := f.batch
	f.batch = nil
	if err := hashBatch(ctx, batch); err != nil {
		return err
	}
	if f.job.Grant != nil {
		if err := f.job.Grant(ctx, f.writer.grow(batch)); err != nil {
			return fmt.Errorf("ask for %d bytes: %w", f.writer.grow(batch), err)
		}
	}
	return f.writer.write(batch)
}

// hashBatch computes the roots; a block of zeros becomes a hole.
func hashBatch(ctx context.Context, batch []newBlock) error {
	var data [][]byte
	for i := range batch {
		batch[i].root = merkle.ZeroBlockRoot()
		if batch[i].data != nil {
			data = append(data, batch[i].data)
		}
	}
	roots, err := merkle.HashBlocks(ctx, data)
	if err != nil {
		return err
	}
	for i := range batch {
		if batch[i].data == nil {
			continue
		}
		batch[i].root, roots = roots[0], roots[1:]
		if batch[i].root == merkle.ZeroBlockRoot() {
			batch[i].data = nil
		}
	}
	return nil
}
