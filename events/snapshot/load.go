package snapshot

import (
	"context"
	"errors"
	"fmt"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// Errors that say why a snapshot was passed over.
var (
	// ErrTorn: parts of the snapshot are missing, because its writer ended
	// while writing it.
	ErrTorn = errors.New("the snapshot lacks some of its parts")
	// ErrChecksum: the snapshot does not match its checksum.
	ErrChecksum = errors.New("the snapshot does not match its checksum")
	// ErrSchema: another build wrote the snapshot in a form that this one does
	// not read.
	ErrSchema = errors.New("the snapshot has another schema")
	// ErrOtherRecord: the last event of the snapshot is not in this store: the
	// snapshot was copied from another store, or the store has lost its end.
	ErrOtherRecord = errors.New("the snapshot is not of this store")
)

// Reader finds the newest usable snapshot in a stream.
type Reader struct {
	Store  events.Store
	Codec  *events.Codec
	Stream string
	Schema string
	// Of is the stream that the state is of; empty for a state of the whole log.
	Of string
}

// Found is what a reader found.
type Found struct {
	// Last is the last event that is in the state; meaningful only when Usable.
	Last   Event
	Usable bool
	// Ignored says for each skipped snapshot why, the newest first.
	Ignored []error
}

// Load hands the newest usable snapshot's pieces to take. When take refuses
// them, the next older one is tried. Finding none is not an error: then all
// events must be read. An error means that the store did not answer.
func (r Reader) Load(ctx context.Context, take func(pieces [][]byte) error) (found Found, err error) {
	ignore := func(why error) { found.Ignored = append(found.Ignored, fmt.Errorf("%s: %w", r.Stream, why)) }
	var open run
	for e, err := range r.Store.ReadStream(ctx, r.Stream, events.ReadStream{From: events.End, Backward: true}) {
		if err != nil {
			if !errors.Is(err, events.ErrStreamNotFound) {
				ignore(err)
			}
			return found, unreadable(r.Stream, err)
		}
		m, err := r.Codec.Decode(e)
		if err != nil {
			ignore(err)
			open = nil
			continue
		}
		p, ok := m.(*messages.SnapshotPart)
		if !ok {
			ignore(fmt.Errorf("revision %d: %w: %s is no part of a snapshot", e.Revision, events.ErrMalformed, e.Type))
			open = nil
			continue
		}
		if !open.follows(p) {
			if open != nil {
				ignore(fmt.Errorf("before revision %d: %w", e.Revision+1, ErrTorn))
			}
			if open = nil; p.GetPart() != p.GetParts()-1 {
				if p.GetPart() == 0 {
					ignore(fmt.Errorf("revision %d: %w", e.Revision, ErrTorn))
				}
				continue
			}
		}
		if open = append(open, p); p.GetPart() > 0 {
			continue
		}
		s := open.snapshot()
		why, err := s.verify(ctx, r.Store, r.Schema, r.Of)
		if why == nil && err == nil {
			why = take(s.Pieces)
		}
		if err != nil || why == nil {
			found.Last, found.Usable = s.Last, err == nil
			return found, err
		}
		ignore(fmt.Errorf("revision %d: %w", e.Revision, why))
		open = nil
	}
	return found, nil
}

// unreadable returns the error of a store that does not answer; nil: the stream is not there, or useless.
func unreadable(stream string, err error) error {
	if errors.Is(err, events.ErrStreamNotFound) || errors.Is(err, events.ErrDamaged) ||
		errors.Is(err, events.ErrStreamDeleted) {
		return nil
	}
	return fmt.Errorf("read %s: %w", stream, err)
}

// verify returns why a complete snapshot is not usable. Its error is the store's. of is the stream that the state
// must be of; empty: it must be of the whole log.
func (s Snapshot) verify(ctx context.Context, store events.Store, schema, of string) (why, err error) {
	switch {
	case s.sum() != s.checksum:
		return ErrChecksum, nil
	case s.Schema != schema:
		return fmt.Errorf("%w: %q, this build reads %q", ErrSchema, s.Schema, schema), nil
	case of != "" && (s.Last.Stream != of || s.Last.Position != 0), of == "" && s.Last.Position == 0:
		return fmt.Errorf("%w: it is of %s", ErrOtherRecord, s.Last.Stream), nil
	}
	return s.Last.find(ctx, store)
}

// find looks for the event in the store, and returns why it is not there.
func (last Event) find(ctx context.Context, store events.Store) (why, err error) {
	why = fmt.Errorf("%w: revision %d of %s is not there", ErrOtherRecord, last.Revision, last.Stream)
	for e, err := range store.ReadStream(ctx, last.Stream, events.ReadStream{From: last.Revision, Limit: 1}) {
		switch {
		case err != nil:
			return why, unreadable(last.Stream, err)
		case e.Revision != last.Revision:
		case e.ID != last.ID || last.Position != 0 && placed(e) && e.Position != last.Position:
			why = fmt.Errorf("%w: revision %d of %s is another event", ErrOtherRecord, last.Revision, last.Stream)
		default:
			return nil, nil
		}
	}
	return why, nil
}

// placed reports whether an event that was read from its stream has its
// position in the log. Some servers give the position only when the log is
// read; then the id alone must do.
func placed(e events.Recorded) bool { return e.Position != 0 && e.Position != events.EndPosition }

// run is the parts of one snapshot that were read, going backward: the last one first.
type run []*messages.SnapshotPart

// follows reports whether a part is the one before those that were read.
func (u run) follows(p *messages.SnapshotPart) bool {
	if u == nil {
		return false
	}
	last := u[len(u)-1]
	return p.GetPart()+1 == last.GetPart() && p.GetParts() == last.GetParts() && p.GetChecksum() == last.GetChecksum()
}

// snapshot joins the parts. Schema and last event are taken from the first
// part; the checksum covers them and the payloads.
func (u run) snapshot() Snapshot {
	n := len(u)
	first := u[n-1]
	s := Snapshot{
		Schema: first.GetSchema(), Last: lastOf(first), Pieces: make([][]byte, n), checksum: first.GetChecksum(),
	}
	for i, p := range u {
		s.Pieces[n-1-i] = p.GetPayload()
	}
	return s
}
