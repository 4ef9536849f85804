package shell

import (
	"context"
	"errors"
	"iter"
	"sync"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/messages"
)

// slowStore holds every append until it is released, and notes the calls.
type slowStore struct {
	events.Store
	mu    sync.Mutex
	asked [][]events.NewEvent
	gate  chan func(commit func() error) error // nil: nothing is held
}

var errDiskBusy = errors.New("the disk is busy")

// The fates of a held append.
func commits(commit func() error) error { return commit() }
func failsForNow(func() error) error    { return errDiskBusy }
func losesTheAnswer(commit func() error) error {
	return errors.Join(commit(), errDiskBusy)
}

func (s *slowStore) Append(
	ctx context.Context, stream string, e events.Expected, batch []events.NewEvent,
) (r events.AppendResult, err error) {
	s.mu.Lock()
	s.asked = append(s.asked, batch)
	s.mu.Unlock()
	fate := commits
	if s.gate != nil {
		select {
		case fate = <-s.gate:
		case <-ctx.Done():
			return r, ctx.Err()
		}
	}
	err = fate(func() error {
		r, err = s.Store.Append(ctx, stream, e, batch)
		return err
	})
	return r, err
}

// heldStore does not answer reads until it is opened.
type heldStore struct {
	events.Store
	open chan struct{}
}

func (s heldStore) ReadStream(
	ctx context.Context, stream string, q events.ReadStream,
) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		select {
		case <-s.open:
		case <-ctx.Done():
			yield(events.Recorded{}, ctx.Err())
			return
		}
		s.Store.ReadStream(ctx, stream, q)(yield)
	}
}

// The machine of the journal tests adds numbers. An odd one is refused.
type (
	counter struct {
		*Journal[uint64, uint64, messages.CapacityEvent]
	}
	counterCommand struct {
		n     uint64
		reply func(Result[uint64, messages.CapacityEvent])
		by    events.EventID
	}
	counterQuery struct{ look func(uint64) }
)

const counted = "capacity-0x0000000000000000000000000000000000000001"

var errOdd = errors.New("odd")

func newCounter(store events.Store) counter {
	return counter{&Journal[uint64, uint64, messages.CapacityEvent]{
		Machine: Machine[uint64, uint64, messages.CapacityEvent]{
			Empty: func() uint64 { return 0 },
			Decide: func(sum, n uint64) ([]messages.CapacityEvent, error) {
				switch {
				case n%2 == 1:
					return nil, errOdd
				case n == 0:
					return nil, nil
				}
				return []messages.CapacityEvent{&messages.QuotaSet{Bytes: sum + n}}, nil
			},
			Evolve: func(_ uint64, e messages.CapacityEvent) uint64 { return e.(*messages.QuotaSet).GetBytes() },
		},
		Stream: counted, Store: store, Codec: catalog.Codec(), StoreWatch: NewStoreWatch(fakeTime{}, quietLog(), noYield),
		Meta:      func(uint64, messages.CapacityEvent) events.Metadata { return events.Metadata{Node: "test"} },
		OnDurable: func(*Turn, []messages.CapacityEvent) {},
		OnBroken:  func(*Turn, error) {},
	}}
}

// Run makes an actor of a journal.
func (j counter) run(rt *Runtime) Ref {
	return rt.Root("counter", behaviorFunc(func(a *Turn, msg any) {
		if j.Handle(a, msg) {
			return
		}
		switch m := msg.(type) {
		case Started:
			j.Load(a)
		case counterCommand:
			j.SubmitBy(a, m.n, "test", m.by, m.reply)
		case counterQuery:
			j.Query(m.look)
		}
	}))
}

// answers collects the replies to commands in the order in which they come.
type answers struct {
	mu  sync.Mutex
	all []Result[uint64, messages.CapacityEvent]
}

func (s *answers) take(r Result[uint64, messages.CapacityEvent]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, r)
}

func (s *answers) sums() (sums []uint64, errs []error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.all {
		sums, errs = append(sums, r.State), append(errs, r.Err)
	}
	return sums, errs
}

func tellNumbers(r Ref, s *answers, numbers ...uint64) {
	for _, n := range numbers {
		r.Tell(counterCommand{n: n, reply: s.take})
	}
}
