package storage

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/hostnode/hostnode/storage/dataset"
)

// MaxResponse is the longest answer of a content source, in bytes: a block.
const MaxResponse = dataset.BlockSize

// contentType is the media type of raw blocks.
const contentType = "application/vnd.ipld.raw"

// Objects has content by name: a *Repo, or a *dataset.Dataset. Object returns dataset.ErrNotFound
// for what it does not have, and is safe for concurrent use; nobody changes the returned bytes.
type Objects interface {
	Object(c dataset.CID) ([]byte, error)
}

// NewHandler serves GET and HEAD /ipfs/<cid>?format=raw from the first store that has the content.
// The list of a dataset's block digests (the object of its tree) exceeds an answer when there are
// more than 2,048 blocks; it is then requested in pieces with "Range: bytes=first-last".
//
// Answers: 200, 206, 304; 400 for an invalid name or another format, 404, 405, 416 for a range that
// is missing, too long or out of bounds, 500 when the disk fails.
func NewHandler(stores ...Objects) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ipfs/{cid}", func(w http.ResponseWriter, r *http.Request) {
		serve(w, r, stores)
	})
	return mux
}

func serve(w http.ResponseWriter, r *http.Request, stores []Objects) {
	c, err := dataset.ParseCID(r.PathValue("cid"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if format := r.URL.Query().Get("format"); format != "" && format != "raw" {
		http.Error(w, "only format=raw is served", http.StatusBadRequest)
		return
	}
	data, err := find(c, stores)
	switch {
	case errors.Is(err, dataset.ErrNotFound):
		http.Error(w, fmt.Sprintf("%s is not stored here", c), http.StatusNotFound)
		return
	case err != nil:
		http.Error(w, "the content cannot be read now", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("ETag", `"`+c.String()+`"`)
	h.Set("Cache-Control", "public, max-age=29030400, immutable")
	h.Set("X-Content-Type-Options", "nosniff")
	if len(data) > MaxResponse {
		servePiece(w, r, data)
		return
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}

// find asks the stores in turn; one that fails does not hide the others.
func find(c dataset.CID, stores []Objects) ([]byte, error) {
	failed := dataset.ErrNotFound
	for _, s := range stores {
		data, err := s.Object(c)
		if err == nil {
			return data, nil
		}
		if !errors.Is(err, dataset.ErrNotFound) {
			failed = err
		}
	}
	return nil, failed
}

// servePiece answers with one range of content that is longer than an answer.
func servePiece(w http.ResponseWriter, r *http.Request, data []byte) {
	first, last, ok := parseRange(r.Header.Get("Range"), len(data))
	if !ok || last-first >= MaxResponse {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes */%d", len(data)))
		http.Error(w, fmt.Sprintf("the object has %d bytes; ask for at most %d at a time "+
			"with Range: bytes=first-last", len(data), MaxResponse),
			http.StatusRequestedRangeNotSatisfiable)
		return
	}
	piece := data[first : last+1]
	w.Header().Set("Accept-Ranges", "bytes")
	w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first, last, len(data)))
	w.Header().Set("Content-Length", strconv.Itoa(len(piece)))
	w.WriteHeader(http.StatusPartialContent)
	if r.Method != http.MethodHead {
		_, _ = w.Write(piece) // The client has gone; there is nobody to tell.
	}
}

// parseRange reads "bytes=first-last" with both ends; last is cut to the size.
func parseRange(header string, size int) (first, last int, ok bool) {
	spec, found := strings.CutPrefix(header, "bytes=")
	from, to, split := strings.Cut(spec, "-")
	if !found || !split {
		return 0, 0, false
	}
	a, errA := strconv.ParseUint(from, 10, 62)
	b, errB := strconv.ParseUint(to, 10, 62)
	if errA != nil || errB != nil || a > b || a >= uint64(size) {
		return 0, 0, false
	}
	return int(a), int(min(b, uint64(size)-1)), true
}
