package esdb

import (
	"context"
	"errors"
	"fmt"

	"github.com/hostnode/hostnode/events"
)

// This file decides what an answer to an append means. An append has been
// written, or not, or it is not known; in the third case it is repeated
// unchanged until it is.

// check compares a success with the request: after an append at an exact
// revision, the last event must have the revision that follows from it. Only
// NoStream may succeed on a deleted stream, whose numbering goes on (confirm).
func (w write) check(r events.AppendResult) error {
	count, exact := w.expected.Count()
	last := count + uint64(len(w.events)) // one more than the revision that the last event should have
	switch {
	case len(w.events) == 0 && !exact, last == 0:
		return nil
	case len(w.events) > 0 && (!exact || count == 0):
		if r.Exists && r.Revision+1 >= uint64(len(w.events)) {
			return nil
		}
	case r.Exists && r.Revision+1 == last:
		return nil
	}
	return broken("the server says that an append to %s ended at revision %d (%t), want %d",
		w.stream, r.Revision, r.Exists, last-1)
}

// deleted reports whether a success makes sense only for a deleted stream.
func (w write) deleted(r events.AppendResult) bool {
	count, exact := w.expected.Count()
	return exact && count == 0 && len(w.events) > 0 && r.Revision+1 > uint64(len(w.events))
}

// confirmations is how often a stream is read that accepts events again after a
// deletion: the metadata that makes them readable is written after them, within
// some milliseconds.
const confirmations = 5

// confirm checks that the last event has the revision that the success reports;
// the stream's metadata may hide those before it.
func (s *Store) confirm(ctx context.Context, w write, r events.AppendResult) error {
	last := write{stream: w.stream, events: w.events[len(w.events)-1:]}
	for range confirmations {
		same, _, err := s.compare(ctx, last, r.Revision)
		if err != nil || same == 1 {
			return err
		}
		s.pause(ctx, s.cfg.MinPause)
	}
	return broken("the server says that an append to %s ended at revision %d, and the events are not there",
		w.stream, r.Revision)
}

// judge decides what a wrong revision means. A leader that is cut off from the
// other nodes keeps the appends that it receives in its log, without answering,
// and judges later ones by them: by a revision that no read shows. These events
// may become part of the stream, or vanish; until then nothing is known. The
// refusal is believed when the events that it rests on can be read from the
// leader, or are hidden by the stream's metadata.
func (s *Store) judge(ctx context.Context, w write, wrong *events.WrongRevisionError) error {
	count, exact := w.expected.Count()
	if !exact || len(w.events) == 0 || !wrong.Exists || wrong.Actual < count {
		return wrong // A writer that expects more than there is reads the stream and decides.
	}
	same, other, err := s.compare(ctx, w, count)
	switch {
	case errors.Is(err, events.ErrDenied): // It may write and not read.
		return wrong
	case err != nil:
		return err
	case same == len(w.events):
		return away(errors.New("the server refuses an append that it has already; it is repeated until confirmed"))
	case same > 0 || other:
		return wrong
	}
	hidden, err := s.hidden(ctx, w.stream, wrong.Actual)
	switch {
	case hidden, errors.Is(err, events.ErrDenied):
		return wrong
	case err != nil:
		return err
	}
	return away(fmt.Errorf("the server holds %s up to revision %d and shows nothing from %d on: "+
		"it has not committed that yet, which happens to a leader without its followers",
		w.stream, wrong.Actual, count))
}

// compare counts the events that are in the stream already, from the first on,
// and reports whether a different one is.
func (s *Store) compare(ctx context.Context, w write, from uint64) (same int, other bool, err error) {
	q := events.ReadStream{From: from, Limit: len(w.events)}
	for r, err := range s.ReadStream(ctx, w.stream, q) {
		switch {
		case errors.Is(err, events.ErrStreamNotFound), errors.Is(err, events.ErrStreamDeleted):
			return same, false, nil
		case err != nil:
			return 0, false, err
		case r.Revision != from+uint64(same): // Those before it are hidden.
			return same, true, nil
		case r.ID != events.EventID(w.events[same].EventID):
			return same, true, nil
		}
		same++
	}
	return same, false, nil
}

// hidden reports whether the metadata of a stream may hide the event at a
// revision.
func (s *Store) hidden(ctx context.Context, stream string, revision uint64) (bool, error) {
	r, found, err := events.Last(ctx, s, events.MetadataStream(stream))
	if err != nil || !found {
		return false, err
	}
	m, err := events.ParseStreamMetadata(r.Data)
	// What a server does with unreadable metadata is not known.
	return err != nil || m.MaxAge != 0 || m.TruncateBefore > revision, nil
}
