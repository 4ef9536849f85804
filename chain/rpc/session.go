package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/rpc"
	"github.com/sirupsen/logrus"
)

const (
	// MaxBatch is the most calls in one request; providers allow 100 and more.
	MaxBatch = 50
	// batchAgain is after how long a node that took only smaller batches is offered
	// larger ones: it may have been replaced, or the fault was the network's.
	batchAgain = 10 * time.Minute
	// lateBatches is how many batches in a row may get no answer from a node that answers
	// single calls before it is taken for one that knows no batches.
	lateBatches = 2
)

// RequestMessages is the key of Requests under which messages are counted: a batch of
// calls is one message, and so is a call alone.
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
	index  int // of the endpoint
	opened time.Time
	// timeout is for one message.
	timeout time.Duration
	count   *requestCount
	maxWait time.Duration // for a node that is asked too often
	log     logrus.FieldLogger
}

// Since is when the connection was made.
func (l *Session) Since() time.Time { return l.opened }

// Endpoint is where it leads, for people.
func (l *Session) Endpoint() string { return l.at.name }

func (l *Session) call(ctx context.Context, result any, method string, args ...any) error {
	timed, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	if err := l.at.limit.left(); err != nil {
		return err
	}
	l.count.message(rpc.BatchElem{Method: method})
	return l.at.limit.judge(l.at, l.client.CallContext(timed, result, method, args...), l.maxWait, l.log)
}

// batch sends many calls in as few messages as the node takes; the error of each stands
// in its element. The error returned is about the connection.
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

// exchange sends one message, and what the node did not take of it again in smaller ones.
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
		l.at.batches.shrink(2) // To one at a time.
		return l.batch(ctx, some)
	case batchTooLarge(err):
		l.at.batches.shrink(len(some))
		return l.batch(ctx, some)
	case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
		l.at.batches.late()
	}
	return err
}

// send sends one message. A node that says of a part of it that it is asked too often says
// so of all.
func (l *Session) send(ctx context.Context, some []rpc.BatchElem) error {
	if err := l.at.limit.left(); err != nil {
		return err
	}
	timed, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	l.count.message(some...)
	err := l.client.BatchCallContext(timed, some)
	if i := slices.IndexFunc(some, func(e rpc.BatchElem) bool { return rateLimited(e.Error) }); err == nil && i >= 0 {
		err = some[i].Error
	}
	return l.at.limit.judge(l.at, err, l.maxWait, l.log)
}

// complete asks again for what an answered batch left out.
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

// IsAnswer says whether the node answered, be it with an error.
func IsAnswer(err error) bool {
	if err == nil {
		return false
	}
	_, answered := errors.AsType[rpc.Error](err)
	return answered || errors.Is(err, rpc.ErrNoResult)
}

// refusesBatches recognises the ways in which nodes say that they know no batches: an
// object instead of a list, or a status that means the request makes no sense.
func refusesBatches(err error) bool {
	if _, notAList := errors.AsType[*json.UnmarshalTypeError](err); notAList {
		return true
	}
	var status rpc.HTTPError
	if !errors.As(err, &status) {
		return false
	}
	switch status.StatusCode {
	case http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusUnsupportedMediaType,
		http.StatusNotImplemented:
		return true
	}
	return false
}

// batchTooLarge recognises complaints about the number of calls in a batch or the size
// of its answer.
func batchTooLarge(err error) bool {
	if err == nil {
		return false
	}
	var status rpc.HTTPError
	if errors.As(err, &status) {
		return status.StatusCode == http.StatusRequestEntityTooLarge
	}
	if _, answered := errors.AsType[rpc.Error](err); !answered {
		return false
	}
	said := strings.ToLower(err.Error())
	return strings.Contains(said, "response too large") || strings.Contains(said, "batch") &&
		containsAny(said, "large", "limit", "size", "many", "exceed", "support", "allow")
}

// batchSize is how many calls a node takes in one message. It is safe for concurrent use.
type batchSize struct {
	mu     sync.Mutex
	limit  int // 0: maxBatch
	since  time.Time
	missed int // in a row
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

// shrink halves what did not work.
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

// containsAny says whether a text has any of these in it.
func containsAny(s string, parts ...string) bool {
	for _, p := range parts {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}

// Sleep waits for so long, or until ctx ends.
func Sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
