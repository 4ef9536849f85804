package js_test

import (
	"fmt"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/cargo"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/content"
	"github.com/hostnode/hostnode/events/deal"
	"github.com/hostnode/hostnode/projections/aggregation"
	"github.com/hostnode/hostnode/prover/commd"
)

// pipeline is what our views say of a host's aggregates, in the form of the server's. A host of which nothing is
// recorded yet has empty ones.
func (w *twins) pipeline(host string) any {
	rows := func(category string) any {
		all, _ := w.views.Of(category)
		return all[host]
	}
	contents := rows(events.CategoryContent).([]aggregation.Contents)[0]
	pieces := rows(events.CategoryCargo).([]aggregation.Cargo)[0]
	deals := rows(events.CategoryDeal).([]aggregation.Deal)
	queue, queued, made := map[string]any{}, map[string]any{}, map[string]any{}
	for _, c := range contents.Queue {
		queue[c.Link] = w.without(c, "link", "waitsFor")
	}
	for _, p := range pieces.Queue {
		queued[fmt.Sprint(p.Priority)] = w.without(p, "priority")
	}
	for _, f := range aggregation.AggregateQueue(pieces, deals) {
		made[f.Aggregate] = map[string]any{"size": f.Class, "pieces": f.Pieces, "made": f.Made}
	}
	by := func(statuses ...events.DealStatus) map[string]any {
		out := map[string]any{}
		for _, d := range aggregation.ByStatus(deals, statuses...) {
			out[d.Aggregate] = w.without(d, "aggregate", "doubted")
		}
		return out
	}
	return plain(w.t, map[string]any{
		"host": host, "content_queue": queue, "cargo": queued, "aggregate_queue": made,
		"contents":      w.without(contents, "waiting", "queue"),
		"pieces":        map[string]any{"queued": pieces.Queued, "aggregated": pieces.Aggregated, "approved": pieces.Approved, "refused": pieces.Refused},
		"deal_pending":  by(events.DealPending, events.DealSigned),
		"deal_approved": by(events.DealApproved), "deal_rejected": by(events.DealRejected),
	})
}

// piped brings what is a number or an empty list in one of the two forms into that of our rows.
func piped(state map[string]any) {
	drop := func(of any, keys ...string) {
		for _, one := range rowsOf(of) {
			for _, key := range keys {
				if value := fmt.Sprint(one[key]); value == "0" || value == "[]" {
					delete(one, key)
				}
			}
		}
	}
	drop(state["content_queue"], "retries", "size")
	drop(state["contents"].(map[string]any)["latestRefused"], "retries", "size")
	drop(state["cargo"], "attempts")
	for _, place := range []string{"deal_pending", "deal_approved", "deal_rejected"} {
		drop(state[place], "bad", "badPieces", "timesDoubted")
	}
}

func rowsOf(of any) (all []map[string]any) {
	switch of := of.(type) {
	case map[string]any:
		for _, one := range of {
			all = append(all, one.(map[string]any))
		}
	case []any:
		for _, one := range of {
			all = append(all, one.(map[string]any))
		}
	}
	return all
}

// recorder decides commands about aggregates and hands what is recorded to both views.
type recorder struct {
	both      *twins
	contents  map[events.ContentLink]content.State
	pieces    cargo.State
	deals     map[string]deal.State
	revisions map[string]uint64
	position  events.Position
}

func tell[E proto.Message](r *recorder, stream string, all []E, err error, fold func(E)) {
	if err != nil {
		return // What is refused leaves no trace.
	}
	for _, e := range all {
		name, version, data, err := catalog.Codec().Encode(e)
		if err != nil {
			r.both.t.Fatalf("%v", err)
		}
		r.position++
		fold(e)
		r.both.apply(events.Recorded{
			Stream: stream, Revision: r.revisions[stream], Position: r.position, Type: name, Data: data,
			Meta: events.Metadata{Version: version},
		})
		r.revisions[stream]++
	}
}

func (r *recorder) content(n byte, c content.Command) {
	link := events.ContentLink{n}
	all, err := content.Decide(r.contents[link], c)
	tell(r, events.ContentStream(me, link), all, err, func(e content.Event) {
		r.contents[link] = content.Evolve(r.contents[link], e)
	})
}

func (r *recorder) cargo(c cargo.Command) {
	all, err := cargo.Decide(r.pieces, c)
	tell(r, events.CargoStream(me), all, err, func(e cargo.Event) { r.pieces = cargo.Evolve(r.pieces, e) })
}

func (r *recorder) deal(aggregate string, c deal.Command) {
	all, err := deal.Decide(r.deals[aggregate], c)
	tell(r, events.DealStream(me, aggregate), all, err, func(e deal.Event) {
		r.deals[aggregate] = deal.Evolve(r.deals[aggregate], e)
	})
}

// TestTheServersViewOfAggregatesIsOursWhateverIsDecided compares them over random commands.
func TestTheServersViewOfAggregatesIsOursWhateverIsDecided(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := events.Unix(1_700_006_400)
		r := &recorder{
			both: newTwins(t), contents: map[events.ContentLink]content.State{}, pieces: cargo.Empty(),
			deals: map[string]deal.State{}, revisions: map[string]uint64{},
		}
		pack := cargo.Packing{
			Packer: rapid.SampledFrom([]string{"ferry", "greedy"}).Draw(t, "packer"), Size: 1 << 20, Smallest: 1 << 16,
			MinFill: 1 << 18, Batch: 5, Merge: 3, Window: 5 * time.Minute, Notice: 48 * time.Hour,
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now = now.Add(rapid.SampledFrom([]time.Duration{0, time.Minute, 6 * time.Minute, 50 * time.Hour}).Draw(t, "later"))
			switch n := byte(rapid.IntRange(1, 4).Draw(t, "content")); rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				r.content(n, anyAboutAContent(t, now))
			case 1:
				for range rapid.IntRange(1, 8).Draw(t, "pieces") {
					size := uint64(1) << rapid.IntRange(12, 19).Draw(t, "size")
					r.cargo(cargo.Queue{
						At: now, Root: commd.Node{byte(r.pieces.Pieces() + 1)}, Size: size, Payload: commd.PayloadRoom(size),
						Content: events.ContentLink{n}, Group: rapid.SampledFrom([]string{"", "a"}).Draw(t, "group"), Kept: true,
					})
				}
			case 2:
				r.pack(pack, now)
			default:
				r.judge(t, now)
			}
		}
	})
}

// pack packs what is there, and makes what is full.
func (r *recorder) pack(p cargo.Packing, now time.Time) {
	for _, c := range p.Plan(r.pieces, now) {
		if load, ok := c.(cargo.Load); ok && len(load.Pieces) > 1 { // Also in parts.
			first := load
			first.Parts, first.Pieces = 2, load.Pieces[:1]
			r.cargo(first)
			load.Part, load.Parts, load.Pieces = 2, 2, load.Pieces[1:]
			c = load
		}
		r.cargo(c)
	}
	for _, f := range r.pieces.Ferries() {
		if link := commd.CID(commd.Node{byte(f.Number), 1}); f.Full && f.State == cargo.Loaded {
			r.cargo(cargo.Make{At: now, Ferry: f.ID, Aggregate: link, Proofs: link, ProofsSize: 100})
		}
	}
}

// judge offers an aggregate, has the broker say something of it, and the ledger of pieces follow; or refuses a piece.
func (r *recorder) judge(t *rapid.T, now time.Time) {
	var made []*cargo.Ferry
	for _, f := range r.pieces.Ferries() {
		if f.State == cargo.Made {
			made = append(made, f)
		}
	}
	if len(made) == 0 {
		r.cargo(cargo.Refuse{At: now, Priority: uint64(rapid.IntRange(1, 9).Draw(t, "refused")), Reason: "bad"})
		pieces, proofs := r.pieces.Releasable()
		r.cargo(cargo.Release{At: now, Pieces: pieces, Proofs: proofs})
		return
	}
	f := rapid.SampledFrom(made).Draw(t, "aggregate")
	r.deal(f.Aggregate, deal.Offer{At: now, Broker: "http", Size: f.Class})
	said := events.DealReport{
		Status: rapid.SampledFrom([]events.DealStatus{
			events.DealPending, events.DealSigned, events.DealApproved, events.DealRejected, "LOST",
		}).Draw(t, "status"), Deal: rapid.SampledFrom([]string{"", "17"}).Draw(t, "deal"), Reason: "said so",
	}
	reject := cargo.Reject{At: now, Aggregate: f.Aggregate, Reason: "said so", Attempts: 2}
	if rapid.Bool().Draw(t, "names") {
		bad, _ := r.pieces.Piece(f.Pieces[0])
		said.Bad = []string{commd.CID(bad.Root)}
		reject.Bad, reject.Part, reject.Parts = f.Pieces[:1], 1, 1
	}
	for _, c := range deal.Reports(now, said, "") {
		r.deal(f.Aggregate, c)
	}
	switch r.deals[f.Aggregate].Status {
	case events.DealApproved:
		r.cargo(cargo.Approve{At: now, Aggregate: f.Aggregate})
	case events.DealRejected:
		r.cargo(reject)
	case events.DealPending, events.DealSigned:
	}
}

func anyAboutAContent(t *rapid.T, now time.Time) content.Command {
	switch rapid.IntRange(0, 4).Draw(t, "command") {
	case 0:
		return content.Accept{At: now, Piece: content.Piece{CID: commd.CID(commd.Node{1}), Size: 128}, Blocks: 3}
	case 1:
		return content.Refuse{At: now, Code: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "code"), Detail: "bad"}
	case 2:
		return content.Retry{At: now, By: "anna", Reason: "mended"}
	default:
		key := rapid.SampledFrom([]string{"a.car", "b.car"}).Draw(t, "key")
		return content.Request{At: now, Size: 100, Source: events.ContentSource{Key: key}, Group: "a"}
	}
}
