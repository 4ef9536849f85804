package sources

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/internal/publicnet"
)

// locate is where a source is: a URL of scheme http, https or file.
func (s *Sources) locate(from events.ContentSource) (*url.URL, error) {
	for _, part := range []string{from.Key, from.BucketURL, from.BucketName, from.BucketRegion} {
		if len(part) > maxName || !utf8.ValidString(part) || strings.ContainsFunc(part, unicode.IsControl) {
			return nil, fmt.Errorf("source %.*q: want at most %d bytes of text in each part: %w",
				maxShown, part, maxName, events.ErrMalformed)
		}
	}
	text := cmp.Or(from.BucketURL, from.Key)
	u, err := url.Parse(text)
	if strings.HasPrefix(text, "/") { // A path is not escaped.
		u, err = &url.URL{Scheme: "file", Path: text}, nil
	}
	if err != nil || from.Key == "" || u.Fragment != "" {
		return nil, fmt.Errorf("source: want a key, and a URL without #: %w", events.ErrMalformed)
	}
	if from.BucketURL != "" {
		for segment := range strings.SplitSeq(from.Key, "/") {
			if segment == "." || segment == ".." {
				return nil, fmt.Errorf("source: a key has no . and .. between slashes: %w", events.ErrMalformed)
			}
		}
		// Some stores read + as a space.
		key := strings.NewReplacer("%2F", "/", "+", "%2B").Replace(url.PathEscape(from.Key))
		u.RawPath = strings.TrimSuffix(u.EscapedPath(), "/") + "/" + key
		u.Path = strings.TrimSuffix(u.Path, "/") + "/" + from.Key
	}
	if err := s.check(u); err != nil {
		return nil, fmt.Errorf("source %s: %w", shown(u), err)
	}
	return u, nil
}

// check refuses a URL that cannot be read.
func (s *Sources) check(u *url.URL) error {
	if u.User != nil {
		return fmt.Errorf("want a URL without user and password, which would be recorded: %w", events.ErrMalformed)
	}
	if u.Scheme == "file" {
		if u.Host != "" && u.Host != "localhost" || !filepath.IsAbs(u.Path) || u.RawQuery != "" {
			return fmt.Errorf("want file:///PATH: %w", events.ErrMalformed)
		} else if root, _ := s.below(u.Path); root == "" {
			return fmt.Errorf("it is below none of aggregation.sources.roots: %w", events.ErrForbiddenSource)
		}
		return nil
	}
	if err := checkScheme(u.Scheme); err != nil {
		return err
	} else if u.Hostname() == "" {
		return fmt.Errorf("want a URL with a host: %w", events.ErrMalformed)
	}
	if a, err := netip.ParseAddr(u.Hostname()); err == nil && !s.cfg.AllowPrivate && !publicnet.Public(a) {
		return errPrivate
	}
	return nil
}

var errPrivate = fmt.Errorf("the address is private, and aggregation.sources.private is off: %w",
	events.ErrForbiddenSource)

// checkScheme refuses a scheme that is not that of HTTP.
func checkScheme(scheme string) error {
	if scheme != "http" && scheme != "https" {
		return fmt.Errorf("want http:, https: or file:, not %.*q: %w", maxShown, scheme, events.ErrForbiddenSource)
	}
	return nil
}

// below is the root that a path is below, and its name there.
func (s *Sources) below(path string) (root, name string) {
	for _, root := range s.cfg.Roots {
		if name, err := filepath.Rel(root, path); err == nil && filepath.IsLocal(name) {
			return root, name
		}
	}
	return "", ""
}

// shown is a URL without what may be a secret.
func shown(u *url.URL) string {
	return fmt.Sprintf("%.*s", maxShown, (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String())
}

// openFile opens a regular file. Opening anything else may wait, or do something.
func (r *stream) openFile(path string) error {
	dir, name := r.s.below(path)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	info, err := root.Stat(name)
	if err == nil && info.Mode().IsRegular() {
		var file *os.File
		// It may have been replaced just now; then opening it does not wait.
		if file, err = root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0); err == nil {
			r.body = file
			info, err = file.Stat()
		}
	}
	if _, away := errors.AsType[syscall.Errno](err); err != nil && !away {
		return fmt.Errorf("it leads out of aggregation.sources.roots: %w", events.ErrForbiddenSource)
	} else if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("it is no regular file: %w", events.ErrForbiddenSource)
	}
	file, size := r.body.(*os.File), uint64(info.Size())
	if size > r.s.cfg.MaxBytes {
		return r.tooLarge()
	} else if r.at > 0 && r.at >= size {
		return fmt.Errorf("it has %d bytes, and is to be read from byte %d on", size, r.at)
	}
	_, err = file.Seek(int64(r.at), io.SeekStart)
	return err
}

// ask sends a request, and goes to where the bytes begin.
func (r *stream) ask(at *url.URL) error {
	request, err := http.NewRequestWithContext(r.ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept-Encoding", "identity")
	if r.at > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", r.at))
	}
	response, err := r.s.client.Do(request) //nolint:bodyclose // Close of the stream closes it.
	if err != nil {
		if named, ok := errors.AsType[*url.Error](err); ok {
			err = named.Err // Without the URL, in which there may be a secret.
		}
		return err
	}
	r.body = response.Body
	skip, err := begins(response, r.at)
	if err != nil {
		return err
	}
	if r.at -= skip; response.ContentLength > 0 && r.at+uint64(response.ContentLength) > r.s.cfg.MaxBytes {
		return r.tooLarge()
	}
	if n, err := io.CopyN(io.Discard, r, int64(skip)); err != nil {
		return fmt.Errorf("it ends after %d bytes, and is to be read from byte %d on: %w", n, skip, err)
	}
	return nil
}

// begins is how many bytes of an answer come before the one that was asked for.
func begins(response *http.Response, offset uint64) (skip uint64, err error) {
	encoding := response.Header.Values("Content-Encoding")
	switch {
	case slices.ContainsFunc(encoding, func(e string) bool { return !strings.EqualFold(e, "identity") }):
		return 0, fmt.Errorf("it answers with Content-Encoding %.*q", maxShown, encoding)
	case response.StatusCode == http.StatusOK:
		return offset, nil
	case response.StatusCode != http.StatusPartialContent || offset == 0:
		return 0, fmt.Errorf("it answers with status %d, %s", response.StatusCode, http.StatusText(response.StatusCode))
	}
	var first, last, size uint64
	part := response.Header.Get("Content-Range")
	if n, _ := fmt.Sscanf(part, "bytes %d-%d/%d", &first, &last, &size); n != 3 || first != offset || last+1 != size {
		return 0, fmt.Errorf("it was asked from byte %d on, and answers with range %.*q", offset, maxShown, part)
	}
	return 0, nil
}
