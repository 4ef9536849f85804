package actors_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"iter"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/outage"
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/sim"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/events/witness"
)

var moodSeeds = flag.Int("moods", 15, "how many seeds TestSalesOverAStoreOfAllMoods runs")

// The moods of a store of several nodes, as its adapter passes them on.
type mood int

const (
	calm     mood = iota
	lost          // nobody answers, and the adapter says so
	refusing      // no append is taken, reads are answered; the adapter says that it is away
	frozen        // the leader is frozen: calls hang, and the adapter says so only after a while
	thawed        // a former leader answers from its old log, and the adapter takes it for the leader
)

// Times of an adapter with a host's settings.
const (
	callLimit     = 5 * time.Second
	callPatience  = time.Second
	silenceKnown  = 6 * time.Second
	leaderReplace = 9 * time.Second
	believesFor   = 3500 * time.Millisecond
)

// faultyStore is a store in one of its moods.
type faultyStore struct {
	*storetest.Memory // what is committed

	mu      sync.Mutex
	mood    mood
	says    bool // it is away
	old     *storetest.Memory
	changed chan struct{}
	came    time.Time // when it last said that it answers
}

func (m *faultyStore) set(to mood, says bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mood = to; m.says != says {
		m.says = says
		close(m.changed)
		m.changed = make(chan struct{})
		m.came = time.Now()
	}
}

func (m *faultyStore) Away() (since time.Time, reason string, away bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.came, "in a mood", m.says
}

func (m *faultyStore) Changed() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.changed
}

// call waits as a call does in the present mood; old is where it is read.
func (m *faultyStore) call(ctx context.Context, writes bool) (old *storetest.Memory, err error) {
	for began := time.Now(); ; {
		m.mu.Lock()
		now, says, at, changed := m.mood, m.says, m.old, m.changed
		m.mu.Unlock()
		limit := callPatience
		switch {
		case now == calm, now == refusing && !writes:
			return m.Memory, nil
		case now == thawed && !writes:
			return at, nil
		case now == thawed, now == frozen && !says:
			limit = callLimit
		}
		wait := time.NewTimer(time.Until(began.Add(limit)))
		select {
		case <-changed:
			wait.Stop()
			continue
		case <-wait.C:
			return nil, fmt.Errorf("%w: no answer", events.ErrAway)
		case <-ctx.Done():
			wait.Stop()
			return nil, ctx.Err()
		}
	}
}

func (m *faultyStore) Append(
	ctx context.Context, stream string, expected events.Expected, batch []events.NewEvent,
) (events.AppendResult, error) {
	if _, err := m.call(ctx, true); err != nil {
		return events.AppendResult{}, err
	}
	return m.Memory.Append(ctx, stream, expected, batch)
}

func (m *faultyStore) read(
	ctx context.Context, read func(*storetest.Memory) iter.Seq2[events.Recorded, error],
) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		from, err := m.call(ctx, false)
		if err != nil {
			yield(events.Recorded{}, err)
			return
		}
		read(from)(yield)
	}
}

func (m *faultyStore) ReadStream(
	ctx context.Context, stream string, q events.ReadStream,
) iter.Seq2[events.Recorded, error] {
	return m.read(ctx, func(s *storetest.Memory) iter.Seq2[events.Recorded, error] { return s.ReadStream(ctx, stream, q) })
}

func (m *faultyStore) ReadAll(ctx context.Context, after events.Position, limit int) iter.Seq2[events.Recorded, error] {
	return m.read(ctx, func(s *storetest.Memory) iter.Seq2[events.Recorded, error] { return s.ReadAll(ctx, after, limit) })
}

func (m *faultyStore) ReadBack(ctx context.Context, before events.Position, limit int) iter.Seq2[events.Recorded, error] {
	return m.read(ctx, func(s *storetest.Memory) iter.Seq2[events.Recorded, error] { return s.ReadBack(ctx, before, limit) })
}

func (m *faultyStore) Head(ctx context.Context) (events.Position, error) {
	from, err := m.call(ctx, false)
	if err != nil {
		return 0, err
	}
	return from.Head(ctx)
}

// life is a process with a host: it waits for its store as a start does, and lets what is hosted be proven until
// its host proves itself.
type life struct {
	*rig
	store *faultyStore
	path  string
	end   context.CancelFunc
	done  sync.WaitGroup
	mu    sync.Mutex
	host  *actors.Host
	keeps int // tasks that prove beside the start
}

func (l *life) running() *actors.Host {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.host
}

// proves reports whether somebody proves what is hosted.
func (l *life) proves() bool {
	if h := l.running(); h != nil {
		if s, err := h.Status(context.Background()); err == nil && s.Booted {
			return true
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.keeps > 0
}

func (l *life) begin() {
	ctx, cancel := context.WithCancel(context.Background())
	l.end = cancel
	booted, isBooted := context.WithCancel(ctx)
	l.done.Go(func() {
		defer isBooted()
		var w *witness.Store
		for w == nil && ctx.Err() == nil {
			var err error
			if w, _, err = witness.New(ctx, l.store, l.path); err != nil {
				time.Sleep(2 * time.Second)
			}
		}
		if ctx.Err() != nil {
			return
		}
		ports := l.ports
		ports.Store, ports.Witness = w, w
		host, err := actors.Start(ctx, l.cfg, ports, silent())
		if err != nil {
			if ctx.Err() == nil {
				l.Errorf("start: %v", err)
			}
			return
		}
		l.mu.Lock()
		l.host = host
		l.mu.Unlock()
		for ctx.Err() == nil {
			if s, err := host.Status(ctx); err != nil || s.Booted {
				return
			}
			time.Sleep(time.Second)
		}
	})
	l.done.Go(func() {
		time.Sleep(time.Second)
		if booted.Err() != nil {
			return
		}
		l.keep(1)
		defer l.keep(-1)
		_ = outage.Run(booted, outage.Config{ // It ends with ctx.
			Margin: l.cfg.Margin, Proofs: 1, Tell: func(health.OutageFacts) {}, Alert: func(health.Alert) {}, Log: silent(),
		}, outage.Ports{Market: provable{l.ports.Market}, Feed: l.ports.Feed, Prover: l.ports.Prover})
	})
}

// provable is a market without a record.
type provable struct{ port.Market }

func (provable) BlockTime() (time.Duration, bool) { return time.Second, true }

func (p provable) HeadsBetween(ctx context.Context, first, last uint64) (all []events.Head, err error) {
	for n := first; n <= last && err == nil; n++ {
		var h events.Head
		h, err = p.HeadAt(ctx, n)
		all = append(all, h)
	}
	return all, err
}

func (l *life) keep(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keeps += n
}

func (l *life) kill() {
	l.end()
	if h := l.running(); h != nil {
		h.Kill()
	}
	l.done.Wait()
	l.mu.Lock()
	l.host = nil
	l.mu.Unlock()
}

// copied is a copy of what is committed.
func (l *life) copied() *storetest.Memory {
	l.Helper()
	store := l.rig.store
	old := storetest.NewMemory()
	for e, err := range store.ReadAll(l.Context(), 0, 0) {
		if err == nil {
			_, err = old.Append(l.Context(), e.Stream, events.Any(), []events.NewEvent{{ID: e.ID, Type: e.Type, Data: e.Data, Meta: e.Meta}})
		}
		if err != nil {
			l.Fatal(err)
		}
	}
	return old
}

// trouble lets the store have one of its moods, from its beginning to its end.
func (l *life) trouble(r *rand.Rand) {
	some := func(least, most int) int { return least + r.IntN(most-least+1) }
	switch r.IntN(5) {
	case 0:
		l.store.set(lost, true)
		l.mine(some(1, 90))
	case 1:
		l.store.set(refusing, true)
		l.mine(some(1, 90))
	case 2:
		l.store.set(frozen, false)
		time.Sleep(silenceKnown)
		l.store.set(frozen, true)
		time.Sleep(leaderReplace - silenceKnown)
	case 3: // It answers for two seconds at a time.
		for range some(2, 8) {
			l.store.set(lost, true)
			l.mine(some(1, 9))
			l.store.set(calm, false)
			l.back()
			time.Sleep(2*time.Second - soon)
		}
	case 4: // A leader is frozen, others write on, the host is killed, and begins with the former leader.
		old := l.copied()
		l.mine(some(1, 40))
		l.kill()
		l.mine(some(0, 3))
		l.store.mu.Lock()
		l.store.old = old
		l.store.mu.Unlock()
		l.store.set(thawed, false)
		l.begin()
		time.Sleep(believesFor)
	}
	if r.IntN(3) == 0 {
		l.kill()
		l.begin()
		l.mine(some(0, 30))
	}
	l.store.set(calm, false)
	l.back()
}

// back demands what must hold soon after the adapter has said that the store answers.
func (l *life) back() {
	l.Helper()
	time.Sleep(soon)
	synctest.Wait()
	if h := l.running(); h != nil {
		s, err := h.Status(l.Context())
		if err != nil || s.Booted && s.Record.Away {
			l.Errorf("%v after its store is back the host says %+v, %v", soon, s.Record, err)
		}
	}
	time.Sleep(2*time.Second - soon)
	synctest.Wait()
	if !l.proves() {
		l.Errorf("2 s after its store is back nobody proves")
	}
}

// TestSalesOverAStoreOfAllMoods runs whole sales: they are paid, no proof is missed, the audit is clean, no loss is
// told, and no host ends.
func TestSalesOverAStoreOfAllMoods(t *testing.T) {
	for seed := range uint64(*moodSeeds) {
		path := filepath.Join(t.TempDir(), "acknowledged")
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			inWorld(t, func(r *rig) {
				m := &faultyStore{Memory: r.store, changed: make(chan struct{})}
				l := &life{rig: r, store: m, path: path}
				defer func() {
					m.set(calm, false)
					l.kill()
				}()
				r.cfg.Quota = 1 << 30
				random := rand.New(rand.NewPCG(seed, 35))
				l.begin()
				r.mine(3)
				r.rig(l).offer(64 * events.BlockSize)
				offer := sim.Offer(1, 1)
				offer.Ask.Duration = 1000 * time.Second
				r.world.Post(offer)
				slot := events.SlotIDOf(offer.ID, 0)
				r.mineUntil("it proves", r.has("ProofSubmitted"))
				for range 7 {
					l.trouble(random)
					r.mine(random.IntN(2 * period))
				}
				r.mineUntil("the sale is settled", r.has("SaleSettled"))
				if n := r.world.Slashed(slot); n != 0 || r.count("ProofMissed") != 0 || r.has("RecordWentBack")() {
					r.Errorf("slashed %d times; the record: %v", n, r.names())
				}
				r.clean()
				if err := l.running().Err(); err != nil && !errors.Is(err, context.Canceled) {
					r.Errorf("the host ended: %v", err)
				}
			})
		})
	}
}

// rig lets the helpers of a rig use the host of a life.
func (r *rig) rig(l *life) *rig {
	r.host = l.running()
	return r
}
