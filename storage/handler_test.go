package storage

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/storage/dataset"
)

func ask(h http.Handler, method, path string, header ...string) *http.Response {
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func TestStoredSlotsServeTheirManifestAndBlocks(t *testing.T) {
	d := prepared(t, 8, dataset.Params{K: 3, M: 2})
	r := openRepo(t, t.TempDir(), Config{})
	f := fetcherFor(t, r, FetcherConfig{}, serveObjects(t, d))
	for index := range uint64(2) {
		mustDownload(t, f, jobFor(d, index))
	}
	h := NewHandler(r)
	for i := range uint64(15) {
		c := d.BlockCID(i)
		response := ask(h, "GET", "/ipfs/"+c.String()+"?format=raw")
		body, _ := io.ReadAll(response.Body)
		want := http.StatusOK
		if i >= 6 && !c.Empty() {
			want = http.StatusNotFound
		}
		if response.StatusCode != want || want == http.StatusOK && !c.Verify(body) {
			t.Fatalf("block %d: %s with %d bytes, want %d", i, response.Status, len(body), want)
		}
	}
	response := ask(h, "GET", "/ipfs/"+d.CID().String())
	body, _ := io.ReadAll(response.Body)
	if !d.CID().Verify(body) {
		t.Fatalf("the manifest is not served: %s", response.Status)
	}
	// A second host fetches the slot's blocks from the first, the list from the client.
	list := objects{}
	var err error
	if list[d.Manifest().Tree], err = d.Object(d.Manifest().Tree); err != nil {
		t.Fatal(err)
	}
	second := openRepo(t, t.TempDir(), Config{})
	job := jobFor(d, 1)
	mustDownload(t, fetcherFor(t, second, FetcherConfig{}, serveObjects(t, r, list)), job)
	if err := checkSlot(second, d, job); err != nil {
		t.Fatal(err)
	}
}

func TestAnswersFollowTheContract(t *testing.T) {
	d := prepared(t, 4, dataset.Params{K: 2, M: 1})
	long := dataset.TreeCID([32]byte{1})
	list := "/ipfs/" + long.String()
	etag := `"` + d.BlockCID(0).String() + `"`
	data := randomBytes(1, 3*MaxResponse/2)
	h := NewHandler(objects{}, d, objects{long: data})
	block := "/ipfs/" + d.BlockCID(0).String()
	missing := dataset.BlockCID([32]byte{1}).String()
	for _, test := range []struct {
		name, method, path string
		header             []string
		status, length     int
	}{
		{"block", "GET", block + "?format=raw", nil, 200, 65536},
		{"block without format", "GET", block, nil, 200, 65536},
		{"head", "HEAD", block + "?format=raw", nil, 200, 0},
		{"unchanged", "GET", block, []string{"If-None-Match", etag}, 304, 0},
		{"part of a block", "GET", block, []string{"Range", "bytes=1-10"}, 206, 10},
		{"empty block", "GET", "/ipfs/" + dataset.EmptyBlock().String(), nil, 200, 0},
		{"missing", "GET", "/ipfs/" + missing, nil, 404, -1},
		{"no name", "GET", "/ipfs/hello", nil, 400, -1},
		{"another format", "GET", block + "?format=car", nil, 400, -1},
		{"another method", "POST", block, nil, 405, -1},
		{"another path", "GET", "/ipns/x", nil, 404, -1},
		{"short list", "GET", "/ipfs/" + d.Manifest().Tree.String(), nil, 200, 6 * 32},
		{"long list whole", "GET", list, nil, 416, -1},
		{"first piece", "GET", list, []string{"Range", "bytes=0-65535"}, 206, 65536},
		{"last piece", "GET", list, []string{"Range", "bytes=65536-131071"}, 206, 32768},
		{"piece too long", "GET", list, []string{"Range", "bytes=0-65536"}, 416, -1},
		{"piece outside", "GET", list, []string{"Range", "bytes=98304-98305"}, 416, -1},
		{"two pieces", "GET", list, []string{"Range", "bytes=0-1,3-4"}, 416, -1},
		{"open end", "GET", list, []string{"Range", "bytes=5-"}, 416, -1},
		{"backwards", "GET", list, []string{"Range", "bytes=5-4"}, 416, -1},
		{"head of a piece", "HEAD", list, []string{"Range", "bytes=0-9"}, 206, 0},
	} {
		response := ask(h, test.method, test.path, test.header...)
		body, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != test.status {
			t.Fatalf("%s: %s (%v), want %d", test.name, response.Status, err, test.status)
		}
		if test.length >= 0 && len(body) != test.length {
			t.Fatalf("%s: %d bytes, want %d", test.name, len(body), test.length)
		}
		if test.status == 200 && (response.Header.Get("Content-Type") != contentType ||
			response.Header.Get("ETag") == "") {
			t.Fatalf("%s: header %v", test.name, response.Header)
		}
	}
	response := ask(h, "GET", list, "Range", "bytes=65536-131071")
	body, _ := io.ReadAll(response.Body)
	if !bytes.Equal(body, data[65536:]) ||
		response.Header.Get("Content-Range") != "bytes 65536-98303/98304" {
		t.Fatalf("last piece differs, range %q", response.Header.Get("Content-Range"))
	}
}

// broken fails as a disk does.
type broken struct{}

func (broken) Object(dataset.CID) ([]byte, error) { return nil, errors.New("disk is gone") }

func TestBrokenStoreIsAServerErrorAndDoesNotHideTheOthers(t *testing.T) {
	c := dataset.EmptyBlock()
	if got := ask(NewHandler(broken{}), "GET", "/ipfs/"+c.String()).StatusCode; got != 500 {
		t.Fatalf("status %d, want 500", got)
	}
	both := NewHandler(broken{}, objects{c: nil})
	if got := ask(both, "GET", "/ipfs/"+c.String()).StatusCode; got != 200 {
		t.Fatalf("status %d, want 200", got)
	}
}

func TestDamagedBlocksAreNotServed(t *testing.T) {
	d := prepared(t, 4, dataset.Params{K: 2, M: 1})
	r := openRepo(t, t.TempDir(), Config{})
	job := jobFor(d, 0)
	mustDownload(t, fetcherFor(t, r, FetcherConfig{}, serveObjects(t, d)), job)
	damage(t, r.entry(job.Slot).dir+"/"+blocksFile, flipAt(int(events.BlockSize)+1))
	if got := ask(NewHandler(r), "GET", "/ipfs/"+d.BlockCID(1).String()).StatusCode; got != 500 {
		t.Fatalf("status %d, want 500", got)
	}
}
