package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/merkle"
	"github.com/hostnode/hostnode/storage/dataset"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// openOn opens a repo on a disk of the tests.
func openOn(d disk, dir string, cfg Config) (*Repo, error) {
	r := newRepo(d, dir, cfg)
	return r, r.here()
}

// datasets are the prepared datasets by their number of blocks: hashing them takes longer than all
// tests.
var datasets sync.Map

var someday = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

func randomBytes(seed byte, size int) []byte {
	data := make([]byte, size)
	source := rand.NewChaCha8([32]byte{seed})
	_, _ = source.Read(data)
	return data
}

func prepared(t testing.TB, blocks int, p dataset.Params) *dataset.Dataset {
	t.Helper()
	type key struct {
		blocks int
		params dataset.Params
	}
	if d, ok := datasets.Load(key{blocks, p}); ok {
		return d.(*dataset.Dataset)
	}
	d := preparedFrom(t, randomBytes(byte(blocks), blocks*int(events.BlockSize)), p)
	datasets.Store(key{blocks, p}, d)
	return d
}

func preparedFrom(t testing.TB, data []byte, p dataset.Params) *dataset.Dataset {
	t.Helper()
	dir, err := os.MkdirTemp("", "hostnode-dataset-")
	if err != nil {
		t.Fatal(err)
	}
	d, err := dataset.Prepare(context.Background(), bytes.NewReader(data), int64(len(data)),
		filepath.Join(dir, "dataset"), p, dataset.Options{})
	// Files that are open stay readable without their names.
	if err := errors.Join(err, os.RemoveAll(dir)); err != nil {
		t.Fatal(err)
	}
	return d
}

// jobFor is the download of a slot as the dataset's request would have it.
func jobFor(d *dataset.Dataset, index uint64) events.DownloadJob {
	l := d.Layout()
	request := events.Request{
		ID: events.RequestID{7}, Content: d.Content(),
		Ask: events.Ask{Slots: uint64(l.Slots()), SlotSize: l.SlotSize()},
	}
	return events.DownloadJob{
		Request: request, Slot: events.SlotID{9, byte(index)}, Index: index, Until: someday,
		Grant: func(context.Context, events.Bytes) error { return nil },
	}
}

// origin is a content server whose answers a test can change.
type origin struct {
	*httptest.Server
	mu    sync.Mutex
	asked map[dataset.CID]int
	spoil func(w http.ResponseWriter, r *http.Request, c dataset.CID) bool
}

func serveObjects(t testing.TB, stores ...Objects) *origin {
	t.Helper()
	o := &origin{asked: map[dataset.CID]int{}}
	handler := NewHandler(stores...)
	o.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, _ := dataset.ParseCID(filepath.Base(r.URL.Path))
		o.mu.Lock()
		o.asked[c]++
		spoil := o.spoil
		o.mu.Unlock()
		if spoil == nil || !spoil(w, r, c) {
			handler.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(o.Close)
	return o
}

func (o *origin) spoilWith(spoil func(http.ResponseWriter, *http.Request, dataset.CID) bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.spoil = spoil
}

func (o *origin) requests() (count int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, n := range o.asked {
		count += n
	}
	return count
}

func openRepo(t testing.TB, dir string, cfg Config) *Repo {
	t.Helper()
	r, err := Open(dir, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func fetcherFor(t testing.TB, r *Repo, cfg FetcherConfig, sources ...*origin) *Fetcher {
	t.Helper()
	cfg.Backoff = time.Microsecond
	for _, o := range sources {
		cfg.Sources = append(cfg.Sources, o.URL)
	}
	f, err := NewFetcher(r, cfg)
	if err != nil {
		t.Fatal(err)
	}
	f.batch = 4
	t.Cleanup(f.Close)
	return f
}

func mustDownload(t testing.TB, f *Fetcher, job events.DownloadJob) events.SlotContent {
	t.Helper()
	content, err := f.Download(context.Background(), job)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// checkSlot checks that a slot is complete, has the right bytes, and that all its paths verify.
func checkSlot(r *Repo, d *dataset.Dataset, job events.DownloadJob) error {
	s, err := r.Reader(job.Slot)
	if err != nil {
		return err
	}
	ctx := context.Background()
	got, want := make([]byte, events.BlockSize), make([]byte, events.BlockSize)
	for i := range s.Cells() / 32 {
		if err := s.ReadBlock(ctx, i, got); err != nil {
			return err
		}
		clear(want)
		if i < s.Blocks() {
			if err := d.ReadBlock(d.Layout().Block(int(job.Index), i), want); err != nil {
				return err
			}
		}
		if !bytes.Equal(got, want) {
			return fmt.Errorf("block %d differs", i)
		}
		if _, _, err := s.BlockPath(ctx, i); err != nil {
			return err
		}
	}
	if len(s.SlotProof()) == 0 {
		return errors.New("no slot proof")
	}
	return nil
}

// Cells is the number of cells that proofs sample from, padding included.
func (s *SlotReader) Cells() uint64 {
	return paddedBlocks(s.meta.Blocks) * merkle.CellsPerBlock
}
