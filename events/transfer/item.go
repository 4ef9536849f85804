package transfer

import (
	"context"
	"fmt"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
)

// item is one entry of a source: an event, or, when about is set, the metadata
// or end of a stream.
type item struct {
	stream   string
	revision uint64
	event    events.NewEvent
	sum      Sum // of the event
	about    about
	metadata events.StreamMetadata
	// position is where the source's log has it, since when it was recorded; both zero in a file.
	position events.Position
	recorded time.Time
}

type about uint8

const (
	isEvent     about = iota
	hasMetadata       // item.metadata counts from now on
	hasEnded          // by a tombstone
)

// source yields its items, those of a stream in order. It can be read again
// from the start unless it is a pipe.
type source interface {
	each(ctx context.Context, do func(item) error) error
	rewinds() bool
}

// logSource is the log of a store up to a position.
type logSource struct {
	store   events.Store
	last    events.Position
	options Options
	// others is how much of what was read last is not transferred.
	others uint64
}

func (l *logSource) rewinds() bool { return true }

func (l *logSource) each(ctx context.Context, do func(item) error) error {
	l.others = 0
	if l.last == 0 {
		return nil
	}
	for r, err := range l.store.ReadAll(ctx, 0, 0) {
		if err != nil {
			return fmt.Errorf("read the log: %w", err)
		}
		if r.Position > l.last {
			return nil
		}
		i, ok := itemOf(r)
		if !ok || l.leaves(i) {
			l.others++
		} else if err := do(i); err != nil {
			return err
		}
		if r.Position == l.last {
			return nil
		}
	}
	return nil
}

// leaves reports whether an item is not selected.
func (l *logSource) leaves(i item) bool {
	cut, ends := l.options.Cut[i.stream]
	return l.options.Only != nil && !l.options.Only(i.stream) || ends && i.about == isEvent && i.revision >= cut
}

// itemOf makes an item of an event of the log; false when it is not transferred.
func itemOf(r events.Recorded) (item, bool) {
	i := item{stream: r.Stream, revision: r.Revision, position: r.Position, recorded: r.Recorded}
	if of, ok := events.MetadataOf(r.Stream); ok {
		if r.Type != events.TypeMetadata || !catalog.Streams().InRecord(of) {
			return i, false
		}
		i.stream, i.about = of, hasMetadata
		i.metadata, _ = events.ParseStreamMetadata(r.Data) // What cannot be parsed hides nothing.
		return i, true
	}
	if !catalog.Streams().InRecord(r.Stream) {
		return i, false
	}
	if r.Type == events.TypeTombstone {
		i.about = hasEnded
		return i, true
	}
	i.event = events.NewEvent{
		ID: r.ID, Type: r.Type, Data: r.Data, Meta: r.Meta, Foreign: r.Foreign, Binary: r.Binary,
	}
	i.sum = eventSum(i.event)
	return i, true
}
