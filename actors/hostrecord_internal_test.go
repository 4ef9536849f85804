package actors

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostnode/hostnode/actors/shell/shelltest"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/messages"
)

// hangingStore takes no append until its context ends.
type hangingStore struct{ events.Store }

func (hangingStore) Append(
	ctx context.Context, _ string, _ events.Expected, _ []events.NewEvent,
) (events.AppendResult, error) {
	<-ctx.Done()
	return events.AppendResult{}, ctx.Err()
}

// speaker writes events of the host's stream.
func speaker(store events.Store) *hostRecord { return newHostRecord(bareBase(store)) }

func heartbeat() *messages.HostHeartbeat {
	return &messages.HostHeartbeat{At: events.TimeToMessage(shelltest.Clock{}.Now())}
}

// An event of the host's stream that waits for another one gives up with its context.
func TestAWordOfTheHostWaitsNoLongerThanItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := speaker(hangingStore{})
		first, end := context.WithCancel(t.Context())
		go func() { _ = e.write(first, heartbeat()) }()
		synctest.Wait()
		second, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- e.write(second, heartbeat()) }()
		synctest.Wait()
		cancel()
		synctest.Wait()
		select {
		case err := <-done:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("it ended with %v", err)
			}
		default:
			t.Error("it waits on")
		}
		end()
		synctest.Wait()
	})
}

// deafStore takes appends, and does not answer some of them.
type deafStore struct {
	events.Store
	unanswered int
}

func (s *deafStore) Append(
	ctx context.Context, stream string, expected events.Expected, batch []events.NewEvent,
) (events.AppendResult, error) {
	r, err := s.Store.Append(ctx, stream, expected, batch)
	if s.unanswered--; s.unanswered >= 0 && err == nil {
		return events.AppendResult{}, events.ErrAway
	}
	return r, err
}

// No event may overtake one whose append has an unknown outcome: that one would then be written
// again after it.
func TestAWordOfTheHostIsWrittenOnceThoughItsAnswerIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &deafStore{storetest.NewMemory(), 2}
		e := speaker(store)
		done := make(chan error, 2)
		said := &messages.RecordWentBack{At: heartbeat().GetAt(), Epoch: 1}
		go func() { done <- e.write(t.Context(), said) }()
		time.Sleep(time.Millisecond) // The store has it, and it is about to be asked again.
		go func() { done <- e.write(t.Context(), heartbeat()) }()
		for range 2 {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		var types []string
		for r, err := range store.ReadStream(t.Context(), events.HostStream(snapshotHost), events.ReadStream{}) {
			if err != nil {
				t.Fatal(err)
			}
			types = append(types, r.Type)
		}
		if want := []string{"RecordWentBack", "HostHeartbeat"}; !slices.Equal(types, want) {
			t.Errorf("the stream holds %v, want %v", types, want)
		}
	})
}

// movedStore refuses each append, as if another process had written, and has nothing to show for it.
type movedStore struct{ events.Store }

func (movedStore) Append(
	context.Context, string, events.Expected, []events.NewEvent,
) (events.AppendResult, error) {
	return events.AppendResult{}, events.ErrWrongRevision
}

// A stream that became shorter takes nothing more. Who ends a term is told so, instead of trying for ever.
func TestTheEndOfATermIsNotTriedForEver(t *testing.T) {
	store := storetest.NewMemory()
	e := speaker(store)
	e.Epoch, e.Member = 1, "north"
	at := heartbeat().GetAt()
	for _, m := range []hostEvent{
		&messages.HostStarted{
			At: at, Epoch: 1, Member: "north", Node: "test", Version: "test", ChainId: 1,
			Genesis: events.Hash{1}.String(), Contract: events.Address{2}.String(),
		},
		&messages.TermTaken{At: at, Epoch: 1, Member: "north", Term: 1},
	} {
		if err := e.write(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	e.Store = movedStore{store}
	if err := e.stop(t.Context()); !errors.Is(err, events.ErrWrongRevision) {
		t.Errorf("it ended with %v", err)
	}
}
