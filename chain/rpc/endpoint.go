package rpc

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/hostnode/hostnode/events"
)

// endpoint is one way to the chain. What is not atomic is guarded by Conn's lock.
type endpoint struct {
	url  string
	name string // for people: the URL without its secrets
	// secrets are the parts of the URL that no line of a log may show.
	secrets []string

	notBefore time.Time     // the next attempt to connect
	wait      time.Duration // before the attempt after that
	// lastUntil: it answered and knew no new block, or said what cannot be, so others come
	// first until then; doubt is for how long it was the last time for what it said.
	lastUntil time.Time
	doubt     time.Duration
	// refused is why it was found to be the wrong one when it was asked last.
	refused *IdentityError

	batches batchSize
	limit   rateLimit
	// byNumber: it does not take blocks by hash (EIP-1898) in calls.
	byNumber atomic.Bool
	// takesHash has the methods in which it took one, which is not doubted again.
	takesHash sync.Map
	// noSubscription: it refused to tell about new blocks.
	noSubscription atomic.Bool
}

func newEndpoint(at string) *endpoint {
	e := &endpoint{url: at, wait: firstRedialWait}
	e.name, e.secrets = events.RedactURL(at)
	return e
}

// Redact is an endpoint for people: a URL without password, query and keys of providers.
func Redact(endpoint string) string {
	name, _ := events.RedactURL(endpoint)
	return name
}

// WithoutSecrets is an error whose text shows none of the secrets of an endpoint.
func WithoutSecrets(endpoint string, err error) error { return newEndpoint(endpoint).hide(err) }

// hide keeps the endpoint's secrets out of an error's text.
func (e *endpoint) hide(err error) error { return events.WithoutSecrets(err, e.secrets) }
