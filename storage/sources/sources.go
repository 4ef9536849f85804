// Package sources reads the bytes of CARs from where their clients have put them: over HTTP, and from files.
//
//	s, err := sources.New(sources.Config{Roots: []string{"/srv/cars"}})
//	err := s.Check(source)                 // at once: can it ever be read?
//	body, err := s.Open(ctx, source, 0)    // or from a byte further on
//
// A source is named by others, so what it names is not trusted. Files are opened below the roots only, whatever
// symbolic links say, and only regular ones. Private addresses are not connected to (internal/publicnet). The bytes are
// not trusted either: their reader compares them with what the CAR has to be.
//
// An error is one of three: events.ErrMalformed, the name is none; events.ErrForbiddenSource, the settings do not allow
// it; events.ErrSourceAway, for everything that may be otherwise later. The end of ctx is the fourth.
package sources

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"time"

	"golang.org/x/time/rate"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/internal/publicnet"
	"github.com/hostnode/hostnode/prover/commd"
)

const (
	// maxName limits each part of a source's name, in bytes. The key of an object has 1,024 at most, and signed URLs
	// some 2,000.
	maxName = 4 << 10
	// maxShown is how much of a name is in an error.
	maxShown = 200
	// maxRedirects is enough for a change to https, a region and a path that moved.
	maxRedirects = 3
	// maxHead limits the head of an answer.
	maxHead = 64 << 10
	// maxPart is how much is read at once, so that many who read get their turn with a rate.
	maxPart = 64 << 10
	// maxIdle is how many connections are kept for the next request.
	maxIdle = 16
)

// Config says what may be read, and how. Its zero value reads from the public network.
type Config struct {
	// Roots are the directories below which files may be read; absolute. None: no files are.
	Roots []string
	// AllowPrivate allows addresses that are not in the public network.
	AllowPrivate bool
	// MaxBytes is how large a source may be. Zero, or more: one byte more than the largest piece has room for.
	MaxBytes uint64
	// FirstByte is how long an answer may take to begin, with redirects. Zero: a minute.
	FirstByte time.Duration
	// Idle is how long no byte may come, while one is waited for. Zero: a minute.
	Idle time.Duration
	// Total is how long a source may be read, so that one that sends a byte now and then ends, too. Zero: 24 hours, in
	// which 32 GiB come at 400 KB a second.
	Total time.Duration
	// BytesPerSecond is how much is read in a second, from all sources together. Zero: there is no limit.
	BytesPerSecond uint64
}

// Sources reads from sources. It is safe for concurrent use.
type Sources struct {
	cfg    Config
	client *http.Client
	rate   *rate.Limiter
	part   int // how much is read at once
}

// New refuses roots that are not absolute: events.ErrMalformed. They are opened when they are read from.
func New(cfg Config) (*Sources, error) {
	for _, root := range cfg.Roots {
		if !filepath.IsAbs(root) {
			return nil, fmt.Errorf("aggregation.sources.roots: %q is no absolute path: %w", root, events.ErrMalformed)
		}
	}
	if most := uint64(commd.MaxPayload + 1); cfg.MaxBytes == 0 || cfg.MaxBytes > most {
		cfg.MaxBytes = most
	}
	cfg.FirstByte, cfg.Idle = cmp.Or(cfg.FirstByte, time.Minute), cmp.Or(cfg.Idle, time.Minute)
	cfg.Total = cmp.Or(cfg.Total, 24*time.Hour)
	transport := publicnet.Transport(cfg.FirstByte, cfg.AllowPrivate)
	transport.DisableCompression, transport.MaxResponseHeaderBytes = true, maxHead
	transport.MaxIdleConns, transport.IdleConnTimeout = maxIdle, cfg.Idle
	s := &Sources{cfg: cfg, rate: rate.NewLimiter(rate.Inf, maxPart), part: maxPart}
	if cfg.BytesPerSecond > 0 {
		s.part = int(min(cfg.BytesPerSecond, maxPart))
		s.rate = rate.NewLimiter(rate.Limit(cfg.BytesPerSecond), s.part)
	}
	s.client = &http.Client{Transport: transport, CheckRedirect: func(next *http.Request, via []*http.Request) error {
		next.Header.Del("Referer") // In its query there may be a secret.
		if len(via) > maxRedirects {
			return fmt.Errorf("it redirects more than %d times", maxRedirects)
		}
		return checkScheme(next.URL.Scheme)
	}}
	return s, nil
}

// Check refuses what can never be read: events.ErrMalformed, events.ErrForbiddenSource. It asks neither the network nor
// the disk.
func (s *Sources) Check(from events.ContentSource) error {
	_, err := s.locate(from)
	return err
}

// Open reads from a source, from the given byte on: events.ErrSourceAway and what Check says, here and from Read. A
// source that ends before that byte is away. The caller closes it; it may be read by one goroutine at a time.
func (s *Sources) Open(ctx context.Context, from events.ContentSource, offset uint64) (io.ReadCloser, error) {
	at, err := s.locate(from)
	if err != nil {
		return nil, err
	}
	limited, stop := context.WithTimeoutCause(ctx, s.cfg.Total, fmt.Errorf("it took longer than %s", s.cfg.Total))
	limited, cancel := context.WithCancelCause(limited)
	r := &stream{s: s, name: shown(at), caller: ctx, ctx: limited, at: offset, body: http.NoBody}
	r.timer = time.AfterFunc(s.cfg.FirstByte, func() { cancel(errors.New("nothing comes from it")) })
	r.stop = func() { r.timer.Stop(); cancel(nil); stop() }
	switch {
	case offset > s.cfg.MaxBytes:
		err = r.tooLarge()
	case at.Scheme == "file":
		err = r.openFile(at.Path)
	default:
		err = r.ask(at)
	}
	r.timer.Stop()
	if err != nil {
		err = r.failed(err) // Before ctx ends.
		_ = r.Close()
		return nil, err
	}
	return r, nil
}

// stream is a source that is being read.
type stream struct {
	s           *Sources
	name        string
	caller, ctx context.Context // ctx ends with the caller's, and when the source takes too long
	stop        func()
	timer       *time.Timer // ends ctx when nothing comes
	body        io.ReadCloser
	at          uint64 // the position in the source
}

// Read waits for the source, and then until so much may be read.
func (r *stream) Read(p []byte) (int, error) {
	left := r.s.cfg.MaxBytes - min(r.at, r.s.cfg.MaxBytes)
	p = p[:min(uint64(len(p)), max(left, 1), uint64(r.s.part))] // One byte shows whether there are more.
	r.timer.Reset(r.s.cfg.Idle)
	n, err := r.body.Read(p)
	r.timer.Stop()
	r.at += uint64(n)
	if uint64(n) > left {
		return 0, r.failed(r.tooLarge())
	}
	if waited := r.s.rate.WaitN(r.ctx, n); waited != nil {
		return n, r.failed(waited)
	}
	if err != nil && err != io.EOF { //nolint:errorlint // A wrapped one is not the end.
		err = r.failed(err)
	}
	return n, err
}

// Close ends a request that is still open.
func (r *stream) Close() error {
	r.stop()
	return r.body.Close()
}

func (r *stream) tooLarge() error {
	return fmt.Errorf("it has more than %d bytes, see aggregation.sources.maxBytes: %w",
		r.s.cfg.MaxBytes, events.ErrForbiddenSource)
}

// failed is what an error means for the caller.
func (r *stream) failed(err error) error {
	switch over := r.caller.Err(); {
	case over != nil:
		return over
	case errors.Is(err, events.ErrSourceAway):
		return err // Of Read, while Open skipped what comes before.
	case errors.Is(err, publicnet.ErrPrivate):
		err = errPrivate
	}
	if errors.Is(err, events.ErrForbiddenSource) {
		return fmt.Errorf("source %s: %w", r.name, err)
	}
	return fmt.Errorf("source %s: %w: %w", r.name, events.ErrSourceAway, cmp.Or(context.Cause(r.ctx), err))
}
