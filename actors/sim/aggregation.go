package sim

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/aggregation"
	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/cargo"
	"github.com/hostnode/hostnode/prover/commd"
)

// This file has the world of the pipeline from CARs to deals: sources, a disk for copies, and a broker. Which CARs are
// bad, and which pieces the broker refuses, is known, so that what is recorded is compared with it. CARs have no bytes
// but their links, and a list of pieces reaches the broker through the record.

// freight is what outlives a host. It is guarded by the lock of its world.
type freight struct {
	cars   []*upload // in the order in which they came
	files  map[string]events.Bytes
	offers map[string]*dealOffer // by aggregate
	// bad are the pieces that the broker refuses, and whether it says so.
	bad map[string]bool
}

// upload is a CAR.
type upload struct {
	link   events.ContentLink
	size   uint64
	piece  events.SectorPiece
	code   string // it is refused for that; empty: it is good
	wanted int    // how many requests are to come
	mended bool   // it was bad before
}

// dealOffer is a deal as the broker has it.
type dealOffer struct {
	events.DealReport
	asked int
}

// carCodes are the reasons why a CAR is refused.
var carCodes = []string{
	"empty", "too-small", "size-differs", "digest-differs", "header", "version", "no-roots", "section",
	"section-too-large", "cid", "hash-not-allowed", "block-digest", "cut-in-block", "cut-between-blocks",
	"trailing-bytes", "root-absent", "piece-differs",
}

const (
	aggregateSize = 1 << 20
	// codeOfLarge is why a CAR is refused whose piece is larger than half of an aggregate.
	codeOfLarge = "too-large"
	// attemptsTogether is how often pieces are rejected together before they are isolated.
	attemptsTogether = 3
)

// aggregationSettings are of seconds, so that a run sees isolation.
func (s *simulator) aggregationSettings() aggregation.Settings {
	packer, fill := "greedy", uint64(256<<10)
	if s.ferries {
		packer, fill = "ferry", 512<<10
	}
	return aggregation.Settings{
		Packing: cargo.Packing{
			Packer: packer, Size: aggregateSize, Smallest: 64 << 10, MinFill: fill, Batch: 5, Merge: 3,
			Window: 20 * time.Second, Notice: time.Minute,
		},
		Keep: true, MaxOpen: 8, Parallel: 2, Attempts: attemptsTogether, Every: 5 * time.Second, Poll: 5 * time.Second,
		Silent: time.Minute, BrokerName: "simulated",
	}
}

// aggregationRoom is the room in which CARs are aggregated.
func (s *simulator) aggregationRoom(w *world, running func() *actors.Host) actors.Room {
	decide := s.Plant.Cargo
	if decide == nil {
		decide = cargo.Decide
	}
	part := shell.NewPart(aggregation.Name)
	w.aggregates = part
	copies := fakeCopies{world: w, s: s, running: running, turn: make(chan struct{}, 1)}
	turns := aggregation.NewTurns()
	return actors.Room{
		Part: part, Runs: actors.Owner, Lost: "nothing is aggregated while it is down",
		Takes: actors.Taker[aggregation.Answer, aggregation.Order](part),
		Start: func(c *chainview.Chain, _ int, broken func(error)) shell.Behavior {
			return aggregation.New(aggregation.Deps{
				Base: c.Base, Settings: s.aggregationSettings(), Contents: fakeContents{w}, Copies: copies, Turns: turns,
				Broker: fakeBroker{w, s}, Decide: decide, Tell: func(aggregation.Notice) {}, Broken: broken,
			})
		},
	}
}

// newUpload makes a CAR. The draws decide what is wrong with it.
func (s *simulator) newUpload() {
	n, f := len(s.world.freight.cars), s.world.freight
	u := &upload{link: sha256.Sum256(fmt.Append(nil, "car ", n)), wanted: 1}
	root := commd.Node(u.link)
	root[31] &= 0x3f
	padded := uint64(32<<10) << s.shippers.IntN(3)
	kind := s.shippers.IntN(10)
	if s.calm() {
		kind = 9
	}
	switch kind {
	case 0:
		u.code = carCodes[n%len(carCodes)]
	case 1:
		u.code, padded = codeOfLarge, aggregateSize
	case 2:
		u.wanted = 3 // From two sources.
	case 3:
		f.bad[commd.CID(root)] = true
	case 4:
		f.bad[commd.CID(root)] = false
	}
	u.size = commd.PayloadRoom(padded)
	u.piece = events.SectorPiece{CID: commd.CID(root), Size: events.Bytes(padded), Payload: events.Bytes(u.size)}
	if kind == 5 && n > 0 && f.cars[n-1].code == "" { // The bytes of another CAR that make the same piece.
		u.size, u.piece = f.cars[n-1].size, f.cars[n-1].piece
	}
	f.cars = append(f.cars, u)
}

// car is the CAR with a link, which was requested.
func (f *freight) car(link events.ContentLink) *upload {
	return f.cars[slices.IndexFunc(f.cars, func(u *upload) bool { return u.link == link })]
}

// short is how a CAR or a piece is called in the name of a call.
func short(cid string) string { return cid[len(cid)-8:] }

// fakeContents is the Contents port over the world.
type fakeContents struct{ *world }

func (f fakeContents) Examine(
	ctx context.Context, claim events.ContentClaim, _ events.ContentSource,
) (events.ContentFound, error) {
	key := "source.examine " + short(claim.Link.String())
	return do(ctx, f.bus, key, locked(f.world, func() (none events.ContentFound, err error) {
		u := f.freight.car(claim.Link)
		if u.code != "" && u.code != codeOfLarge {
			return none, &events.ContentRefusal{Code: u.code}
		}
		return events.ContentFound{Piece: u.piece, Blocks: 1}, nil
	}))
}

func (f fakeContents) Open(ctx context.Context, from events.ContentSource, _ uint64) (io.ReadCloser, error) {
	return do(ctx, f.bus, "source.open "+short(from.Key), func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(from.Key)), nil
	})
}

// fakeCopies is the Copies port over the world and the ledger of the host. Calls take turns. Members share a disk, and
// have no ledger.
type fakeCopies struct {
	*world
	port.Copies // The room does not read.

	s       *simulator
	running func() *actors.Host
	turn    chan struct{}
}

func (f fakeCopies) Keep(ctx context.Context, p events.SectorPiece, _ io.Reader) error {
	return f.inTurn(ctx, "keep "+p.CID, func() error {
		held := capacity.Piece{CID: p.CID, Bytes: p.Payload}
		if err := f.account(ctx, capacity.HoldPiece{At: time.Now(), Piece: held}); err != nil {
			return err
		}
		_, err := do(ctx, f.bus, "copies.keep "+p.CID, locked(f.world, func() (struct{}, error) {
			f.freight.files[p.CID] = p.Payload
			return struct{}{}, nil
		}))
		return err
	})
}

func (f fakeCopies) Drop(ctx context.Context, cid string) error {
	return f.inTurn(ctx, "drop "+cid, func() error {
		_, err := do(ctx, f.bus, "copies.drop "+cid, locked(f.world, func() (struct{}, error) {
			delete(f.freight.files, cid)
			return struct{}{}, nil
		}))
		if err != nil {
			return err
		}
		return f.account(ctx, capacity.ReleasePiece{At: time.Now(), CID: cid})
	})
}

// inTurn works while no other call does, so that the disk and the ledger agree.
func (f fakeCopies) inTurn(ctx context.Context, task string, work func() error) error {
	select {
	case f.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-f.turn }()
	f.bus.yield(ctx, task)
	return work()
}

// account has the ledger hold or release bytes, once sectors have compared it with the files of pieces.
func (f fakeCopies) account(ctx context.Context, cmd capacity.Command) error {
	h := f.running()
	switch {
	case f.s.Members.Count > 0:
		return nil
	case h == nil:
		return errWorld
	case f.s.Sectors.Begin > 0:
		if _, err := h.Sectors(ctx); err != nil {
			return err
		}
	}
	return h.Ledger(ctx, cmd)
}

// fakeBroker is the Broker port over the world.
type fakeBroker struct {
	*world
	s *simulator
}

func (f fakeBroker) Offer(ctx context.Context, o events.AggregateOffer) (events.DealReport, error) {
	return do(ctx, f.bus, "broker.offer "+short(o.Aggregate), locked(f.world, func() (events.DealReport, error) {
		if on := f.s.audit.cargo.Aggregate(o.Aggregate); f.s.Members.Count == 0 && (on == nil || on.State != cargo.Made) {
			f.offend(NothingIsOfferedAgain, "aggregate %s is offered while it is %+v", o.Aggregate, on)
		}
		if f.freight.offers[o.Aggregate] == nil {
			pending := events.DealReport{Aggregate: o.Aggregate, Status: events.DealPending}
			f.freight.offers[o.Aggregate] = &dealOffer{DealReport: pending}
		}
		return f.freight.offers[o.Aggregate].DealReport, nil
	}))
}

func (f fakeBroker) State(ctx context.Context, o events.AggregateOffer) (events.DealReport, error) {
	return do(ctx, f.bus, "broker.state "+short(o.Aggregate), locked(f.world, func() (events.DealReport, error) {
		d := f.freight.offers[o.Aggregate]
		if d == nil {
			return events.DealReport{}, events.ErrNotOffered
		}
		switch d.asked++; d.asked {
		case 2:
			d.Status = events.DealSigned
		case 4:
			f.judge(d)
		}
		said := d.DealReport
		if f.s.Plant.Perjured && said.Status == events.DealApproved {
			said.Status = events.DealRejected
		}
		return said, nil
	}))
}

func (f fakeBroker) Withdraw(ctx context.Context, aggregate string) error {
	_, err := do(ctx, f.bus, "broker.withdraw "+short(aggregate), locked(f.world, func() (struct{}, error) {
		if d := f.freight.offers[aggregate]; d != nil && d.final() {
			return struct{}{}, events.ErrDealOver
		}
		delete(f.freight.offers, aggregate)
		return struct{}{}, nil
	}))
	return err
}

func (d *dealOffer) final() bool {
	return d.Status == events.DealApproved || d.Status == events.DealRejected
}

// judge decides about an aggregate: bad pieces of which the broker says nothing are a reason, too.
func (f fakeBroker) judge(d *dealOffer) {
	d.Status = events.DealApproved
	for _, cid := range piecesOf(f.s.audit.cargo, d.Aggregate) {
		if says, bad := f.freight.bad[cid]; bad {
			if d.Status, d.Reason = events.DealRejected, "it cannot be read"; says {
				d.Bad = append(d.Bad, cid)
			}
		}
	}
}

// piecesOf are the CIDs of the pieces of an aggregate.
func piecesOf(s cargo.State, aggregate string) (cids []string) {
	if f := s.Aggregate(aggregate); f != nil {
		for _, priority := range f.Pieces {
			p, _ := s.Piece(priority)
			cids = append(cids, commd.CID(p.Root))
		}
	}
	return cids
}

// falseReport is what a lying broker says instead of r: what cannot be, or what was so before.
func falseReport(r events.DealReport, n uint64) events.DealReport {
	switch other := commd.CID(commd.Node{byte(n)}); n % 4 {
	case 0:
		r.Aggregate = other
	case 1:
		r.Status, r.Bad = events.DealRejected, append(slices.Clip(r.Bad), other)
	case 2:
		r.Status = "LOST"
	case 3:
		r.Status, r.Bad = events.DealPending, nil
	}
	return r
}
