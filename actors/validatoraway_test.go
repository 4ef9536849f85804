package actors_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/validation"
)

func TestNothingIsMarkedWhileTheRecordIsAway(t *testing.T) {
	inWorld(t, func(r *rig) {
		w := r.validates(validation.Settings{})
		away := &awayStore{Store: r.store}
		r.ports.Store = away
		r.start()
		r.neglected(1, 1)
		r.mine(2)
		away.set(true)
		r.mine(100)
		if n := len(w.marked()); n != 0 {
			r.Fatalf("%d markings were begun without a record", n)
		}
		away.set(false)
		r.mine(10)
		r.mineUntil("it is marked when the record is back", r.has("ProofMarked"))
	})
}

// awayStore does not answer while it is away.
type awayStore struct {
	events.Store
	mu   sync.Mutex
	away bool
}

func (s *awayStore) set(away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = away
}

var errAway = errors.New("the store is away")

func (s *awayStore) gone() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		return errAway
	}
	return nil
}

func (s *awayStore) Append(
	ctx context.Context, stream string, e events.Expected, batch []events.NewEvent,
) (events.AppendResult, error) {
	if err := s.gone(); err != nil {
		return events.AppendResult{}, err
	}
	return s.Store.Append(ctx, stream, e, batch)
}

func (s *awayStore) Head(ctx context.Context) (events.Position, error) {
	if err := s.gone(); err != nil {
		return 0, err
	}
	return s.Store.Head(ctx)
}
