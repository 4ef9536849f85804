package actors

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/snapshot"
)

// How a journal reads its stream and makes its state of it.

// load reads the stream; commands that come meanwhile wait. A store that does
// not answer is asked again.
func (j *journal[S, C, E]) load(a *turn) {
	j.incarnation++
	j.self, j.loaded = a.self, false
	incarnation, least := j.incarnation, max(j.shown, j.stored)
	a.do(func(ctx context.Context) {
		call := j.record.call(ctx, j.stream)
		defer call.end()
		var m journalLoaded[S, E]
		err := call.repeat(func() (err error) {
			if m, err = j.read(ctx); err != nil {
				return err
			}
			if n := m.from.events + uint64(len(m.events)); n < least {
				return fmt.Errorf("%w: %d events of %s, there were %d", errBehind, n, j.stream, least)
			}
			return nil
		})
		m.incarnation = incarnation
		if err != nil {
			m.err = fmt.Errorf("read %s: %w", j.stream, err)
		}
		if ctx.Err() == nil { // Nobody is told of a record that could not be read because the host stops.
			j.self.tell(m)
		}
	})
}

// read reads the stream, behind the newest saved state if there is one.
func (j *journal[S, C, E]) read(ctx context.Context) (m journalLoaded[S, E], err error) {
	m.from = saved[S]{durable: j.empty(), ahead: j.empty()}
	if j.restore != nil {
		if m.from, err = j.restore(ctx); err != nil {
			return m, err
		}
	}
	m.last = m.from.last
	for r, err := range snapshot.Tail(ctx, j.store, j.stream, m.from.events) {
		if err != nil {
			return m, err
		}
		e, err := decodeAs[E](j.codec, r)
		if err != nil {
			return m, fmt.Errorf("%w: %w", errUnreadable, err)
		}
		m.events, m.last = append(m.events, e), r.ID
	}
	return m, nil
}

func decodeAs[E proto.Message](codec *events.Codec, r events.Recorded) (E, error) {
	var none E
	m, err := codec.Decode(r)
	if err != nil {
		return none, err
	}
	e, ok := m.(E)
	if !ok {
		return none, fmt.Errorf("%s revision %d: %s does not belong into this stream: %w",
			r.Stream, r.Revision, r.Type, events.ErrUnknownEvent)
	}
	return e, nil
}

// fold makes the state of what was read. What is stored is never passed over, so a rule
// that panics on it makes the record one that cannot be read by this build.
func (j *journal[S, C, E]) fold(m journalLoaded[S, E]) error {
	at := 0
	err := j.self.rt.guarded("fold of "+j.stream, func() error {
		j.durable, j.ahead = m.from.durable, m.from.ahead
		for i, e := range m.events {
			at = i
			j.durable, j.ahead = j.evolve(j.durable, e), j.evolve(j.ahead, e)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%w: %s: the rules fail on revision %d: %w",
			errUnreadable, j.stream, m.from.events+uint64(at), err)
	}
	return nil
}
