package aggregation

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/page"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/cargo"
	view "github.com/hostnode/hostnode/projections/aggregation"
	"github.com/hostnode/hostnode/prover/commd"
)

// This file has the pages of the pipeline from CARs to deals.

// Pages are those of aggregation.
func Pages() []page.Page {
	retry := map[string]page.Order{"retry": {Done: "The CAR is read once more.", Do: doRetry}}
	failed := map[string]page.Order{"report": {Done: "It is recorded that the aggregate failed.", Do: doReport}}
	return []page.Page{
		{Path: "aggregation", Title: "Aggregation", Menu: page.MenuMachines, Show: showQueue},
		{Path: "aggregation/find", Title: "Piece", Show: showStanding},
		{Path: "aggregation/pieces/{piece}", Title: "Piece", Show: showStanding, Orders: retry},
		{Path: "aggregation/pieces/{piece}/proof", Title: "Proof", Show: showProof},
		{Path: "aggregation/pieces/{piece}/proof.json", Title: "Proof", File: saveProof},
		{Path: "aggregation/aggregates/{aggregate}", Title: "Aggregate", Show: showAggregate, Orders: failed},
	}
}

func toPiece(cid string) string     { return page.To("aggregation", "pieces", cid) }
func toAggregate(cid string) string { return page.To("aggregation", "aggregates", cid) }

// brief is a CID, of which the end tells one from another.
func brief(cid, to string) page.Cell {
	const begin, end = 8, 10
	if len(cid) > begin+end {
		cid = cid[:begin] + "…" + cid[len(cid)-end:]
	}
	return page.Cell{Text: cid, Code: true, To: to}
}

func size(bytes uint64) page.Cell { return page.Number(cli.Size(events.Bytes(bytes))) }

func showQueue(ctx context.Context, q *page.Asked) (v page.View, err error) {
	queue, err := ShowQueue.Ask(ctx, q.Backend, q.Then())
	if err != nil {
		return v, err
	}
	all, err := ListDeals.Ask(ctx, q.Backend, q.Then())
	if err != nil {
		return v, err
	}
	v.AsOf = queue.AsOf
	v.Add(page.Form{
		Head: page.Head{ID: "find", Title: "How does a CAR or a piece stand?"}, Asks: true, Button: "Find",
		Of: page.To("aggregation", "find"), Fields: []page.Field{{
			Name: "cid", Label: "Its CID", Required: true, Hint: "of the CAR, or a piece CID of version 1 or 2",
		}},
	})
	v.Add(contentsTable(q, queue.Contents), piecesTable(q, queue.Pieces), waitingTable(q, queue.Aggregates))
	v.Add(
		dealsTable(q, page.Head{ID: "pending", Title: "Deals that are not final"}, all.Pending),
		dealsTable(q, page.Head{ID: "rejected", Title: "Rejected deals"}, all.Rejected),
		dealsTable(q, page.Head{ID: "approved", Title: "Approved deals"}, all.Approved), refusedTable(q, queue.Refused),
	)
	return v, nil
}

func contentsTable(q *page.Asked, w Waiting[view.Content]) page.Table {
	t := page.Table{
		Head:  page.Head{ID: "contents", Title: cli.Plural(w.Count, "CAR is to be read", "CARs are to be read")},
		Heads: []string{"CAR", "Waits since", "For", "Size", "Group"},
	}
	some, next := page.Some(q, "cars", w.First)
	t.Next = next
	for _, c := range some {
		t.Row(brief(c.Link, toPiece(c.Link)), page.At(c.Since),
			page.Text(cmp.Or(c.WaitsFor, "its turn to be read")), size(c.Size), page.Text(c.Group))
	}
	return t
}

func piecesTable(q *page.Asked, w Waiting[view.Piece]) page.Table {
	t := page.Table{
		Head: page.Head{
			ID: "pieces", Title: cli.Plural(w.Count, "piece waits for an aggregate", "pieces wait for an aggregate"),
			Note: "The page of a piece says for what it waits, and until when.",
		},
		Heads: []string{"Place", "Piece", "Queued since", "Size", "Group", "Rejected with others", "On"},
	}
	if w.Count == 0 {
		t.Note = ""
	}
	some, next := page.Some(q, "pieces", w.First)
	t.Next = next
	for _, p := range some {
		on := brief(p.Ferry, "")
		if p.Ferry == "" && p.Isolated {
			on = page.Text("to be tried alone")
		}
		t.Row(page.Number(p.Priority), brief(p.Piece, toPiece(p.Piece)), page.At(p.Inserted), size(p.Size),
			page.Text(p.Group), page.Text(cli.Count(int(p.Attempts), "time")), on)
	}
	return t
}

func waitingTable(q *page.Asked, w Waiting[view.Ferry]) page.Table {
	t := page.Table{
		Head: page.Head{
			ID: "aggregates", Title: cli.Plural(w.Count, "aggregate waits for a deal", "aggregates wait for a deal"),
		},
		Heads: []string{"Aggregate", "Waits since", "Size", "Pieces"},
	}
	some, next := page.Some(q, "aggregates", w.First)
	t.Next = next
	for _, f := range some {
		t.Row(brief(f.Aggregate, toAggregate(f.Aggregate)), page.At(f.Made), size(f.Class), page.Number(f.Pieces))
	}
	return t
}

func dealsTable(q *page.Asked, head page.Head, all []view.Deal) page.Table {
	t := page.Table{
		Head: head, Heads: []string{"Aggregate", "Deal", "Offered", "Final", "Broker", "Why"},
		Empty: "There is none.",
	}
	some, next := page.Some(q, head.ID, all)
	t.Next = next
	for _, d := range some {
		deal := page.Stands(levels[d.Status], cmp.Or(d.Deal, "no number"))
		deal.Under = string(d.Status)
		why := page.Text(d.Reason)
		if d.BadPieces > 0 {
			why.Under = cli.Count(d.BadPieces, "bad piece")
		}
		if d.Doubted != "" {
			why.Under = strings.TrimPrefix(why.Under+"; not believed: "+d.Doubted, "; ")
		}
		t.Row(brief(d.Aggregate, toAggregate(d.Aggregate)), deal, page.At(d.Inserted), page.At(d.Processed),
			page.Text(d.Broker), why)
	}
	return t
}

var levels = map[events.DealStatus]page.Level{
	events.DealApproved: page.Good, events.DealRejected: page.Bad,
}

func refusedTable(q *page.Asked, w Waiting[view.Content]) page.Table {
	t := page.Table{
		Head: page.Head{
			ID: "refused", Title: "Refused CARs", Note: "The page of a CAR has the order to read it once more.",
		},
		Heads: []string{"CAR", "Refused", "Why", "Size", "Group"}, Empty: "None was refused.",
	}
	if w.Count == 0 {
		t.Note = ""
	}
	some, next := page.Some(q, "refused", w.First)
	t.Next = next
	for _, c := range some {
		why := page.Stands(page.Bad, c.Code)
		why.Under = c.Detail
		t.Row(brief(c.Link, toPiece(c.Link)), page.At(c.Since), why, size(c.Size), page.Text(c.Group))
	}
	return t
}

// showStanding is how a piece or a CAR stands: since when, for what, and until when it waits.
func showStanding(ctx context.Context, q *page.Asked) (v page.View, err error) {
	cid := cmp.Or(q.Path("piece"), q.Get("cid"))
	s, err := ShowPiece.Ask(ctx, q.Backend, OfPiece{Then: q.Then(), Piece: cid})
	if err != nil {
		return v, err
	}
	v.AsOf = s.AsOf
	if v.Title = "Piece"; s.Piece == "" {
		v.Title = "CAR"
	}
	v.Add(standing(s), pieceFacts(s))
	if s.Aggregate != "" {
		v.Add(page.Words{
			Head:  page.Head{ID: "proof", Title: "Proof"},
			Each:  []string{"There is a proof that the piece is in its aggregate, which anyone can verify."},
			Links: []page.Link{{Text: "Show the proof", To: page.To("aggregation", "pieces", s.Piece, "proof")}},
		})
	}
	v.Add(sourcesOf(s))
	if s.Stage == "refused" {
		v.Add(page.Form{
			Head: page.Head{ID: "retry", Title: "Read it once more"}, Of: toPiece(s.Content.Link), Do: "retry",
			Button: "Read it again",
			Fields: []page.Field{
				page.Hidden("link", s.Content.Link),
				{Name: "reason", Label: "Why", Value: q.Typed("reason", ""), Required: true},
			},
		})
	}
	return v, nil
}

// standing says in one look what becomes of a piece.
func standing(s Standing) page.Notices {
	n := page.Notice{Level: page.Good, Text: s.Stage, Since: s.Since, Until: s.Expected}
	switch {
	case s.Refused != "":
		n.Level, n.Text = page.Bad, "refused: "+s.Refused
	case s.Stage == string(events.DealRejected):
		n.Level = page.Bad
	}
	if s.WaitsFor != "" {
		n.Text += ", and waits for " + s.WaitsFor
	}
	if !s.Expected.IsZero() {
		n.Do = "By what came in lately, it is in an aggregate by then."
	}
	if s.MayDelete {
		n.Do = strings.TrimSpace(n.Do + " The client may delete the CAR.")
	} else {
		n.Do = strings.TrimSpace(n.Do + " The client must keep the CAR.")
	}
	return page.Notices{Head: page.Head{ID: "standing"}, Each: []page.Notice{n}}
}

func pieceFacts(s Standing) page.Facts {
	f := page.Facts{Head: page.Head{ID: "facts", Title: "What it is"}}
	code := func(name, cid, to string) { f.Fact(name, page.Cell{Text: cid, Code: true, To: to}) }
	code("CAR", s.Content.Link, "")
	code("Piece", s.Piece, "")
	code("Piece, version 2", s.PieceV2, "")
	if s.Size > 0 {
		of := cli.Size(events.Bytes(s.Content.Size))
		f.Fact("Size", page.Text(cli.Size(events.Bytes(s.Size))+", of a CAR of "+of))
		f.Fact("Priority", page.Textf("%d, with %s before it", s.Priority, cli.Count(s.Ahead, "piece")))
	}
	f.Fact("Group", page.Text(s.Content.Group))
	if s.Attempts > 0 {
		f.Fact("Rejected with others", page.Text(cli.Count(int(s.Attempts), "time")))
	}
	if s.Content.RootAbsent {
		f.Fact("Root", page.Stands(page.Warn, "no block of the CAR is its root"))
	}
	if s.Aggregate != "" {
		code("Aggregate", s.Aggregate, toAggregate(s.Aggregate))
		f.Fact("Offset in it", page.Text(strconv.FormatUint(s.Offset, 10)))
	}
	dealFacts(&f, s.Deal)
	return f
}

func dealFacts(f *page.Facts, d *Deal) {
	if d == nil {
		return
	}
	f.Fact("Deal", page.Stands(levels[d.Status], fmt.Sprintf("%s %s", d.Status, d.Deal)))
	f.Fact("Broker", page.Text(d.Broker))
	for _, one := range []struct {
		name string
		at   time.Time
	}{{"Offered", d.Inserted}, {"Signed", d.Signed}, {"Final", d.Processed}} {
		if !one.at.IsZero() {
			f.Fact(one.name, page.At(one.at))
		}
	}
	f.Fact("Not believed", page.Text(d.Doubted))
}

func sourcesOf(s Standing) page.Table {
	t := page.Table{
		Head: page.Head{ID: "sources", Title: "Where the CAR is"}, Heads: []string{"Bucket", "Region", "Key", "URL"},
		Empty: "No source is known.",
	}
	for _, one := range s.Content.Sources {
		t.Row(page.Text(one.BucketName), page.Text(one.BucketRegion), page.Text(one.Key), page.Text(one.BucketURL))
	}
	return t
}

func doRetry(ctx context.Context, q *page.Asked) error {
	_, err := RetryContent.Ask(ctx, q.Backend, Retry{
		Link: q.Get("link"), Body: Because{By: q.By, Reason: q.Get("reason")},
	})
	return err
}

func showProof(ctx context.Context, q *page.Asked) (v page.View, err error) {
	cid := q.Path("piece")
	f, err := ShowProof.Ask(ctx, q.Backend, OfPiece{Then: q.Then(), Piece: cid})
	if err != nil {
		return v, err
	}
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return v, err
	}
	facts := page.Facts{Head: page.Head{ID: "facts"}}
	for _, one := range []struct{ name, cid, to string }{
		{"Piece", commd.CID(commd.Node(f.Piece.CID)), toPiece(cid)},
		{"Aggregate", commd.CID(commd.Node(f.Aggregate.CID)), toAggregate(commd.CID(commd.Node(f.Aggregate.CID)))},
	} {
		facts.Fact(one.name, page.Cell{Text: one.cid, Code: true, To: one.to})
	}
	facts.Fact("Deal", page.Text(f.Deal))
	v.Add(facts, page.Words{
		Head:  page.Head{ID: "use", Note: "Whoever has the file verifies it with: hostnode aggregation verify FILE"},
		Links: []page.Link{{Text: "Save the file", To: page.To("aggregation", "pieces", cid, "proof.json")}},
	}, page.Code{Head: page.Head{ID: "proof"}, Text: string(text)})
	return v, nil
}

func saveProof(ctx context.Context, q *page.Asked) (out page.File, err error) {
	f, err := ShowProof.Ask(ctx, q.Backend, OfPiece{Then: q.Then(), Piece: q.Path("piece")})
	if err != nil {
		return out, err
	}
	text, err := json.MarshalIndent(f, "", "  ")
	name := commd.CID(commd.Node(f.Piece.CID)) + ".proof.json"
	return page.File{Name: name, Kind: "application/json", Content: append(text, '\n')}, err
}

func showAggregate(ctx context.Context, q *page.Asked) (v page.View, err error) {
	from, _ := strconv.Atoi(q.Get("from")) // What is no number is the beginning.
	a, err := ShowAggregate.Ask(ctx, q.Backend, OfAggregate{
		Then: q.Then(), Aggregate: q.Path("aggregate"), From: max(0, from), Limit: api.DefaultPage,
	})
	if err != nil {
		return v, err
	}
	v.AsOf = a.AsOf
	f := page.Facts{Head: page.Head{ID: "facts"}}
	f.Fact("Aggregate", page.Cell{Text: a.Aggregate, Code: true})
	f.Fact("State", page.Text(string(a.State)))
	f.Fact("Why", page.Text(a.Reason))
	f.Fact("Size", page.Text(cli.Size(events.Bytes(a.Class))+", of which pieces have "+cli.Size(events.Bytes(a.Bytes))))
	f.Fact("Pieces", page.Text(strconv.Itoa(a.Pieces)))
	if a.Bad > 0 {
		f.Fact("Bad pieces", page.Stands(page.Bad, strconv.Itoa(a.Bad)))
	}
	f.Fact("Made", page.At(a.Made))
	dealFacts(&f, a.Deal)
	t := page.Table{
		Head:  page.Head{ID: "list", Title: "Its pieces"},
		Heads: []string{"Piece", "State", "Size", "Offset", "CAR"}, Empty: "It has none.",
	}
	for _, p := range a.List {
		t.Row(brief(p.Piece, toPiece(p.Piece)), page.Text(p.Status), size(p.Size), page.Number(p.Offset),
			brief(p.Content, toPiece(p.Content)))
	}
	if a.Next > 0 {
		t.Next = &page.Link{Text: "More", To: q.With("from", strconv.Itoa(a.Next))}
	}
	v.Add(f, t)
	if a.State == cargo.Made {
		v.Add(page.Form{
			Head: page.Head{
				ID: "report", Title: "Say that it failed", Note: "The offer is withdrawn. Bad pieces are refused; " +
					"all others wait again under their priorities. This cannot be undone.",
			},
			Do: "report", Button: "Report", Confirm: "No broker is to store it",
			Fields: []page.Field{
				{
					Name: "bad", Label: "Bad pieces", Value: strings.Join(typedPieces(q), "\n"), Long: true,
					Hint: "their CIDs, if they are known",
				},
				{Name: "reason", Label: "Why", Value: q.Typed("reason", ""), Required: true},
			},
		})
	}
	return v, nil
}

// typedPieces are the bad pieces that were typed.
func typedPieces(q *page.Asked) []string {
	return strings.FieldsFunc(q.Typed("bad", ""), func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
}

func doReport(ctx context.Context, q *page.Asked) error {
	_, err := ReportAggregate.Ask(ctx, q.Backend, Report{
		Aggregate: q.Path("aggregate"),
		Body:      Failure{Bad: typedPieces(q), Because: Because{By: q.By, Reason: q.Get("reason")}},
	})
	return err
}
