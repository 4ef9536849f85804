package storage

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/storage/dataset"
)

func TestEverySlotOfADatasetIsDownloadedAndCanBeProven(t *testing.T) {
	d := prepared(t, 8, dataset.Params{K: 3, M: 2})
	r := openRepo(t, t.TempDir(), Config{})
	f := fetcherFor(t, r, FetcherConfig{}, serveObjects(t, d))
	for index := range uint64(5) {
		job := jobFor(d, index)
		content := mustDownload(t, f, job)
		want := 3 * events.BlockSize
		if index == 2 { // One of its blocks is the empty block.
			want = 2 * events.BlockSize
		}
		root := d.Manifest().Erasure.Verification.SlotRoots[index].Root()
		if content.Bytes != want || content.Root != root {
			t.Fatalf("slot %d: %+v, want %d bytes and root %s", index, content, want, root)
		}
		if err := checkSlot(r, d, job); err != nil {
			t.Fatalf("slot %d: %v", index, err)
		}
	}
	stored, err := r.Stored(t.Context())
	if err != nil || len(stored) != 5 {
		t.Fatalf("%d slots stored (%v)", len(stored), err)
	}
	for i, s := range stored {
		if !s.Complete || !s.Until.Equal(someday) {
			t.Fatalf("slot %d: %+v", i, s)
		}
	}
	if stored[2].Data != 2*events.BlockSize || stored[3].Data != 3*events.BlockSize {
		t.Fatalf("slots occupy %d and %d bytes", stored[2].Data, stored[3].Data)
	}
}

func TestGrantIsAskedForEachBatchBeforeItIsWritten(t *testing.T) {
	d := prepared(t, 12, dataset.Params{K: 2, M: 1})
	r := openRepo(t, t.TempDir(), Config{})
	f := fetcherFor(t, r, FetcherConfig{}, serveObjects(t, d))
	job := jobFor(d, 2)
	var asked []events.Bytes
	job.Grant = func(_ context.Context, total events.Bytes) error {
		stored, err := r.Stored(context.Background())
		if err != nil {
			return err
		}
		if stored[0].Data >= total {
			return fmt.Errorf("%d bytes on disk before %d were granted", stored[0].Data, total)
		}
		asked = append(asked, total)
		return nil
	}
	mustDownload(t, f, job)
	want := []events.Bytes{4 * events.BlockSize, 6 * events.BlockSize}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Fatalf("grants differ (-want +got):\n%s", diff)
	}
}

func TestRefusedGrantStopsTheDownloadAndALaterOneContinues(t *testing.T) {
	d := prepared(t, 12, dataset.Params{K: 2, M: 1})
	r := openRepo(t, t.TempDir(), Config{})
	o := serveObjects(t, d)
	f := fetcherFor(t, r, FetcherConfig{}, o)
	job := jobFor(d, 0)
	job.Grant = func(_ context.Context, total events.Bytes) error {
		if total > 4*events.BlockSize {
			return events.ErrQuotaExceeded
		}
		return nil
	}
	_, err := f.Download(t.Context(), job)
	if !errors.Is(err, events.ErrQuotaExceeded) {
		t.Fatalf("error %v, want ErrQuotaExceeded", err)
	}
	stored, _ := r.Stored(t.Context())
	if stored[0].Data != 4*events.BlockSize || stored[0].Complete {
		t.Fatalf("stored %+v, want 4 blocks", stored[0])
	}
	if _, err := r.Reader(job.Slot); !errors.Is(err, ErrIncomplete) {
		t.Fatalf("error %v, want ErrIncomplete", err)
	}
	before := o.requests()
	mustDownload(t, f, jobFor(d, 0))
	// 2 blocks and the list; the manifest is on disk.
	if got := o.requests() - before; got != 3 {
		t.Fatalf("%d requests to continue, want 3", got)
	}
	if err := checkSlot(r, d, job); err != nil {
		t.Fatal(err)
	}
	before = o.requests()
	content := mustDownload(t, f, jobFor(d, 0))
	if o.requests() != before || content.Bytes != 6*events.BlockSize {
		t.Fatalf("a complete slot is asked for again, or is %+v", content)
	}
}

func TestCanceledDownloadEndsWithItsCause(t *testing.T) {
	d := prepared(t, 12, dataset.Params{K: 2, M: 1})
	r := openRepo(t, t.TempDir(), Config{})
	f := fetcherFor(t, r, FetcherConfig{}, serveObjects(t, d))
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("the host stops")
	job := jobFor(d, 0)
	job.Grant = func(context.Context, events.Bytes) error { cancel(stop); return nil }
	if _, err := f.Download(ctx, job); !errors.Is(err, stop) {
		t.Fatalf("error %v, want %v", err, stop)
	}
	mustDownload(t, f, jobFor(d, 0))
	if err := checkSlot(r, d, job); err != nil {
		t.Fatal(err)
	}
}

func TestManifestThatDoesNotMatchTheRequestIsRefusedBeforeAnyBlock(t *testing.T) {
	d := prepared(t, 8, dataset.Params{K: 3, M: 2})
	plain, err := dataset.Manifest{Tree: d.Manifest().Tree, Size: 1}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	garbage := []byte("not a manifest")
	named := func(c dataset.CID) func(*events.DownloadJob) {
		return func(j *events.DownloadJob) { j.Request.Content.CID = string(c.Bytes()) }
	}
	extra := objects{
		dataset.ManifestCID(plain): plain, dataset.ManifestCID(garbage): garbage,
	}
	o := serveObjects(t, d, extra)
	for name, spoil := range map[string]func(*events.DownloadJob){
		"another root":      func(j *events.DownloadJob) { j.Request.Content.MerkleRoot[0]++ },
		"more slots":        func(j *events.DownloadJob) { j.Request.Ask.Slots = 6 },
		"fewer slots":       func(j *events.DownloadJob) { j.Request.Ask.Slots = 4 },
		"no slots":          func(j *events.DownloadJob) { j.Request.Ask.Slots = 0 },
		"too many slots":    func(j *events.DownloadJob) { j.Request.Ask.Slots = 257 },
		"larger slots":      func(j *events.DownloadJob) { j.Request.Ask.SlotSize *= 2 },
		"odd slot size":     func(j *events.DownloadJob) { j.Request.Ask.SlotSize = 3 << 16 },
		"slot size zero":    func(j *events.DownloadJob) { j.Request.Ask.SlotSize = 0 },
		"index too large":   func(j *events.DownloadJob) { j.Index = 5 },
		"name of a tree":    named(d.Manifest().Tree),
		"name is garbage":   func(j *events.DownloadJob) { j.Request.Content.CID = "\x00\xff" },
		"plain manifest":    named(dataset.ManifestCID(plain)),
		"no manifest at it": named(dataset.ManifestCID(garbage)),
	} {
		r := openRepo(t, t.TempDir(), Config{})
		f := fetcherFor(t, r, FetcherConfig{}, o)
		job := jobFor(d, 1)
		spoil(&job)
		before := o.requests()
		_, err := f.Download(t.Context(), job)
		mismatch, typed := errors.AsType[*MismatchError](err)
		if !errors.Is(err, events.ErrContentMismatch) || !typed || mismatch.Expected == "" {
			t.Fatalf("%s: error %v, want a MismatchError", name, err)
		}
		if o.requests()-before > 1 {
			t.Fatalf("%s: more than the manifest was fetched", name)
		}
		if stored, _ := r.Stored(t.Context()); len(stored) != 0 {
			t.Fatalf("%s: stored %+v", name, stored)
		}
	}
}

// objects are content in memory.
type objects map[dataset.CID][]byte

func (o objects) Object(c dataset.CID) ([]byte, error) {
	if data, ok := o[c]; ok {
		return data, nil
	}
	return nil, dataset.ErrNotFound
}

func TestManifestThatLiesAboutASlotRootIsFoundOut(t *testing.T) {
	d := prepared(t, 8, dataset.Params{K: 3, M: 2})
	m := d.Manifest()
	e, v := *m.Erasure, *m.Erasure.Verification
	v.SlotRoots = append([]dataset.CID{v.SlotRoots[1]}, v.SlotRoots[1:]...)
	m.Erasure, e.Verification = &e, &v
	tree, err := m.SlotTree()
	if err != nil {
		t.Fatal(err)
	}
	v.VerifyRoot = dataset.ProvingRootCID(tree.Root())
	block, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	job := jobFor(d, 0)
	job.Request.Content = events.Content{
		CID: string(dataset.ManifestCID(block).Bytes()), MerkleRoot: v.VerifyRoot.Root(),
	}
	r := openRepo(t, t.TempDir(), Config{})
	lie := objects{dataset.ManifestCID(block): block}
	f := fetcherFor(t, r, FetcherConfig{}, serveObjects(t, d, lie))
	_, err = f.Download(t.Context(), job)
	mismatch, ok := errors.AsType[*MismatchError](err)
	if !ok || mismatch.What != "slot root" {
		t.Fatalf("error %v, want a MismatchError about the slot root", err)
	}
	if _, err := r.Reader(job.Slot); !errors.Is(err, ErrIncomplete) {
		t.Fatalf("error %v, want ErrIncomplete", err)
	}
}

func TestTwoDownloadsOfOneSlotFollowEachOther(t *testing.T) {
	d := prepared(t, 8, dataset.Params{K: 3, M: 2})
	r := openRepo(t, t.TempDir(), Config{})
	o := serveObjects(t, d)
	f := fetcherFor(t, r, FetcherConfig{}, o)
	var wait sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		wait.Go(func() { _, errs[i] = f.Download(t.Context(), jobFor(d, 0)) })
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for c, n := range o.asked {
		if c.Codec() == dataset.CodecBlock && n != 1 {
			t.Fatalf("block %s was fetched %d times", c, n)
		}
	}
}

func TestDeletingASlotEndsItsDownload(t *testing.T) {
	d := prepared(t, 8, dataset.Params{K: 3, M: 2})
	r := openRepo(t, t.TempDir(), Config{})
	f := fetcherFor(t, r, FetcherConfig{}, serveObjects(t, d))
	job := jobFor(d, 0)
	job.Grant = func(ctx context.Context, _ events.Bytes) error { return r.Delete(ctx, job.Slot) }
	if _, err := f.Download(t.Context(), job); !errors.Is(err, events.ErrNoSuchSlot) {
		t.Fatalf("error %v, want ErrNoSuchSlot", err)
	}
	if used, err := r.Usage(); err != nil || used != 0 {
		t.Fatalf("%d bytes are left (%v)", used, err)
	}
}

func BenchmarkDownload(b *testing.B) {
	d := prepared(b, 384, dataset.Params{K: 3, M: 2})
	r := openRepo(b, b.TempDir(), Config{})
	f := fetcherFor(b, r, FetcherConfig{}, serveObjects(b, d))
	f.batch = writeBatch
	job := jobFor(d, 1)
	b.SetBytes(int64(d.Layout().Steps) * int64(events.BlockSize))
	b.ReportAllocs()
	for b.Loop() {
		mustDownload(b, f, job)
		if err := r.Delete(b.Context(), job.Slot); err != nil {
			b.Fatal(err)
		}
	}
}
