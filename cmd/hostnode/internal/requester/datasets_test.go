package requester_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/requester"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/storage/dataset"
)

func TestAnUploadIsCodedOnceForEachCode(t *testing.T) {
	shelf := requester.Open(filepath.Join(t.TempDir(), "datasets"))
	t.Cleanup(func() { _ = shelf.Close() })
	names := dataset.Options{Filename: "movie.bin", MimeType: "video/mp4"}
	plain, err := shelf.Store(t.Context(), strings.NewReader(strings.Repeat("x", 1<<18)), names)
	if err != nil {
		t.Fatal(err)
	}
	code := func(d *dataset.Dataset, k, m int) *dataset.Dataset {
		t.Helper()
		made, err := shelf.Code(t.Context(), d, dataset.Params{K: k, M: m})
		if err != nil {
			t.Fatal(err)
		}
		if is := made.Manifest(); is.Erasure.K != k || is.Erasure.M != m || is.Filename != "movie.bin" || is.MimeType != "video/mp4" {
			t.Errorf("manifest %+v", is)
		}
		return made
	}
	first, other := code(plain, 2, 1), code(plain, 2, 2)
	if again, back := code(plain, 2, 1), code(other, 2, 1); again != first || back != first || other.CID() == first.CID() {
		t.Errorf("%s, again %s, from the other %s; the other is %s", first.CID(), again.CID(), back.CID(), other.CID())
	}
	coded, err := shelf.All()
	everything, err2 := shelf.Everything()
	if len(coded) != 2 || len(everything) != 3 || errors.Join(err, err2) != nil {
		t.Fatalf("%d coded datasets of %d (%v, %v)", len(coded), len(everything), err, err2)
	}
}

func TestARemovedDatasetIsRememberedWithItsRequestsAndComesBack(t *testing.T) {
	shelf := requester.Open(filepath.Join(t.TempDir(), "datasets"))
	t.Cleanup(func() { _ = shelf.Close() })
	data := bytes.Repeat([]byte("x"), 1<<18)
	plain, err := shelf.Store(t.Context(), bytes.NewReader(data), dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	coded, err := shelf.Code(t.Context(), plain, dataset.Params{K: 2, M: 1})
	if err != nil {
		t.Fatal(err)
	}
	cid, block := coded.CID(), coded.BlockCID(0)
	if err := shelf.Note(coded, requester.Posted{ID: events.RequestID{7}}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []dataset.CID{plain.CID(), cid, cid} { // A second time does nothing.
		if err := shelf.Remove(c); err != nil {
			t.Fatal(err)
		}
	}
	all, err := shelf.Everything()
	if err != nil || len(all) != 1 || !all[0].Gone() {
		t.Fatalf("%d datasets are left (%v)", len(all), err)
	}
	if posted, err := shelf.Requests(all[0]); err != nil || len(posted) != 1 {
		t.Fatalf("its requests are %v (%v)", posted, err)
	}
	if _, err := shelf.Object(block); !errors.Is(err, dataset.ErrNotFound) {
		t.Fatalf("a block of it: %v", err)
	}
	if again, err := shelf.Store(t.Context(), bytes.NewReader(data), dataset.Options{}); err != nil {
		t.Fatal(err)
	} else if coded, err = shelf.Code(t.Context(), again, dataset.Params{K: 2, M: 1}); err != nil {
		t.Fatal(err)
	}
	if back, err := io.ReadAll(coded.Original()); err != nil || !bytes.Equal(back, data) || coded.CID() != cid {
		t.Fatalf("%s with %d bytes comes back (%v), want %s", coded.CID(), len(back), err, cid)
	}
	if posted, err := shelf.Requests(coded); err != nil || len(posted) != 1 {
		t.Fatalf("its requests are now %v (%v)", posted, err)
	}
}

func TestAClientThatNeverBoughtMakesNoAccount(t *testing.T) {
	cfg := config.Default()
	cfg.DataDir = t.TempDir()
	client := requester.NewClient(cfg, "")
	if ids, err := client.Purchases(t.Context()); err != nil || len(ids) != 0 {
		t.Errorf("purchases %v (%v)", ids, err)
	}
	if err := errors.Join(client.CollectAll(t.Context()), client.Close()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(cfg.DataDir, "client")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its directory was made (%v)", err)
	}
}
