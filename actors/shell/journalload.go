package shell

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/snapshot"
)

// This file loads a journal: it reads the stream and folds it.

// Fold is what a stream is folded into, as far as it was read: with the number of its events, and the last one's id.
type Fold[S any] struct {
	State  S
	Events uint64
	Last   events.EventID
}

// Add folds the next event of the stream.
func Add[S any, E proto.Message](f *Fold[S], codec *events.Codec, r events.Recorded, evolve func(S, E) S) error {
	e, err := DecodeAs[E](codec, r)
	if err != nil {
		return fmt.Errorf("read %s: %w: %w", r.Stream, ErrUnreadable, err)
	}
	*f = Fold[S]{evolve(f.State, e), r.Revision + 1, r.ID}
	return nil
}

// ReadOn folds the rest of the stream.
func ReadOn[S any, E proto.Message](
	ctx context.Context, b *Base, f *Fold[S], stream string, evolve func(S, E) S,
) error {
	for r, err := range snapshot.Tail(ctx, b.Store, stream, f.Events) {
		if err != nil {
			return fmt.Errorf("read %s: %w", stream, err)
		}
		if err := Add(f, b.Codec, r, evolve); err != nil {
			return err
		}
	}
	return nil
}

// Load reads the stream; commands wait meanwhile. A store that does not answer is asked again.
func (j *Journal[S, C, E]) Load(a *Turn) {
	j.incarnation++
	j.self, j.Loaded = a.Self, false
	of, least := j.life(), max(j.MinEvents, j.Stored)
	a.Do(func(ctx context.Context) {
		j.StoreWatch.yield(ctx, "load "+j.Stream)
		call := j.StoreWatch.Call(ctx, j.Stream)
		defer call.End()
		var m Loaded[S, E]
		err := call.Repeat(func() (err error) {
			if m, err = j.Read(ctx); err != nil {
				return err
			}
			if n := m.From.Events + uint64(len(m.Events)); n < least {
				return fmt.Errorf("%w: %d events of %s, there were %d", ErrBehind, n, j.Stream, least)
			}
			return nil
		})
		if err == nil && j.Confirm != nil {
			if err = j.Confirm(ctx); errors.Is(err, ErrDeposed) || errors.Is(err, ErrTakenOver) {
				return
			}
		}
		m.of = of
		if err != nil {
			m.err = fmt.Errorf("read %s: %w", j.Stream, err)
		}
		if ctx.Err() == nil { // It is no failure if the host is stopping.
			j.self.Tell(m)
		}
	})
}

// Read reads the stream, from the newest saved state if there is one.
func (j *Journal[S, C, E]) Read(ctx context.Context) (m Loaded[S, E], err error) {
	m.From = Unsaved(j.Empty)
	if j.Restore != nil {
		if m.From, err = j.Restore(ctx); err != nil {
			return m, err
		}
	}
	m.Last = m.From.Last
	for r, err := range snapshot.Tail(ctx, j.Store, j.Stream, m.From.Events) {
		if err != nil {
			return m, err
		}
		e, err := DecodeAs[E](j.Codec, r)
		if err != nil {
			return m, fmt.Errorf("%w: %w", ErrUnreadable, err)
		}
		m.Events, m.Last = append(m.Events, e), r.ID
	}
	return m, nil
}

// DecodeAs decodes an event of one machine. ErrUnknownEvent: it belongs to another machine, and
// not into this stream.
func DecodeAs[E proto.Message](codec *events.Codec, r events.Recorded) (E, error) {
	var none E
	m, err := codec.Decode(r)
	if err != nil {
		return none, err
	}
	e, ok := m.(E)
	if !ok {
		return none, fmt.Errorf("%s revision %d: %s does not belong in this stream: %w",
			r.Stream, r.Revision, r.Type, events.ErrUnknownEvent)
	}
	return e, nil
}

// fold folds what was read. Stored events are never skipped, so if a rule panics on one, this
// build cannot read the record.
func (j *Journal[S, C, E]) fold(m Loaded[S, E]) error {
	at := 0
	err := j.self.rt.Guarded("fold of "+j.Stream, func() error {
		j.Durable, j.Ahead = m.From.State, m.From.Ahead
		for i, e := range m.Events {
			at = i
			j.Durable, j.Ahead = j.Evolve(j.Durable, e), j.Evolve(j.Ahead, e)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%w: %s: the rules panic on revision %d: %w",
			ErrUnreadable, j.Stream, m.From.Events+uint64(at), err)
	}
	return nil
}
