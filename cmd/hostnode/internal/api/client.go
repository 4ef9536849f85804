package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem/rows"
)

// Limits of the client.
const (
	// maxAnswer is the most bytes of an answer: 10,000 sales have about 15 MB.
	maxAnswer = 256 << 20
	// maxRefusal is the most bytes of a refusal.
	maxRefusal = 1 << 16
	// dialTime is how long a host may take to accept; it is on the same machine.
	dialTime = 5 * time.Second
	// pingTime is how long a host may take to answer a ping, for which it reads nothing.
	pingTime = 5 * time.Second
)

// Client is the Backend of a host in another process, over its socket.
type Client struct {
	http     *http.Client
	socket   string
	patience time.Duration // of Ping
	always   url.Values    // are parameters of each question
}

// NewClient makes a client of the host behind a socket. It connects at each
// question; when nobody answers, the error is problem.ErrNotRunning.
func NewClient(socket string) *Client {
	dialer := &net.Dialer{Timeout: dialTime}
	c := &Client{socket: socket, patience: pingTime, http: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", socket)
		},
	}}}
	return c
}

// Close drops idle connections.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	return nil
}

// At implements Backend. Each question reads the events again.
func (c *Client) At(_ context.Context, when When) (Backend, error) {
	past := *c
	past.always = url.Values{"at": {when.String()}}
	return &past, nil
}

// Ping reports whether a host answers: problem.ErrNotRunning when nobody listens, problem.ErrSilent when
// somebody listens and does not answer, like a suspended process.
func (c *Client) Ping(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	r, err := http.NewRequestWithContext(limited, http.MethodHead, "http://hostnode"+Root+"ping", nil)
	if err != nil {
		return fmt.Errorf("ask the host: %w", err)
	}
	answer, err := c.http.Do(r) // "No such resource" is an answer, too.
	switch {
	case err == nil:
		return answer.Body.Close()
	case ctx.Err() != nil:
		return c.unanswered(ctx, err)
	case limited.Err() != nil:
		return fmt.Errorf("%w at %s within %s", problem.ErrSilent, c.socket, c.patience)
	}
	return c.unanswered(ctx, err)
}

// watch ends a call, with problem.ErrSilent, when the host stops answering pings. The time for an
// answer itself is not limited: an audit of many events takes minutes.
func (c *Client) watch(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		tick := time.NewTicker(c.patience)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if err := c.Ping(ctx); errors.Is(err, problem.ErrSilent) {
				cancel(err)
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}

// over asks the host over its socket.
func over[A any](ctx context.Context, c *Client, method, path string, q any) (answer A, err error) {
	ctx, done := c.watch(ctx)
	defer done()
	path, query, sent, err := address(path, q)
	if err != nil {
		return answer, err
	}
	var body io.Reader
	if sent != nil {
		text, err := json.Marshal(sent)
		if err != nil {
			return answer, fmt.Errorf("encode the question: %w", err)
		}
		body = bytes.NewReader(text)
	}
	maps.Copy(query, c.always)
	r, err := http.NewRequestWithContext(ctx, method, "http://hostnode"+Root+path+"?"+query.Encode(), body)
	if err != nil {
		return answer, fmt.Errorf("ask the host: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	w, err := c.http.Do(r)
	if err != nil {
		return answer, c.unanswered(ctx, err)
	}
	defer w.Body.Close()
	text, err := io.ReadAll(io.LimitReader(w.Body, maxAnswer+1))
	if err == nil && len(text) > maxAnswer {
		err = fmt.Errorf("%w: the answer has more than %d bytes", problem.ErrTooLarge, maxAnswer)
	}
	if err != nil {
		return answer, c.unanswered(ctx, err)
	}
	if w.StatusCode != http.StatusOK {
		return answer, refusal(w, text)
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return answer, fmt.Errorf("read the host's answer: %w", err)
	}
	return answer, nil
}

// Follow calls heard for each event that the host records from now on, until the host ends the connection, nothing has
// come for longer than its signs of life do, or ctx ends. There is always an error.
func (c *Client) Follow(ctx context.Context, heard func()) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://hostnode"+Root+Watch, nil)
	if err != nil {
		return fmt.Errorf("follow the host: %w", err)
	}
	silent := time.AfterFunc(2*heartbeat, cancel)
	defer silent.Stop()
	w, err := c.http.Do(r)
	if err != nil {
		return c.unanswered(ctx, err)
	}
	defer w.Body.Close()
	if w.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(w.Body, maxRefusal)) // Whatever came says what is wrong.
		return refusal(w, text)
	}
	// A line may be longer than what is read at once; what it says is not asked for here.
	for lines := bufio.NewReader(w.Body); ; {
		line, more, err := lines.ReadLine()
		for ; more && err == nil; _, more, err = lines.ReadLine() {
			silent.Reset(2 * heartbeat)
		}
		if err != nil {
			return c.unanswered(ctx, err)
		}
		silent.Reset(2 * heartbeat)
		if bytes.HasPrefix(line, []byte("data:")) {
			heard()
		}
	}
}

// unanswered tells a host that does not run from a caller who gave up.
func (c *Client) unanswered(ctx context.Context, err error) error {
	var dial *net.OpError
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("ask the host: %w", context.Cause(ctx))
	case errors.As(err, &dial) && dial.Op == "dial":
		return fmt.Errorf("%w at %s: %w", problem.ErrNotRunning, c.socket, dial.Err)
	}
	return fmt.Errorf("ask the host: %w", err)
}

// refusal decodes a problem. Any other answer is quoted in part.
func refusal(w *http.Response, text []byte) error {
	if p, ok := rows.All().Decode(text); ok {
		return p
	}
	const most = 200
	return fmt.Errorf("the host answered %s: %.200q", w.Status, text[:min(len(text), most)])
}
