package storetest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/hostnode/hostnode/events"
)

// own is the part of a shared store that one test writes: it looks like a store
// of its own, empty at first, with positions 1, 2, 3. Names, event types and
// conversations get a prefix on the way in and lose it on the way out. A
// position is replaced by the event's number among the test's own in the log,
// which also checks that answer, stream and log agree on it.
type own struct {
	store  events.Store
	prefix string
	// mask makes a test's ids unique: a server remembers ids for a while, and
	// would find those of other tests.
	mask events.EventID
	base events.Position // the last of others before the test's first

	mu sync.Mutex
	// log has the test's events up to the position scanned, in order.
	log     []place
	scanned events.Position
}

// place is where an event of the test stands.
type place struct {
	position events.Position
	stream   string
	revision uint64
}

// prefixBytes is the length of a prefix; it has no dash, so that a category
// stays a category.
const prefixBytes = 16

func newOwn(ctx context.Context, store events.Store) (*own, error) {
	head, err := store.Head(ctx)
	if err != nil {
		return nil, fmt.Errorf("head of the shared store: %w", err)
	}
	prefix := "t" + strings.ReplaceAll(uuid.NewString(), "-", "")[:prefixBytes-2] + "."
	return &own{store: store, prefix: prefix, mask: events.EventID(uuid.New()), base: head, scanned: head}, nil
}

// id converts an id to that of the shared store, and back; none stays none.
func (o *own) id(id events.EventID) events.EventID {
	if id == (events.EventID{}) {
		return id
	}
	for i := range id {
		id[i] ^= o.mask[i]
	}
	return id
}

// in converts a stream's name to that in the shared store.
func (o *own) in(stream string) string {
	if stream == "" || stream == events.VirtualStreams {
		return stream
	}
	if of, ok := events.MetadataOf(stream); ok {
		return events.MetadataStream(o.in(of))
	}
	for _, virtual := range indexes {
		if rest, ok := strings.CutPrefix(stream, virtual); ok {
			return virtual + o.prefix + rest
		}
	}
	if rest, ok := strings.CutPrefix(stream, "$"); ok {
		return "$" + o.prefix + rest
	}
	return o.prefix + stream
}

// indexes are the virtual streams that can be restricted to a test.
var indexes = []string{events.VirtualCategory, events.VirtualType, events.VirtualCorrelated}

// out is the reverse of in; false for streams of others.
func (o *own) out(stream string) (string, bool) {
	if of, ok := events.MetadataOf(stream); ok {
		name, mine := o.out(of)
		return events.MetadataStream(name), mine
	}
	for _, virtual := range indexes {
		if rest, ok := strings.CutPrefix(stream, virtual); ok {
			rest, mine := strings.CutPrefix(rest, o.prefix)
			return virtual + rest, mine
		}
	}
	if rest, ok := strings.CutPrefix(stream, "$"); ok {
		rest, mine := strings.CutPrefix(rest, o.prefix)
		return "$" + rest, mine
	}
	return strings.CutPrefix(stream, o.prefix)
}

// logged is out for the stream of an event in the log. What the server writes
// there itself, such as links, is not the test's.
func (o *own) logged(stream string) (string, bool) {
	about := stream
	if of, ok := events.MetadataOf(stream); ok {
		about = of
	}
	if events.IsVirtual(about) {
		return "", false
	}
	return o.out(stream)
}

func (o *own) event(e events.NewEvent) events.NewEvent {
	e.ID = o.id(e.ID)
	if e.Type != "" && !strings.HasPrefix(e.Type, "$") {
		e.Type = o.prefix + e.Type
	}
	if e.Foreign == nil && e.Meta.Correlation != "" {
		e.Meta.Correlation = o.prefix + e.Meta.Correlation
	}
	if stream, revision, ok := events.ParseTarget(string(e.Data)); ok && e.Type == events.TypeLink {
		e.Data = fmt.Appendf(nil, "%d@%s", revision, o.in(stream))
	}
	return e
}

// recorded converts an event; false for events of others.
func (o *own) recorded(ctx context.Context, r events.Recorded) (events.Recorded, bool, error) {
	name, mine := o.logged(r.Stream)
	if !mine {
		return r, false, nil
	}
	var number events.Position
	if !r.Gone() { // Else it is that of the link.
		var err error
		if number, err = o.number(ctx, place{r.Position, name, r.Revision}); err != nil {
			return r, true, err
		}
	}
	r.ID, r.Stream, r.Position = o.id(r.ID), name, number
	r.Type = strings.TrimPrefix(r.Type, o.prefix)
	if r.Foreign == nil {
		r.Meta.Correlation = strings.TrimPrefix(r.Meta.Correlation, o.prefix)
	}
	if r.Link != nil {
		link, mine := o.out(r.Link.Stream)
		if !mine {
			return r, true, fmt.Errorf("%s revision %d was found by a link in %s", r.Stream, r.Revision, r.Link.Stream)
		}
		stream, revision, _ := events.ParseTarget(r.Link.Target)
		stream, _ = o.out(stream)
		r.Link = &events.Link{Stream: link, Revision: r.Link.Revision, Target: fmt.Sprintf("%d@%s", revision, stream)}
	}
	return r, true, nil
}

// scan reads the log up to its end. The lock is held.
func (o *own) scan(ctx context.Context) error {
	for r, err := range o.store.ReadAll(ctx, o.scanned, 0) {
		if err != nil {
			return err
		}
		if r.Position <= o.scanned {
			return fmt.Errorf("the log has position %d behind position %d", r.Position, o.scanned)
		}
		o.scanned = r.Position
		if name, mine := o.logged(r.Stream); mine {
			o.log = append(o.log, place{r.Position, name, r.Revision})
		}
	}
	return nil
}

// number returns an event's number among the test's own. The log must have it
// at its position.
func (o *own) number(ctx context.Context, p place) (events.Position, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if p.position > o.scanned {
		if err := o.scan(ctx); err != nil {
			return 0, err
		}
	}
	n := o.upTo(p.position)
	if n == 0 || o.log[n-1] != p {
		return 0, fmt.Errorf("%s revision %d has position %d, which is not its place in the log",
			p.stream, p.revision, p.position)
	}
	return events.Position(n), nil
}

// upTo counts the test's events up to a position, inclusive. The lock is held.
func (o *own) upTo(position events.Position) int {
	n, found := slices.BinarySearchFunc(o.log, position, func(p place, at events.Position) int {
		return int(min(max(int64(p.position)-int64(at), -1), 1))
	})
	if found {
		n++
	}
	return n
}

// position returns the position of an event with a number; beyond the last
// number, the last position.
func (o *own) position(ctx context.Context, number events.Position) (events.Position, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.scan(ctx); err != nil {
		return 0, err
	}
	n := min(number, events.Position(len(o.log)))
	if n == 0 {
		return o.base, nil
	}
	return o.log[n-1].position, nil
}

// Append implements events.Store.
func (o *own) Append(
	ctx context.Context, stream string, expected events.Expected, batch []events.NewEvent,
) (events.AppendResult, error) {
	theirs := make([]events.NewEvent, len(batch))
	for i, e := range batch {
		theirs[i] = o.event(e)
	}
	result, err := o.store.Append(ctx, o.in(stream), expected, theirs)
	if err == nil && result.Position > 0 {
		result.Position, err = o.number(ctx, place{result.Position, stream, result.Revision})
	}
	return result, o.error(err)
}

// error replaces the stream's name in an error by the test's own name.
func (o *own) error(err error) error {
	var wrong *events.WrongRevisionError
	if !errors.As(err, &wrong) {
		return err
	}
	copied := *wrong
	copied.Stream, _ = o.out(wrong.Stream)
	return &copied
}

// ReadStream implements events.Store.
func (o *own) ReadStream(
	ctx context.Context, stream string, q events.ReadStream,
) iter.Seq2[events.Recorded, error] {
	return o.translate(ctx, o.store.ReadStream(ctx, o.in(stream), q), 0, func(events.Position) bool { return true })
}

// ReadAll implements events.Store.
func (o *own) ReadAll(ctx context.Context, after events.Position, limit int) iter.Seq2[events.Recorded, error] {
	return o.from(ctx, after, limit, func(their events.Position) iter.Seq2[events.Recorded, error] {
		return o.store.ReadAll(ctx, their, 0)
	})
}

// ReadPrefixed implements events.PrefixReader.
func (o *own) ReadPrefixed(ctx context.Context, after events.Position, prefixes []string) iter.Seq2[events.Recorded, error] {
	theirs := make([]string, len(prefixes))
	for i, p := range prefixes {
		theirs[i] = o.in(p)
	}
	return o.from(ctx, after, 0, func(their events.Position) iter.Seq2[events.Recorded, error] {
		return events.ReadPrefixed(ctx, o.store, their, theirs)
	})
}

// Subscribe implements events.Store.
func (o *own) Subscribe(ctx context.Context, after events.Position) iter.Seq2[events.Recorded, error] {
	return o.from(ctx, after, 0, func(their events.Position) iter.Seq2[events.Recorded, error] {
		return o.store.Subscribe(ctx, their)
	})
}

func (o *own) from(
	ctx context.Context, after events.Position, limit int,
	read func(events.Position) iter.Seq2[events.Recorded, error],
) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		their, err := o.position(ctx, after)
		if err != nil {
			yield(events.Recorded{}, err)
			return
		}
		o.translate(ctx, read(their), limit, func(n events.Position) bool { return n > after })(yield)
	}
}

// ReadBack implements events.Store.
func (o *own) ReadBack(ctx context.Context, before events.Position, limit int) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		seen := 0
		head, err := o.Head(ctx)
		if err != nil || head == 0 || before <= 1 {
			if err != nil {
				yield(events.Recorded{}, err)
			}
			return
		}
		all := o.translate(ctx, o.store.ReadBack(ctx, events.EndPosition, 0), 0,
			func(n events.Position) bool { return n < before })
		for r, err := range all {
			if !yield(r, err) || err != nil {
				return
			}
			// The log before the test's first event does not concern it, and may be long.
			if seen++; seen == limit || r.Position == 1 {
				return
			}
		}
	}
}

// translate yields the test's own events whose number is wanted.
func (o *own) translate(
	ctx context.Context, seq iter.Seq2[events.Recorded, error], limit int, wanted func(events.Position) bool,
) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		seen := 0
		for r, err := range seq {
			mine := true
			if err == nil {
				r, mine, err = o.recorded(ctx, r)
			}
			if err == nil && (!mine || !wanted(r.Position)) {
				continue
			}
			if !yield(r, err) || err != nil {
				return
			}
			if seen++; seen == limit {
				return
			}
		}
	}
}

// Wait implements events.Store: others may wake the store.
func (o *own) Wait(ctx context.Context, after events.Position) error {
	for {
		last, err := o.store.Head(ctx)
		if err != nil {
			return err
		}
		head, err := o.Head(ctx)
		if err != nil || head > after {
			return err
		}
		if err := o.store.Wait(ctx, last); err != nil {
			return err
		}
	}
}

// Delete implements events.Store.
func (o *own) Delete(
	ctx context.Context, stream string, expected events.Expected, forever bool,
) (events.Position, error) {
	position, err := o.store.Delete(ctx, o.in(stream), expected, forever)
	if err != nil {
		return 0, o.error(err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.scan(ctx); err != nil {
		return 0, err
	}
	n := o.upTo(position)
	if n == 0 || o.log[n-1].position != position {
		return 0, fmt.Errorf("the deletion of %s has position %d, where the log has nothing of it", stream, position)
	}
	return events.Position(n), nil
}

// Head implements events.Store.
func (o *own) Head(ctx context.Context) (events.Position, error) {
	head, err := o.store.Head(ctx)
	if err != nil {
		return 0, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.scan(ctx); err != nil {
		return 0, err
	}
	return events.Position(o.upTo(head)), nil
}

// Close implements events.Store.
func (o *own) Close() error { return o.store.Close() }
