package esdb

import (
	"context"
	"errors"
	"io"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
)

// ahead is how many events a reader takes from the client before its consumer
// asks for them: enough to keep both busy, and not too many if each has 16 MiB.
const ahead = 16

// source is an open read or subscription of the client.
type source struct {
	next  func() (*esdb.ResolvedEvent, error) // io.EOF ends it
	close func()
}

// message is what a source said.
type message struct {
	event *esdb.ResolvedEvent
	err   error
}

// feed opens a source and sends what it yields to a channel, on a goroutine
// that holds the session and ends soon after ctx does.
func (h *lease) feed(ctx context.Context, open func(context.Context, *esdb.Client) (source, error)) <-chan message {
	out := make(chan message, ahead)
	h.share()
	go func() {
		defer h.release()
		defer close(out)
		if err := h.pump(ctx, open, out); err != nil {
			select {
			case out <- message{err: err}:
			case <-ctx.Done():
			}
		}
	}()
	return out
}

func (h *lease) pump(
	ctx context.Context, open func(context.Context, *esdb.Client) (source, error), out chan<- message,
) error {
	return h.inside(ctx, func(ctx context.Context, c *esdb.Client) error {
		from, err := open(ctx, c)
		if err != nil {
			return explainRead(err)
		}
		defer from.close()
		for {
			event, err := from.next()
			if errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return explainRead(err)
			}
			select {
			case out <- message{event: event}:
			case <-ctx.Done():
				return nil
			}
		}
	})
}
