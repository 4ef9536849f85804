package api

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/danielgtaylor/huma/v2/sse"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
)

// Limits of watching.
const (
	// MaxWatchers is how many watch at once, all together.
	MaxWatchers = 500
	// MaxMissed is the most events that a watcher is told who was away: one that missed more loads everything anew.
	MaxMissed = 5_000
	// heartbeat is how often a watcher hears something, with the position that was reached, while nothing happens.
	heartbeat = 15 * time.Second
)

// WatchQuestion says from where on events are told, and which.
type WatchQuestion struct {
	// LastEventID is what a browser sends when it connects again. It wins over After. Without both it begins now.
	LastEventID string          `header:"Last-Event-ID"`
	After       events.Position `query:"after"`
	Machine     string          `query:"machine" doc:"only events of this machine"`
}

// after is the position after which events are told; 0: from now on.
func (q WatchQuestion) after() (events.Position, error) {
	if q.LastEventID == "" {
		return q.After, nil
	}
	n, err := strconv.ParseUint(q.LastEventID, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: Last-Event-ID %.40q is no position", problem.ErrBadRequest, q.LastEventID)
	}
	return events.Position(n), nil
}

// Reload says that a watcher has missed too much, or watched another record: what it shows must be asked anew, and
// events go on after the position.
type Reload struct {
	Position events.Position `json:"position"`
	Reason   string          `json:"reason"`
}

// watching is the call: events as they are recorded. Each has its position as its id, and is told when the views show
// it. It is no Call, because its answer does not end.
type watching struct{}

// Watch is where events are told as they are recorded.
const Watch = "events/live"

func (watching) place() (method, path string) { return http.MethodGet, Watch }

func (watching) register(to huma.API, b Backend) {
	op := huma.Operation{
		OperationID: "watch-events", Method: http.MethodGet, Path: Root + Watch, Tags: []string{"events"},
		Summary: "Events as they are recorded, as server-sent events that can be resumed",
		Middlewares: huma.Middlewares{func(ctx huma.Context, next func(huma.Context)) {
			if _, err := answererOf[Watchable](b); err != nil {
				_, w := humago.Unwrap(ctx)
				writeProblem(w, err)
				return
			}
			// Whatever else is read of this connection may come late; each event has a deadline of its own.
			_ = ctx.SetReadDeadline(time.Time{})
			next(ctx)
		}},
	}
	kinds := map[string]any{"message": Event{}, "reload": Reload{}, "refused": problem.Problem{}}
	sse.Register(to, op, kinds, func(ctx context.Context, q *WatchQuestion, send sse.Sender) {
		w, err := answererOf[Watchable](b)
		if err == nil {
			err = w.Watch(ctx, *q, send)
		}
		if err != nil && ctx.Err() == nil {
			_ = send.Data(explained(err)) // If the watcher has gone, there is nobody to tell.
		}
	})
}

// Watchable has a record that grows.
type Watchable interface {
	// Watch sends events until ctx or the host ends, or the watcher is too slow.
	Watch(ctx context.Context, q WatchQuestion, send sse.Sender) error
}

// Watch implements Watchable.
func (l *Live) Watch(ctx context.Context, q WatchQuestion, send sse.Sender) error {
	if l.watchers.Add(1) > MaxWatchers {
		l.watchers.Add(-1)
		return fmt.Errorf("%w: %d watch already", problem.ErrTooMany, MaxWatchers)
	}
	defer l.watchers.Add(-1)
	prefixes, err := l.prefixes(q.Machine)
	if err != nil {
		return err
	}
	after, err := q.after()
	if err != nil {
		return err
	}
	w := watcher{l, prefixes, after, send}
	return w.follow(ctx)
}

// watcher is one who watches: all until at was told.
type watcher struct {
	*Live
	prefixes []string // of the streams that it wants
	at       events.Position
	send     sse.Sender
}

func (w *watcher) follow(ctx context.Context) error {
	_, asOf, _, _ := w.projector.After(0)
	switch {
	case w.at == 0:
		w.at = asOf
	case w.at > asOf:
		if err := w.reload(asOf, "this record has no such position"); err != nil {
			return err
		}
	}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	if err := w.alive(); err != nil {
		return err
	}
	for {
		some, asOf, kept, changed := w.projector.After(w.at)
		if !kept {
			if err := w.missed(ctx, asOf); err != nil {
				return err
			}
			continue
		}
		for _, e := range some {
			if err := w.tell(e); err != nil {
				return err
			}
		}
		w.at = max(w.at, asOf)
		select {
		case <-changed:
		case <-beat.C:
			if err := w.alive(); err != nil {
				return err
			}
		case <-w.ended:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// tell sends an event, if the watcher wants it.
func (w *watcher) tell(e events.Recorded) error {
	w.at = e.Position
	if !events.HasPrefix(e.Stream, w.prefixes) {
		return nil
	}
	return w.send(sse.Message{ID: idOf(e.Position), Data: eventOf(e)})
}

// alive shows that the connection is; the watcher learns how far it has come, also if no event was for it.
func (w *watcher) alive() error { return w.send(sse.Message{ID: idOf(w.at), Comment: "alive"}) }

// missed tells from the store what is no longer kept, up to the position that the views have reached.
func (w *watcher) missed(ctx context.Context, asOf events.Position) error {
	told := 0
	for e, err := range events.ReadPrefixed(ctx, w.store, w.at, w.prefixes) {
		if err != nil {
			return fmt.Errorf("read what was missed: %w", err)
		}
		if e.Position > asOf {
			break
		}
		if told++; told > MaxMissed {
			return w.reload(asOf, fmt.Sprintf("more than %d events were missed", MaxMissed))
		}
		if err := w.tell(e); err != nil {
			return err
		}
	}
	w.at = asOf
	return nil
}

func (w *watcher) reload(at events.Position, why string) error {
	w.at = at
	return w.send(sse.Message{ID: idOf(at), Data: Reload{at, why}})
}

// idOf is a position as the id of an event; positions of stores fit.
func idOf(p events.Position) int { return int(min(p, math.MaxInt)) }
