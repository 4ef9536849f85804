// Package alerts delivers what a person should know at once: to a command, on its
// standard input, and to a webhook, both as JSON (docs/alerts.md).
//
// It never delays the host. Alerts wait in a bounded queue and are delivered one
// after the other, each within a time limit. Every alert is also in the log, even
// one that cannot be delivered. The Sender in this file does that; formats.go has how a
// webhook gets an alert. The Desk (desk.go) is where a host raises alerts: it has the
// Sender deliver at once what is new, and then has all of it recorded, after which
// the room (actors/alerts) tries again what was not taken.
package alerts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
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
	// Format is how the webhook gets an alert of a host: FormatHostnode, the default, or FormatAlertmanager.
	Format string
	// Key signs what is posted; empty: nothing is signed.
	Key []byte
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
	queue  chan waiting
	done   chan struct{} // closed when nothing is delivered any more
	cancel context.CancelFunc

	mu      sync.Mutex
	closed  bool
	dropped int      // since the last one that was taken
	newest  [][]byte // the oldest first
}

// waiting is an alert that waits for its delivery.
type waiting struct {
	alert any
	then  func(took []string) // nil: nothing follows
}

// New begins to deliver. Close ends it.
func New(cfg Config) *Sender {
	if cfg.Timeout <= 0 {
		cfg.Timeout = defaultTimeout
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Sender{
		cfg: cfg, client: &http.Client{CheckRedirect: asAnswered}, queue: make(chan waiting, maxQueued),
		done: make(chan struct{}), cancel: cancel,
	}
	go s.run(ctx)
	return s
}

// asAnswered has a redirect be an answer like any other that is no success: if it were followed, the alert would be
// asked for elsewhere without its body, or told to an address that the operator has not named.
func asAnswered(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Send queues an alert, any value with a JSON form. It never blocks: when too many
// wait, the alert is dropped, and the log says so. A nil Sender delivers nothing.
func (s *Sender) Send(alert any) { s.send(alert, nil) }

// send is Send, and calls then with the channels that took the alert, if it is not nil.
func (s *Sender) send(alert any, then func(took []string)) {
	if s == nil {
		return
	}
	s.remember(alert)
	s.mu.Lock()
	defer s.mu.Unlock()
	queued := false
	if !s.closed && len(s.Channels()) > 0 {
		select {
		case s.queue <- waiting{alert, then}:
			queued = true
			if s.dropped > 0 {
				s.cfg.Log.Warnf("%d alerts were not delivered at once, as %d waited; they are in the log", s.dropped,
					maxQueued)
			}
			s.dropped = 0
		default:
			if s.dropped++; s.dropped == 1 {
				s.cfg.Log.Errorf("alerts are not delivered, because %d are waiting; "+
					"look whether alerts.command or alerts.webhook hangs", maxQueued)
			}
		}
	}
	if !queued && then != nil {
		go then(nil)
	}
}

// remember keeps an alert for those who ask for the newest.
func (s *Sender) remember(alert any) {
	body := s.encoded(alert, FormatHostnode)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.newest = append(s.newest[max(0, len(s.newest)-maxNewest+1):], body)
}

// The channels.
const (
	ChannelCommand = "command"
	ChannelWebhook = "webhook"
)

// Channels are the names of those that the settings have.
func (s *Sender) Channels() (all []string) {
	if s.cfg.Command != "" {
		all = append(all, ChannelCommand)
	}
	if s.cfg.Webhook != "" {
		all = append(all, ChannelWebhook)
	}
	return all
}

// Errors of channels.
var (
	// ErrNoChannel: the settings have no such channel.
	ErrNoChannel = errors.New("there is no such channel of alerts")
	// ErrNotTaken: a channel has not taken a test.
	ErrNotTaken = errors.New("the channel has not taken the test")
)

// Deliver delivers an alert by a channel within alerts.timeout, and returns what was answered. An error: the channel
// has not taken it.
func (s *Sender) Deliver(ctx context.Context, channel string, alert any) (answer string, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	switch {
	case !slices.Contains(s.Channels(), channel):
		return "", fmt.Errorf("%w: %.40q; the settings have %q", ErrNoChannel, channel, s.Channels())
	case channel == ChannelCommand:
		answer, err = s.command(ctx, append(s.encoded(alert, FormatHostnode), '\n'))
	default:
		answer, err = s.post(ctx, append(s.encoded(alert, s.cfg.Format), '\n'))
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("it took longer than %s (alerts.timeout): %w", s.cfg.Timeout, err)
	}
	return events.HideSecrets(answer, s.cfg.Secrets), err
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
	for w := range s.queue {
		var took []string
		for _, channel := range s.Channels() {
			if ctx.Err() != nil {
				s.cfg.Log.Warnf("an alert was not delivered by %s, because the host is ending: %s", channel,
					s.encoded(w.alert, FormatHostnode))
				continue
			}
			if _, err := s.Deliver(ctx, channel, w.alert); err != nil {
				s.cfg.Log.Errorf("alerts.%s did not take an alert: %v; the alert: %s", channel, err,
					s.encoded(w.alert, FormatHostnode))
				continue
			}
			took = append(took, channel)
		}
		if w.then != nil {
			w.then(took)
		}
	}
}

func (s *Sender) post(ctx context.Context, body []byte) (answer string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.cfg.Webhook, bytes.NewReader(body))
	if err != nil {
		return "", withoutURL(err)
	}
	req.Header.Set("Content-Type", "application/json")
	s.sign(req.Header, body, time.Now())
	got, err := s.client.Do(req)
	if err != nil {
		return "", withoutURL(err)
	}
	defer func() { _ = got.Body.Close() }()
	said, err := io.ReadAll(io.LimitReader(got.Body, maxShown))
	if err != nil {
		return "", fmt.Errorf("read the answer: %w", withoutURL(err))
	}
	answer = strings.TrimSpace(got.Status + ": " + shown(said))
	if got.StatusCode >= http.StatusMultipleChoices {
		return answer, fmt.Errorf("the answer is %s", answer)
	}
	return answer, nil
}

// withoutURL keeps the webhook's secret out of the log.
func withoutURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

func shown(text []byte) string { return string(bytes.TrimSpace(text[:min(len(text), maxShown)])) }
