package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem/rows"
)

// Limits of the server.
const (
	// MaxBody is the most bytes of a request's body; the largest sensible one has 500.
	MaxBody = 64 << 10
	// maxHeader is the most bytes of a request's head.
	maxHeader = 16 << 10
	// maxReason is the most bytes of an operator's reason; it is stored.
	maxReason = 500
	// answerTime bounds an answer, auditTime an audit, which reads all events.
	answerTime = 30 * time.Second
	auditTime  = 30 * time.Minute
	// readTime bounds the reading of a request, idleTime a connection without requests.
	readTime = 10 * time.Second
	idleTime = 2 * time.Minute
	// stopTime is how long requests may still take when the server stops.
	stopTime = 5 * time.Second
)

// Server answers on a unix socket.
type Server struct {
	http    *http.Server
	done    chan error
	log     *logrus.Entry
	answers atomic.Pointer[http.Handler]
}

// Listen serves on a path that must not exist (datadir.Dir.Listen). Only the user
// who runs the host can connect.
func Listen(path string, backend Backend, log *logrus.Entry) (*Server, error) {
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen on the socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("protect the socket: %w", err), l.Close())
	}
	s := &Server{done: make(chan error, 1), log: log}
	s.Answer(backend)
	s.http = &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			(*s.answers.Load()).ServeHTTP(w, r)
		}), ReadTimeout: readTime, ReadHeaderTimeout: readTime,
		WriteTimeout: auditTime + answerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
	}
	go func() { s.done <- s.http.Serve(l) }()
	return s, nil
}

// Answer replaces the backend, for example when a host that was starting runs. Requests
// in progress are answered by the old one.
func (s *Server) Answer(backend Backend) {
	h := Handler(backend, s.log)
	s.answers.Store(&h)
}

// Handler answers what the socket answers, for another listener.
func (s *Server) Handler() http.Handler { return s.http.Handler }

// Close finishes requests in progress, for a few seconds, and removes the socket.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.http.Close()
	}
	if served := <-s.done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// Root is where the API is.
const Root = "/api/v1/"

// Handler is the API over a backend.
func Handler(b Backend, log *logrus.Entry) http.Handler {
	mux := http.NewServeMux()
	api := newAPI(mux)
	mux.HandleFunc("GET /openapi.json", document)
	probes(mux, b, log)
	if s, ok := b.(*Standby); ok && s.store == nil { // Only the status is known.
		ShowStatus.register(api, b)
		mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { writeProblem(w, s.refusal()) })
		return survives(mux, log)
	}
	for _, c := range calls(b) {
		c.register(api, b)
	}
	mux.Handle("GET "+exportPath, exported(b, log))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if allowed := methods(mux, r); len(allowed) > 0 {
			w.Header().Set("Allow", strings.Join(allowed, ", "))
			writeProblem(w, fmt.Errorf("%w: %.20s %.200s", problem.ErrMethod, r.Method, r.URL.Path))
			return
		}
		writeProblem(w, fmt.Errorf("%w: %.200s", problem.ErrNoRoute, r.URL.Path))
	})
	return survives(mux, log)
}

// methods are those with which a request's path can be asked.
func methods(mux *http.ServeMux, r *http.Request) (allowed []string) {
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := mux.Handler(other); pattern != "/" && pattern != "" {
			allowed = append(allowed, method)
		}
	}
	return allowed
}

// survives answers when a handler has a bug.
func survives(h http.Handler, log *logrus.Entry) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			bug := recover()
			if bug == http.ErrAbortHandler { //nolint:errorlint // It is a value that is thrown.
				panic(bug)
			}
			if bug != nil {
				log.Errorf("answering %s %.200s: %v\n%s", r.Method, r.URL.Path, bug, debug.Stack())
				writeProblem(w, fmt.Errorf("a bug in hostnode: %v", bug))
			}
		}()
		h.ServeHTTP(w, r)
	})
}

func writeProblem(w http.ResponseWriter, err error) {
	p := rows.All().Explain(err)
	write(w, p.Status, "application/problem+json", p)
}

// write encodes before it sends, so that a value that cannot be encoded is an
// error and not half an answer.
func write(w http.ResponseWriter, status int, kind string, value any) {
	var body bytes.Buffer
	e := json.NewEncoder(&body)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	// If the client has gone, there is nobody to tell.
	_, _ = w.Write(body.Bytes())
}
