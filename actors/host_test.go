package actors_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/sim"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/membership"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/events/storetest"
)

// rig is a host in a simulated world that answers at once, in fake time.
type rig struct {
	*testing.T
	world *sim.World
	store *storetest.Memory
	ports actors.Ports
	cfg   actors.Config
	host  *actors.Host
	log   *logrus.Entry // nil: nobody reads it
}

// inWorld runs a test in a bubble; the host ends with it.
func inWorld(t *testing.T, test func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{T: t, world: sim.NewWorld(events.NewAmount(1 << 40)), store: storetest.NewMemory()}
		r.ports = r.world.Ports(r.store)
		r.cfg = actors.Config{
			Node: "test", Version: "test", ChainID: 1, Genesis: events.Hash{1}, Contract: events.Address{9},
			FinalBlocks: 8, Margin: duty.Margin{Blocks: 4, BlockTime: time.Second}, MinFill: 30 * time.Second,
			MaxSlotsPerRequest: 256,
		}
		defer func() {
			if r.host != nil {
				r.host.Kill()
			}
			time.Sleep(time.Minute) // The actor library's last timers run out.
		}()
		test(r)
	})
}

func (r *rig) start() {
	r.Helper()
	log := r.log
	if log == nil {
		log = silent()
	}
	host, err := actors.Start(context.Background(), r.cfg, r.ports, log)
	if err != nil {
		r.Fatal(err)
	}
	r.host = host
	synctest.Wait()
}

func silent() *logrus.Entry {
	l := logrus.New()
	l.SetOutput(io.Discard)
	return logrus.NewEntry(l)
}

// offer puts space on offer.
func (r *rig) offer(size events.Bytes) {
	r.Helper()
	r.ledger(capacity.SetQuota{At: time.Now(), Bytes: 1 << 30})
	r.ledger(capacity.Create{At: time.Now(), ID: events.AvailabilityID{1}, Now: capacity.Offer{
		Size: size, Duration: 24 * time.Hour, MinPrice: events.NewAmount(1),
		Collateral: events.NewAmount(1 << 38), Enabled: true,
	}})
}

func (r *rig) ledger(cmd capacity.Command) {
	r.Helper()
	if err := r.host.Ledger(r.Context(), cmd); err != nil {
		r.Fatal(err)
	}
	synctest.Wait()
}

// mine seals blocks one by one and lets the host do what follows.
func (r *rig) mine(n int) {
	for range n {
		r.world.Mine(1)
		synctest.Wait()
		time.Sleep(time.Second)
		synctest.Wait()
	}
}

// mineUntil seals blocks until a condition holds.
func (r *rig) mineUntil(what string, holds func() bool) {
	r.Helper()
	synctest.Wait() // What was begun right before may still be running.
	for range 1000 {
		if holds() {
			return
		}
		r.mine(1)
	}
	r.Fatalf("never: %s; the record holds %v", what, r.names())
}

// names returns the stored names of all events of the record, in their order.
func (r *rig) names() (names []string) {
	for e, err := range r.store.ReadAll(context.Background(), 0, 0) {
		if err == nil && catalog.Streams().InRecord(e.Stream) {
			names = append(names, e.Type)
		}
	}
	return names
}

func (r *rig) has(name string) func() bool {
	return func() bool { return slices.Contains(r.names(), name) }
}

func (r *rig) count(name string) (n int) {
	for _, have := range r.names() {
		if have == name {
			n++
		}
	}
	return n
}

func (r *rig) status() actors.Status {
	r.Helper()
	s, err := r.host.Status(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	return s
}

// script is a Content and a Market port that a test can disturb. It notes the
// calls about slots in their order.
type script struct {
	port.Content
	port.Market
	port.Repo

	mu       sync.Mutex
	calls    []string
	download func(ctx context.Context, job events.DownloadJob) error // before the real one
	deletes  func()                                                  // before the real one
	deaf     atomic.Bool                                             // answers to fills are lost
	forgets  atomic.Bool                                             // nobody knows of a fill that was sent
}

func (s *script) note(call string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, call)
}

func (s *script) noted() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

func (s *script) Download(ctx context.Context, job events.DownloadJob) (events.SlotContent, error) {
	s.note("download")
	if s.download != nil {
		if err := s.download(ctx, job); err != nil {
			return events.SlotContent{}, err
		}
	}
	return s.Content.Download(ctx, job)
}

func (s *script) Slot(ctx context.Context, id events.RequestID, index uint64) (events.SlotFacts, error) {
	s.note("slot")
	return s.Market.Slot(ctx, id, index)
}

func (s *script) FillSlot(ctx context.Context, c events.SlotCall, p events.Proof) (events.Fill, error) {
	s.note("fill")
	if s.forgets.Load() {
		return events.Fill{}, events.ErrDeadlinePassed
	}
	fill, err := s.Market.FillSlot(ctx, c, p)
	if s.deaf.Load() {
		return events.Fill{}, errors.New("the answer is lost")
	}
	return fill, err
}

func (s *script) Delete(ctx context.Context, slot events.SlotID) error {
	s.note("delete")
	if s.deletes != nil {
		s.deletes()
	}
	return s.Repo.Delete(ctx, slot)
}

// disturb puts a script between the host and its world.
func (r *rig) disturb() *script {
	s := &script{Content: r.ports.Content, Market: r.ports.Market, Repo: r.ports.Repo}
	r.ports.Content, r.ports.Market, r.ports.Repo = s, s, s
	return s
}

func TestARecordOfAnotherMarketIsRefused(t *testing.T) {
	inWorld(t, func(r *rig) {
		r.start()
		if err := r.host.Stop(r.Context()); err != nil {
			r.Fatal(err)
		}
		for name, change := range map[string]func(*actors.Config){
			"chain":    func(c *actors.Config) { c.ChainID = 2 },
			"genesis":  func(c *actors.Config) { c.Genesis = events.Hash{2} },
			"contract": func(c *actors.Config) { c.Contract = events.Address{2} },
		} {
			cfg := r.cfg
			change(&cfg)
			if _, err := actors.Start(r.Context(), cfg, r.ports, silent()); !errors.Is(err, actors.ErrOtherMarket) {
				r.Errorf("a record of another %s: %v", name, err)
			}
		}
	})
}

func TestEachStartHasTheNextEpochAndAStopIsRecorded(t *testing.T) {
	inWorld(t, func(r *rig) {
		for epoch := uint64(1); epoch <= 3; epoch++ {
			r.start()
			if got := r.status().Epoch; got != epoch {
				r.Fatalf("start %d has epoch %d", epoch, got)
			}
			if epoch == 2 {
				r.host.Kill()
				continue
			}
			if err := r.host.Stop(r.Context()); err != nil {
				r.Fatal(err)
			}
			if _, err := r.host.Status(r.Context()); !errors.Is(err, actors.ErrStopped) {
				r.Fatalf("a stopped host answers %v", err)
			}
		}
		want := []string{"HostStarted", "HostStopped", "HostStarted", "HostStarted", "HostStopped"}
		if diff := cmp.Diff(want, r.names()); diff != "" {
			r.Fatalf("the record: %s", diff)
		}
	})
}

func TestAStartRecordsOnlySettingsThatChanged(t *testing.T) {
	inWorld(t, func(r *rig) {
		for _, workers := range []string{"4", "4", "5"} {
			r.cfg.Settings = []membership.Given{{Default: "3", Setting: membership.Setting{
				Key: "sales.maxWorkers", Value: workers, Source: "file",
			}}}
			r.start()
			r.host.Kill()
		}
		want := []string{"HostStarted", "SettingsChanged", "HostStarted", "HostStarted", "SettingsChanged"}
		if diff := cmp.Diff(want, r.names()); diff != "" {
			r.Fatalf("the record: %s", diff)
		}
	})
}

func TestASlotIsHostedProvenAndPaid(t *testing.T) {
	inWorld(t, func(r *rig) {
		r.start()
		r.offer(64 * events.BlockSize)
		r.world.Post(sim.Offer(1, 2))
		r.mineUntil("both slots are settled", func() bool { return r.count("SaleSettled") == 2 })
		if r.count("ProofSubmitted") == 0 || r.count("ProofMissed") != 0 || r.count("PayoutReceived") != 2 {
			r.Fatalf("the record holds %v", r.names())
		}
		if s := r.status(); len(s.Sales) != 0 || len(r.world.Stored()) != 0 {
			r.Fatalf("left over: %d sales, %d slots on disk", len(s.Sales), len(r.world.Stored()))
		}
	})
}

func TestAtMostMaxWorkersSlotsAreWorkedOnAtOnce(t *testing.T) {
	inWorld(t, func(r *rig) {
		s := r.disturb()
		gate := make(chan struct{})
		s.download = func(ctx context.Context, _ events.DownloadJob) error {
			select {
			case <-gate:
			case <-ctx.Done():
			}
			return ctx.Err()
		}
		r.cfg.MaxWorkers, r.cfg.Downloads = 2, 8
		r.start()
		r.offer(1024 * events.BlockSize)
		r.world.Post(sim.Offer(1, 6))
		r.mine(5)
		if n := r.count("SaleStarted"); n != 2 {
			r.Fatalf("%d sales began with two workers", n)
		}
		close(gate)
		r.mineUntil("all sales began", func() bool { return r.count("SaleStarted") == 6 })
	})
}

func TestAPausedQueueGivesNothingOut(t *testing.T) {
	inWorld(t, func(r *rig) {
		r.start()
		r.offer(64 * events.BlockSize)
		if err := r.host.Queue(r.Context(), slotqueue.Pause{At: time.Now(), Reason: "maintenance"}); err != nil {
			r.Fatal(err)
		}
		r.world.Post(sim.Offer(1, 2))
		r.mine(5)
		if r.count("SlotsQueued") != 1 || r.count("SaleStarted") != 0 {
			r.Fatalf("while it was paused: %v", r.names())
		}
		if err := r.host.Queue(r.Context(), slotqueue.Resume{At: time.Now(), Reason: "done"}); err != nil {
			r.Fatal(err)
		}
		r.mineUntil("the sales begin", func() bool { return r.count("SaleStarted") == 2 })
	})
}

func TestANewAvailabilityLooksBackAtWhatWasRefused(t *testing.T) {
	inWorld(t, func(r *rig) {
		r.start()
		r.world.Post(sim.Offer(1, 2))
		r.mine(2)
		if r.count("SlotsRefused") != 1 || r.count("SlotsQueued") != 0 {
			r.Fatalf("without any offer: %v", r.names())
		}
		r.offer(64 * events.BlockSize)
		r.mineUntil("the sales begin", func() bool { return r.count("SaleStarted") == 2 })
	})
}

func TestSpaceThatComesBackIsSoldAgain(t *testing.T) {
	inWorld(t, func(r *rig) {
		r.start()
		r.offer(8 * events.BlockSize) // Two slots.
		r.world.Post(sim.Offer(1, 2))
		r.mineUntil("the space is sold", func() bool { return r.count("SlotFilled") == 2 })
		long := sim.Offer(2, 1)
		long.Ask.Duration, long.Expiry = 2000*time.Second, 1500*time.Second
		r.world.Post(long)
		r.mine(3)
		if r.count("SaleStarted") != 2 {
			r.Fatalf("without space: %v", r.names())
		}
		r.mineUntil("the next slot is filled", func() bool { return r.count("SlotFilled") == 3 })
	})
}

// phase is the phase of the sale of the only slot.
func (r *rig) phase() sale.Phase {
	r.Helper()
	if s := r.status(); len(s.Sales) == 1 {
		return s.Sales[0].State.Phase
	}
	return sale.Unknown
}
