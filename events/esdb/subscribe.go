package esdb

import (
	"context"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"

	"github.com/hostnode/hostnode/events"
)

// Subscribe implements events.Store. When the subscription drops, it subscribes
// again after the last event that it has yielded, for ever, with growing
// pauses. In addition to the errors that the port names it can end with
// events.ErrDenied.
func (s *Store) Subscribe(ctx context.Context, after events.Position) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		after, began := after, time.Now()
		for {
			before := after
			wanted, err := s.follow(ctx, &after, yield)
			if !wanted {
				return
			}
			if ended := s.ended(ctx); ended != nil {
				err = ended
			}
			if err != nil && (s.ended(ctx) != nil || !repeatable(err)) {
				yield(events.Recorded{}, fmt.Errorf("subscribe: %w", err))
				return
			}
			if after > before {
				began = time.Now()
			}
			s.log.WithError(err).WithField("after", after).Debug("the subscription dropped; subscribe again")
			s.backoff(ctx, began)
		}
	}
}

// follow is one subscription, until it drops, must change to another session,
// or is no longer wanted.
func (s *Store) follow(
	ctx context.Context, after *events.Position, yield func(events.Recorded, error) bool,
) (wanted bool, err error) {
	ctx, cancel := s.scope(ctx)
	defer cancel()
	h, err := s.acquire(ctx)
	if err != nil {
		return true, err
	}
	from, take := positionAt(*after, esdb.Forwards), takeBeyond(after, esdb.Forwards)
	in := h.feed(ctx, func(ctx context.Context, c *esdb.Client) (source, error) {
		return subscribe(ctx, c, esdb.SubscribeToAllOptions{From: from}, 0)
	})
	h.release() // The feed holds on by itself.
	for {
		m, err := s.receive(ctx, h, in, nil)
		if err != nil || m.event == nil {
			return true, err
		}
		event, ok := take(m.event)
		if !ok {
			continue // A server may repeat events where old ones end and new ones begin.
		}
		if err := s.ended(ctx); err != nil {
			return true, err
		}
		if !yield(event, nil) {
			return false, nil
		}
	}
}

// subscribe opens a subscription. With a head, it ends when it has caught up, or a checkpoint is not before the head:
// older servers do not say that it has caught up. Until then a checkpoint is an empty event. Without one, it goes on
// for ever, and needs no checkpoints.
func subscribe(
	ctx context.Context, c *esdb.Client, o esdb.SubscribeToAllOptions, head events.Position,
) (source, error) {
	sub, err := c.SubscribeToAll(ctx, o)
	if err != nil {
		return source{}, err
	}
	next := func() (*esdb.ResolvedEvent, error) {
		for {
			switch e := sub.Recv(); {
			case e.SubscriptionDropped != nil:
				return nil, e.SubscriptionDropped.Error
			case e.EventAppeared != nil:
				return e.EventAppeared, nil
			case head == 0:
			case e.CaughtUp != nil, e.CheckPointReached != nil && events.Position(e.CheckPointReached.Commit) >= head:
				return nil, io.EOF
			case e.CheckPointReached != nil:
				return &esdb.ResolvedEvent{}, nil // Not an event, but a sign of life while many are filtered out.
			}
		}
	}
	return source{next, func() { _ = sub.Close() }}, nil
}

// Wait implements events.Store.
func (s *Store) Wait(ctx context.Context, after events.Position) error {
	for _, err := range s.Subscribe(ctx, after) {
		return err
	}
	return s.ended(ctx)
}
