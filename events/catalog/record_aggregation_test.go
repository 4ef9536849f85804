package catalog_test

import (
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/cargo"
	"github.com/hostnode/hostnode/events/content"
	"github.com/hostnode/hostnode/events/deal"
	"github.com/hostnode/hostnode/projections/audit"
	"github.com/hostnode/hostnode/prover/commd"
	"github.com/hostnode/hostnode/prover/segment"
)

// pipeline is a host that makes aggregates from CARs.
type pipeline struct {
	t        *testing.T
	me       events.Address
	at       time.Time
	all      []said
	bytes    capacity.State
	pieces   cargo.State
	contents map[events.ContentLink]content.State
	deals    map[string]deal.State
	proofs   map[string]string // the files of proofs, by aggregate
}

func newPipeline(t *testing.T) *pipeline {
	return &pipeline{
		t: t, me: events.Address{0x61}, at: events.Unix(1_700_006_400), bytes: capacity.New(), pieces: cargo.Empty(),
		contents: map[events.ContentLink]content.State{}, deals: map[string]deal.State{}, proofs: map[string]string{},
	}
}

// decided notes events, a minute after the last ones.
func decided[S any, E proto.Message](
	p *pipeline, stream, cause string, s S, evolve func(S, E) S, all []E, err error,
) S {
	p.t.Helper()
	if err != nil || len(all) == 0 {
		p.t.Fatalf("%s: %v, %v", stream, all, err)
	}
	for i, e := range all {
		s = evolve(s, e)
		p.all = append(p.all, said{stream: stream, message: e, cause: cause, follows: i > 0})
	}
	p.at = p.at.Add(time.Minute)
	return s
}

func (p *pipeline) ledger(c capacity.Command) {
	p.t.Helper()
	all, err := capacity.Decide(p.bytes, c)
	p.bytes = decided(p, events.CapacityStream(p.me), "operator", p.bytes, capacity.Evolve, all, err)
}

func (p *pipeline) cargo(c cargo.Command) {
	p.t.Helper()
	all, err := cargo.Decide(p.pieces, c)
	p.pieces = decided(p, events.CargoStream(p.me), "look", p.pieces, cargo.Evolve, all, err)
}

func (p *pipeline) content(n byte, c content.Command) {
	p.t.Helper()
	link := events.ContentLink{n}
	all, err := content.Decide(p.contents[link], c)
	p.contents[link] = decided(p, events.ContentStream(p.me, link), "look", p.contents[link], content.Evolve, all, err)
}

func (p *pipeline) deal(aggregate string, c deal.Command) {
	p.t.Helper()
	all, err := deal.Decide(p.deals[aggregate], c)
	p.deals[aggregate] = decided(p, events.DealStream(p.me, aggregate), "look", p.deals[aggregate], deal.Evolve, all, err)
}

const pieceSize = 128 << 10

func pieceOf(n byte) content.Piece {
	return content.Piece{CID: commd.CID(commd.Node{n}), Size: pieceSize}
}

func (p *pipeline) request(n byte) {
	p.t.Helper()
	source := events.ContentSource{BucketName: "carpark", Key: "a.car", BucketURL: "https://cars.example/"}
	p.content(n, content.Request{At: p.at, Size: 120_000, Source: source, Group: "free"})
}

// queue accepts a CAR and queues its piece.
func (p *pipeline) queue(n byte) {
	p.t.Helper()
	p.content(n, content.Accept{At: p.at, Piece: pieceOf(n), Blocks: 3})
	payload := commd.PayloadRoom(pieceSize)
	p.ledger(capacity.HoldPiece{At: p.at, Piece: capacity.Piece{CID: pieceOf(n).CID, Bytes: events.Bytes(payload)}})
	p.cargo(cargo.Queue{
		At: p.at, Root: commd.Node{n}, Size: pieceSize, Payload: payload, Content: events.ContentLink{n}, Group: "free", Kept: true,
	})
}

// load has pieces travel together, in as many parts.
func (p *pipeline) load(c cargo.Load, parts int) string {
	p.t.Helper()
	list := p.pieces.Place(c.Pieces)
	c.Ferry, c.Class, c.Parts = p.pieces.ListID(list), 1<<20, uint32(parts)
	for i := range parts {
		c.At, c.Part, c.Pieces = p.at, uint32(i+1), list[i*len(list)/parts:(i+1)*len(list)/parts]
		p.cargo(c)
	}
	return c.Ferry
}

// commitment is what a ferry becomes, with the file of its proofs.
func (p *pipeline) commitment(ferry string) (aggregate string, proofs capacity.Piece) {
	p.t.Helper()
	var pieces []segment.Piece
	size := uint64(0)
	for _, f := range p.pieces.Ferries() {
		if f.ID != ferry {
			continue
		}
		size = f.Class
		for _, priority := range f.Pieces {
			one, _ := p.pieces.Piece(priority)
			pieces = append(pieces, segment.Piece{Root: one.Root, Size: one.Size(), Payload: one.Payload})
		}
	}
	a, err := segment.Build(size, pieces)
	if err != nil {
		p.t.Fatal(err)
	}
	calc := commd.NewCalc()
	if _, err := a.WriteTo(calc); err != nil {
		p.t.Fatal(err)
	}
	of, err := calc.Commitment()
	if err != nil {
		p.t.Fatal(err)
	}
	return commd.CID(a.Root()), capacity.Piece{CID: commd.CID(of.Root), Bytes: events.Bytes(of.Payload)}
}

// makes makes an aggregate of a ferry, and offers it.
func (p *pipeline) makes(ferry string, offer bool) string {
	p.t.Helper()
	aggregate, proofs := p.commitment(ferry)
	p.proofs[aggregate] = proofs.CID
	p.ledger(capacity.HoldPiece{At: p.at, Piece: proofs})
	p.cargo(cargo.Make{
		At: p.at, Ferry: ferry, Aggregate: aggregate, Proofs: proofs.CID, ProofsSize: uint64(proofs.Bytes),
	})
	if offer {
		p.deal(aggregate, deal.Offer{At: p.at, Broker: "http", Size: 1 << 20})
	}
	return aggregate
}

// reject has the broker reject an aggregate because of some pieces, and the ledger of pieces follow.
func (p *pipeline) reject(aggregate string, attempts uint8, bad ...byte) {
	p.t.Helper()
	r, c := events.DealReport{Status: events.DealRejected, Reason: "unreadable"}, cargo.Reject{
		Aggregate: aggregate, Reason: "unreadable", Attempts: attempts,
	}
	for _, n := range bad {
		r.Bad = append(r.Bad, pieceOf(n).CID)
		c.Bad, c.Part, c.Parts = append(c.Bad, uint64(n)), 1, 1
	}
	for _, one := range deal.Reports(p.at, r, "") {
		p.deal(aggregate, one)
	}
	c.At = p.at
	p.cargo(c)
}

// aggregation is the record of such a host: CARs that are refused, read once more and wait; aggregates that are
// approved, rejected with a bad piece, without one, and until single pieces are tried, that wait for a deal, and have one.
func aggregation(t *testing.T) []events.Recorded {
	t.Helper()
	p := newPipeline(t)
	p.ledger(capacity.SetQuota{At: p.at, Bytes: 1 << 30})
	packing := cargo.Documented()
	packing.Size, packing.Smallest, packing.MinFill = 1<<20, 1<<16, 1<<19
	p.cargo(cargo.Set{At: p.at, Packing: packing})
	for n := byte(1); n <= 19; n++ {
		p.request(n)
	}
	other := events.ContentSource{Key: "/cars/b.car", BucketURL: "file:"}
	p.content(16, content.Request{At: p.at, Size: 120_000, Source: other})
	for _, n := range []byte{17, 18} {
		p.content(n, content.Refuse{At: p.at, Code: "block-digest", Detail: "block 3 is another one"})
	}
	p.content(18, content.Retry{At: p.at, By: "anna", Reason: "the source was mended"})
	for n := byte(1); n <= 15; n++ {
		p.queue(n)
	}
	p.content(1, content.Retry{At: p.at, By: "anna", Reason: "is it the same?"})
	one, two := p.load(cargo.Load{Pieces: []uint64{1, 2}}, 1), p.load(cargo.Load{Pieces: []uint64{3, 4}}, 1)
	p.cargo(cargo.Merge{At: p.at, From: []string{one, two}, Full: 1 << 20})
	first := p.makes(p.pieces.Ferries()[0].ID, true)
	p.deal(first, deal.Report{At: p.at, Status: events.DealSigned, Deal: "17"})
	p.reject(first, 3, 2)
	p.ledger(capacity.ReleasePiece{At: p.at, CID: pieceOf(2).CID})
	p.ledger(capacity.ReleasePiece{At: p.at, CID: p.proofs[first]})
	p.cargo(cargo.Release{At: p.at, Pieces: []uint64{2}, Proofs: []string{first}})
	p.reject(p.makes(p.load(cargo.Load{Pieces: []uint64{1, 3, 4, 5}, Full: true}, 2), true), 3)
	third := p.makes(p.load(cargo.Load{Pieces: []uint64{1, 3, 4, 5}, Full: true}, 1), true)
	p.deal(third, deal.Doubt{At: p.at, Said: "APPROVED", Reason: "it names another aggregate"})
	p.deal(third, deal.Report{At: p.at, Status: events.DealApproved, Deal: "18"})
	p.cargo(cargo.Approve{At: p.at, Aggregate: third})
	p.cargo(cargo.Refuse{At: p.at, Priority: 6, Reason: "its content is bad"})
	p.load(cargo.Load{Pieces: []uint64{7, 8}}, 1)
	p.makes(p.load(cargo.Load{Pieces: []uint64{10, 11}, Full: true}, 1), false)
	p.makes(p.load(cargo.Load{Pieces: []uint64{12, 13}, Full: true}, 1), true)
	p.reject(p.makes(p.load(cargo.Load{Pieces: []uint64{14, 15}, Full: true}, 1), true), 1)
	p.reject(p.makes(p.load(cargo.Load{Pieces: []uint64{14}, Full: true, Isolated: true}, 1), true), 3)
	list := written(t, p.all)
	if !clean(t, list) {
		t.Fatal("the audit of the record finds something")
	}
	return list
}

// The audit finds nothing wrong with the record of a host that makes aggregates.
func TestTheRecordOfAggregatesIsInOrder(t *testing.T) { aggregation(t) }

// The audit reads the streams of aggregates together.
func TestTheAuditHoldsTheStreamsOfAggregatesAgainstEachOther(t *testing.T) {
	p := newPipeline(t)
	p.ledger(capacity.SetQuota{At: p.at, Bytes: 1 << 30})
	p.request(1)
	p.cargo(cargo.Queue{
		At: p.at, Root: commd.Node{1}, Size: pieceSize, Payload: 1 << 16, Content: events.ContentLink{1}, Kept: true,
	})
	aggregate := p.makes(p.load(cargo.Load{Pieces: []uint64{1}, Full: true}, 1), true)
	p.cargo(cargo.Approve{At: p.at, Aggregate: aggregate})
	p.request(2)
	p.content(2, content.Accept{At: p.at, Piece: pieceOf(2), Blocks: 3})
	p.cargo(cargo.Queue{
		At: p.at, Root: commd.Node{2}, Size: pieceSize, Payload: 1 << 16, Content: events.ContentLink{2}, Kept: true,
	})
	var rules []audit.Rule
	for _, f := range findings(t, written(t, p.all)) {
		rules = append(rules, f.Rule)
	}
	if want := []audit.Rule{"cargo-content", "cargo-deal", "cargo-held"}; !slices.Equal(rules, want) {
		t.Errorf("found %v, want %v", rules, want)
	}
}
