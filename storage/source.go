package storage

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/internal/retry"
	"github.com/hostnode/hostnode/storage/dataset"
)

// maxRedirects is how many redirects we follow, within the same source.
const maxRedirects = 3

// Errors of one request to one source.
var (
	errAbsent = errors.New("source does not have it")
	errWrong  = errors.New("source sends something else")
	errAway   = errors.New("source cannot be reached")
)

// ErrNoneSet: there is no source to fetch anything from.
var ErrNoneSet = errors.New("no content sources are configured")

// sources requests content from the configured servers.
type sources struct {
	cfg    FetcherConfig
	bases  []string
	client *http.Client
}

func newSources(cfg FetcherConfig) (*sources, error) {
	s := &sources{cfg: cfg, client: &http.Client{
		Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			MaxIdleConnsPerHost: cfg.InFlight,
			MaxConnsPerHost:     2 * cfg.InFlight,
			IdleConnTimeout:     time.Minute,
			DisableCompression:  true,
		},
		CheckRedirect: func(next *http.Request, via []*http.Request) error {
			first := via[0].URL
			if len(via) > maxRedirects || next.URL.Host != first.Host ||
				next.URL.Scheme != first.Scheme {
				return http.ErrUseLastResponse // Then the answer is not the content.
			}
			return nil
		},
	}}
	for _, base := range cfg.Sources {
		u, err := url.Parse(base)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			name, _ := events.RedactURL(base)
			return nil, fmt.Errorf("content source %q, want http://host:port: %w", name, events.ErrMalformed)
		}
		s.bases = append(s.bases, strings.TrimSuffix(base, "/"))
	}
	return s, nil
}

// piece is a request: for a whole object, or for size bytes of it from first on.
type piece struct {
	cid   dataset.CID
	first int64
	size  int64 // 0: all of it
}

// fetch gets an object that its name verifies, from any source. It returns
// events.ErrContentUnavailable, or a MismatchError when every source that answers sends something
// else.
func (s *sources) fetch(ctx context.Context, c dataset.CID) (data []byte, err error) {
	if data, here := s.here(c); here && c.Verify(data) {
		return data, nil
	}
	err = s.try(ctx, c, func(ctx context.Context, base string) error {
		data, err = s.get(ctx, base, piece{cid: c})
		if err == nil && !c.Verify(data) {
			err = fmt.Errorf("%d bytes that do not hash to their name: %w", len(data), errWrong)
		}
		return err
	})
	return data, err
}

// here is an object that is on this machine. One that cannot be read is fetched like one that is not here.
func (s *sources) here(c dataset.CID) ([]byte, bool) {
	if s.cfg.Local == nil {
		return nil, false
	}
	data, err := s.cfg.Local.Object(c)
	return data, err == nil
}

// try calls ask with each source in turn until one succeeds, beginning with one that depends on the
// content, so that the load spreads. Temporary errors are tried again a bounded number of times.
func (s *sources) try(
	ctx context.Context, c dataset.CID, ask func(ctx context.Context, base string) error,
) error {
	if len(s.bases) == 0 {
		return fmt.Errorf("%w: %w: %w", ErrNoneSet, events.ErrContentUnavailable, events.ErrNoSource)
	}
	digest := c.Digest()
	start := binary.LittleEndian.Uint64(digest[:])
	var last error
	reached := false
	for attempt := range s.cfg.Attempts {
		if attempt > 0 {
			if retry.Sleep(ctx, retry.Backoff(s.cfg.Backoff, maxBackoff, c.String(), attempt)) != nil {
				return fmt.Errorf("fetch %s: %w", c, context.Cause(ctx))
			}
		}
		wrong, passing := false, false
		for i := range s.bases {
			base := s.bases[(start+uint64(i))%uint64(len(s.bases))]
			err := ask(ctx, base)
			if err == nil {
				return nil
			}
			if ctx.Err() != nil {
				return fmt.Errorf("fetch %s: %w", c, context.Cause(ctx))
			}
			name, secrets := events.RedactURL(base) // The error is recorded and shown.
			last = fmt.Errorf("%s: %w", name, events.WithoutSecrets(err, secrets))
			reached = reached || !errors.Is(err, errAway)
			wrong = wrong || errors.Is(err, errWrong)
			passing = passing || !(errors.Is(err, errWrong) || errors.Is(err, errAbsent))
		}
		if wrong && !passing {
			return mismatch("content from all sources", c, last)
		}
		if !passing {
			break // Nobody has it; asking again at once does not help.
		}
	}
	if !reached {
		last = fmt.Errorf("%w: %w", last, events.ErrNoSource)
	}
	return fmt.Errorf("fetch %s: %w: %w", c, last, events.ErrContentUnavailable)
}

// Reach asks all sources at once for something that each may have or not. It returns nil as soon as one of them was
// reached, else what is wrong with each, or ErrNoneSet.
func (f *Fetcher) Reach(ctx context.Context) error {
	s := f.sources
	if len(s.bases) == 0 {
		return ErrNoneSet
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan error, len(s.bases))
	for _, base := range s.bases {
		go func() {
			_, err := s.get(ctx, base, piece{cid: dataset.EmptyBlock()})
			if !errors.Is(err, errAway) {
				answers <- nil
				return
			}
			if asked := (*url.Error)(nil); errors.As(err, &asked) { // The address is said already.
				err = asked.Err
			}
			name, secrets := events.RedactURL(base)
			answers <- fmt.Errorf("%s: %w", name, events.WithoutSecrets(err, secrets))
		}()
	}
	var all []string
	for range s.bases {
		err := <-answers
		if err == nil {
			return nil
		}
		all = append(all, err.Error())
	}
	slices.Sort(all)
	return fmt.Errorf("%w: %s", events.ErrNoSource, strings.Join(all, "; "))
}

// get requests from one source, once. It reads at most one byte more than is allowed.
func (s *sources) get(ctx context.Context, base string, p piece) (_ []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.RequestTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet,
		base+"/ipfs/"+p.cid.String()+"?format=raw", nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", contentType)
	want, limit := http.StatusOK, int64(MaxResponse)
	if p.size > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", p.first, p.first+p.size-1))
		want, limit = http.StatusPartialContent, p.size
	}
	var connected atomic.Bool
	response, err := s.client.Do(request.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	})))
	switch {
	case err != nil && !connected.Load():
		return nil, fmt.Errorf("%w: %w", errAway, err)
	case err != nil:
		return nil, err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	if response.StatusCode != want {
		return nil, statusError(response)
	}
	room := min(max(response.ContentLength, 0), limit) + bytes.MinRead
	buffer := bytes.NewBuffer(make([]byte, 0, room))
	_, err = buffer.ReadFrom(io.LimitReader(response.Body, limit+1))
	data := buffer.Bytes()
	switch {
	case err != nil:
		return nil, err
	case int64(len(data)) > limit:
		return nil, fmt.Errorf("more than %d bytes: %w", limit, errWrong)
	case p.size > 0 && int64(len(data)) != p.size:
		return nil, fmt.Errorf("%d bytes of a range of %d: %w", len(data), p.size, errWrong)
	}
	return data, nil
}

// statusError tells permanent refusals (the source does not have it, or redirects us) from
// temporary ones.
func statusError(r *http.Response) error {
	switch {
	case r.StatusCode >= http.StatusInternalServerError,
		r.StatusCode == http.StatusTooManyRequests,
		r.StatusCode == http.StatusRequestTimeout:
		return fmt.Errorf("answered %s", r.Status)
	default:
		return fmt.Errorf("answered %s: %w", r.Status, errAbsent)
	}
}

// digests gets the SHA-256 digests of the blocks first to last-1 of a dataset with total blocks.
// The whole list is read from one source and verified before any of it is used; only the requested
// part is kept in memory.
func (s *sources) digests(
	ctx context.Context, tree dataset.CID, total, first, last uint64,
) (part [][32]byte, err error) {
	list := digestList{tree: tree, total: total, first: first, last: last}
	if data, here := s.here(tree); here {
		if list.read(data); list.verify() == nil {
			return list.part, nil
		}
	}
	err = s.try(ctx, tree, func(ctx context.Context, base string) error {
		list = digestList{tree: tree, total: total, first: first, last: last}
		size := int64(total) * 32
		for at := int64(0); at < size; at += MaxResponse {
			p := piece{cid: tree, first: at}
			if size > MaxResponse {
				p.size = min(MaxResponse, size-at)
			}
			data, err := s.get(ctx, base, p)
			if err != nil {
				return err
			}
			list.read(data)
		}
		return list.verify()
	})
	return list.part, err
}

// digestList keeps the digests first to last-1 of a list that is read in order.
type digestList struct {
	tree               dataset.CID
	total, first, last uint64
	verifier           dataset.TreeVerifier
	part               [][32]byte
}

// read reads the next digests.
func (l *digestList) read(data []byte) {
	for ; len(data) >= 32; data = data[32:] {
		if n := l.verifier.Count(); n >= l.first && n < l.last {
			l.part = append(l.part, [32]byte(data))
		}
		l.verifier.Add([32]byte(data))
	}
}

// verify says whether the whole list leads to the tree.
func (l *digestList) verify() error {
	root, err := l.verifier.Root()
	if err != nil || l.verifier.Count() != l.total || dataset.TreeCID(root) != l.tree {
		return fmt.Errorf("%d digests that do not lead to the tree: %w", l.verifier.Count(), errWrong)
	}
	return nil
}
