package sim

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/aggregation"
	"github.com/hostnode/hostnode/actors/chainview"
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
	// perjured is a planted error: the broker rejects what it has approved.
	perjured bool
}

// upload is a CAR.
type upload struct {
	link    events.ContentLink
	size    uint64
	piece   events.SectorPiece
	code    string // it is refused for that; empty: it is good
	wanted  int    // how many requests are to come
	sources int    // that were named
	mended  bool   // it was bad before
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
	copies := fakeCopies{w, s, running, map[string]bool{}}
	return actors.Room{
		Part: part, Runs: actors.Owner, Lost: "nothing is aggregated while it is down",
		Takes: actors.Taker[aggregation.Answer, aggregation.Order](part),
		Start: func(c *chainview.Chain, _ int, broken func(error)) shell.Behavior {
			return aggregation.New(aggregation.Deps{
				Base: c.Base, Settings: s.aggregationSettings(), Contents: fakeContents{w}, Copies: copies,
				Broker: fakeBroker{w, s}, Decide: decide, Tell: func(aggregation.Notice) {}, Broken: broken,
			})
		},
	}
}

// newUpload makes a CAR. The draws decide what is wrong with it.
func (s *simulator) newUpload() *upload {
	n, f := len(s.world.freight.cars), s.world.freight
	u := &upload{link: sha256.Sum256(fmt.Append(nil, "car ", n)), wanted: 1, sources: 1}
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
		u.wanted, u.sources = 2, 1+s.shippers.IntN(2)
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
	return u
}

// car is the CAR with a link.
func (f *freight) car(link events.ContentLink) *upload {
	for _, u := range f.cars {
		if u.link == link {
			return u
		}
	}
	return nil
}

// short is how a CAR or a piece is called in the name of a call.
func short(cid string) string { return cid[len(cid)-8:] }

// fakeContents is the Contents port over the world.
type fakeContents struct{ *world }

func (f fakeContents) Examine(
	ctx context.Context, claim events.ContentClaim, _ events.ContentSource,
) (events.ContentFound, error) {
	return do(ctx, f.bus, "source.examine "+short(claim.Link.String()), locked(f.world, func() (none events.ContentFound, err error) {
		switch u := f.freight.car(claim.Link); {
		case u == nil || claim.Size != u.size:
			return none, fmt.Errorf("no CAR %s of %d bytes was requested", claim.Link, claim.Size)
		case u.code != "" && u.code != codeOfLarge:
			return none, &events.ContentRefusal{Code: u.code}
		default:
			return events.ContentFound{Piece: u.piece, Blocks: 1}, nil
		}
	}))
}

func (f fakeContents) Open(ctx context.Context, from events.ContentSource, _ uint64) (io.ReadCloser, error) {
	return do(ctx, f.bus, "source.open "+short(from.Key), func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader([]byte(from.Key))), nil
	})
}

// fakeCopies is the Copies port over the world and the ledger of the host. Members share a disk, and no ledger.
type fakeCopies struct {
	*world
	s       *simulator
	running func() *actors.Host
	busy    map[string]bool // pieces of which a call is under way
}

// alone refuses a call about a piece while another one is under way; free ends it.
func (f fakeCopies) alone(cid string) (free func(), err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.busy[cid] {
		return nil, fmt.Errorf("%w: %s is busy", errWorld, cid)
	}
	f.busy[cid] = true
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.busy, cid)
	}, nil
}

func (f fakeCopies) Keep(ctx context.Context, p events.SectorPiece, payload io.Reader) error {
	b, err := io.ReadAll(payload)
	if err != nil {
		return err
	}
	free, err := f.alone(p.CID)
	if err != nil {
		return err
	}
	defer free()
	hold := capacity.HoldPiece{Piece: capacity.Piece{CID: p.CID, Bytes: p.Payload}}
	if err := f.account(ctx, "hold "+p.CID, func(h *actors.Host) error {
		hold.At = time.Now()
		return h.Ledger(ctx, hold)
	}); err != nil {
		return err
	}
	_, err = do(ctx, f.bus, "copies.keep "+p.CID, locked(f.world, func() (struct{}, error) {
		for _, u := range f.freight.cars {
			if u.piece == p && string(b) == u.link.String() {
				f.freight.files[p.CID] = p.Payload
			}
		}
		if events.Bytes(len(b)) == p.Payload { // The proofs of an aggregate.
			f.freight.files[p.CID] = p.Payload
		}
		if f.freight.files[p.CID] == 0 {
			return struct{}{}, events.ErrPieceMismatch
		}
		return struct{}{}, nil
	}))
	return err
}

func (f fakeCopies) Drop(ctx context.Context, cid string) error {
	free, err := f.alone(cid)
	if err != nil {
		return err
	}
	defer free()
	_, err = do(ctx, f.bus, "copies.drop "+cid, locked(f.world, func() (struct{}, error) {
		delete(f.freight.files, cid)
		return struct{}{}, nil
	}))
	if err != nil {
		return err
	}
	return f.account(ctx, "release "+cid, func(h *actors.Host) error {
		return h.Ledger(ctx, capacity.ReleasePiece{At: time.Now(), CID: cid})
	})
}

// account has the ledger hold or release bytes, once sectors have compared it with the files of pieces.
func (f fakeCopies) account(ctx context.Context, task string, order func(*actors.Host) error) error {
	h := f.running()
	switch {
	case f.s.Members.Count > 0:
		return nil
	case h == nil:
		return errWorld
	}
	if f.s.Sectors.Begin > 0 {
		if _, err := h.Sectors(ctx); err != nil {
			return err
		}
		f.bus.yield(ctx, task)
	}
	return order(h)
}

func (f fakeCopies) Open(context.Context, events.SectorPiece) (io.ReadCloser, error) {
	return nil, events.ErrNoSuchPiece // The room only writes.
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
		d := f.freight.offers[o.Aggregate]
		if d == nil {
			d = &dealOffer{DealReport: events.DealReport{
				Aggregate: o.Aggregate, Status: events.DealPending, Deal: fmt.Sprint(len(f.freight.offers)),
			}}
			f.freight.offers[o.Aggregate] = d
		}
		return d.DealReport, nil
	}))
}

func (f fakeBroker) State(ctx context.Context, o events.AggregateOffer) (events.DealReport, error) {
	return do(ctx, f.bus, "broker.state "+short(o.Aggregate), locked(f.world, func() (events.DealReport, error) {
		d := f.freight.offers[o.Aggregate]
		if d == nil {
			return events.DealReport{}, events.ErrNotOffered
		}
		switch d.asked++; {
		case d.asked == 2:
			d.Status = events.DealSigned
		case d.asked == 4:
			f.judge(d)
		}
		said := d.DealReport
		if f.freight.perjured && said.Status == events.DealApproved {
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
