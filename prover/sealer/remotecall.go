package sealer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/internal/callback"
	"github.com/hostnode/hostnode/internal/retry"
	"github.com/hostnode/hostnode/prover/sealer/remoteapi"
)

// request is a request to the prover. json is sent as often as needed, body only once.
type request struct {
	method, path string
	sector       events.SectorRef
	json         []byte
	body         *verifiedReader
	length       int64
}

func sectorPath(s events.SectorRef) string {
	return fmt.Sprintf("/sectors/%s/%d", s.Provider, s.Number)
}

// noProver is an answer that says nothing about the sector: no step has failed.
func noProver(format string, values ...any) error {
	return fmt.Errorf("%s: %w: %w", fmt.Sprintf(format, values...), events.ErrNoProver, events.ErrSealerAway)
}

// errPassing marks temporary errors.
var errPassing = errors.New("passing")

func (r *RemoteSealer) post(
	ctx context.Context, sector events.SectorRef, step string, body, result any, progress events.SectorProgress,
) error {
	b, _ := json.Marshal(body) // All bodies (remoteapi) are texts, numbers and bytes.
	req := request{method: http.MethodPost, path: sectorPath(sector) + "/" + step, sector: sector, json: b}
	return r.call(ctx, req, result, progress)
}

// call asks until the work is done: again at once when a call-back says so, after Poll while it
// runs, and after a while when the prover does not answer.
func (r *RemoteSealer) call(ctx context.Context, req request, result any, progress events.SectorProgress) error {
	err := r.introduce(ctx)
	if err == nil {
		err = r.work(ctx, req, result, progress)
	}
	_, wrong := req.body.state()
	switch cause := context.Cause(ctx); {
	case err == nil:
		return nil
	case cause != nil:
		return cause
	case wrong != nil:
		err = wrong // The reader's own error, not that of the connection.
	}
	return fmt.Errorf("outside prover %s, %s: %w", r.name, req.sector, events.WithoutSecrets(err, r.secrets))
}

func (r *RemoteSealer) work(ctx context.Context, req request, result any, progress events.SectorProgress) error {
	news, forget := r.listen(req.sector)
	defer forget()
	told := 0.0
	more := func(done float64) {
		if done > told && done <= 1 {
			told = done
			tell(progress, done)
		}
	}
	for {
		answer, err := insist[remoteapi.Answer](ctx, r, req, "its answer")
		if err != nil {
			return err
		}
		switch answer.State {
		case remoteapi.Done:
			more(1)
			if result == nil {
				return nil
			}
			if err := json.Unmarshal(answer.Result, result); err != nil {
				return noProver("its result: %v", err)
			}
			return nil
		case remoteapi.Failed:
			err := fmt.Errorf("it says %q (%s)", clip(answer.Error), clip(answer.Code))
			if kind := remoteapi.Errors[answer.Code]; kind != nil {
				err = fmt.Errorf("%w: %w", err, kind)
			}
			return err
		case remoteapi.Running:
			if req.body != nil {
				return noProver("a piece is taken or refused, it does not run")
			}
			more(answer.Progress)
		default:
			return noProver("the state %q", clip(answer.State))
		}
		select {
		case <-news:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(r.cfg.Poll):
		}
	}
}

// clip shortens text from outside.
func clip(text string) string {
	const most = 300
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}

// introduce checks the prover's identity, once.
func (r *RemoteSealer) introduce(ctx context.Context) error {
	if r.known.Load() {
		return nil
	}
	prover, err := insist[remoteapi.Prover](ctx, r, request{method: http.MethodGet, path: "/prover"}, "who it is")
	if err != nil {
		return err
	}
	if prover.Version != remoteapi.Version || prover.Proves != r.cfg.Proves {
		return noProver("it has version %d and shows %q, expected are %d and %q; correct the setting or the URL",
			prover.Version, clip(prover.Proves), remoteapi.Version, r.cfg.Proves)
	}
	r.known.Store(true)
	return nil
}

// insist sends a request, again a bounded number of times after temporary errors, until it has an answer, of which it
// says what it is.
func insist[T any](ctx context.Context, r *RemoteSealer, req request, what string) (answer T, err error) {
	for attempt := 1; ; attempt++ {
		b, err := r.once(ctx, req)
		if err == nil {
			if err = json.Unmarshal(b, &answer); err != nil {
				err = noProver("%s: %v", what, err)
			}
		}
		if !errors.Is(err, errPassing) {
			return answer, err
		}
		if began, _ := req.body.state(); began || attempt >= r.cfg.Attempts {
			return answer, fmt.Errorf("%w: %w", err, events.ErrSealerAway)
		}
		if retry.Sleep(ctx, retry.Backoff(r.cfg.Backoff, time.Minute, req.path, attempt)) != nil {
			return answer, context.Cause(ctx)
		}
	}
}

// once sends a request once. It reads at most one byte more than is allowed.
func (r *RemoteSealer) once(ctx context.Context, req request) (_ []byte, err error) {
	var body io.Reader
	switch {
	case req.body != nil:
		body = io.NopCloser(req.body)
	default:
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.cfg.RequestTimeout)
		defer cancel()
		if req.json != nil {
			body = bytes.NewReader(req.json)
		}
	}
	h, err := http.NewRequestWithContext(ctx, req.method, r.base+req.path, body)
	if err != nil {
		return nil, err
	}
	h.Header.Set("Authorization", "Bearer "+r.cfg.Token)
	if req.body != nil {
		h.ContentLength = req.length
		h.Header.Set("Expect", "100-continue")
		h.Header.Set("Content-Type", "application/octet-stream")
	} else if req.json != nil {
		h.Header.Set("Content-Type", "application/json")
	}
	if r.cfg.Callback != "" {
		h.Header.Set(remoteapi.CallbackHeader, r.cfg.Callback)
		h.Header.Set(remoteapi.CallbackTokenHeader, r.cfg.CallbackToken)
	}
	response, err := r.client.Do(h)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, errPassing)
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	b, err := io.ReadAll(io.LimitReader(response.Body, r.cfg.MaxAnswer+1))
	switch code := response.StatusCode; {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", err, errPassing)
	case int64(len(b)) > r.cfg.MaxAnswer:
		return nil, noProver("an answer of more than %d bytes", r.cfg.MaxAnswer)
	case code == http.StatusOK || code == http.StatusAccepted || code == http.StatusUnprocessableEntity:
		return b, nil
	case code >= http.StatusInternalServerError, code == http.StatusTooManyRequests, code == http.StatusRequestTimeout:
		return nil, fmt.Errorf("answered %s: %w", response.Status, errPassing)
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return nil, noProver("answered %s: it does not take our token; correct it", response.Status)
	default:
		return nil, noProver("answered %s: this is no prover, or its URL is another one", response.Status)
	}
}

// listen returns a channel that receives when a call-back about a sector has come.
func (r *RemoteSealer) listen(sector events.SectorRef) (news <-chan struct{}, forget func()) {
	name, wake := sectorName{sector.Provider, sector.Number}, make(chan struct{}, 1)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.wakes[name] == nil {
		r.wakes[name] = make(map[chan struct{}]bool)
	}
	r.wakes[name][wake] = true
	return wake, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.wakes[name], wake)
		if len(r.wakes[name]) == 0 {
			delete(r.wakes, name)
		}
	}
}

// maxCallbacks limits the call-backs of a second: many more than steps end.
const maxCallbacks = 1000

// Callbacks serves the call-backs of the prover. A call-back only causes another question to the
// prover.
func (r *RemoteSealer) Callbacks() http.Handler {
	return callback.New(r.cfg.CallbackToken, maxCallbacks, func(c remoteapi.Callback) error {
		provider, err := events.ParseAddress(c.Provider)
		if err != nil {
			return err
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		for wake := range r.wakes[sectorName{provider, c.Number}] {
			select {
			case wake <- struct{}{}:
			default: // It is already due to ask.
			}
		}
		return nil
	})
}
