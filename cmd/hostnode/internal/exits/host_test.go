package exits

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/admission"
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/storage"
)

// host is a whole host in this process, as package node puts one together.
type host struct {
	w       *world
	t       *testing.T
	name    string
	options options
	store   *storetest.Memory
	repo    *storage.Repo
	fetcher *storage.Fetcher
	market  *chain.Market
	reserve *gate // before each reservation on chain
	prover  *wholeReader
	host    *actors.Host
	log     *logtest.Hook // what the host logs
	// sealed is called after each block that until sealed.
	sealed func()
	// told caches the events of each sale, because tests read them again and again.
	told map[events.SlotID][]messages.SaleEvent
}

// gatedMarket is the market, with a gate before the reservation on chain.
type gatedMarket struct {
	*chain.Market
	reserve *gate
}

func (m gatedMarket) ReserveSlot(ctx context.Context, call events.SlotCall) (events.Receipt, error) {
	if err := m.reserve.pass(ctx); err != nil {
		return events.Receipt{}, err
	}
	return m.Market.ReserveSlot(ctx, call)
}

// gate holds calls up while it is shut. It is open at first.
type gate struct {
	mu   sync.Mutex
	shut chan struct{} // nil: open
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = make(chan struct{})
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.shut)
	g.shut = nil
}

func (g *gate) pass(ctx context.Context) error {
	g.mu.Lock()
	shut := g.shut
	g.mu.Unlock()
	if shut == nil {
		return nil
	}
	select {
	case <-shut:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// options are what differs between the hosts of the tests.
type options struct {
	clock     clock
	slots     int    // of one request; default 1
	source    string // of blocks; default the client's
	recipient events.Address
	// finalBlocks is the number of blocks after which a fill is final; default 3.
	finalBlocks uint64
	noOffer     bool                                            // there is no availability before offer is called
	collateral  uint64                                          // of the availability; default all that the host has
	poor        bool                                            // the account has its money already
	takeOver    bool                                            // the account hosts slots already, and the record is new
	workers     int                                             // default the host's
	quiet       bool                                            // nothing but warnings is logged
	sparing     bool                                            // the prover hashes each slot once, and later only compares it
	validates   bool                                            // it marks missing proofs of others
	mayReserve  func(admission.MayReserve) admission.Permission // default always
	// proves makes the prover that the host has in place of the fake.
	proves func(*storage.Repo) port.Prover
	alert  func(health.Alert) // nil: nobody is told
	dir    string
	store  *storetest.Memory
}

const (
	hostTokens = 1_000_000_000
	offerBytes = 64 << 20
	quota      = 256 << 20
)

var offerID = events.AvailabilityID{1}

// newHost is a host with money, an empty disk and one availability.
func (w *world) newHost(o options) *host {
	w.t.Helper()
	if !o.poor {
		w.give("host", hostTokens)
	}
	o.dir, o.store = w.t.TempDir(), storetest.NewMemory()
	if o.source == "" {
		o.source = w.source
	}
	if o.slots == 0 {
		o.slots = 1
	}
	if o.finalBlocks == 0 {
		o.finalBlocks = 3
	}
	h := w.start("host", o)
	if !o.noOffer {
		h.offer()
	}
	return h
}

// start opens what is in a directory and a store, and runs it.
func (w *world) start(name string, o options) *host {
	w.t.Helper()
	h := &host{
		w: w, t: w.t, name: name, options: o, store: o.store, reserve: &gate{}, sealed: func() {},
		told: map[events.SlotID][]messages.SaleEvent{},
	}
	log := logrus.New()
	log.SetOutput(logWriter{w.t})
	log.SetLevel(logrus.DebugLevel)
	if o.quiet {
		log.SetLevel(logrus.WarnLevel)
	}
	h.log = logtest.NewLocal(log)
	entry := logrus.NewEntry(log)
	var err error
	h.repo, err = storage.Open(filepath.Join(o.dir, "slots"), storage.Config{Quota: quota, Place: &storage.Place{
		Dir: filepath.Join(o.dir, "slots"), Memory: filepath.Join(o.dir, "slots.id"),
	}})
	ok(w.t, err)
	h.fetcher, err = storage.NewFetcher(h.repo, storage.FetcherConfig{Sources: []string{o.source}})
	ok(w.t, err)
	cfg := w.chainConfig(name)
	cfg.RewardRecipient, cfg.Confirmations, cfg.TakeOver = o.recipient, 2, o.takeOver
	h.market, err = chain.Dial(w.t.Context(), cfg, h.store, filepath.Join(o.dir, "outbox"))
	ok(w.t, err)
	h.prover = &wholeReader{repo: h.repo, sparing: o.sparing}
	var proves port.Prover = h.prover
	if o.proves != nil {
		proves = o.proves(h.repo)
	}
	id := h.market.Identity()
	var validates port.Validation
	if o.validates {
		validates = h.market
	}
	h.host, err = actors.Start(w.t.Context(), actors.Config{
		Node: "test", ChainID: id.ChainID, Genesis: id.Genesis, Contract: w.at.Marketplace,
		Overhead: storage.Overhead, Quota: quota, MaxSlotsPerRequest: o.slots, FinalBlocks: o.finalBlocks, MaxWorkers: o.workers,
		MayReserve: o.mayReserve, Alert: o.alert,
		Margin:     duty.Margin{Blocks: 6, BlockTime: max(w.apart, time.Second)},
		RetryAfter: 2 * time.Millisecond, RetryMost: 20 * time.Millisecond,
	}, actors.Ports{
		Market: gatedMarket{h.market, h.reserve}, Feed: h.market.Feed(), Prover: proves, Repo: h.repo, Content: h.fetcher,
		Clock: h.options.clock, Store: h.store, Validation: validates,
	}, entry)
	ok(w.t, err)
	w.t.Cleanup(sync.OnceFunc(func() { h.stop() }))
	return h
}

// stop shuts the host down; a second call does nothing.
func (h *host) stop() {
	if h.host == nil {
		return
	}
	err := h.host.Stop(context.WithoutCancel(h.t.Context()))
	h.fetcher.Close()
	if err := errors.Join(err, h.market.Close(), h.repo.Close()); err != nil {
		h.t.Errorf("stop the host: %v", err)
	}
	h.host = nil
}

// offer puts up the availability.
func (h *host) offer() {
	h.t.Helper()
	h.until("the host takes an availability", func() bool {
		return h.host.Ledger(h.t.Context(), capacity.Create{At: time.Now(), ID: offerID, Now: h.terms()}) == nil
	})
}

// closeOffer takes the availability off the market; what is sold goes on.
func (h *host) closeOffer() {
	h.t.Helper()
	enabled := false
	ok(h.t, h.host.Ledger(h.t.Context(), capacity.Update{At: time.Now(), ID: offerID, Enabled: &enabled}))
}

func (h *host) terms() capacity.Offer {
	return capacity.Offer{
		Size: offerBytes, Duration: 30 * 24 * time.Hour, MinPrice: events.NewAmount(1),
		Collateral: events.NewAmount(cmp.Or(h.options.collateral, hostTokens)), Enabled: true,
	}
}

// fillsInVain lets the host send its fill, and sends another transaction that comes first in
// the block with the fill.
func (h *host) fillsInVain(c events.SlotCall, first func()) {
	h.t.Helper()
	h.prover.stop(errBusy)
	h.comesTo(c, sale.InitialProving)
	h.w.chain.Hold(true) // No block takes the fill before first has been.
	h.prover.stop(nil)
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for h.sale(c.Slot).Phase != sale.Filling || h.w.chain.Pending() == 0 {
		if h.idle(ctx) && h.w.chain.Pending() == 0 {
			h.w.seal(1)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			h.t.Fatalf("the host never sent its fill\n%s", h.story())
		}
	}
	h.w.chain.Hold(false)
	first()
}

// picks waits until the host has begun a sale of a request, and returns its slot.
func (h *host) picks(r events.Request) (c events.SlotCall) {
	h.t.Helper()
	h.until("the host begins with a slot", func() bool {
		for index := range r.Ask.Slots {
			if c = callOf(r, index); len(h.events(c.Slot)) > 0 {
				return true
			}
		}
		return false
	})
	return c
}

// comesTo lets chain time run until a sale is in a phase.
func (h *host) comesTo(c events.SlotCall, p sale.Phase) {
	h.t.Helper()
	h.until(fmt.Sprintf("the sale of slot %d is %s", c.Index, p), func() bool { return h.sale(c.Slot).Phase == p })
}

const (
	// patience bounds a wait by the machine's clock, so that a test that cannot go on fails.
	patience = 4 * time.Minute
	// maxBlocks bounds a wait in blocks.
	maxBlocks = 2000
)

// until lets chain time run at the host's pace until a condition holds.
func (h *host) until(what string, holds func() bool) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	quiet := 0
	for first := h.w.chain.Head().Number; !holds(); {
		if h.w.chain.Head().Number > first+maxBlocks {
			h.t.Fatalf("%d blocks, and not yet: %s\n%s", maxBlocks, what, h.story())
		}
		quiet++
		if !h.idle(ctx) {
			quiet = 0
		}
		if h.w.chain.Pending() > 0 || quiet > 2 && (quiet > owedPatience || !h.owes(ctx)) {
			quiet = 0
			h.w.seal(1)
			h.sealed()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			h.t.Fatalf("never: %s\n%s", what, h.story())
		}
	}
}

// owedPatience is how often a host that owes a proof and seems to do nothing is looked at
// again: it may be between two tries.
const owedPatience = 5_000

// owes reports whether a proof is owed that the host could make now, and that is not on
// its way.
func (h *host) owes(ctx context.Context) bool {
	st, err := h.host.Status(ctx)
	if err != nil || !h.prover.works() {
		return false
	}
	owed, sent := 0, 0
	for _, s := range st.Sales {
		for _, d := range s.State.Duties {
			if !d.Deadline.Before(h.w.now()) {
				owed++
			}
		}
	}
	for _, p := range st.Pools {
		if p.Name == "proofs on their way" {
			sent = p.Running
		}
	}
	return owed > sent
}

// idle reports whether the host has seen the newest block and waits for the next.
func (h *host) idle(ctx context.Context) bool {
	st, err := h.host.Status(ctx)
	if err != nil || !st.Booted || st.Head.Hash != h.w.chain.Head().Hash {
		return false
	}
	for _, p := range st.Pools {
		// A transaction may wait for its confirmations, for which blocks must come.
		if p.Name != "transactions" && p.Name != "proofs on their way" && p.Running+p.Waiting > 0 {
			return false
		}
	}
	return true
}

// events are the events of a sale. What was read of them is not read again.
func (h *host) events(slot events.SlotID) []messages.SaleEvent {
	h.t.Helper()
	stream := events.SaleStream(h.market.Account(), slot)
	next := events.ReadStream{From: uint64(len(h.told[slot]))}
	for r, err := range h.store.ReadStream(h.t.Context(), stream, next) {
		if errors.Is(err, events.ErrStreamNotFound) {
			return nil
		}
		ok(h.t, err)
		m, err := catalog.Codec().Decode(r)
		ok(h.t, err)
		h.told[slot] = append(h.told[slot], m.(messages.SaleEvent))
	}
	return h.told[slot]
}

// clock is the machine's time; its pauses are so many times shorter, 0: as they are.
type clock struct{ shorter time.Duration }

func (clock) Now() time.Time { return time.Now() }

func (c clock) After(d time.Duration, f func()) (stop func()) {
	t := time.AfterFunc(d/max(1, c.shorter), f)
	return func() { t.Stop() }
}

type logWriter struct{ t *testing.T }

func (w logWriter) Write(b []byte) (int, error) {
	w.t.Logf("%s", b)
	return len(b), nil
}
