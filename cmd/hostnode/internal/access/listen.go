package access

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
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
	// headerTime is how long a client may take for TLS, and for the head of a request; bodyTime for its body.
	headerTime = 5 * time.Second
	bodyTime   = 30 * time.Second
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
		s.pair = &certificate{certFile: c.API.CertFile, keyFile: c.API.KeyFile, log: c.Log}
		if err := s.pair.load(); err != nil {
			return nil, fmt.Errorf("serve the API: %w", err)
		}
	}
	if all, err := c.Tokens.List(); err != nil {
		return nil, fmt.Errorf("serve the API: %w", err)
	} else if len(all) == 0 && c.API.Public() {
		c.Log.Warn("the API listens to other machines, and there is no token, so it answers none of them; make one with: " +
			"hostnode token new NAME --scope read")
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
		Handler: patient(Guard(next, s.config), s.config.Log), ReadHeaderTimeout: headerTime, IdleTimeout: idleTime,
		MaxHeaderBytes: maxHeader, Protocols: protocols, DisableGeneralOptionsHandler: true,
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

// patient serves each request within limits of time, and survives a panic. The server's own limits would be those of
// all requests: a stream of events may last for days, and the time that an answer takes to compute is not the client's.
func patient(next http.Handler, log *logrus.Entry) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		if r.Body != http.NoBody {
			_ = control.SetReadDeadline(time.Now().Add(bodyTime)) // A connection that has no deadlines has no client.
			r.Body = &body{r.Body, control}
		}
		answer := &writer{ResponseWriter: w, control: control}
		answer.extend()
		defer func() {
			if bug := recover(); bug != nil {
				log.Errorf("answering %s %.200q: %v\n%s", r.Method, r.URL.Path, bug, debug.Stack())
				panic(http.ErrAbortHandler) // It ends the connection, so that half an answer is not taken for one.
			}
		}()
		next.ServeHTTP(answer, r)
	})
}

// body is a request's body. When all of it is read, its deadline must go: the server reads on, to see the client leave,
// and would take the deadline for that.
type body struct {
	io.ReadCloser
	control *http.ResponseController
}

// Read implements io.Reader.
func (b *body) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if errors.Is(err, io.EOF) {
		_ = b.control.SetReadDeadline(time.Time{}) // As above.
	}
	return n, err
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
		_ = w.control.SetWriteDeadline(time.Now().Add(writeTime)) // As above.
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

// certificate is read again when its files change, so that a renewal needs no restart.
type certificate struct {
	certFile, keyFile string
	log               *logrus.Entry

	mu   sync.Mutex
	seen [2]os.FileInfo
	pair *tls.Certificate
}

// get implements tls.Config.GetCertificate. Files that do not fit are reported once, and the former ones stay in use:
// perhaps only one of the two is there yet.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.load(); err != nil {
		c.log.WithError(err).Warn("the API's certificate was changed and cannot be used; the former one stays in use")
	}
	return c.pair, nil
}

// load reads the files, if they are not those that were read last.
func (c *certificate) load() error {
	same, was := true, c.seen
	for i, path := range []string{c.certFile, c.keyFile} {
		c.seen[i], _ = os.Stat(path) // nil: reading it fails, too, and says why.
		now, before := c.seen[i], was[i]
		same = same && (now == nil) == (before == nil) && (now == nil || os.SameFile(now, before) &&
			now.ModTime().Equal(before.ModTime()) && now.Size() == before.Size())
	}
	if same && c.pair != nil {
		return nil
	}
	pair, err := certs.Load(c.certFile, c.keyFile)
	if err != nil {
		return err
	}
	c.pair = &pair
	if now := time.Now(); now.After(pair.Leaf.NotAfter) || now.Before(pair.Leaf.NotBefore) {
		c.log.WithField("from", pair.Leaf.NotBefore).WithField("until", pair.Leaf.NotAfter).
			Warnf("the certificate %s is not valid now: clients do not connect; replace the file", c.certFile)
	}
	return nil
}

// debugLog takes what net/http says of connections, most of which clients cause.
type debugLog struct{ to *logrus.Entry }

// Write implements io.Writer.
func (d debugLog) Write(p []byte) (int, error) {
	d.to.Debug(strings.TrimSpace(string(p)))
	return len(p), nil
}
