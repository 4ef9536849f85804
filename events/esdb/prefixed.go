package esdb

import (
	"context"
	"io"
	"iter"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"

	"github.com/hostnode/hostnode/events"
)

// searchWindow is how many events a server checks between two checkpoints, each of which
// is a message.
const searchWindow = 4096

// ReadPrefixed implements events.PrefixReader: the server filters, so that links, projections
// and other hosts' events are not sent. The client has filters for subscriptions, but not for
// reads of $all. So this is a subscription that ends where the log ended when it began, or as
// soon as it has caught up.
func (s *Store) ReadPrefixed(
	ctx context.Context, after events.Position, prefixes []string,
) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		head, err := s.Head(ctx)
		if err != nil {
			yield(events.Recorded{}, err)
			return
		}
		s.read(ctx, func() reading {
			after := after
			return reading{
				open: func(ctx context.Context, c *esdb.Client, _ uint64) (source, error) {
					if after >= head {
						return source{func() (*esdb.ResolvedEvent, error) { return nil, io.EOF }, func() {}}, nil
					}
					return subscribe(ctx, c, esdb.SubscribeToAllOptions{
						MaxSearchWindow: searchWindow, CheckpointInterval: 1, From: positionAt(after, esdb.Forwards),
						Filter: &esdb.SubscriptionFilter{Type: esdb.StreamFilterType, Prefixes: prefixes},
					}, head)
				},
				take: takeBeyond(&after, esdb.Forwards),
			}
		})(yield)
	}
}
