// Package eventserver serves an event store to EventStoreDB's clients, with the
// operator's addresses, certificate and users. The protocol itself is in
// events/wire.
//
// It has two uses. A host serves its own event store while it runs; then nobody
// may write the host's streams, whatever the role, because the host is their
// only writer. And hostnode eventstore serves a data directory on its own, as
// an event store that hosts and others write to.
package eventserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/certs"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/wire"
)

// ErrListen: an address cannot be listened on, mostly because it is in use.
var ErrListen = errors.New("cannot listen there")

// Options say how to serve.
type Options struct {
	// Listen are addresses, host:port; at least one.
	Listen []string
	// CertFile and KeyFile are PEM files; empty: plain text, on loopback only.
	CertFile, KeyFile string
	// UsersFile lists the users and their roles; empty: there are none.
	UsersFile string
	// Anonymous is what a caller without a name may do.
	Anonymous wire.Role
	// Guarded are the categories that nobody may write.
	Guarded []string
	// Memory is the most bytes that serving takes, at least MinMemory; 0: the
	// messages of clients hold what is the protocol server's own default.
	Memory int64
	// MaxAppendSize is the most bytes of the events of one append; 0: events.MaxAppendBytes.
	MaxAppendSize int
	// Advertise is the address that clients are told; empty: the one they connected to.
	Advertise string
	// Bound are listeners from Bind for these addresses; nil: Start makes them.
	Bound []net.Listener
	// AcceptPersistentSubscriptions is wire.Config's.
	AcceptPersistentSubscriptions bool
}

// Server is a store that is being served. The zero value serves nothing.
type Server struct {
	wire      *wire.Server
	listeners []net.Listener
	serving   sync.WaitGroup
	failed    chan error
}

// Start listens and serves until Close. It refuses to serve beyond this machine
// without a certificate.
func Start(store events.Store, o Options, log *logrus.Entry) (*Server, error) {
	cfg := wire.Config{
		Store: store, Streams: catalog.Streams(), Anonymous: o.Anonymous, Guarded: o.Guarded, Advertise: o.Advertise,
		Log: log, AcceptPersistentSubscriptions: o.AcceptPersistentSubscriptions,
	}
	if o.Memory != 0 {
		if o.Memory < MinMemory {
			return nil, fmt.Errorf("%w: %d bytes of memory to serve events, want %d or more",
				config.ErrInvalid, o.Memory, MinMemory)
		}
		cfg.Limits = cfg.Limits.WithMemory(messages(o.Memory))
	}
	cfg.Limits.AppendBytes = o.MaxAppendSize
	var err error
	if o.CertFile != "" {
		if cfg.TLS, err = loadTLS(o.CertFile, o.KeyFile, log); err != nil {
			return nil, err
		}
	}
	if o.UsersFile != "" {
		if cfg.Users, err = LoadUsers(o.UsersFile); err != nil {
			return nil, err
		}
	}
	if cfg.TLS == nil && len(cfg.Users) > 0 && log != nil {
		log.Warn("there are users and no certificate: EventStoreDB's clients send no password over plain text, so " +
			"nobody is known by name; make a certificate with: hostnode eventstore certificate")
	}
	s := &Server{failed: make(chan error, len(o.Listen))}
	if s.listeners = o.Bound; s.listeners == nil {
		if s.listeners, err = Bind(o); err != nil {
			return nil, err
		}
	}
	if s.wire, err = wire.New(cfg); err != nil {
		return nil, errors.Join(fmt.Errorf("serve events: %w", err), s.Close())
	}
	for _, l := range s.listeners {
		s.serving.Go(func() {
			if err := s.wire.Serve(l); err != nil {
				s.failed <- fmt.Errorf("serve events on %s: %w", l.Addr(), err)
			}
		})
	}
	return s, nil
}

// Bind listens on the addresses without serving yet, so that an address in use is
// noticed before anything else begins. Clients that connect meanwhile wait. The
// caller closes the listeners, or gives them to Start.
func Bind(o Options) ([]net.Listener, error) {
	bound := Server{}
	for _, address := range o.Listen {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%w: %q is no address to listen on; write host:port, for example %s",
				config.ErrInvalid, address, "127.0.0.1:2113"), bound.Close())
		}
		if o.CertFile == "" && !config.Loopback(host) {
			return nil, errors.Join(fmt.Errorf("%w: %s can be reached from other machines, which needs a certificate; "+
				"make one with: hostnode eventstore certificate", config.ErrInvalid, address), bound.Close())
		}
		l, err := net.Listen("tcp", address)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("serve events: %w: %w", ErrListen, err), bound.Close())
		}
		bound.listeners = append(bound.listeners, l)
	}
	return bound.listeners, nil
}

// loadTLS reads a certificate and its key. An expired certificate is logged, because clients reject it without saying
// much.
func loadTLS(cert, key string, log *logrus.Entry) (*tls.Config, error) {
	pair, err := certs.Load(cert, key)
	if err != nil {
		return nil, err
	}
	if now := time.Now(); log != nil && (now.After(pair.Leaf.NotAfter) || now.Before(pair.Leaf.NotBefore)) {
		log.WithField("from", pair.Leaf.NotBefore).WithField("until", pair.Leaf.NotAfter).
			Warnf("the certificate %s is not valid now: clients do not connect; make a new one with: "+
				"hostnode eventstore certificate", cert)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

// Addresses are where it listens.
func (s *Server) Addresses() []string {
	var all []string
	for _, l := range s.listeners {
		all = append(all, l.Addr().String())
	}
	return all
}

// ConnectionStrings are those for clients.
func (s *Server) ConnectionStrings(withTLS bool) string {
	options := ""
	if !withTLS {
		options = "?tls=false"
	}
	return "esdb://" + strings.Join(s.Addresses(), ",") + options
}

// Failed receives the error when an address can no longer be served.
func (s *Server) Failed() <-chan error { return s.failed }

// Wait serves until ctx ends or an address fails.
func (s *Server) Wait(ctx context.Context) error {
	select {
	case err := <-s.failed:
		return err
	case <-ctx.Done():
		return nil
	}
}

// Close ends all connections. The store stays open.
func (s *Server) Close() error {
	var errs []error
	if s.wire != nil {
		errs = append(errs, s.wire.Close())
	}
	for _, l := range s.listeners {
		if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	s.serving.Wait()
	return errors.Join(errs...)
}
