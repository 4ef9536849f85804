package chain

import (
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// endpoint is one way to the chain. What is not atomic is guarded by conn's lock.
type endpoint struct {
	url  string
	name string // for people: the URL without its secrets
	// secrets are the parts of the URL that no line of a log may show.
	secrets []string

	notBefore time.Time     // the next attempt to connect
	wait      time.Duration // before the attempt after that
	// silentUntil: it answered and knew no new block, so others come first until then.
	silentUntil time.Time
	// refused is why it was found to be the wrong one when it was asked last.
	refused *IdentityError

	batches batchSize
	// byNumber: it does not take blocks by hash (EIP-1898) in calls.
	byNumber atomic.Bool
	// noSubscription: it refused to tell about new blocks.
	noSubscription atomic.Bool
}

func newEndpoint(at string) *endpoint {
	e := &endpoint{url: at, wait: firstRedialWait}
	e.name, e.secrets = redact(at)
	return e
}

// longSegment is from how many characters on a part of a path is taken for the key of
// an account with a provider.
const longSegment = 16

// hidden stands for a secret.
const hidden = "***"

// redact is a URL for people: without password, values of the query, and parts of the
// path that look like keys. It also returns what was left out.
func redact(at string) (name string, secrets []string) {
	scheme, rest, ok := strings.Cut(at, "://")
	if !ok {
		return at, nil // The path of a socket.
	}
	u, err := url.Parse(at)
	if err != nil {
		return scheme + "://" + hidden, []string{rest}
	}
	hide := func(secret string) {
		if secret != "" {
			secrets = append(secrets, secret, url.PathEscape(secret), url.QueryEscape(secret))
		}
	}
	name = scheme + "://"
	if password, set := u.User.Password(); set {
		hide(password)
		if _, written, found := strings.Cut(strings.SplitN(rest, "@", 2)[0], ":"); found {
			hide(written) // Escaped in a way of its own, perhaps.
		}
		name += u.User.Username() + ":" + hidden + "@"
	} else if u.User != nil {
		hide(u.User.Username()) // A token stands alone.
		name += hidden + "@"
	}
	segments := strings.Split(u.EscapedPath(), "/")
	for i, s := range segments {
		if len(s) >= longSegment {
			hide(s)
			segments[i] = hidden
		}
	}
	name += u.Host + strings.Join(segments, "/")
	if u.RawQuery != "" {
		for _, values := range u.Query() {
			for _, v := range values {
				hide(v)
			}
		}
		hide(u.RawQuery)
		name += "?" + hidden
	}
	return name, secrets
}

// Redact is an endpoint for people: a URL without password, query and keys of providers.
func Redact(endpoint string) string {
	name, _ := redact(endpoint)
	return name
}

// WithoutSecrets is an error whose text shows none of the secrets of an endpoint.
func WithoutSecrets(endpoint string, err error) error { return newEndpoint(endpoint).hide(err) }

// discreet is an error whose text shows no secret of the endpoint.
type discreet struct {
	error
	text string
}

func (e *discreet) Error() string { return e.text }
func (e *discreet) Unwrap() error { return e.error }

// hide keeps the endpoint's secrets out of an error's text.
func (e *endpoint) hide(err error) error {
	if err == nil || len(e.secrets) == 0 {
		return err
	}
	text := strings.ReplaceAll(err.Error(), e.url, e.name)
	for _, s := range e.secrets {
		text = strings.ReplaceAll(text, s, hidden)
	}
	return &discreet{err, text}
}
