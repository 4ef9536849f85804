package sectors_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/ledger"
	"github.com/hostnode/hostnode/actors/quarantine"
	"github.com/hostnode/hostnode/actors/sectors"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/actors/shell/shelltest"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/projections/audit"
)

var me = events.Address{0xcd}

var codec = events.NewCodec(sector.Table(), capacity.Table())

const size = events.Bytes(2048)

var errCrash = errors.New("the host ended here")

// host is a host of sectors on a store and a world, which both outlive it.
type host struct {
	t     *testing.T
	world *world
	store *storetest.Memory
	// change, if set, changes the configuration of each life.
	change func(*sectors.Deps)

	rt      *shell.Runtime
	room    *shell.Part
	ledger  *shell.Part
	epoch   uint64
	crashed atomic.Bool
	words   []quarantine.Event
}

func newHost(t *testing.T) *host {
	return &host{t: t, world: newWorld(), store: storetest.NewMemory(), change: func(*sectors.Deps) {}}
}

// inTime runs a story of a host in fake time.
func inTime(t *testing.T, story func(h *host)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.start()
		story(h)
		h.kill()
		h.audited()
		time.Sleep(time.Minute) // Lets the actor library's last timers expire.
	})
}

// audited audits the record, with tables and sums that are independent of the cores.
func (h *host) audited() {
	h.t.Helper()
	report, err := audit.Run(context.Background(), h.store, audit.Options{})
	if err != nil || !report.Clean() {
		h.t.Errorf("the audit: %v, %v", report.Findings, err)
	}
}

// crashOnce ends the host at the next point of that name.
func (h *host) crashOnce(at string) {
	h.world.point = func(name string) error {
		if h.crashed.Load() {
			return errCrash
		}
		if name == at {
			at = ""
			h.crashed.Store(true)
			h.rt.Abandon()
			return errCrash
		}
		return nil
	}
}

// crashing makes each append a point at which the host may end.
type crashing struct {
	events.Store
	world *world
}

func (s crashing) Append(ctx context.Context, stream string, e events.Expected, batch []events.NewEvent) (
	r events.AppendResult, err error,
) {
	name := "append to " + events.Category(stream)
	if err := s.world.point("before " + name); err != nil {
		return r, err
	}
	if r, err = s.Store.Append(ctx, stream, e, batch); err != nil {
		return r, err
	}
	return r, s.world.point("after " + name)
}

func (h *host) start() {
	h.epoch++
	h.crashed.Store(false)
	h.rt = shell.NewRuntime(context.Background(), shelltest.QuietLog())
	base := &shell.Base{
		RT: h.rt, Log: shelltest.QuietLog(), Clock: shell.GuardClock(shelltest.Clock{}, h.rt),
		Store: crashing{h.store, h.world}, Codec: codec, Me: me, Epoch: h.epoch, Node: "test",
		StoreWatch: shell.NewStoreWatch(shelltest.Clock{}, shelltest.QuietLog(), shelltest.NoYield),
		RetryAfter: time.Second, RetryMost: time.Minute, SnapshotEvery: -1, Yield: shelltest.NoYield,
		Savers: map[string]shell.Saver{},
	}
	list := quarantine.New(base, func(w quarantine.Event, stored func()) {
		h.words = append(h.words, w)
		stored()
	})
	for _, w := range h.words {
		list.Fold(w)
	}
	h.ledger, h.room = shell.NewPart(ledger.Name), shell.NewPart(sectors.Name)
	h.ledger.Began(h.rt.Root(ledger.Name, ledger.New(ledger.Deps{
		Base: base, Repo: noLimit{}, Quarantined: list, Queue: shell.NewPart("queue"), Decide: capacity.Decide,
		Broken: func(err error) { h.t.Errorf("ledger: %v", err) },
	})))
	h.ledger.Tell(ledger.Command{Cmd: capacity.SetQuota{At: time.Now(), Bytes: 1 << 40}, Cause: "quota"})
	d := sectors.Deps{
		Base: base, Sealer: sealer{h.world}, Files: files{h.world}, Pieces: source{h.world}, Chain: chain{h.world},
		Ledger: h.ledger, Quarantined: list, Decide: sector.Decide, Compared: new(atomic.Bool),
		Space:    func(n events.Bytes) capacity.Space { return capacity.Space{Unsealed: n, Tree: 2 * n, Scratch: 100} },
		Settings: sectors.Settings{FinalBlocks: 4, Batch: 100},
	}
	h.change(&d)
	h.room.Began(h.rt.Root(sectors.Name, sectors.New(d)))
	h.room.Tell(chainview.HeadMoved{Head: h.world.block(h.world.head)})
	synctest.Wait()
}

type noLimit struct{}

func (noLimit) Limit(events.Bytes) {}

func (h *host) kill() { h.rt.Kill() }

// mine mines blocks. A host that crashed starts again.
func (h *host) mine(blocks int) {
	for range blocks {
		head := h.world.mine()
		h.room.Tell(chainview.HeadMoved{Head: head})
		time.Sleep(12 * time.Second)
		synctest.Wait()
		h.revive()
	}
}

func (h *host) revive() {
	for h.crashed.Load() {
		h.kill()
		h.start()
	}
}

// until mines until something is so.
func (h *host) until(what string, so func() bool) {
	h.t.Helper()
	synctest.Wait() // What the test has just let go on is not to run beside what the test does next.
	for range 800 {
		if so() {
			return
		}
		h.mine(1)
	}
	h.t.Fatalf("%s: never; sector 1: %+v; calls %v", what, h.info(1), h.world.calls)
}

func (h *host) in(n uint64, s sector.State) func() bool {
	return func() bool { return h.info(n).State == s }
}

// info is what the record says of a sector.
func (h *host) info(n uint64) sector.Info {
	st := sector.New(sector.Policy{})
	for _, e := range h.events(n) {
		st = sector.Evolve(st, e)
	}
	return st
}

func (h *host) events(n uint64) (all []sector.Event) {
	for r, err := range h.store.ReadStream(context.Background(), events.SectorStream(me, n), events.ReadStream{}) {
		if err != nil {
			return nil
		}
		e, err := shell.DecodeAs[sector.Event](codec, r)
		if err != nil {
			h.t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

func (h *host) count(n uint64, name string) (count int) {
	for _, e := range h.events(n) {
		if sector.NameOf(e) == name {
			count++
		}
	}
	return count
}

// ask asks the room, waits a minute at most, and then until everything rests.
func ask[T any](h *host, msg any) (T, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	defer synctest.Wait()
	return shell.Ask[T](h.room, msg).Wait(ctx)
}

func create(pieces ...events.SectorPiece) sectors.Create {
	return sectors.Create{Size: size, Pieces: pieces, By: "anna"}
}

func (h *host) create(pieces ...events.SectorPiece) uint64 {
	h.t.Helper()
	n, err := ask[uint64](h, create(pieces...))
	if err != nil {
		h.t.Fatalf("create a sector: %v", err)
	}
	return n
}

func (h *host) do(msg any) {
	h.t.Helper()
	if _, err := ask[sector.State](h, msg); err != nil {
		h.t.Fatalf("%T: %v", msg, err)
	}
}

func piece(name string) events.SectorPiece {
	return events.SectorPiece{CID: "baga6ea4seaq" + name, Size: 512, Payload: 500}
}

// book is what the ledger has of a sector.
func (h *host) book(n uint64) (capacity.Sector, bool) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	snap, err := shell.Ask[capacity.Snapshot](h.ledger, ledger.Show{}).Wait(ctx)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, one := range snap.Sectors {
		if one.Number == n {
			return one, true
		}
	}
	return capacity.Sector{}, false
}

// once checks that messages of these kinds had their effect once.
func (h *host) once(n uint64, kinds ...string) {
	h.t.Helper()
	for _, kind := range kinds {
		if got := h.world.effects[fmt.Sprintf("%s %d", kind, n)]; got != 1 {
			h.t.Errorf("%s of sector %d had its effect %d times", kind, n, got)
		}
	}
}
