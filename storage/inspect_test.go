package storage

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/storage/dataset"
)

func TestAManifestIsComparedBeforeAnyDataIsAskedFor(t *testing.T) {
	d := prepared(t, 8, dataset.Params{K: 3, M: 2})
	other := prepared(t, 12, dataset.Params{K: 2, M: 1})
	tests := []struct {
		name   string
		change func(*events.DownloadJob)
		says   string // empty: it fits
	}{
		{"the request's own", func(*events.DownloadJob) {}, ""},
		{"another root", func(j *events.DownloadJob) { j.Request.Content.MerkleRoot[0] ^= 1 }, "root of the manifest"},
		{"more slots", func(j *events.DownloadJob) { j.Request.Ask.Slots++ }, "number of slots of the manifest"},
		{"fewer slots", func(j *events.DownloadJob) { j.Request.Ask.Slots-- }, "number of slots of the manifest"},
		{"larger slots", func(j *events.DownloadJob) { j.Request.Ask.SlotSize *= 2 }, "slot size of the manifest"},
		{"smaller slots", func(j *events.DownloadJob) { j.Request.Ask.SlotSize /= 2 }, "slot size of the manifest"},
		{"as many losses as there are parity slots", func(j *events.DownloadJob) { j.Request.Ask.MaxSlotLoss = 2 }, ""},
		{"more losses than parity slots", func(j *events.DownloadJob) { j.Request.Ask.MaxSlotLoss = 3 }, "parity slots"},
		{"a slot that there is not", func(j *events.DownloadJob) { j.Index = j.Request.Ask.Slots }, "slot index"},
		{"the manifest of another dataset", func(j *events.DownloadJob) {
			j.Request.Content.CID = other.Content().CID
		}, "of the manifest"},
		{"a block instead of a manifest", func(j *events.DownloadJob) {
			j.Request.Content.CID = string(dataset.BlockCID([32]byte{1}).Bytes())
		}, "content of the request"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := serveObjects(t, d, other)
			r := openRepo(t, t.TempDir(), Config{})
			f := fetcherFor(t, r, FetcherConfig{}, o)
			job := jobFor(d, 1)
			test.change(&job)
			err := f.Inspect(t.Context(), job)
			if test.says == "" {
				if err != nil {
					t.Fatal(err)
				}
			} else if !errors.Is(err, events.ErrContentMismatch) || !strings.Contains(err.Error(), test.says) {
				t.Fatalf("%v, want a mismatch of %q", err, test.says)
			}
			if n := o.requests(); n > 1 {
				t.Fatalf("%d objects were asked for, want the manifest at most", n)
			}
			if stored, err := r.Stored(t.Context()); err != nil || len(stored) != 0 {
				t.Fatalf("%d slots stored (%v)", len(stored), err)
			}
		})
	}
}

func TestContentThatNobodyHasIsToldFromSourcesThatNobodyReaches(t *testing.T) {
	d := prepared(t, 8, dataset.Params{K: 3, M: 2})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "http://" + l.Addr().String()
	if err := l.Close(); err != nil { // Nobody listens there now.
		t.Fatal(err)
	}
	answering := func(status int) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		t.Cleanup(s.Close)
		return s.URL
	}
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, _ *http.Request) {
		panic(http.ErrAbortHandler) // The connection is cut without an answer.
	}))
	t.Cleanup(silent.Close)
	tests := []struct {
		name        string
		sources     []string
		unreachable bool
	}{
		{"no source at all", nil, true},
		{"a source that does not listen", []string{nobody}, true},
		{"a source that has nothing", []string{answering(http.StatusNotFound)}, false},
		{"a source that looks in vain", []string{answering(http.StatusGatewayTimeout)}, false},
		{"a source that hangs up", []string{silent.URL}, false},
		{"one that does not listen, one that has nothing", []string{nobody, answering(http.StatusNotFound)}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := fetcherFor(t, openRepo(t, t.TempDir(), Config{}), FetcherConfig{Sources: test.sources, Attempts: 2})
			err := f.Inspect(t.Context(), jobFor(d, 0))
			if !errors.Is(err, events.ErrContentUnavailable) || errors.Is(err, events.ErrNoSource) != test.unreachable {
				t.Fatalf("%v; want that no source was reached: %t", err, test.unreachable)
			}
		})
	}
}

func TestEveryBlockThatArrivesIsTold(t *testing.T) {
	d := prepared(t, 12, dataset.Params{K: 2, M: 1})
	o := serveObjects(t, d)
	f := fetcherFor(t, openRepo(t, t.TempDir(), Config{}), FetcherConfig{}, o)
	job := jobFor(d, 0)
	arrived := 0
	job.Arrived = func(missing events.Bytes) {
		if arrived++; missing != events.Bytes(6-arrived)*events.BlockSize {
			t.Errorf("behind block %d of 6 %d bytes are missing", arrived, missing)
		}
	}
	mustDownload(t, f, job)
	if arrived != 6 {
		t.Fatalf("%d blocks were told, the slot has 6", arrived)
	}
	mustDownload(t, f, job)
	if arrived != 6 {
		t.Fatal("a slot that is here arrives again")
	}
}

func TestACancelledDownloadEndsWhileASourceHangs(t *testing.T) {
	d := prepared(t, 8, dataset.Params{K: 3, M: 2})
	o := serveObjects(t, d)
	asked, released := make(chan struct{}, 100), make(chan struct{})
	t.Cleanup(func() { close(released) })
	o.spoilWith(func(_ http.ResponseWriter, _ *http.Request, c dataset.CID) bool {
		if c.Codec() != dataset.CodecBlock {
			return false
		}
		asked <- struct{}{}
		<-released
		return true
	})
	f := fetcherFor(t, openRepo(t, t.TempDir(), Config{}), FetcherConfig{}, o)
	why := errors.New("the request was cancelled")
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := f.Download(ctx, jobFor(d, 0))
		done <- err
	}()
	<-asked
	cancel(why)
	if err := <-done; !errors.Is(err, why) {
		t.Fatalf("the download ended with %v, want %v", err, why)
	}
}

// FuzzManifestsAreComparedWithTheRequest changes bytes of a manifest: whatever
// fits the request still has its root, slots and slot size.
func FuzzManifestsAreComparedWithTheRequest(f *testing.F) {
	d := prepared(f, 8, dataset.Params{K: 3, M: 2})
	job := jobFor(d, 1)
	block, err := d.Manifest().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(block)
	f.Add(block[:len(block)/2])
	f.Add([]byte{})
	for i := 0; i < len(block); i += 7 {
		changed := append([]byte(nil), block...)
		changed[i] ^= 0x11
		f.Add(changed)
	}
	f.Fuzz(func(t *testing.T, block []byte) {
		m, err := dataset.DecodeManifest(block)
		if err != nil {
			return
		}
		meta, err := checkManifest(job, dataset.CID{}, m)
		if err != nil {
			if !errors.Is(err, events.ErrContentMismatch) && !errors.Is(err, dataset.ErrManifest) {
				t.Fatalf("another error than a mismatch: %v", err)
			}
			return
		}
		l, err := m.Layout()
		if err != nil || meta.DataSetRoot != job.Request.Content.MerkleRoot ||
			m.Erasure.Verification.VerifyRoot.Root() != meta.DataSetRoot ||
			uint64(l.Slots()) != job.Request.Ask.Slots || l.SlotSize() != job.Request.Ask.SlotSize ||
			m.Erasure.Verification.SlotRoots[job.Index].Root() != meta.SlotRoot ||
			l.CodedSize() != m.Size {
			t.Fatalf("it fits, and is something else: %+v (%v)", m, err)
		}
	})
}
