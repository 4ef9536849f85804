package rpc

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
)

const (
	// longestLimit is the longest pause that a node can demand of us: proofs are due.
	longestLimit = time.Minute
	// limitOver is the time without a complaint after which the next one is logged again.
	limitOver = 10 * time.Minute
)

// limitedError says that a node limits our requests. It hides the node's own error, so that nobody
// takes it for an answer about the chain.
type limitedError struct {
	said string
	left time.Duration
}

func (e *limitedError) Error() string {
	return fmt.Sprintf("it limits our requests, and is asked again in %s: %s", e.left.Round(time.Millisecond), e.said)
}

// IsTooOften says that nothing was asked, or answered, because the node limits our requests.
func IsTooOften(err error) bool {
	return limitIn(err) != nil
}

// limitIn is the limit that an error is about; nil: it is about none.
func limitIn(err error) error {
	if limited, is := errors.AsType[*limitedError](err); is {
		return limited
	}
	return nil
}

// rateLimit sends nothing to a node that complained about too many requests, for as long as the
// node demands, or for a pause that doubles each time. It is safe for concurrent use.
type rateLimit struct {
	mu       sync.Mutex
	said     string
	until    time.Time     // nothing is sent before
	wait     time.Duration // the pause after the next complaint
	demanded time.Duration // the pause that its last answer demanded
	last     time.Time     // the last complaint
}

// left returns an error while nothing may be sent.
func (r *rateLimit) left() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if left := time.Until(r.until); left > 0 {
		return &limitedError{r.said, left}
	}
	return nil
}

// observe notes what a message came back with. Without a demand of the node, the pause is longest at
// most.
func (r *rateLimit) observe(e *endpoint, err error, longest time.Duration, log logrus.FieldLogger) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if !rateLimited(err) {
		if err == nil && !r.until.IsZero() && !now.Before(r.until) { // The pause was long enough.
			r.wait, r.until = r.wait/4, time.Time{}
		}
		return err
	}
	if !now.Before(r.until) { // One pause for all requests that were under way.
		r.wait = min(max(2*r.wait, firstRedialWait), longest)
		r.until = now.Add(r.wait)
	}
	if demanded := min(r.demanded, longestLimit); now.Add(demanded).After(r.until) {
		r.until = now.Add(demanded)
	}
	r.said, r.demanded = e.hide(err).Error(), 0
	if r.last.IsZero() || now.Sub(r.last) > limitOver {
		log.WithField("endpoint", e.name).Warnf("the Ethereum node limits our requests; nothing is sent to it "+
			"for a while each time that it does: %s", r.said)
	}
	r.last = now
	return &limitedError{r.said, time.Until(r.until)}
}

// RoundTrip notes the pause that a node demands over HTTP, and refuses answers that are longer than
// maxAnswerBytes.
func (e *endpoint) RoundTrip(q *http.Request) (*http.Response, error) {
	answer, err := http.DefaultTransport.RoundTrip(q)
	if err == nil {
		e.limit.note(answer.Header)
		answer.Body = http.MaxBytesReader(nil, answer.Body, maxAnswerBytes)
	}
	return answer, err
}

func (r *rateLimit) note(header http.Header) {
	after := header.Get("Retry-After")
	seconds, wrong := strconv.ParseUint(after, 10, 32)
	wait := time.Duration(seconds) * time.Second
	if wrong != nil {
		at, _ := http.ParseTime(after) // No value, or an invalid one, demands nothing.
		wait = time.Until(at)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.demanded = max(wait, 0)
}
