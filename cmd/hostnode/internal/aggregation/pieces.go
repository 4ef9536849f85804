package aggregation

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	room "github.com/hostnode/hostnode/actors/aggregation"
	"github.com/hostnode/hostnode/actors/shell"
	inclusion "github.com/hostnode/hostnode/cmd/hostnode/internal/aggregation/proof"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/cargo"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/content"
	"github.com/hostnode/hostnode/events/deal"
	view "github.com/hostnode/hostnode/projections/aggregation"
	"github.com/hostnode/hostnode/prover/commd"
	"github.com/hostnode/hostnode/prover/segment"
)

// This file has what a client asks about a CAR, its piece and their aggregate.

// Ordering is who has something decided: the room of a running host. What is ordered is durable when it answers. Errors
// are those of the room and its cores. It is safe for concurrent use.
type Ordering interface {
	Order(ctx context.Context, order room.Order) (room.Answer, error)
}

// The calls.
var (
	PostContent = api.Order(http.MethodPost, "aggregation/contents", "Hand in a CAR",
		func(r Ordering, ctx context.Context, q api.Sent[NewContent]) (Content, error) {
			return q.Body.post(ctx, r)
		})
	PostPiece = api.Order(http.MethodPost, "aggregation/pieces", "Hand in a piece that was derived from a CAR",
		func(r Ordering, ctx context.Context, q api.Sent[NewPiece]) (Content, error) {
			return q.Body.post(ctx, r)
		})
	RetryContent = api.Order(http.MethodPost, "aggregation/contents/{link}/retry", "Have a CAR read once more",
		func(r Ordering, ctx context.Context, q Retry) (Content, error) { return q.order(ctx, r) })
	ReportAggregate = api.Order(http.MethodPost, "aggregation/aggregates/{aggregate}/report",
		"Say that an aggregate failed, and which of its pieces are bad",
		func(r Ordering, ctx context.Context, q Report) (none api.None, err error) {
			return none, q.order(ctx, r)
		})
	ShowPiece = api.Question("aggregation/pieces/{piece}", "How a piece stands: since when, and what it waits for",
		reader.piece)
	ListFerries   = api.Question("aggregation/aggregates", "Aggregates, and what becomes one", reader.aggregates)
	ShowAggregate = api.Question("aggregation/aggregates/{aggregate}", "An aggregate and its pieces", reader.aggregate)
	ShowProof     = api.Question("aggregation/pieces/{piece}/proof", "The proof that a piece is in its aggregate",
		reader.proof)
)

// NewContent is a CAR that was written to a source.
type NewContent struct {
	Link string `json:"link"` // the CAR CID
	Size uint64 `json:"size"` // bytes
	events.ContentSource
	Group string `json:"group,omitempty"` // whose quota it counts for
}

func (q NewContent) post(ctx context.Context, r Ordering) (Content, error) {
	return request(ctx, r, q.Link, content.Request{Size: q.Size, Source: q.ContentSource, Group: q.Group})
}

// NewPiece is a piece whose content is in one of these places.
type NewPiece struct {
	Piece string `json:"piece"` // a piece CID, of version 1 or 2
	// Size is that of the piece, padded; with version 2 it may be left out. Payload is the size of its content.
	Size    uint64                 `json:"size,omitempty"`
	Payload uint64                 `json:"payload,omitempty"`
	Content string                 `json:"content"` // the CAR CID
	Sources []events.ContentSource `json:"sources"`
	Group   string                 `json:"group,omitempty"`
}

func (q NewPiece) post(ctx context.Context, r Ordering) (c Content, err error) {
	claim, err := commd.ParsePieceCID(q.Piece, q.Size)
	switch {
	case err != nil:
		return c, fmt.Errorf("%w: %w", content.ErrRequest, err)
	case claim.Payload > 0 && q.Payload > 0 && claim.Payload != q.Payload:
		return c, fmt.Errorf("%w: %s has %d bytes, not %d", content.ErrRequest, q.Piece, claim.Payload, q.Payload)
	case claim.Payload+q.Payload == 0:
		return c, fmt.Errorf("%w: payload, the size of the content, must come beside a piece CID of version 1",
			content.ErrRequest)
	case len(q.Sources) == 0:
		return c, fmt.Errorf("%w: sources has none", content.ErrRequest)
	}
	for _, source := range q.Sources {
		c, err = request(ctx, r, q.Content, content.Request{
			Size: max(claim.Payload, q.Payload), Source: source, Group: q.Group,
			Claim: content.Piece{CID: commd.CID(claim.Root), Size: claim.Size},
		})
		if err != nil {
			return c, err
		}
	}
	return c, nil
}

// Retry has a CAR read once more.
type Retry struct {
	Link string `path:"link"`
	Body Because
}

// Because is who orders something, and why.
type Because struct {
	By     string `json:"by"`
	Reason string `json:"reason"`
}

func (q Retry) order(ctx context.Context, r Ordering) (c Content, err error) {
	link, err := events.ParseContentLink(q.Link)
	if err != nil {
		return c, fmt.Errorf("%w: %w", content.ErrUnknown, err)
	}
	return ordered(ctx, r, link, room.Order{Retry: &room.Retry{Link: link, By: q.Body.By, Reason: q.Body.Reason}})
}

func request(ctx context.Context, r Ordering, car string, q content.Request) (c Content, err error) {
	link, err := events.ParseContentLink(car)
	if err != nil {
		return c, fmt.Errorf("%w: %w", content.ErrRequest, err)
	}
	return ordered(ctx, r, link, room.Order{Request: &room.Request{Link: link, Content: q}})
}

// ordered has something decided about a CAR.
func ordered(ctx context.Context, r Ordering, link events.ContentLink, o room.Order) (c Content, err error) {
	answer, err := r.Order(ctx, o)
	if err != nil {
		return c, err
	}
	return contentOf(link, *answer.Content), nil
}

// Report says that an aggregate failed. Repeated, it is the same.
type Report struct {
	Aggregate string `path:"aggregate"`
	Body      Failure
}

// Failure is what is said of an aggregate.
type Failure struct {
	Bad []string `json:"bad,omitempty"` // piece CIDs, of version 1; none: nobody knows
	Because
}

func (q Report) order(ctx context.Context, r Ordering) error {
	_, err := r.Order(ctx, room.Order{Report: &room.Report{By: q.Body.By, DealReport: events.DealReport{
		Aggregate: q.Aggregate, Status: events.DealRejected, Bad: q.Body.Bad, Reason: q.Body.Reason,
	}}})
	return err
}

// Content is how a CAR stands.
type Content struct {
	Link   string         `json:"link"`
	Status content.Status `json:"status"` // requested, accepted or refused
	Since  time.Time      `json:"since"`
	Size   uint64         `json:"size"`
	Group  string         `json:"group,omitempty"`
	Piece  string         `json:"piece,omitempty"` // what it makes
	Code   string         `json:"code,omitempty"`  // why it is refused, with Detail
	Detail string         `json:"detail,omitempty"`
	// RootAbsent: no block of it is its root.
	RootAbsent bool                   `json:"rootAbsent,omitempty"`
	Sources    []events.ContentSource `json:"sources"`
}

func contentOf(link events.ContentLink, s content.State) Content {
	return Content{
		Link: link.String(), Status: s.Status, Since: s.Since, Size: s.Size, Group: s.Group, Piece: s.Piece.CID,
		Code: s.Code, Detail: s.Detail, RootAbsent: s.RootAbsent,
		Sources: append([]events.ContentSource{}, s.Sources...),
	}
}

// OfPiece asks about a piece, by its CID of version 1 or 2, or by the CID of its CAR.
type OfPiece struct {
	api.Then
	Piece string `path:"piece"`
}

// Standing is how a piece stands, and the CAR that it is of.
type Standing struct {
	AsOf api.AsOf `json:"asOf"`
	// Stage is what happens to it: reading, refused, queued, aggregated, PENDING, SIGNED or APPROVED; Since when, and
	// what it WaitsFor, in words; Expected is when it is likely to be in an aggregate, by what came in lately.
	Stage    string    `json:"stage"`
	Since    time.Time `json:"since"`
	WaitsFor string    `json:"waitsFor,omitempty"`
	Expected time.Time `json:"expected,omitzero"`
	Content  Content   `json:"content"`
	Piece    string    `json:"piece,omitempty"`
	PieceV2  string    `json:"pieceV2,omitempty"` // its CID of version 2; of less than 127 bytes there is none
	Size     uint64    `json:"size,omitempty"`    // padded
	Priority uint64    `json:"priority,omitempty"`
	Attempts uint8     `json:"attempts,omitempty"` // aggregates with it that were rejected without a list
	Ahead    int       `json:"ahead,omitempty"`    // queued pieces that come first
	Refused  string    `json:"refused,omitempty"`  // why
	// Aggregate has it, at Offset, padded. There is a proof of that.
	Aggregate string `json:"aggregate,omitempty"`
	Offset    uint64 `json:"offset,omitempty"`
	Deal      *Deal  `json:"deal,omitempty"`
	// MayDelete: the client may delete its CAR, because its bytes are stored, or a copy is kept here, or it is refused.
	MayDelete bool `json:"mayDelete"`
}

// Deal is the deal about an aggregate.
type Deal struct {
	Status    events.DealStatus `json:"status"`
	Broker    string            `json:"broker"`
	Deal      string            `json:"deal,omitempty"`
	Inserted  time.Time         `json:"inserted"`
	Signed    time.Time         `json:"signed,omitzero"`
	Processed time.Time         `json:"processed,omitzero"`
	Doubted   string            `json:"doubted,omitempty"` // the newest that was not believed
}

func dealOf(s deal.State) *Deal {
	if s.Status == "" {
		return nil
	}
	return &Deal{s.Status, s.Broker, s.Deal, s.Inserted, s.Signed, s.Processed, s.Doubted}
}

// ledger is the ledger of pieces.
func (r reader) ledger() cargo.State {
	if s := only[view.Cargo](r, events.CategoryCargo).State; s != (cargo.State{}) {
		return s
	}
	return cargo.Empty()
}

// piece finds a piece by its CID or that of its CAR.
func (r reader) piece(ctx context.Context, q OfPiece) (out Standing, err error) {
	s := r.ledger()
	link, linkErr := events.ParseContentLink(q.Piece)
	var priority uint64
	if linkErr != nil {
		root, err := commd.ParseCID(q.Piece)
		if err != nil { // Of version 2, which has the size.
			var of commd.Commitment
			of, err = commd.ParsePieceCID(q.Piece, 0)
			root = of.Root
		}
		var known bool
		if priority, known = s.Find(root); err != nil || !known {
			return out, fmt.Errorf("%w: %.100q", cargo.ErrUnknownPiece, q.Piece)
		}
		p, _ := s.Piece(priority)
		link = p.Content
	}
	c, err := fold(ctx, r.Store, r.Until, events.ContentStream(r.Account, link), content.Evolve)
	if err != nil {
		return out, err
	}
	if linkErr == nil {
		if c.Status == content.None {
			return out, fmt.Errorf("%w: %.100q", content.ErrUnknown, q.Piece)
		}
		if root, err := commd.ParseCID(c.Piece.CID); err == nil {
			priority, _ = s.Find(root)
		}
	}
	out = Standing{AsOf: r.AsOf, Content: contentOf(link, c), Since: c.Since, Stage: "reading"}
	switch {
	case priority > 0:
		return out, r.place(ctx, &out, s, priority)
	case c.Status == content.Refused:
		out.Stage, out.Refused, out.MayDelete = "refused", c.Code+": "+c.Detail, true
	case c.Status == content.Accepted:
		out.WaitsFor = "its place in the queue"
	default:
		out.WaitsFor = "its turn to be read, or for its sources to answer"
	}
	return out, nil
}

// place says where a piece is.
func (r reader) place(ctx context.Context, out *Standing, s cargo.State, priority uint64) error {
	p, _ := s.Piece(priority)
	out.Piece, out.Size, out.Priority, out.Attempts = commd.CID(p.Root), p.Size(), priority, p.Attempts
	out.PieceV2, _ = commd.CIDv2(commd.Commitment{Root: p.Root, Size: p.Size(), Payload: p.Payload})
	out.Since = time.Unix(p.At, 0).UTC()
	out.MayDelete = p.Kept || p.Status >= cargo.Approved
	f := s.Ferry(p)
	switch {
	case p.Status == cargo.Refused:
		out.Stage, out.Refused = "refused", s.Refusal[priority]
		return nil
	case p.Status == cargo.Queued:
		out.Stage = "queued"
		out.Ahead, _ = s.Ahead(priority)
		out.Expected = s.Packing.Expected(s, priority, r.AsOf.Time)
		out.WaitsFor = waitsFor(s, p, f)
		return nil
	case f.Aggregate == "":
		out.Stage, out.WaitsFor = "aggregated", "its aggregate to be made"
		return nil
	}
	out.Stage, out.Aggregate, out.Since = "aggregated", f.Aggregate, time.Unix(f.Made, 0).UTC()
	offsets, err := segment.Place(f.Class, s.Segments(f))
	if i := slices.Index(f.Pieces, priority); err == nil {
		out.Offset = offsets[i]
	}
	d, err := fold(ctx, r.Store, r.Until, events.DealStream(r.Account, f.Aggregate), deal.Evolve)
	out.Deal = dealOf(d)
	switch d.Status {
	case "":
		out.WaitsFor = "the broker to be offered it"
	case events.DealPending:
		out.WaitsFor = "the broker to have it signed"
	case events.DealSigned:
		out.WaitsFor = "the broker to have it stored"
	case events.DealApproved, events.DealRejected:
	}
	if d.Status != "" {
		out.Stage = string(d.Status)
	}
	return err
}

// waitsFor says what a queued piece waits for.
func waitsFor(s cargo.State, p cargo.Piece, f *cargo.Ferry) string {
	oldest, _ := s.Oldest()
	until := cli.Clock(oldest.Add(s.Packing.Notice))
	fill := s.Packing.MinFill
	switch {
	case p.Suspected():
		return "an aggregate with few others, to find out which of them is bad"
	case f != nil:
		return fmt.Sprintf("other ferries like its own, of %s, until together they have %s; from %s on, whatever fits "+
			"is packed that has as much", cli.Size(events.Bytes(f.Class)), cli.Size(events.Bytes(fill)), until)
	case s.LooseBytes < fill:
		return fmt.Sprintf("%s more in the queue, which has %s", cli.Size(events.Bytes(fill-s.LooseBytes)),
			cli.Size(events.Bytes(s.LooseBytes)))
	}
	return "the next look at the queue, of which it is a part"
}

// Aggregates are all lists of pieces.
type Aggregates struct {
	AsOf       api.AsOf     `json:"asOf"`
	Aggregates []view.Ferry `json:"aggregates"`
}

func (r reader) aggregates(context.Context, api.Then) (Aggregates, error) {
	return Aggregates{r.AsOf, append([]view.Ferry{}, only[view.Cargo](r, events.CategoryCargo).Ferries...)}, nil
}

// OfAggregate asks about an aggregate, and for a page of its pieces.
type OfAggregate struct {
	api.Then
	Aggregate string `path:"aggregate"`
	From      int    `query:"from"`
	Limit     int    `query:"limit" default:"100"`
}

// Aggregate is an aggregate with a page of its pieces.
type Aggregate struct {
	AsOf api.AsOf `json:"asOf"`
	view.Ferry
	Deal *Deal   `json:"deal,omitempty"`
	Bad  int     `json:"bad,omitempty"` // pieces because of which it was rejected
	List []Place `json:"list"`
	// Next is the From of the next page; 0: there is none.
	Next int `json:"next,omitempty"`
}

// Place is a piece in an aggregate.
type Place struct {
	Piece   string `json:"piece"`
	Size    uint64 `json:"size"`
	Offset  uint64 `json:"offset"` // padded
	Content string `json:"content"`
	Status  string `json:"status"`
}

// maxPage is the most pieces of an answer.
const maxPage = 10_000

func (r reader) aggregate(ctx context.Context, q OfAggregate) (out Aggregate, err error) {
	s := r.ledger()
	f := s.Aggregate(q.Aggregate)
	switch {
	case f == nil:
		return out, fmt.Errorf("%w: %.100q", cargo.ErrUnknown, q.Aggregate)
	case q.From < 0 || q.Limit < 1 || q.Limit > maxPage:
		return out, fmt.Errorf("%w: pages begin at 0 or later, and have 1 to %d pieces", problem.ErrBadRequest, maxPage)
	}
	d, err := fold(ctx, r.Store, r.Until, events.DealStream(r.Account, f.Aggregate), deal.Evolve)
	if err != nil {
		return out, err
	}
	offsets, err := segment.Place(f.Class, s.Segments(f))
	if err != nil {
		return out, err
	}
	out = Aggregate{AsOf: r.AsOf, Ferry: view.FerryOf(f), Deal: dealOf(d), Bad: len(d.Bad), List: []Place{}}
	end := min(q.From, len(f.Pieces)) + q.Limit
	for i := q.From; i < min(end, len(f.Pieces)); i++ {
		p, _ := s.Piece(f.Pieces[i])
		out.List = append(out.List, Place{
			commd.CID(p.Root), p.Size(), offsets[i], p.Content.String(), p.Status.String(),
		})
	}
	if end < len(f.Pieces) {
		out.Next = end
	}
	return out, nil
}

// proof makes the proof of a piece. The record alone suffices for it.
func (r reader) proof(ctx context.Context, q OfPiece) (out inclusion.File, err error) {
	at, err := r.piece(ctx, q)
	if err != nil {
		return out, err
	}
	if at.Aggregate == "" {
		return out, fmt.Errorf("%w: %s is %s", cargo.ErrNoProof, at.Content.Link, at.Stage)
	}
	s := r.ledger()
	f := s.Aggregate(at.Aggregate)
	layout, i := room.LayoutOf(s, f), slices.Index(f.Pieces, at.Priority)
	if i < 0 {
		return out, fmt.Errorf("%w: %s", cargo.ErrNoProof, at.Piece)
	}
	about := inclusion.About{Content: layout.Contents[i], MadeBy: r.Account.String()}
	if at.Deal != nil {
		about.Deal = at.Deal.Deal
	}
	if out, err = r.stored(layout, i, about); err == nil {
		return out, nil
	}
	a, err := segment.Build(layout.Size, layout.Pieces) // The file is not here, or damaged.
	if err != nil {
		return out, err
	}
	return proofIn(a, layout, i, about)
}

// stored is a proof as it was stored when the aggregate was made.
func (r reader) stored(l room.Layout, i int, about inclusion.About) (out inclusion.File, err error) {
	f, err := os.Open(filepath.Join(datadir.Layout{Root: r.DataDir}.Pieces(), filepath.Base(l.Proofs.CID)))
	if err != nil {
		return out, err
	}
	defer f.Close()
	a, err := segment.Open(f, int64(l.Proofs.Payload)) //nolint:gosec // A size.
	if err != nil {
		return out, err
	}
	return proofIn(a, l, i, about)
}

// proofIn is the proof of a piece in the aggregate of a layout. It is verified.
func proofIn(a *segment.Aggregate, l room.Layout, i int, about inclusion.About) (out inclusion.File, err error) {
	if got := commd.CID(a.Root()); got != l.Aggregate {
		return out, fmt.Errorf("%w: these pieces make %s, not %s", segment.ErrProof, got, l.Aggregate)
	}
	path, err := a.Proof(i)
	if err != nil {
		return out, err
	}
	return inclusion.Of(path, l.Pieces[i], a.Root(), a.Size(), about)
}

// fold folds a stream, as far as the question goes; until nil: to its end.
func fold[S any, E proto.Message](
	ctx context.Context, store events.Store, until func(events.Recorded) bool, stream string, evolve func(S, E) S,
) (state S, err error) {
	for e, err := range store.ReadStream(ctx, stream, events.ReadStream{}) {
		if errors.Is(err, events.ErrStreamNotFound) || err == nil && until != nil && !until(e) {
			break
		}
		if err != nil {
			return state, fmt.Errorf("read %s: %w", stream, err)
		}
		m, err := shell.DecodeAs[E](catalog.Codec(), e)
		if err != nil {
			return state, err
		}
		state = evolve(state, m)
	}
	return state, nil
}
