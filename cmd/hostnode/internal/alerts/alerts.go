// Package alerts delivers what a person should know at once: to a command, on its
// standard input, and to a webhook, both as JSON (docs/alerts.md).
//
// It never delays the host. Alerts wait in a bounded queue and are delivered one
// after the other, each within a time limit. Every alert is also in the log, even
// one that cannot be delivered.
package alerts

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/events"
)

const (
	// maxQueued is how many alerts wait for a slow command. Each incident alerts once,
	// so more of them mean that everything is failing at once, and the first ones say
	// so.
	maxQueued = 100
	// maxNewest is how many of the newest alerts are remembered for those who ask.
	maxNewest = 100
	// maxShown is how many bytes of a command's output, or of an answer, are logged.
	maxShown = 1_000
	// defaultTimeout limits a delivery if the settings do not.
	defaultTimeout = 10 * time.Second
)

// Config says where alerts go.
type Config struct {
	// Command is run by the shell for each alert. Empty: none.
	Command string
	// Webhook is a URL that each alert is posted to. It may hold a secret and is never
	// logged. Empty: none.
	Webhook string
	// Timeout limits each delivery; default 10 s.
	Timeout time.Duration
	// Secrets are texts that no alert may contain.
	Secrets []string
	// Log hears of what could not be delivered.
	Log *logrus.Entry
}

// Sender delivers alerts. Safe for concurrent use.
type Sender struct {
	cfg    Config
	client *http.Client
	queue  chan []byte
	done   chan struct{} // closed when nothing is delivered any more
	cancel context.CancelFunc

	mu      sync.Mutex
	closed  bool
	dropped int      // since the last one that was taken
	newest  [][]byte // the oldest first
}

// New begins to deliver. Close ends it.
func New(cfg Config) *Sender {
	if cfg.Timeout <= 0 {
		cfg.Timeout = defaultTimeout
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Sender{
		cfg: cfg, client: &http.Client{}, queue: make(chan []byte, maxQueued),
		done: make(chan struct{}), cancel: cancel,
	}
	go s.run(ctx)
	return s
}

// Send queues an alert, any value with a JSON form. It never blocks: when too many
// wait, the alert is dropped, and the log says so. A nil Sender delivers nothing.
func (s *Sender) Send(alert any) {
	if s == nil {
		return
	}
	body, err := json.Marshal(alert)
	if err != nil {
		s.cfg.Log.Errorf("an alert has no JSON form: %v", err)
		return
	}
	body = []byte(events.HideSecrets(string(body), s.cfg.Secrets))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.newest = append(s.newest[max(0, len(s.newest)-maxNewest+1):], body)
	if s.closed || s.cfg.Command == "" && s.cfg.Webhook == "" {
		return
	}
	select {
	case s.queue <- append(slices.Clip(body), '\n'):
		if s.dropped > 0 {
			s.cfg.Log.Warnf("%d alerts were not delivered, as %d waited; they are in the log", s.dropped, maxQueued)
		}
		s.dropped = 0
	default:
		if s.dropped++; s.dropped == 1 {
			s.cfg.Log.Errorf("alerts are not delivered, because %d are waiting; "+
				"look whether alerts.command or alerts.webhook hangs", maxQueued)
		}
	}
}

// Newest are the newest alerts as they were sent, the oldest first.
func (s *Sender) Newest() [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.newest)
}

// Close delivers the waiting alerts, for at most the time of one delivery.
func (s *Sender) Close() {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.queue)
	}
	s.mu.Unlock()
	limit := time.AfterFunc(s.cfg.Timeout, s.cancel)
	defer limit.Stop()
	<-s.done
}

func (s *Sender) run(ctx context.Context) {
	defer close(s.done)
	for body := range s.queue {
		if ctx.Err() != nil {
			s.cfg.Log.Warnf("an alert was not delivered, because the host is ending: %s", shown(body))
			continue
		}
		s.deliver(ctx, "alerts.command", s.cfg.Command, body, s.command)
		s.deliver(ctx, "alerts.webhook", s.cfg.Webhook, body, s.post)
	}
}

func (s *Sender) deliver(ctx context.Context, setting, to string, body []byte,
	how func(context.Context, []byte) error,
) {
	if to == "" {
		return
	}
	limited, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	err := how(limited, body)
	if errors.Is(limited.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("it took longer than %s (alerts.timeout): %w", s.cfg.Timeout, err)
	}
	if err != nil {
		s.cfg.Log.Errorf("%s did not take an alert: %v; the alert: %s", setting, err, shown(body))
	}
}

func (s *Sender) post(ctx context.Context, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.cfg.Webhook, bytes.NewReader(body))
	if err != nil {
		return withoutURL(err)
	}
	req.Header.Set("Content-Type", "application/json")
	answer, err := s.client.Do(req)
	if err != nil {
		return withoutURL(err)
	}
	defer func() { _ = answer.Body.Close() }()
	said, err := io.ReadAll(io.LimitReader(answer.Body, maxShown))
	if err != nil {
		return fmt.Errorf("read the answer: %w", withoutURL(err))
	}
	if answer.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("the answer is %s: %s", answer.Status, shown(said))
	}
	return nil
}

// withoutURL keeps the webhook's secret out of the log.
func withoutURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

func shown(text []byte) string { return string(bytes.TrimSpace(text[:min(len(text), maxShown)])) }
