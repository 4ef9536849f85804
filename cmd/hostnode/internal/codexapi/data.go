package codexapi

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/requester"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/storage/dataset"
)

// slow lets an upload take as long as it gets on: each read has its own deadline, instead of the server's for the
// whole. The listener does the same for what is written.
type slow struct {
	http.ResponseWriter
	body  io.Reader
	about *http.ResponseController
	began bool // something was written
}

func takesLong(w http.ResponseWriter, r *http.Request) *slow {
	return &slow{ResponseWriter: w, body: r.Body, about: http.NewResponseController(w)}
}

// Read reads the body.
func (s *slow) Read(p []byte) (int, error) {
	_ = s.about.SetReadDeadline(time.Now().Add(patience)) // Without deadlines, as in a test, it waits.
	return s.body.Read(p)
}

// Close implements io.ReadCloser, for http.MaxBytesReader; the server closes the body.
func (s *slow) Close() error { return nil }

// Write implements http.ResponseWriter.
func (s *slow) Write(p []byte) (int, error) {
	s.began = true
	return s.ResponseWriter.Write(p)
}

// namesOf reads what an upload is called. An upload without a type has none.
func namesOf(h http.Header) (o dataset.Options, err error) {
	if o.MimeType = h.Get("Content-Type"); o.MimeType != "" {
		if _, _, err := mime.ParseMediaType(o.MimeType); err != nil || len(o.MimeType) > dataset.MaxNameLength {
			return o, unfit("The MIME type '%.80s' is not valid.", o.MimeType)
		}
	}
	if says := h.Get("Content-Disposition"); says != "" {
		_, params, err := mime.ParseMediaType(says)
		if o.Filename = readable(params["filename"]); err != nil || !isFilename(o.Filename) {
			return o, unfit("The filename is not valid.")
		}
	}
	return o, nil
}

// readable is a value of a header: UTF-8 or, as JavaScript sends it, Latin-1.
func readable(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	runes := make([]rune, len(s))
	for i, b := range []byte(s) {
		runes[i] = rune(b)
	}
	return string(runes)
}

// isFilename: a file may have this name in any directory.
func isFilename(s string) bool {
	const longest = 255 // bytes, in most file systems
	return s != "" && s != "." && s != ".." && len(s) <= longest && !strings.ContainsAny(s, `/\:*?"<>|`) &&
		!strings.ContainsFunc(s, unicode.IsControl)
}

// mayTake is how many bytes the disk and the settings allow, and the refusal of more.
func (a *API) mayTake() (most events.Bytes, more error) {
	most = a.cfg.MaxUpload
	more = refuse(http.StatusRequestEntityTooLarge, "An upload to this host has at most %d bytes", most)
	if a.cfg.Room != nil {
		if room, err := a.cfg.Room(); err == nil && room < most {
			return room, refuse(http.StatusInsufficientStorage, "The disk has room for %d bytes", room)
		}
	}
	return most, more
}

func (a *API) upload(w http.ResponseWriter, r *http.Request) error {
	names, err := namesOf(r.Header)
	if err != nil {
		return err
	}
	most, more := a.mayTake()
	if r.ContentLength > 0 && events.Bytes(r.ContentLength) > most {
		return more
	}
	d, err := a.cfg.Shelf.Store(r.Context(), http.MaxBytesReader(w, takesLong(w, r), int64(most)), names)
	if _, long := errors.AsType[*http.MaxBytesError](err); long {
		return more
	}
	if errors.Is(err, dataset.ErrEmpty) {
		return unfit("There is nothing to store: the body is empty")
	}
	if err != nil {
		return err
	}
	text(w, http.StatusOK, d.CID().String())
	return nil
}

func (a *API) list(w http.ResponseWriter, _ *http.Request) error {
	all, err := a.cfg.Shelf.Everything()
	if err != nil {
		return err
	}
	found := struct {
		Content []item `json:"content"`
	}{[]item{}}
	for _, d := range all {
		if !d.Gone() {
			found.Content = append(found.Content, itemOf(d.CID(), d.Manifest()))
		}
	}
	return answer(w, http.StatusOK, found)
}

// named is the CID in a path.
func named(r *http.Request) (dataset.CID, error) {
	c, err := dataset.ParseCID(r.PathValue("cid"))
	if err != nil {
		return c, refuse(http.StatusBadRequest, "Incorrect Cid")
	}
	return c, nil
}

// local is the dataset in a path; nil: it is not on the shelf.
func (a *API) local(r *http.Request) (dataset.CID, *dataset.Dataset, error) {
	c, err := named(r)
	if err != nil {
		return c, nil, err
	}
	d, err := a.cfg.Shelf.Get(c)
	if errors.Is(err, requester.ErrNotPrepared) || err == nil && d.Gone() {
		return c, nil, nil
	}
	return c, d, err
}

func notHere(c dataset.CID) error {
	return refuse(http.StatusNotFound, "%s is not stored by this host's client", c)
}

func (a *API) download(w http.ResponseWriter, r *http.Request) error {
	c, d, err := a.local(r)
	if err != nil {
		return err
	}
	if d == nil {
		return notHere(c)
	}
	describe(w.Header(), d.CID(), d.Manifest())
	http.ServeContent(w, r, "", time.Time{}, d.Original())
	return nil
}

// describe sets the headers of original data. A browser must not take it for a page of this host, whatever type its
// uploader chose.
func describe(h http.Header, c dataset.CID, m dataset.Manifest) {
	h.Set("Content-Type", "application/octet-stream")
	if m.MimeType != "" {
		h.Set("Content-Type", m.MimeType)
	}
	params := map[string]string{}
	if m.Filename != "" {
		params["filename"] = m.Filename
	}
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", params))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "sandbox")
	h.Set("ETag", `"`+c.String()+`"`)
}

func (a *API) remove(w http.ResponseWriter, r *http.Request) error {
	c, err := named(r)
	if err != nil {
		return err
	}
	if err := a.cfg.Shelf.Remove(c); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (a *API) exists(w http.ResponseWriter, r *http.Request) error {
	c, d, err := a.local(r)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, map[string]bool{c.String(): d != nil})
}

// anywhere is the manifest of the dataset in a path, and the dataset unless it is not on the shelf.
func (a *API) anywhere(r *http.Request) (dataset.CID, dataset.Manifest, *dataset.Dataset, error) {
	c, d, err := a.local(r)
	if err != nil {
		return c, dataset.Manifest{}, nil, err
	}
	if d != nil {
		return c, d.Manifest(), d, nil
	}
	m, err := a.cfg.Content.Manifest(r.Context(), c)
	if errors.Is(err, events.ErrContentUnavailable) || errors.Is(err, events.ErrContentMismatch) {
		err = refuse(http.StatusNotFound, "%v", err)
	}
	return c, m, nil, err
}

func (a *API) manifest(w http.ResponseWriter, r *http.Request) error {
	c, m, _, err := a.anywhere(r)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, itemOf(c, m))
}

// stream sends what is not on the shelf as it comes, and keeps nothing.
func (a *API) stream(w http.ResponseWriter, r *http.Request) error {
	c, m, d, err := a.anywhere(r)
	if err != nil {
		return err
	}
	if d != nil {
		return a.download(w, r)
	}
	layout, err := m.Blocks()
	if err != nil {
		return err
	}
	to := takesLong(w, r)
	describe(w.Header(), c, m)
	w.Header().Set("Content-Length", strconv.FormatUint(layout.Size, 10))
	err = a.cfg.Content.CopyOriginal(r.Context(), m, to)
	if err != nil && to.began { // The status is sent: that the answer is cut off says that it is not whole.
		panic(http.ErrAbortHandler)
	}
	if err != nil {
		clear(w.Header())
		return refuse(http.StatusNotFound, "%v", err)
	}
	return nil
}

// fetch has a dataset fetched in the background.
func (a *API) fetch(w http.ResponseWriter, r *http.Request) error {
	c, m, d, err := a.anywhere(r)
	if err != nil {
		return err
	}
	if d == nil {
		if err := a.begin(c, m); err != nil {
			return err
		}
	}
	return answer(w, http.StatusOK, itemOf(c, m))
}

// begin fetches a dataset in the background, unless that goes on already.
func (a *API) begin(c dataset.CID, m dataset.Manifest) error {
	layout, err := m.Blocks()
	if err != nil {
		return err
	}
	if most, more := a.mayTake(); events.Bytes(layout.Size) > most {
		return more
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.fetched[c]:
		return nil
	case len(a.fetched) >= maxDownloads || a.ctx.Err() != nil:
		return refuse(http.StatusServiceUnavailable, "%d datasets are being fetched; try again later", len(a.fetched))
	}
	a.fetched[c] = true
	a.behind.Go(func() {
		err := a.keep(a.ctx, m)
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.fetched, c)
		if log := a.cfg.Log.WithField("cid", c.String()); err != nil {
			log.Warnf("the dataset that the client asked for was not fetched: %v", err)
		} else {
			log.Info("fetched the dataset that the client asked for")
		}
	})
	return nil
}

// keep fetches the original data, and codes it again if it was coded: so the same names come out.
func (a *API) keep(ctx context.Context, m dataset.Manifest) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	from, to := io.Pipe()
	go func() { _ = to.CloseWithError(a.cfg.Content.CopyOriginal(ctx, m, to)) }()
	d, err := a.cfg.Shelf.Store(ctx, from, dataset.Options{Filename: m.Filename, MimeType: m.MimeType})
	_ = from.Close() // So that the copy ends if the shelf takes no more.
	if err == nil && m.Erasure != nil {
		_, err = a.cfg.Shelf.Code(ctx, d, m.Erasure.Params)
	}
	return err
}
