package witness

import (
	"context"
	"iter"

	"github.com/hostnode/hostnode/events"
)

var _ events.PrefixReader = (*Store)(nil)

// ReadPrefixed implements events.PrefixReader. Without it, a reader through this store would get, and drop, the
// events of all other hosts on a shared server.
func (s *Store) ReadPrefixed(
	ctx context.Context, after events.Position, prefixes []string,
) iter.Seq2[events.Recorded, error] {
	return events.ReadPrefixed(ctx, s.Store, after, prefixes)
}
