package rpc

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/rpc"
	"github.com/sirupsen/logrus"
)

const (
	// longestLimit is the most that a node may demand to be left alone: proofs are due.
	longestLimit = time.Minute
	// limitOver is how long a node must not have complained to be told of as a new case.
	limitOver = 10 * time.Minute
)

// limitedError is why nothing was asked, or answered. It hides what the node said from
// those who look for an answer: that it is asked too often says nothing of the chain.
type limitedError struct {
	said string
	left time.Duration
}

func (e *limitedError) Error() string {
	return fmt.Sprintf("it is asked too often, and is asked again in %s: %s", e.left.Round(time.Millisecond), e.said)
}

// IsTooOften says that nothing was asked, or answered, because the node is asked too often.
func IsTooOften(err error) bool {
	_, limited := errors.AsType[*limitedError](err)
	return limited
}

// rateLimit leaves a node alone that said that it is asked too often, for as long as it
// demands, or each time twice as long. It is safe for concurrent use.
type rateLimit struct {
	mu       sync.Mutex
	said     string
	until    time.Time     // nothing is asked before
	wait     time.Duration // the pause, if it complains again
	demanded time.Duration // by its last answer
	last     time.Time     // when it complained last
}

// left is why nothing is asked now; nil: it is.
func (r *rateLimit) left() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if left := time.Until(r.until); left > 0 {
		return &limitedError{r.said, left}
	}
	return nil
}

// judge learns from what came of a message. The longest pause holds where the node does
// not demand one.
func (r *rateLimit) judge(e *endpoint, err error, longest time.Duration, log logrus.FieldLogger) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if !rateLimited(err) {
		if err == nil && !r.until.IsZero() && !now.Before(r.until) { // The pause was long enough.
			r.wait, r.until = r.wait/4, time.Time{}
		}
		return err
	}
	if !now.Before(r.until) { // One pause for all that were under way.
		r.wait = min(max(2*r.wait, firstRedialWait), longest)
		r.until = now.Add(r.wait)
	}
	if demanded := min(r.demanded, longestLimit); now.Add(demanded).After(r.until) {
		r.until = now.Add(demanded)
	}
	r.said, r.demanded = e.hide(err).Error(), 0
	if r.last.IsZero() || now.Sub(r.last) > limitOver {
		log.WithField("endpoint", e.name).Warnf("the Ethereum node says that it is asked too often; it is left alone "+
			"for a while each time that it does: %s", r.said)
	}
	r.last = now
	return &limitedError{r.said, time.Until(r.until)}
}

// RoundTrip notes for how long a node demands over HTTP to be left alone.
func (r *rateLimit) RoundTrip(q *http.Request) (*http.Response, error) {
	answer, err := http.DefaultTransport.RoundTrip(q)
	if err == nil {
		r.note(answer.Header)
	}
	return answer, err
}

func (r *rateLimit) note(header http.Header) {
	after := header.Get("Retry-After")
	seconds, wrong := strconv.ParseUint(after, 10, 32)
	wait := time.Duration(seconds) * time.Second
	if wrong != nil {
		at, _ := http.ParseTime(after) // Nothing, or nonsense, demands nothing.
		wait = time.Until(at)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.demanded = max(wait, 0)
}

// rateLimited recognises a complaint about too many requests.
func rateLimited(err error) bool {
	if err == nil {
		return false
	}
	if _, reverted := RevertData(err); reverted {
		return false
	}
	if answer, ok := errors.AsType[rpc.Error](err); ok && answer.ErrorCode() == http.StatusTooManyRequests {
		return true
	}
	return containsAny(strings.ToLower(err.Error()),
		"rate limit", "ratelimit", "rate-limit", "too many requests", "quota", "compute units")
}
