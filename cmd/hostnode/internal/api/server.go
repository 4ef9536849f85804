package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
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

// answer is a handler without HTTP: it returns what to encode.
type answer func(*http.Request) (any, error)

// resource is what can be asked of one path.
type resource struct {
	path    string
	methods map[string]answer
	limit   time.Duration
}

// Handler is the API over a backend.
func Handler(b Backend, log *logrus.Entry) http.Handler {
	mux, resources := http.NewServeMux(), map[string]*resource{}
	add := func(method, path string, limit time.Duration, do answer) {
		r := resources[path]
		if r == nil {
			r = &resource{path, map[string]answer{}, 0}
			resources[path] = r
			mux.Handle(path, r.handler(log))
		}
		r.methods[method], r.limit = do, max(limit, r.limit)
	}
	if s, ok := b.(*Standby); ok && s.store == nil { // Only the status is known.
		add(http.MethodGet, "/v1/status", answerTime, func(r *http.Request) (any, error) {
			return s.Status(r.Context())
		})
		mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { writeProblem(w, s.refusal()) })
		return mux
	}
	for _, c := range calls(b) {
		method, path, limit, past := c.place()
		add(method, "/v1/"+path, limit, func(r *http.Request) (any, error) { return c.answer(b, r) })
		if !past {
			continue
		}
		add(method, "/v1/past/"+path, auditTime, func(r *http.Request) (any, error) {
			when, err := ParseWhen(r.URL.Query().Get("at"), distant)
			if err != nil {
				return nil, err
			}
			then, err := b.At(r.Context(), when)
			if err != nil {
				return nil, err
			}
			return c.answer(then, r)
		})
	}
	mux.Handle(exportPath, exported(b, log))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeProblem(w, fmt.Errorf("%w: %.200s", problem.ErrNoRoute, r.URL.Path))
	})
	return mux
}

// decode reads exactly one JSON value; unknown names are refused, because a typo
// must not silently mean the default.
func decode(body io.Reader, into any) error {
	d := json.NewDecoder(body)
	d.DisallowUnknownFields()
	err := d.Decode(into)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return fmt.Errorf("%w: more than %d bytes", problem.ErrTooLarge, tooLarge.Limit)
	case err != nil:
		return fmt.Errorf("%w: body is not the JSON that is expected: %w", problem.ErrBadRequest, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: something follows the JSON value", problem.ErrBadRequest)
	}
	return nil
}

func (r *resource) handler(log *logrus.Entry) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		defer func() {
			if bug := recover(); bug != nil {
				log.Errorf("answering %s %s: %v\n%s", q.Method, r.path, bug, debug.Stack())
				writeProblem(w, fmt.Errorf("a bug in hostnode: %v", bug))
			}
		}()
		method := q.Method
		if method == http.MethodHead {
			method = http.MethodGet
		}
		do, ok := r.methods[method]
		if !ok {
			w.Header().Set("Allow", strings.Join(slices.Collect(maps.Keys(r.methods)), ", "))
			writeProblem(w, fmt.Errorf("%w: %.20s %s", problem.ErrMethod, q.Method, r.path))
			return
		}
		ctx, cancel := context.WithTimeout(q.Context(), r.limit)
		defer cancel()
		q = q.WithContext(ctx)
		q.Body = http.MaxBytesReader(w, q.Body, MaxBody)
		value, err := do(q)
		if err != nil {
			writeProblem(w, err)
			return
		}
		write(w, http.StatusOK, "application/json", value)
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
