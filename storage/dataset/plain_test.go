package dataset_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/storage/dataset"
)

// store stores data as a plain dataset in a new directory.
func store(t testing.TB, data io.Reader, o dataset.Options) (dir string, _ *dataset.Dataset) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "plain")
	d, err := dataset.Store(t.Context(), data, dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return dir, d
}

func TestAPlainDatasetHasTheTreeThatItsCodedOnesComeFrom(t *testing.T) {
	for _, size := range []int{2 * 65536, 3*65536 - 1, 5*65536 + 7} {
		data := random(7, size)
		_, plain := store(t, bytes.NewReader(data), dataset.Options{Filename: "movie.bin", MimeType: "video/mp4"})
		coded := prepare(t, data, dataset.Params{K: 2, M: 1})
		if got, want := plain.Manifest().Tree, coded.Manifest().Erasure.OriginalTree; got != want {
			t.Errorf("%d bytes: tree %s, want %s", size, got, want)
		}
		m := plain.Manifest()
		if m.Size != uint64(size) || m.Erasure != nil || m.Filename != "movie.bin" || m.MimeType != "video/mp4" {
			t.Errorf("%d bytes: manifest %+v", size, m)
		}
		for _, d := range []*dataset.Dataset{plain, coded} {
			if back, err := io.ReadAll(d.Original()); err != nil || !bytes.Equal(back, data) {
				t.Errorf("%d bytes are read back as %d (%v)", size, len(back), err)
			}
		}
		for index := range plain.Layout().Total() {
			if _, err := plain.Object(plain.BlockCID(index)); err != nil {
				t.Errorf("block %d: %v", index, err)
			}
		}
	}
}

func TestAnyPartOfThePlainDataIsRead(t *testing.T) {
	data := random(8, 3*65536+100)
	_, d := store(t, bytes.NewReader(data), dataset.Options{})
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.IntRange(0, len(data)).Draw(t, "at")
		p := make([]byte, rapid.IntRange(1, len(data)+10-at).Draw(t, "length"))
		n, err := d.Original().ReadAt(p, int64(at))
		if want := data[at:min(at+len(p), len(data))]; !bytes.Equal(p[:n], want) {
			t.Fatalf("%d bytes at %d, want %d", n, at, len(want))
		}
		if short := n < len(p); short != errors.Is(err, io.EOF) && (short || err != nil) {
			t.Fatalf("%d of %d bytes: %v", n, len(p), err)
		}
	})
}

func TestStoringThatFailsLeavesNothingBehind(t *testing.T) {
	broken := errors.New("the client is gone")
	for name, c := range map[string]struct {
		source io.Reader
		o      dataset.Options
		want   error
	}{
		"empty":   {source: strings.NewReader(""), want: dataset.ErrEmpty},
		"cut off": {source: io.MultiReader(bytes.NewReader(random(1, 70000)), iotest.ErrReader(broken)), want: broken},
		"cut off by HTTP": {
			source: io.MultiReader(bytes.NewReader(random(1, 70000)), iotest.ErrReader(io.ErrUnexpectedEOF)),
			want:   io.ErrUnexpectedEOF,
		},
		"bad name":   {source: strings.NewReader("x"), o: dataset.Options{Filename: "\xff"}, want: dataset.ErrManifest},
		"long type":  {source: strings.NewReader("x"), o: dataset.Options{MimeType: strings.Repeat("x", 2000)}, want: dataset.ErrManifest},
		"no EOF yet": {source: iotest.TimeoutReader(bytes.NewReader(random(1, 70000))), want: iotest.ErrTimeout},
	} {
		dir := t.TempDir()
		if _, err := dataset.Store(t.Context(), c.source, filepath.Join(dir, "d"), c.o); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%s: %v is left (%v)", name, left, err)
		}
	}
}

func TestADiscardedDatasetKeepsItsNamesAndMayGetItsBlocksBack(t *testing.T) {
	data := random(9, 2*65536)
	dir, first := store(t, bytes.NewReader(data), dataset.Options{})
	again, _ := store(t, bytes.NewReader(data), dataset.Options{})
	if err := dataset.Discard(dir); err != nil {
		t.Fatal(err)
	}
	d, err := dataset.Open(dir)
	if err != nil || !d.Gone() || d.CID() != first.CID() {
		t.Fatalf("%v, %v", d, err)
	}
	if _, err := io.ReadAll(d.Original()); !errors.Is(err, dataset.ErrNotFound) {
		t.Fatalf("error %v, want ErrNotFound", err)
	}
	if err := errors.Join(d.Close(), dataset.Adopt(dir, again)); err != nil {
		t.Fatal(err)
	}
	d, err = dataset.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if back, err := io.ReadAll(d.Original()); err != nil || !bytes.Equal(back, data) {
		t.Fatalf("%d bytes are read back (%v)", len(back), err)
	}
}
