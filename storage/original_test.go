package storage

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"testing"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/storage/dataset"
)

// plain stores data as a plain dataset.
func plain(t *testing.T, data []byte) *dataset.Dataset {
	t.Helper()
	d, err := dataset.Store(t.Context(), bytes.NewReader(data), filepath.Join(t.TempDir(), "plain"), dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// onlyNames has what a dataset serves, without its blocks.
type onlyNames struct{ *dataset.Dataset }

func (o onlyNames) Object(c dataset.CID) ([]byte, error) {
	if c.Codec() == dataset.CodecBlock {
		return nil, dataset.ErrNotFound
	}
	return o.Dataset.Object(c)
}

func TestTheOriginalDataIsReadFromWhatIsLeft(t *testing.T) {
	data := randomBytes(5, 8*65536-100)
	coded, whole := preparedFrom(t, data, dataset.Params{K: 3, M: 2}), plain(t, data)
	for name, c := range map[string]struct {
		of    *dataset.Dataset
		local Objects
		lost  []int // slots that the source does not have
		slots []uint64
		want  error
	}{
		"plain, from a source":            {of: whole},
		"plain, from this machine":        {of: whole, local: whole, lost: []int{0}},
		"coded, from a source":            {of: coded},
		"coded, with two slots lost":      {of: coded, lost: []int{0, 2}},
		"coded, with three slots lost":    {of: coded, lost: []int{0, 2, 4}, want: events.ErrContentUnavailable},
		"coded, from the slots held here": {of: coded, local: onlyNames{coded}, lost: []int{1, 3, 4}, slots: []uint64{1, 3, 4}},
	} {
		t.Run(name, func(t *testing.T) {
			o := serveObjects(t, c.of)
			r := openRepo(t, t.TempDir(), Config{})
			f := fetcherFor(t, r, FetcherConfig{Local: c.local}, o)
			for _, slot := range c.slots {
				mustDownload(t, f, jobFor(c.of, slot))
			}
			o.spoilWith(losing(c.of, c.lost...))
			m, err := f.Manifest(t.Context(), c.of.CID())
			if err != nil || m.Tree != c.of.Manifest().Tree {
				t.Fatalf("manifest %+v (%v)", m, err)
			}
			var back bytes.Buffer
			err = f.CopyOriginal(t.Context(), m, &back)
			if !errors.Is(err, c.want) || c.want == nil && !bytes.Equal(back.Bytes(), data) {
				t.Fatalf("%d bytes of %d are read back: %v, want %v", back.Len(), len(data), err, c.want)
			}
		})
	}
}

func TestASlotIsFetchedFromThisMachineWithoutAnySource(t *testing.T) {
	d := prepared(t, 8, dataset.Params{K: 3, M: 2})
	r := openRepo(t, t.TempDir(), Config{})
	f := fetcherFor(t, r, FetcherConfig{Local: d})
	job := jobFor(d, 1)
	mustDownload(t, f, job)
	if err := checkSlot(r, d, job); err != nil {
		t.Fatal(err)
	}
	if err := f.Reach(t.Context()); !errors.Is(err, ErrNoneSet) {
		t.Fatalf("what is on this machine passes for a source: %v", err)
	}
}

func TestAWriterThatFailsEndsTheCopy(t *testing.T) {
	d := plain(t, randomBytes(6, 3*65536))
	f := fetcherFor(t, openRepo(t, t.TempDir(), Config{}), FetcherConfig{Local: d})
	gone := errors.New("the reader is gone")
	r, w := io.Pipe()
	_ = r.CloseWithError(gone)
	if err := f.CopyOriginal(t.Context(), d.Manifest(), w); !errors.Is(err, gone) {
		t.Fatalf("error %v", err)
	}
}
