package access

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/net/netutil"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/certs"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
)

const (
	// headerTime is how long a client may take for TLS, and for the head of a request; readTime for all of it.
	headerTime = 5 * time.Second
	readTime   = 30 * time.Second
	// writeTime is how long a client may take to accept a piece of an answer, writeBytes the size of such a piece.
	writeTime  = 30 * time.Second
	writeBytes = 64 << 10
	// idleTime is how long a connection is kept without a request.
	idleTime = time.Minute
	// maxHeader is the most bytes of a request's head.
	maxHeader = 16 << 10
	// stopTime is how long requests may still take when the server stops.
	stopTime = 5 * time.Second
)

// Server serves the API over TCP. The zero value serves nothing.
type Server struct {
	config   Config
	listener net.Listener
	pair     *certificate // nil: plain text
	http     *http.Server
	served   chan error
	failed   chan error
}

// Listen takes the address of api.listen, if there is one, so that an address that is taken is known before anything is
// served: problem.ErrAPIAddress. That other machines need TLS was checked with the settings.
func Listen(c Config) (*Server, error) {
	if c.API.Listen == "" {
		return &Server{}, nil
	}
	s := &Server{config: c, served: make(chan error, 1), failed: make(chan error, 1)}
	if c.API.CertFile != "" {
		pair, err := certs.Load(c.API.CertFile, c.API.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("serve the API: %w", err)
		}
		if now := time.Now(); now.After(pair.Leaf.NotAfter) || now.Before(pair.Leaf.NotBefore) {
			c.Log.Warnf("the API's certificate is only valid from %s until %s: clients do not connect; replace %s",
				pair.Leaf.NotBefore, pair.Leaf.NotAfter, c.API.CertFile)
		}
		s.pair = &certificate{certFile: c.API.CertFile, keyFile: c.API.KeyFile, log: c.Log, pair: pair}
	}
	if all, err := c.Tokens.List(); err != nil {
		return nil, fmt.Errorf("serve the API: %w", err)
	} else if len(all) == 0 && c.API.Public() {
		c.Log.Warn("the API listens to other machines, and there is no token, so it answers none of them; make one " +
			"with: hostnode token new NAME --scope read")
	}
	l, err := net.Listen("tcp", c.API.Listen)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", problem.ErrAPIAddress, err)
	}
	s.listener = l
	return s, nil
}

// Serve serves a handler behind Guard, until Close. It is called once.
func (s *Server) Serve(next http.Handler) {
	if s.listener == nil {
		return
	}
	// Only HTTP/1: there a connection is one request at a time, so that what bounds connections and slow clients bounds
	// everything. A proxy in front may speak others.
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	s.http = &http.Server{
		Handler: patient(Guard(next, s.config), s.config.Log), ReadHeaderTimeout: headerTime, ReadTimeout: readTime,
		IdleTimeout: idleTime, MaxHeaderBytes: maxHeader, Protocols: protocols, DisableGeneralOptionsHandler: true,
		ErrorLog: log.New(debugLog{s.config.Log}, "", 0),
	}
	serve := s.http.Serve
	if s.pair != nil {
		s.http.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: s.pair.get}
		serve = func(l net.Listener) error { return s.http.ServeTLS(l, "", "") }
	}
	s.config.Log.Infof("the API is at %s", s.URL())
	go func() {
		err := serve(netutil.LimitListener(s.listener, s.config.API.Connections))
		if !errors.Is(err, http.ErrServerClosed) {
			s.failed <- fmt.Errorf("serve the API at %s: %w", s.URL(), err)
		}
		s.served <- err
	}()
}

// URL is where the API is.
func (s *Server) URL() string {
	if s.pair != nil {
		return "https://" + s.listener.Addr().String()
	}
	return "http://" + s.listener.Addr().String()
}

// Failed receives the error when the address can no longer be served.
func (s *Server) Failed() <-chan error { return s.failed }

// Close finishes requests in progress, for a few seconds.
func (s *Server) Close() error {
	switch {
	case s.listener == nil:
		return nil
	case s.http == nil:
		return s.listener.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.http.Close()
	}
	<-s.served // Failed has told its error.
	return err
}

// patient limits how long a client may take for an answer, and survives a panic. The server's own limit would be that
// of the whole answer: a stream of events may last for days, and an audit takes longer than any client may.
func patient(next http.Handler, log *logrus.Entry) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := &writer{ResponseWriter: w, control: http.NewResponseController(w)}
		answer.extend()
		defer func() {
			bug := recover()
			if bug != nil && bug != http.ErrAbortHandler { //nolint:errorlint // It is a value that is thrown.
				log.Errorf("answering %s %.200q: %v\n%s", r.Method, r.URL.Path, bug, debug.Stack())
			}
			if bug != nil {
				panic(http.ErrAbortHandler) // It ends the connection, so that half an answer is not taken for one.
			}
		}()
		next.ServeHTTP(answer, r)
	})
}

// writer gives the client writeTime for each piece of the answer, unless the handler sets deadlines itself, by
// http.ResponseController.
type writer struct {
	http.ResponseWriter
	control *http.ResponseController
	own     bool
}

// Unwrap is for http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// SetWriteDeadline is for http.ResponseController.
func (w *writer) SetWriteDeadline(t time.Time) error {
	w.own = true
	return w.control.SetWriteDeadline(t)
}

func (w *writer) extend() {
	if !w.own {
		_ = w.control.SetWriteDeadline(time.Now().Add(writeTime)) // A connection without deadlines is no client's.
	}
}

// WriteHeader implements http.ResponseWriter.
func (w *writer) WriteHeader(status int) {
	w.extend()
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *writer) Write(p []byte) (written int, err error) {
	for first := true; err == nil && (first || len(p) > 0); first = false {
		w.extend()
		var n int
		n, err = w.ResponseWriter.Write(p[:min(len(p), writeBytes)])
		written, p = written+n, p[n:]
	}
	return written, err
}

// certificate is read again for each connection, so that a renewal needs no restart.
type certificate struct {
	certFile, keyFile string
	log               *logrus.Entry

	mu    sync.Mutex
	pair  tls.Certificate // the last one that could be read
	wrong bool            // the files cannot be used now
}

// get implements tls.Config.GetCertificate. Files that do not fit are reported once, and the former ones stay in use:
// perhaps only one of the two is there yet.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	pair, err := certs.Load(c.certFile, c.keyFile)
	if err == nil {
		c.pair = pair
	} else if !c.wrong {
		c.log.WithError(err).Warn("the API's certificate was changed and cannot be used; the former one stays in use")
	}
	c.wrong = err != nil
	used := c.pair
	return &used, nil
}

// debugLog takes what net/http says of connections, most of which clients cause.
type debugLog struct{ to *logrus.Entry }

// Write implements io.Writer.
func (d debugLog) Write(p []byte) (int, error) {
	d.to.Debug(strings.TrimSpace(string(p)))
	return len(p), nil
}
