package rpc

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/rpc"
	"github.com/sirupsen/logrus"
)

const (
	// MaxBatch is the most calls in one message; providers allow 100 and more.
	MaxBatch = 50
	// batchAgain is how long a node that took only smaller batches is spared larger ones: it may be
	// replaced, or the fault was the network's.
	batchAgain = 10 * time.Minute
	// lateBatches is the number of batches in a row without an answer after which a node that
	// answers single calls counts as one without batches.
	lateBatches = 2
)

// RequestMessages is the key in Conn.Requests under which messages are counted. A batch of calls is
// one message, and so is a single call.
const RequestMessages = "messages"

// requestCount counts what was sent, by method. It is safe for concurrent use.
type requestCount struct {
	mu sync.Mutex
	by map[string]uint64
}

func (r *requestCount) message(methods ...rpc.BatchElem) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.by == nil {
		r.by = map[string]uint64{}
	}
	r.by[RequestMessages]++
	for _, e := range methods {
		r.by[e.Method]++
	}
}

func (r *requestCount) all() map[string]uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.by)
}

// Session is one established connection.
type Session struct {
	client *rpc.Client
	at     *endpoint
	index  int // the endpoint's position in the configuration
	opened time.Time
	// doubted: a message had no answer, so the next user asks first whether the node still answers.
	doubted atomic.Bool
	count   *requestCount
	maxWait time.Duration // the longest pause for a rate limit
	log     logrus.FieldLogger
	version atomic.Pointer[string] // see clientVersion; nil: not asked yet
}

// Since is when the connection was made.
func (l *Session) Since() time.Time { return l.opened }

// Endpoint is the URL it leads to, without secrets.
func (l *Session) Endpoint() string { return l.at.name }

// clientVersion is what the node calls itself, asked once; empty: it does not say.
func (l *Session) clientVersion(ctx context.Context) string {
	if known := l.version.Load(); known != nil {
		return *known
	}
	var version string
	if err := l.call(ctx, &version, "web3_clientVersion"); err != nil {
		version = ""
	}
	l.version.Store(&version)
	return version
}

func (l *Session) call(ctx context.Context, result any, method string, args ...any) error {
	if err := l.at.limit.left(); err != nil {
		return err
	}
	l.count.message(rpc.BatchElem{Method: method})
	err := l.exchangeOne(ctx, func(ctx context.Context) error {
		return l.client.CallContext(ctx, result, method, args...)
	})
	return l.at.limit.observe(l.at, err, l.maxWait, l.log)
}

// batch sends calls in as few messages as the node takes. Each element has the error of its own
// call; the returned error is about the connection.
func (l *Session) batch(ctx context.Context, elements []rpc.BatchElem) error {
	for len(elements) > 0 {
		some := elements[:min(len(elements), l.at.batches.most())]
		if err := l.exchange(ctx, some); err != nil {
			return err
		}
		elements = elements[len(some):]
	}
	return nil
}

// exchange sends one message, and sends again in smaller ones what the node did not take.
func (l *Session) exchange(ctx context.Context, some []rpc.BatchElem) error {
	if len(some) == 1 {
		e := &some[0]
		e.Error = nil
		err := l.call(ctx, e.Result, e.Method, e.Args...)
		if IsAnswer(err) {
			e.Error, err = err, nil
		}
		return err
	}
	err := l.send(ctx, some)
	switch {
	case err == nil:
		return l.complete(ctx, some)
	case refusesBatches(err):
		l.at.batches.shrink(2) // From now on one call at a time.
		return l.batch(ctx, some)
	case batchTooLarge(err):
		l.at.batches.shrink(len(some))
		return l.batch(ctx, some)
	case errors.Is(err, errSlow):
		l.at.batches.late()
	}
	return err
}

// send sends one message. If the node rate limits one call of it, that counts for all.
func (l *Session) send(ctx context.Context, some []rpc.BatchElem) error {
	if err := l.at.limit.left(); err != nil {
		return err
	}
	l.count.message(some...)
	err := l.exchangeOne(ctx, func(ctx context.Context) error { return l.client.BatchCallContext(ctx, some) })
	if i := slices.IndexFunc(some, func(e rpc.BatchElem) bool { return rateLimited(e.Error) }); err == nil && i >= 0 {
		err = some[i].Error
	}
	return l.at.limit.observe(l.at, err, l.maxWait, l.log)
}

// complete asks again for the calls that an answered batch left out.
func (l *Session) complete(ctx context.Context, some []rpc.BatchElem) error {
	var left []rpc.BatchElem
	var positions []int
	for i, e := range some {
		if errors.Is(e.Error, rpc.ErrMissingBatchResponse) || batchTooLarge(e.Error) {
			e.Error = nil
			left, positions = append(left, e), append(positions, i)
		}
	}
	if len(left) == 0 {
		l.at.batches.answered()
		return nil
	}
	l.at.batches.shrink(len(some))
	if err := l.batch(ctx, left); err != nil {
		return err
	}
	for i, e := range left {
		some[positions[i]].Error = e.Error
	}
	return nil
}

// IsAnswer says whether an error is the node's own answer.
func IsAnswer(err error) bool {
	_, answered := errors.AsType[rpc.Error](err)
	return answered || errors.Is(err, rpc.ErrNoResult)
}

// refusesBatches recognises how nodes say that they do not know batches: an object instead of a
// list, or a status that calls the request invalid.
func refusesBatches(err error) bool {
	status, _ := errors.AsType[rpc.HTTPError](err)
	return undecodable(err) || slices.Contains([]int{
		http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusUnsupportedMediaType, http.StatusNotImplemented,
	}, status.StatusCode)
}

// batchTooLarge recognises complaints about the number of calls in a batch, or about the size of
// the answer.
func batchTooLarge(err error) bool {
	if status, failed := errors.AsType[rpc.HTTPError](err); failed {
		return status.StatusCode == http.StatusRequestEntityTooLarge
	}
	if _, answered := errors.AsType[rpc.Error](err); !answered {
		return false
	}
	said := strings.ToLower(err.Error())
	return strings.Contains(said, "response too large") || strings.Contains(said, "batch") &&
		containsAny(said, "large", "limit", "size", "many", "exceed", "support", "allow")
}

// batchSize is the number of calls that a node takes in one message. It is safe for concurrent use.
type batchSize struct {
	mu     sync.Mutex
	limit  int // 0: MaxBatch
	since  time.Time
	missed int // unanswered batches in a row
}

func (b *batchSize) most() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.limit == 0 {
		return MaxBatch
	}
	if time.Since(b.since) > batchAgain {
		b.limit, b.since = min(2*b.limit, MaxBatch), time.Now()
	}
	return b.limit
}

// shrink halves the size that did not work.
func (b *batchSize) shrink(tried int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.limit, b.since = max(1, tried/2), time.Now()
}

func (b *batchSize) late() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.missed++; b.missed >= lateBatches {
		b.limit, b.since, b.missed = 1, time.Now(), 0
	}
}

func (b *batchSize) answered() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.missed = 0
}

// containsAny says whether a text contains any of the parts.
func containsAny(s string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(s, p) })
}
