package aggregation_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostnode/hostnode/actors/aggregation"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/actors/shell/shelltest"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/cargo"
	"github.com/hostnode/hostnode/events/content"
	"github.com/hostnode/hostnode/events/deal"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/prover/commd"
)

var (
	me    = events.Address{0xcd}
	codec = events.NewCodec(content.Table(), cargo.Table(), deal.Table())
)

// world is what outlives a host: sources, the disk, and a broker. It is a fake of three ports.
type world struct {
	mu      sync.Mutex
	cars    map[events.ContentLink]car
	away    bool // sources and the broker give no answer
	files   map[string]int
	offers  map[string]events.DealReport
	pieces  map[string][]string // of aggregates, as the test tells
	bad     map[string]bool     // pieces that the broker refuses
	names   bool                // it says which are bad
	offered int
	lie     func(aggregate string) (events.DealReport, error)
	slow    string // appends to streams of this category take five minutes
	full    bool   // the disk
	kept    int    // calls of Keep
	hangs   string // calls of this kind wait until their context ends
	hung    int    // how many do
	left    int    // points until a crash; negative: there is none
	crash   func() // ends the host
}

type car struct {
	found   events.ContentFound
	refused *events.ContentRefusal
	reads   int
}

var errCrash = errors.New("the host ended here")

// change changes a CAR, and returns it.
func (w *world) change(link events.ContentLink, do func(*car)) car {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.cars[link]
	do(&one)
	w.cars[link] = one
	return one
}

func (h *host) car(link events.ContentLink) car { return h.world.change(link, func(*car) {}) }

// point is where the host may end.
func (w *world) point() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.left--; w.left == 0 {
		w.crash()
	}
	if w.left <= 0 && w.left > -1_000_000 {
		return errCrash
	}
	return nil
}

// set changes the world while a host runs.
func (w *world) set(do func(*world)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	do(w)
}

// crashAfter has the host end at the point of that number, from now on.
func (w *world) crashAfter(points int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left = points
}

// quiet is how many points there are until a crash when none is wanted.
const quiet = 1 << 40

// hang waits until the context of a call ends, if such calls are to hang.
func (w *world) hang(ctx context.Context, kind string) error {
	w.mu.Lock()
	if w.hangs != kind {
		w.mu.Unlock()
		return nil
	}
	w.hung++
	w.mu.Unlock()
	<-ctx.Done()
	w.set(func(w *world) { w.hung-- })
	return ctx.Err()
}

func (w *world) Examine(
	ctx context.Context, claim events.ContentClaim, _ events.ContentSource,
) (events.ContentFound, error) {
	if err := cmp.Or(w.hang(ctx, "examine"), w.point()); err != nil {
		return events.ContentFound{}, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.away {
		return events.ContentFound{}, events.ErrSourceAway
	}
	one := w.cars[claim.Link]
	one.reads++
	w.cars[claim.Link] = one
	if one.refused != nil {
		return events.ContentFound{}, one.refused
	}
	return one.found, nil
}

func (w *world) Open(context.Context, events.ContentSource, uint64) (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(nil)), w.point()
}

// copies is the disk of the world.
type copies struct{ *world }

func (c copies) Keep(ctx context.Context, piece events.SectorPiece, payload io.Reader) error {
	if err := cmp.Or(c.hang(ctx, "keep"), c.point()); err != nil {
		return err
	}
	b, err := io.ReadAll(payload)
	c.mu.Lock()
	if c.kept++; c.full {
		c.mu.Unlock()
		return events.ErrDiskFull
	}
	c.files[piece.CID] = len(b)
	c.mu.Unlock()
	return errors.Join(err, c.point())
}

func (copies) Open(_ context.Context, _ events.SectorPiece) (io.ReadCloser, error) {
	return nil, events.ErrNoSuchPiece
}

func (c copies) Drop(_ context.Context, cid string) error {
	if err := c.point(); err != nil {
		return err
	}
	c.mu.Lock()
	delete(c.files, cid)
	c.mu.Unlock()
	return c.point()
}

// broker decides at the second look.
type broker struct{ *world }

func (b broker) Offer(ctx context.Context, o events.AggregateOffer) (events.DealReport, error) {
	if err := cmp.Or(ctx.Err(), b.hang(ctx, "offer"), b.point()); err != nil {
		return events.DealReport{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.away {
		return events.DealReport{}, events.ErrBrokerAway
	}
	one, known := b.offers[o.Aggregate]
	if !known {
		one = events.DealReport{Aggregate: o.Aggregate, Status: events.DealPending, Deal: fmt.Sprint(len(b.offers))}
		b.offers[o.Aggregate] = one
		b.offered++
	}
	return one, nil
}

func (b broker) State(ctx context.Context, o events.AggregateOffer) (events.DealReport, error) {
	if err := cmp.Or(ctx.Err(), b.point()); err != nil {
		return events.DealReport{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	one, known := b.offers[o.Aggregate]
	switch {
	case b.away:
		return one, events.ErrBrokerAway
	case !known:
		return one, events.ErrNotOffered
	case b.lie != nil:
		return b.lie(o.Aggregate)
	case b.pieces[o.Aggregate] == nil: // It has not looked into it yet.
	case one.Status == events.DealPending:
		one.Status = events.DealSigned
	case one.Status == events.DealSigned:
		one.Status = events.DealApproved
		var bad []string
		for _, p := range b.pieces[o.Aggregate] {
			if b.bad[p] {
				bad = append(bad, p)
			}
		}
		if len(bad) > 0 {
			one.Status, one.Reason = events.DealRejected, "bad pieces"
			if b.names {
				one.Bad = bad
			}
		}
	}
	b.offers[o.Aggregate] = one
	return one, nil
}

func (b broker) Withdraw(ctx context.Context, aggregate string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case b.away:
		return events.ErrBrokerAway
	case b.offers[aggregate].Status == events.DealApproved || b.offers[aggregate].Status == events.DealRejected:
		return events.ErrDealOver
	}
	delete(b.offers, aggregate)
	return nil
}

// host is a host that aggregates, on a store and a world, which both outlive it.
type host struct {
	t     *testing.T
	world *world
	store *storetest.Memory
	set   aggregation.Settings
	rt    *shell.Runtime
	room  *shell.Part
	epoch uint64
	dead  atomic.Bool
	told  []aggregation.Notice
	over  []string
	turns *aggregation.Turns // of one process
}

// crashing makes each append a point at which the host may end.
type crashing struct {
	events.Store
	world *world
}

func (s crashing) Append(ctx context.Context, stream string, e events.Expected, batch []events.NewEvent) (
	r events.AppendResult, err error,
) {
	if err := s.world.point(); err != nil {
		return r, err
	}
	s.world.mu.Lock()
	slow := s.world.slow == events.Category(stream)
	s.world.mu.Unlock()
	if slow {
		time.Sleep(5 * time.Minute)
	}
	if r, err = s.Store.Append(ctx, stream, e, batch); err != nil {
		return r, err
	}
	return r, s.world.point()
}

// inTime runs a story of a host in fake time.
func inTime(t *testing.T, story func(h *host)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := &host{t: t, store: storetest.NewMemory(), world: &world{
			cars: map[events.ContentLink]car{}, files: map[string]int{}, offers: map[string]events.DealReport{},
			pieces: map[string][]string{}, bad: map[string]bool{}, left: quiet,
		}}
		h.world.crash = func() {
			h.dead.Store(true)
			go h.rt.Kill()
		}
		h.set = aggregation.Settings{
			Packing: cargo.Packing{
				Packer: "greedy", Size: 1 << 20, Smallest: 1 << 16, MinFill: 1 << 18, Batch: 5, Merge: 2,
				Window: 5 * time.Minute, Notice: 48 * time.Hour,
			},
			Keep: true, MaxOpen: 1000, Parallel: 2, Attempts: 3, Every: 10 * time.Second, Poll: time.Minute,
			Silent: time.Hour, BrokerName: "fake", Ages: [3]time.Duration{48 * time.Hour, 60 * time.Hour, 72 * time.Hour},
		}
		h.start()
		story(h)
		h.rt.Kill()
		time.Sleep(24 * time.Hour) // Lets the last timers expire.
	})
}

func (h *host) start() {
	h.dead.Store(false)
	h.world.crashAfter(quiet)
	h.rt = shell.NewRuntime(context.Background(), shelltest.QuietLog())
	h.turns = aggregation.NewTurns()
	h.begin()
}

// begin begins a life of the room.
func (h *host) begin() {
	h.epoch++
	base := &shell.Base{
		RT: h.rt, Log: shelltest.QuietLog(), Clock: shell.GuardClock(shelltest.Clock{}, h.rt),
		Store: crashing{h.store, h.world}, Codec: codec, Me: me, Epoch: h.epoch, Node: "test",
		StoreWatch: shell.NewStoreWatch(shelltest.Clock{}, shelltest.QuietLog(), shelltest.NoYield),
		RetryAfter: time.Second, RetryMost: time.Minute, SnapshotEvery: -1, Yield: shelltest.NoYield,
	}
	h.room = shell.NewPart(aggregation.Name)
	h.room.Began(h.rt.Root(aggregation.Name, aggregation.New(aggregation.Deps{
		Base: base, Settings: h.set, Contents: h.world, Copies: copies{h.world}, Turns: h.turns, Broker: broker{h.world},
		Decide: cargo.Decide, Tell: func(n aggregation.Notice) { h.told = append(h.told, n) },
		Over:   func(about string) { h.over = append(h.over, about) },
		Broken: func(err error) { h.t.Errorf("the room: %v", err) },
	})))
	synctest.Wait()
}

// panics has the room panic at the next message.
func (h *host) panics() {
	h.rt.BeforeMessage = func(string, any) { panic("planted") }
	h.room.Tell(aggregation.Ask{})
	synctest.Wait()
	h.rt.BeforeMessage = func(string, any) {}
	h.room.Ended(time.Now(), true, errCrash)
}

// add makes a CAR whose piece has that size.
func (h *host) add(n int, size uint64) events.ContentLink {
	link := events.ContentLink(sha256.Sum256([]byte{byte(n), byte(n >> 8)}))
	root := commd.Node(link)
	root[31] &= 0x3f
	h.world.change(link, func(c *car) {
		c.found = events.ContentFound{Piece: events.SectorPiece{
			CID: commd.CID(root), Size: events.Bytes(size), Payload: events.Bytes(commd.PayloadRoom(size)),
		}, Blocks: 3}
	})
	return link
}

func (h *host) request(link events.ContentLink) (content.State, error) {
	answer, err := h.order(aggregation.Order{Request: &aggregation.Request{Link: link, Content: content.Request{
		Size: uint64(h.car(link).found.Piece.Payload), Source: events.ContentSource{Key: "/a.car"}, Group: "a",
	}}})
	if err != nil {
		return content.State{}, err
	}
	return *answer.Content, nil
}

func (h *host) order(o aggregation.Order) (aggregation.Answer, error) {
	return answered(shell.Ask[aggregation.Answer](h.room, o))
}

func answered(q shell.Question[aggregation.Answer]) (aggregation.Answer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return q.Wait(ctx)
}

// cargo is the ledger as the record has it.
func (h *host) cargo() cargo.State {
	return recorded(h, events.CargoStream(me), cargo.Empty(), cargo.Evolve)
}

// deal is the deal about an aggregate as the record has it.
func (h *host) deal(aggregate string) deal.State {
	return recorded(h, events.DealStream(me, aggregate), deal.State{}, deal.Evolve)
}

func recorded[S, E any](h *host, stream string, s S, evolve func(S, E) S) S {
	for r, err := range h.store.ReadStream(context.Background(), stream, events.ReadStream{}) {
		if err != nil {
			return s
		}
		m, err := codec.Decode(r)
		if err != nil {
			h.t.Fatal(err)
		}
		s = evolve(s, m.(E))
	}
	return s
}

// goOn starts the host again if it ended.
func (h *host) goOn() {
	synctest.Wait()
	if h.dead.Load() {
		h.start()
	}
}

// pass lets time pass, and starts the host again when it ended.
func (h *host) pass(d time.Duration) {
	for range d / time.Minute {
		time.Sleep(time.Minute)
		synctest.Wait()
		h.goOn()
		// The broker learns what is in each aggregate.
		s := h.cargo()
		h.world.mu.Lock()
		for _, f := range s.Ferries() {
			if f.Aggregate == "" || h.world.pieces[f.Aggregate] != nil {
				continue
			}
			for _, n := range f.Pieces {
				p, _ := s.Piece(n)
				h.world.pieces[f.Aggregate] = append(h.world.pieces[f.Aggregate], commd.CID(p.Root))
			}
		}
		h.world.mu.Unlock()
	}
}

// statuses counts pieces by where they are.
func (h *host) statuses() string {
	s, n := h.cargo(), map[cargo.Status]int{}
	for i := uint64(1); i <= s.Pieces(); i++ {
		p, _ := s.Piece(i)
		n[p.Status]++
	}
	return fmt.Sprint(n)
}
