// Package stores opens the event store that a configuration or a flag names:
// the embedded one in a directory, or an EventStoreDB by its connection string.
// It is the one place that knows both.
package stores

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/embedded"
	"github.com/hostnode/hostnode/events/esdb"
)

const (
	// patience is how long a call keeps trying before it reports that the server
	// does not answer. It is short, because a host that knows of the outage sends
	// due proofs without its event store, and repeats the call itself.
	patience = time.Second
	// callTimeout is how long a server may take to answer: far longer than a
	// busy one needs, far shorter than a proof period.
	callTimeout = 5 * time.Second
)

// Spec says which store.
type Spec struct {
	// URL is a connection string of EventStoreDB; empty: the embedded store in Dir.
	URL string
	// PasswordFile holds the password of the URL's user; empty: the password in the URL, if any.
	PasswordFile string
	// Dir is the directory of the embedded store. Whoever opens it has the lock of
	// the data directory.
	Dir string
	// CacheBytes is the memory of the embedded store's block cache, 0 its default.
	CacheBytes int64
	// OpenTimeout is how long Open waits for the first answer of an EventStoreDB; 0: esdb's default.
	OpenTimeout time.Duration
	// Now gives the time of events in the embedded store; nil: time.Now.
	Now func() time.Time
}

// FromConfig is the store that the settings name.
func FromConfig(c config.Config) Spec {
	return Spec{
		URL: c.EventStore.URL, PasswordFile: c.EventStore.PasswordFile,
		Dir: datadir.At(c.DataDir).Events(), CacheBytes: int64(c.EventStore.CacheBytes),
	}
}

// Remote reports whether the store is an EventStoreDB.
func (s Spec) Remote() bool { return s.URL != "" }

// Opened is an open store.
type Opened struct {
	events.Store
	// Embedded is the store if it is the embedded one, and Report what opening it
	// found.
	Embedded *embedded.Store
	Report   embedded.Report
	// Name says where it is, for people: without a password.
	Name string
}

// confirmWithin is how long a store may take to show that it decides: longer than a leader that was
// stopped takes to learn that another one was elected.
const confirmWithin = 20 * time.Second

// Confirm returns when the store has shown that it decides what the record is (events.Confirm), at
// the end of the account's stream, or of one that nobody has. A user who may not write there
// cannot know: then a warning says so.
func (o *Opened) Confirm(ctx context.Context, account events.Address, log *logrus.Entry) error {
	quiet := logrus.NewEntry(&logrus.Logger{Out: io.Discard})
	if o.Embedded != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, confirmWithin)
	defer cancel()
	for {
		err := events.Confirm(ctx, o.Store, events.HostStream(account))
		switch {
		case errors.Is(err, events.ErrDenied), errors.Is(err, events.ErrWrongRevision):
			cmp.Or(log, quiet).Warn("the user of the event store may not write, so it is not shown that the node " +
				"that answers still leads its cluster: look at the time of the record, and ask again when it is old")
			return nil
		case !errors.Is(err, events.ErrAway) || ctx.Err() != nil:
			return err
		}
	}
}

// ReadPrefixed implements events.PrefixReader.
func (o *Opened) ReadPrefixed(
	ctx context.Context, after events.Position, prefixes []string,
) iter.Seq2[events.Recorded, error] {
	return events.ReadPrefixed(ctx, o.Store, after, prefixes)
}

// Open opens a store; the caller closes it. An EventStoreDB that does not answer
// is events.ErrAway, one that refuses the user events.ErrDenied. log takes
// messages about internals; nil drops them.
func Open(ctx context.Context, spec Spec, log *logrus.Entry) (*Opened, error) {
	if !spec.Remote() {
		cfg := embedded.Config{CacheBytes: spec.CacheBytes, Now: spec.Now}
		if log != nil {
			cfg.Log = log
		}
		store, report, err := embedded.Open(spec.Dir, cfg)
		if err != nil {
			return nil, fmt.Errorf("open the event store: %w", err)
		}
		return &Opened{Store: store, Embedded: store, Report: report, Name: spec.Dir}, nil
	}
	connection, err := spec.Connection()
	if err != nil {
		return nil, err
	}
	store, err := esdb.Open(ctx, esdb.Config{ // If it refuses the user, the password is read again.
		URL: connection, Renew: spec.Connection, Log: log, Patience: patience, CallTimeout: callTimeout,
		OpenTimeout: spec.OpenTimeout,
	})
	if err != nil {
		return nil, fmt.Errorf("open the event store %s: %w", esdb.Redact(spec.URL), err)
	}
	return &Opened{Store: store, Name: esdb.Redact(spec.URL)}, nil
}

// Connection is the connection string with the password from its file.
func (s Spec) Connection() (string, error) {
	if s.PasswordFile == "" {
		return s.URL, nil
	}
	password, err := config.ReadPassword("eventStore.passwordFile", s.PasswordFile)
	if err != nil {
		return "", err
	}
	scheme, rest, _ := strings.Cut(s.URL, "://")
	user, host, ok := strings.Cut(rest, "@")
	if !ok || user == "" || strings.Contains(user, ":") {
		return "", fmt.Errorf("%w: eventStore.passwordFile needs a user without a password in eventStore.url, "+
			"as in esdb://user@host:2113", config.ErrInvalid)
	}
	// The string already has the user, as it is written in a URL.
	secret := strings.TrimPrefix(url.UserPassword("", password).String(), ":")
	return scheme + "://" + user + ":" + secret + "@" + host, nil
}
