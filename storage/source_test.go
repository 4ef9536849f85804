package storage

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/storage/dataset"
)

func TestListsLongerThanAnAnswerAreFetchedInPieces(t *testing.T) {
	const total = 5000
	var list []byte
	var v dataset.TreeVerifier
	for i := range total {
		leaf := [32]byte{byte(i), byte(i >> 8), 1}
		list = append(list, leaf[:]...)
		v.Add(leaf)
	}
	root, err := v.Root()
	if err != nil {
		t.Fatal(err)
	}
	tree := dataset.TreeCID(root)
	o := serveObjects(t, objects{tree: list})
	f := fetcherFor(t, nil, FetcherConfig{}, o)
	part, err := f.sources.digests(t.Context(), tree, total, 2040, 2060)
	if err != nil || len(part) != 20 {
		t.Fatalf("%d digests (%v)", len(part), err)
	}
	for i, leaf := range part {
		if want := [32]byte(list[32*(2040+i):]); leaf != want {
			t.Fatalf("digest %d is %x, want %x", i, leaf, want)
		}
	}
	if o.requests() != 3 {
		t.Fatalf("%d requests, want 3", o.requests())
	}
	_, err = f.sources.digests(t.Context(), tree, total-1, 0, 1)
	if !errors.Is(err, events.ErrContentMismatch) {
		t.Fatalf("list of another length: error %v, want ErrContentMismatch", err)
	}
}

func TestSourcesThatMisbehave(t *testing.T) {
	d := prepared(t, 4, dataset.Params{K: 2, M: 1})
	honest := serveObjects(t, d)
	elsewhere := serveObjects(t, d)
	type spoiler = func(http.ResponseWriter, *http.Request, dataset.CID) bool
	only := func(codec dataset.Codec, spoil spoiler) spoiler {
		return func(w http.ResponseWriter, r *http.Request, c dataset.CID) bool {
			return c.Codec() == codec && spoil(w, r, c)
		}
	}
	garbage := func(size int) spoiler {
		return func(w http.ResponseWriter, _ *http.Request, _ dataset.CID) bool {
			_, _ = w.Write(make([]byte, size))
			return true
		}
	}
	status := func(code int) spoiler {
		return func(w http.ResponseWriter, _ *http.Request, _ dataset.CID) bool {
			w.WriteHeader(code)
			return true
		}
	}
	redirect := func(w http.ResponseWriter, r *http.Request, _ dataset.CID) bool {
		http.Redirect(w, r, elsewhere.URL+r.URL.String(), http.StatusFound)
		return true
	}
	cut := func(w http.ResponseWriter, _ *http.Request, _ dataset.CID) bool {
		w.Header().Set("Content-Length", "65536")
		_, _ = io.WriteString(w, "short")
		return true
	}
	circles := func(w http.ResponseWriter, r *http.Request, _ dataset.CID) bool {
		http.Redirect(w, r, r.URL.String()+"&again", http.StatusFound)
		return true
	}
	var packed bytes.Buffer // Once: it takes longer than a source may, on a machine that has other work.
	z := gzip.NewWriter(&packed)
	_, _ = z.Write(make([]byte, 100<<20))
	_ = z.Close()
	bomb := func(w http.ResponseWriter, _ *http.Request, _ dataset.CID) bool {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(packed.Bytes())
		return true
	}
	raw := func(text string) spoiler {
		return func(w http.ResponseWriter, _ *http.Request, _ dataset.CID) bool {
			c, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_, _ = io.WriteString(c, text)
				_ = c.Close()
			}
			return true
		}
	}
	for _, test := range []struct {
		name  string
		spoil spoiler
		err   error
	}{
		{"sent around in circles", circles, events.ErrContentUnavailable},
		{"a bomb that unpacks", only(dataset.CodecBlock, bomb), events.ErrContentMismatch},
		{"another protocol", raw("SSH-2.0-OpenSSH_9.2\r\n"), events.ErrContentUnavailable},
		{"nothing but a header", raw("HTTP/1.1 200 OK\r\n"), events.ErrContentUnavailable},
		{
			"a length that no answer has", raw("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nx"),
			events.ErrContentUnavailable,
		},
		{"wrong manifest", only(dataset.CodecManifest, garbage(100)), events.ErrContentMismatch},
		{"wrong list", only(dataset.CodecTree, garbage(6*32)), events.ErrContentMismatch},
		{"short list", only(dataset.CodecTree, garbage(5*32)), events.ErrContentMismatch},
		{"wrong block", only(dataset.CodecBlock, garbage(65536)), events.ErrContentMismatch},
		{"block too long", only(dataset.CodecBlock, garbage(65537)), events.ErrContentMismatch},
		{"endless block", only(dataset.CodecBlock, garbage(10<<20)), events.ErrContentMismatch},
		{"no manifest", only(dataset.CodecManifest, status(404)), events.ErrContentUnavailable},
		{"no block", only(dataset.CodecBlock, status(404)), events.ErrContentUnavailable},
		{"server error", only(dataset.CodecBlock, status(500)), events.ErrContentUnavailable},
		{"too many requests", only(dataset.CodecTree, status(429)), events.ErrContentUnavailable},
		{"sent elsewhere", redirect, events.ErrContentUnavailable},
		{"cut off", only(dataset.CodecBlock, cut), events.ErrContentUnavailable},
	} {
		t.Run(test.name, func(t *testing.T) {
			bad := serveObjects(t, d)
			bad.spoilWith(test.spoil)
			r := openRepo(t, t.TempDir(), Config{})
			alone := fetcherFor(t, r, FetcherConfig{Attempts: 2}, bad)
			before := elsewhere.requests()
			_, err := alone.Download(t.Context(), jobFor(d, 0))
			if !errors.Is(err, test.err) {
				t.Fatalf("error %v, want %v", err, test.err)
			}
			if elsewhere.requests() != before {
				t.Fatal("a redirect to another host was followed")
			}
			both := fetcherFor(t, r, FetcherConfig{Attempts: 2}, bad, honest)
			job := jobFor(d, 0)
			mustDownload(t, both, job)
			if err := checkSlot(r, d, job); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestServerErrorsThatPassAreTriedAgain(t *testing.T) {
	d := prepared(t, 4, dataset.Params{K: 2, M: 1})
	o := serveObjects(t, d)
	var mu sync.Mutex
	failed := map[dataset.CID]int{}
	o.spoilWith(func(w http.ResponseWriter, _ *http.Request, c dataset.CID) bool {
		mu.Lock()
		defer mu.Unlock()
		failed[c]++
		if failed[c] <= 4 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		}
		return false
	})
	r := openRepo(t, t.TempDir(), Config{})
	mustDownload(t, fetcherFor(t, r, FetcherConfig{}, o), jobFor(d, 0))
}

func TestSlowSourceEndsWithTheContext(t *testing.T) {
	d := prepared(t, 4, dataset.Params{K: 2, M: 1})
	o := serveObjects(t, d)
	ctx, cancel := context.WithCancel(t.Context())
	o.spoilWith(func(_ http.ResponseWriter, r *http.Request, c dataset.CID) bool {
		if c.Codec() != dataset.CodecBlock {
			return false
		}
		cancel()
		<-r.Context().Done()
		return true
	})
	r := openRepo(t, t.TempDir(), Config{})
	_, err := fetcherFor(t, r, FetcherConfig{}, o).Download(ctx, jobFor(d, 0))
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want context.Canceled", err)
	}
}

func TestSlowSourceIsGivenUpAfterItsTimeout(t *testing.T) {
	d := prepared(t, 4, dataset.Params{K: 2, M: 1})
	o, honest := serveObjects(t, d), serveObjects(t, d)
	o.spoilWith(func(_ http.ResponseWriter, r *http.Request, _ dataset.CID) bool {
		<-r.Context().Done()
		return true
	})
	r := openRepo(t, t.TempDir(), Config{})
	f := fetcherFor(t, r, FetcherConfig{RequestTimeout: 1_000_000, Attempts: 1}, o)
	if _, err := f.Download(t.Context(), jobFor(d, 0)); !errors.Is(err, events.ErrContentUnavailable) {
		t.Fatalf("error %v, want ErrContentUnavailable", err)
	}
	mustDownload(t, fetcherFor(t, r, FetcherConfig{}, honest), jobFor(d, 0))
}

func TestNoSourcesMeansUnavailableAndBadOnesAreRefused(t *testing.T) {
	d := prepared(t, 4, dataset.Params{K: 2, M: 1})
	r := openRepo(t, t.TempDir(), Config{})
	_, err := fetcherFor(t, r, FetcherConfig{}).Download(t.Context(), jobFor(d, 0))
	if !errors.Is(err, events.ErrContentUnavailable) {
		t.Fatalf("error %v, want ErrContentUnavailable", err)
	}
	for _, source := range []string{"", "example.org", "file:///etc", "http://"} {
		_, err := NewFetcher(r, FetcherConfig{Sources: []string{source}})
		if !errors.Is(err, events.ErrMalformed) {
			t.Fatalf("source %q: error %v, want ErrMalformed", source, err)
		}
	}
}

func TestASourceThatAnswersAtAllIsReached(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler()) // It has nothing.
	defer server.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	reach := func(sources ...string) error {
		f, err := NewFetcher(nil, FetcherConfig{Sources: sources})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		return f.Reach(t.Context())
	}
	secret := strings.Replace(gone.URL, "http://", "http://user:secret@", 1)
	if err := reach(); !errors.Is(err, ErrNoneSet) {
		t.Errorf("none: %v", err)
	}
	if err := reach(secret, server.URL); err != nil {
		t.Errorf("one of two: %v", err)
	}
	err := reach(secret, gone.URL)
	if !errors.Is(err, events.ErrNoSource) || strings.Count(err.Error(), gone.Listener.Addr().String()+": ") < 2 ||
		strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "/ipfs/") {
		t.Errorf("none of two: %v", err)
	}
}
