package rpc

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/hostnode/hostnode/events"
)

// endpoint is one node that the chain is reached by. Conn's lock guards what is not atomic.
type endpoint struct {
	url  string
	name string // the URL without secrets, for people
	// secrets are the parts of the URL that must not appear in a log.
	secrets []string

	notBefore time.Time     // the next attempt to connect
	wait      time.Duration // the pause before the attempt after that
	// limited: that it limits requests is why it is not used until then; nil: it is not.
	limited error
	// Until lastUntil the other endpoints are tried first, because this one had no new blocks or
	// gave an impossible answer. doubt is how long that was the last time, for an impossible
	// answer.
	lastUntil time.Time
	doubt     time.Duration
	// refused says why the endpoint was found to be the wrong one at the last attempt.
	refused *IdentityError

	batches   batchSize
	limit     rateLimit
	floor     tipFloor
	estimates estimating
	patience  patience
	// byNumber: in calls it does not take blocks by hash (EIP-1898).
	byNumber atomic.Bool
	// takesHash are the methods with which it was seen to take a hash; their later refusals are not
	// blamed on that.
	takesHash sync.Map
	// asked counts the messages sent to it, failed those of them, and the attempts to connect, that had no answer or
	// were refused because of a limit.
	asked, failed atomic.Uint64
	// noSubscription: it refused to announce new blocks.
	noSubscription atomic.Bool
}

func newEndpoint(at string) *endpoint {
	e := &endpoint{url: at, wait: firstRedialWait}
	e.name, e.secrets = events.RedactURL(at)
	return e
}

// Redact is an endpoint's URL without password, query and providers' keys.
func Redact(endpoint string) string {
	name, _ := events.RedactURL(endpoint)
	return name
}

// WithoutSecrets removes the secrets of an endpoint from an error's text.
func WithoutSecrets(endpoint string, err error) error { return newEndpoint(endpoint).hide(err) }

// hide removes the endpoint's secrets from an error's text.
func (e *endpoint) hide(err error) error { return events.WithoutSecrets(err, e.secrets) }
