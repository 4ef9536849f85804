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
	// DefaultSettled is how many settled sales are listed by default.
	DefaultSettled = 20
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

// route is a question about a resource. Those of one path have the same time.
type route struct {
	method, path string
	ask          answer
	time         time.Duration
}

// answer is a handler without HTTP: it returns what to encode.
type answer func(*http.Request) (any, error)

// Handler is the API over a backend.
func Handler(b Backend, log *logrus.Entry) http.Handler {
	if s, ok := b.(*Standby); ok && s.store == nil {
		return s.handler(log)
	}
	mux, resources := http.NewServeMux(), map[string]map[string]answer{}
	for _, r := range routes(b) {
		if resources[r.path] == nil {
			resources[r.path] = map[string]answer{}
			mux.Handle(r.path, handlerOf(resources[r.path], r.path, r.time, log))
		}
		resources[r.path][r.method] = r.ask
	}
	mux.Handle(exportPath, exported(b, log))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeProblem(w, fmt.Errorf("%w: %.200s", problem.ErrNoRoute, r.URL.Path))
	})
	return mux
}

func routes(b Backend) []route {
	routes := inspections(b)
	for path, ask := range answers(func(*http.Request) (Past, error) { return b, nil }) {
		routes = append(routes, route{http.MethodGet, "/v1/" + path, ask, answerTime})
	}
	routes = append(routes, orderRoutes(b)...)
	return append(routes, []route{
		{http.MethodPost, "/v1/backup", bodied(func(ctx context.Context, p place) (Backup, error) {
			return b.Backup(ctx, p.Dir)
		}), auditTime},
		{http.MethodPost, "/v1/queue/pause", reasoned(b.PauseQueue), answerTime},
		{http.MethodPost, "/v1/queue/resume", reasoned(b.ResumeQueue), answerTime},
		{http.MethodGet, "/v1/quarantine", func(r *http.Request) (any, error) {
			return b.Quarantine(r.Context())
		}, answerTime},
		{http.MethodPost, "/v1/quarantine/retry", bodied(func(ctx context.Context, w work) (Quarantine, error) {
			return b.TryAgain(ctx, w.Work)
		}), answerTime},
		{http.MethodGet, "/v1/availabilities", func(r *http.Request) (any, error) {
			return b.Ledger(r.Context())
		}, answerTime},
		{http.MethodPost, "/v1/availabilities", bodied(b.AddAvailability), answerTime},
		{http.MethodPatch, "/v1/availabilities/{id}", func(r *http.Request) (any, error) {
			return bodied(func(ctx context.Context, c Changes) (any, error) {
				return b.SetAvailability(ctx, r.PathValue("id"), c)
			})(r)
		}, answerTime},
		{http.MethodDelete, "/v1/availabilities/{id}", func(r *http.Request) (any, error) {
			id, err := b.RemoveAvailability(r.Context(), r.PathValue("id"))
			return removed{id}, err
		}, answerTime},
	}...)
}

// removed answers that an availability is gone.
type removed struct {
	ID string `json:"id"`
}

// work names something that is quarantined.
type work struct {
	Work string `json:"work"`
}

// reason is why an operator does something.
type reason struct {
	Reason string `json:"reason"`
}

func reasoned(do func(context.Context, string) (Queue, error)) answer {
	return bodied(func(ctx context.Context, r reason) (Queue, error) {
		text := strings.TrimSpace(r.Reason)
		if len(text) > maxReason {
			return Queue{}, fmt.Errorf("%w: a reason has at most %d bytes", problem.ErrBadRequest, maxReason)
		}
		if text == "" {
			text = "by the operator"
		}
		return do(ctx, text)
	})
}

// bodied decodes the body for a function.
func bodied[Q, A any](do func(context.Context, Q) (A, error)) answer {
	return func(r *http.Request) (any, error) {
		var question Q
		if err := decode(r.Body, &question); err != nil {
			return nil, err
		}
		return do(r.Context(), question)
	}
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

func handlerOf(methods map[string]answer, path string, limit time.Duration, log *logrus.Entry) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if bug := recover(); bug != nil {
				log.Errorf("answering %s %s: %v\n%s", r.Method, path, bug, debug.Stack())
				writeProblem(w, fmt.Errorf("a bug in hostnode: %v", bug))
			}
		}()
		method := r.Method
		if method == http.MethodHead {
			method = http.MethodGet
		}
		do, ok := methods[method]
		if !ok {
			w.Header().Set("Allow", strings.Join(slices.Collect(maps.Keys(methods)), ", "))
			writeProblem(w, fmt.Errorf("%w: %.20s %s", problem.ErrMethod, r.Method, path))
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), limit)
		defer cancel()
		r = r.WithContext(ctx)
		r.Body = http.MaxBytesReader(w, r.Body, MaxBody)
		value, err := do(r)
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
