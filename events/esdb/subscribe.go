package esdb

import (
	"context"
	"io"
	"iter"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"

	"github.com/hostnode/hostnode/events"
)

// Subscribe implements events.Store. When the subscription drops, it subscribes
// again after the last event that it has yielded, for ever, with growing
// pauses. In addition to the errors that the port names it can end with
// events.ErrDenied.
func (s *Store) Subscribe(ctx context.Context, after events.Position) iter.Seq2[events.Recorded, error] {
	return during("subscribe", s.read(ctx, func() reading {
		after := after
		return reading{
			open: func(ctx context.Context, c *esdb.Client, _ uint64) (source, error) {
				return subscribe(ctx, c, esdb.SubscribeToAllOptions{From: positionAt(after, esdb.Forwards)}, 0)
			},
			// A server may repeat events where old ones end and new ones begin.
			take: takeBeyond(&after, esdb.Forwards),
			dropped: func(why error) {
				s.log.WithError(why).WithField("after", after).Debug("the subscription dropped; subscribe again")
			},
		}
	}))
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
