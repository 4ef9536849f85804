package events

import (
	"context"
	"iter"
	"slices"
	"strings"
)

// PrefixReader is a Store that can leave out the events of other streams itself, so
// that they need not cross the network. Use ReadPrefixed.
type PrefixReader interface {
	// ReadPrefixed is ReadAll for the streams whose names begin with one of the prefixes;
	// there is at least one, and none is empty.
	ReadPrefixed(ctx context.Context, after Position, prefixes []string) iter.Seq2[Recorded, error]
}

// ReadPrefixed yields, like Store.ReadAll, the events after a position of all streams whose
// names begin with one of the prefixes. A PrefixReader does the selection itself.
func ReadPrefixed(ctx context.Context, store Store, after Position, prefixes []string) iter.Seq2[Recorded, error] {
	if s, ok := store.(PrefixReader); ok {
		return s.ReadPrefixed(ctx, after, prefixes)
	}
	return func(yield func(Recorded, error) bool) {
		for r, err := range store.ReadAll(ctx, after, 0) {
			if err == nil && !HasPrefix(r.Stream, prefixes) {
				continue
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// HasPrefix says whether the name of a stream begins with one of the prefixes.
func HasPrefix(stream string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(stream, p) })
}
