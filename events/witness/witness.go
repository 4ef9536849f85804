package witness

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"sync"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/internal/durable"
)

const (
	// compactBytes is the size at which the file is rewritten.
	compactBytes = 8 << 20
	// enough is how many of the most recently written streams must be unchanged: of several
	// appends in flight, the last one acknowledged need not be the last in the log.
	enough = 16
)

// Store is an event store that is watched. It is safe for concurrent use.
type Store struct {
	events.Store
	path string

	mu      sync.Mutex
	lost    events.WentBack // at the start
	missing []seen          // the events that showed it
	whole   *book           // as it was before
	book    *book
	file    *os.File // nil while what was lost is not recorded
	size    int64
	trouble error
	highest events.Position
	doubt   *seen // what is looked for next
	back    *seen // what the store lacks since it went back under us
}

// New compares a store with the file, and watches it from then on. What is lacking must be
// lacking again once the store has shown that it is the one who decides. An error is the store's,
// which did not answer, or does not show that; unread is how many lines of the file could not
// be read.
func New(ctx context.Context, store events.Store, path string) (s *Store, unread int, err error) {
	s = &Store{Store: store, path: path, book: newBook()}
	if unread, err = s.load(); err != nil {
		return nil, 0, err
	}
	if s.missing, s.lost, err = s.compare(ctx); err == nil && !s.lost.None() {
		if err = s.confirm(ctx, s.missing[0].Stream); err == nil {
			s.missing, s.lost, err = s.compare(ctx)
		}
	}
	if err != nil {
		return nil, 0, fmt.Errorf("compare the record with what it was: %w", err)
	}
	if s.lost.None() {
		s.whole, err = nil, s.rewrite()
	}
	return s, unread, err
}

func (s *Store) load() (unread int, err error) {
	raw, err := os.ReadFile(s.path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0, fmt.Errorf("read what the record was: %w", err)
	}
	lines := bufio.NewScanner(bytes.NewReader(raw))
	lines.Buffer(nil, len(raw)+1)
	for lines.Scan() {
		var l line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil || l.Stream == "" {
			unread++
			continue
		}
		s.book.fold(l)
	}
	return unread, lines.Err()
}

// compare finds out what the store lacks, and from then on expects the store as it is.
func (s *Store) compare(ctx context.Context) (missing []seen, lost events.WentBack, err error) {
	if s.whole != nil {
		s.book = s.whole
	}
	s.whole = s.book.clone()
	all := s.book.newest()
	for i, of := range all {
		there, end, err := s.stands(ctx, of)
		switch {
		case err != nil:
			return nil, lost, err
		case !there:
			short := events.ShortStream{Stream: of.Stream, Had: of.Revision + 1, Has: end.has}
			missing, lost.Streams = append(missing, of), append(lost.Streams, short)
			s.book.set(of, end)
		case i+1 >= enough && lost.None():
			return nil, lost, nil
		}
	}
	if lost.None() {
		return nil, lost, nil
	}
	lost.Seen = all[0].At
	for r, err := range s.ReadBack(ctx, events.EndPosition, 1) {
		if err != nil {
			return nil, lost, err
		}
		lost.Ends = r.Recorded
	}
	for _, short := range lost.Streams {
		if events.Category(short.Stream) == events.CategoryCapacity {
			lost.Offers = s.book.since(kindOffer, short.Has)
			lost.Reservations = s.book.since(kindReservation, short.Has)
		}
	}
	s.book.last = nil
	for _, short := range lost.Streams {
		if events.Category(short.Stream) == events.CategoryCapacity {
			maps.DeleteFunc(s.book.open, func(_ terms, o opened) bool { return o.revision >= short.Has })
		}
	}
	return missing, lost, nil
}

// confirm makes the store show that it decides, at the end of the host's own stream if that is
// known.
func (s *Store) confirm(ctx context.Context, stream string) error {
	s.mu.Lock()
	for known := range s.book.streams {
		if events.Category(known) == events.CategoryHost {
			stream = known
		}
	}
	s.mu.Unlock()
	return events.Confirm(ctx, s.Store, stream)
}

// LookAgain looks whether what was lost is there after all, as it was written: then nothing was
// lost, and the node that answered at the start did not know better. Lost says so from then on.
// An event that was written anew is another one, although it may have the same id and revision.
func (s *Store) LookAgain(ctx context.Context) error {
	s.mu.Lock()
	missing := s.missing
	s.mu.Unlock()
	if len(missing) == 0 {
		return nil
	}
	for _, of := range missing {
		for r, err := range s.ReadStream(ctx, of.Stream, events.ReadStream{From: of.Revision, Limit: 1}) {
			switch {
			case errors.Is(err, events.ErrStreamNotFound), errors.Is(err, events.ErrStreamDeleted):
				return nil
			case err != nil:
				return err
			case r.ID.String() != of.ID || r.Position != of.Position:
				return nil
			}
			missing = missing[1:]
		}
	}
	if len(missing) > 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.book.restore(s.whole)
	s.lost, s.missing, s.whole = events.WentBack{}, nil, nil
	return s.rewrite()
}

// ending is how a stream ends: how many events it has, and the last one's id.
type ending struct {
	has uint64
	id  string
}

// stands reports whether an event is where it was, and how its stream ends if not.
func (s *Store) stands(ctx context.Context, of seen) (there bool, end ending, err error) {
	for r, err := range s.ReadStream(ctx, of.Stream, events.ReadStream{From: of.Revision, Limit: 1}) {
		if errors.Is(err, events.ErrStreamNotFound) {
			break
		}
		if err != nil {
			return false, end, err
		}
		if r.Revision == of.Revision && r.ID.String() == of.ID {
			return true, end, nil
		}
	}
	r, found, err := events.Last(ctx, s.Store, of.Stream)
	if found {
		end = ending{min(r.Revision+1, of.Revision), r.ID.String()}
	}
	return false, end, err
}

// Unwrap returns the store that is watched.
func (s *Store) Unwrap() events.Store { return s.Store }

// Lost is what the store lacked at the start, and lacked again at each look since.
func (s *Store) Lost() events.WentBack {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost
}

// Settle accepts the store as it is, once the loss is recorded.
func (s *Store) Settle() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil {
		return nil
	}
	return s.rewrite()
}

// Append appends, and remembers it. It returns ErrAway while the store lacks events.
func (s *Store) Append(
	ctx context.Context, stream string, expected events.Expected, batch []events.NewEvent,
) (events.AppendResult, error) {
	s.mu.Lock()
	highest, err := s.highest, s.gone()
	s.mu.Unlock()
	if err != nil {
		return events.AppendResult{}, err
	}
	r, err := s.Store.Append(ctx, stream, expected, batch)
	if wrong, refused := errors.AsType[*events.WrongRevisionError](err); refused {
		return r, cmp.Or(s.shorter(ctx, stream, wrong), err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || len(batch) == 0 || !catalog.Streams().InRecord(stream) {
		return r, err
	}
	if r.Position < highest && s.doubt == nil { // A repeated append, or the log now ends before events that it had.
		s.doubt = s.book.last
	}
	s.highest = max(s.highest, r.Position)
	s.note(stream, r, batch)
	return r, nil
}

// Head returns the store's head, or an error while the store lacks events.
func (s *Store) Head(ctx context.Context) (events.Position, error) {
	head, err := s.Store.Head(ctx)
	if err != nil {
		return head, err
	}
	s.mu.Lock()
	look := cmp.Or(s.back, s.doubt, s.book.last)
	s.mu.Unlock()
	if look == nil {
		return head, nil
	}
	return head, s.look(ctx, *look)
}

// shorter returns an error if a refused append shows that the store lacks events.
func (s *Store) shorter(ctx context.Context, stream string, wrong *events.WrongRevisionError) error {
	s.mu.Lock()
	had, known := s.book.streams[stream]
	s.mu.Unlock()
	if !known || wrong.Exists && wrong.Actual >= had.Revision {
		return nil
	}
	return s.look(ctx, had)
}

// look returns an error while the store lacks an event. A node that does not decide, as it
// turns out when it has to commit something, may lack it without that meaning anything.
func (s *Store) look(ctx context.Context, of seen) error {
	there, _, err := s.stands(ctx, of)
	if err == nil && !there {
		s.mu.Lock()
		fresh := s.back == nil || s.back.order != of.order
		s.mu.Unlock()
		if fresh {
			if err = s.confirm(ctx, of.Stream); err == nil {
				there, _, err = s.stands(ctx, of)
			}
		}
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.back, s.doubt = nil, nil; !there {
		s.back = &of
	}
	return s.gone()
}

// gone returns an error while the store lacks events.
func (s *Store) gone() error {
	if s.back == nil {
		return nil
	}
	return fmt.Errorf("%w: %w: event %d of %s, written at %s, is not there", events.ErrAway, events.ErrWentBack,
		s.back.Revision, s.back.Stream, s.back.At.UTC().Format(time.RFC3339))
}

func (s *Store) note(stream string, r events.AppendResult, batch []events.NewEvent) {
	if had, known := s.book.streams[stream]; known && had.Revision >= r.Revision {
		return // An append that was repeated.
	}
	l := line{
		Stream: stream, Revision: r.Revision, ID: batch[len(batch)-1].ID.String(), Position: r.Position,
		At: time.Now().UTC(),
	}
	if events.Category(stream) == events.CategoryCapacity {
		for _, e := range batch {
			if t, ok := termsOf(e); ok {
				l.Terms = append(l.Terms, t)
			}
		}
	}
	s.book.fold(l)
	if s.file == nil || s.trouble != nil {
		return
	}
	raw, _ := json.Marshal(l) // Texts, numbers and the present time.
	n, err := s.file.Write(append(raw, '\n'))
	s.size += int64(n)
	if err == nil && s.size > compactBytes {
		err = s.rewrite()
	}
	s.trouble = err // What cannot be written here will not be noticed later; the store itself is not affected.
}

// rewrite writes a new file with only what is needed, and continues in it.
func (s *Store) rewrite() error {
	var all bytes.Buffer
	to := json.NewEncoder(&all)
	for _, l := range s.book.lines() {
		if err := to.Encode(l); err != nil {
			return fmt.Errorf("remember the record: %w", err)
		}
	}
	if err := durable.Replace(s.path, all.Bytes()); err != nil {
		return fmt.Errorf("remember the record: %w", err)
	}
	file, err := os.OpenFile(s.path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("remember the record: %w", err)
	}
	if s.file != nil {
		err = s.file.Close()
	}
	s.file, s.size = file, int64(all.Len())
	return err
}

// Close closes the file, and the store.
func (s *Store) Close() error {
	s.mu.Lock()
	file := s.file
	s.file, s.trouble = nil, os.ErrClosed
	s.mu.Unlock()
	var err error
	if file != nil {
		err = file.Close()
	}
	return errors.Join(err, s.Store.Close())
}
