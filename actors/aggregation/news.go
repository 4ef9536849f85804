package aggregation

import (
	"fmt"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/cargo"
	"github.com/hostnode/hostnode/events/content"
	"github.com/hostnode/hostnode/events/deal"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/prover/commd"
)

// This file has what the log says for people, once it is recorded. Each line has a field for what it is about: content,
// ferry, aggregate or piece.

func bytesOf(n uint64) string { return events.Bytes(n).Human() }

func (r *Room) logContent(link events.ContentLink, fresh []content.Event) {
	log := r.Log.WithField("content", link.String())
	for _, e := range fresh {
		switch e := e.(type) {
		case *messages.ContentAccepted:
			log.Infof("CAR %s makes piece %s, of %s", link, e.GetPiece(), bytesOf(e.GetPieceSize()))
		case *messages.ContentRefused:
			log.Infof("CAR %s is refused: %s: %s", link, e.GetCode(), e.GetDetail())
		case *messages.ContentRequested, *messages.ContentSourceAdded, *messages.ContentRetried:
		}
	}
}

func (r *Room) logCargo(fresh []cargo.Event) {
	for _, e := range fresh {
		switch e := e.(type) {
		case *messages.FerryLoaded:
			if e.GetPart() == e.GetParts() && !e.GetFull() {
				r.Log.WithField("ferry", e.GetFerry()).Infof("a ferry of %s is loaded", bytesOf(e.GetClass()))
			}
		case *messages.FerriesMerged:
			r.Log.WithField("ferry", e.GetFerry()).Infof("%d ferries are merged into one of %s", len(e.GetFrom()),
				bytesOf(e.GetClass()))
		case *messages.AggregateMade:
			r.logAggregate(e.GetAggregate(), "is made")
		case *messages.AggregateApproved:
			r.logAggregate(e.GetAggregate(), "is approved: its pieces are stored")
		case *messages.AggregateRejected:
			if e.GetPart() == e.GetParts() {
				r.logRejected(e)
			}
		case *messages.PieceRefused:
			p, _ := r.cargo.Durable.Piece(e.GetPriority())
			r.logRefused(commd.CID(p.Root), e.GetReason())
		case *messages.PieceQueued, *messages.PackingSet, *messages.CopiesReleased:
		}
	}
}

// logRejected says what became of the pieces of an aggregate that was rejected.
func (r *Room) logRejected(e *messages.AggregateRejected) {
	f, refused := r.cargo.Durable.Aggregate(e.GetAggregate()), 0
	for _, priority := range f.Pieces {
		if p, _ := r.cargo.Durable.Piece(priority); p.Status == cargo.Refused {
			r.logRefused(commd.CID(p.Root), e.GetReason())
			refused++
		}
	}
	what := "nobody says which piece is bad, so all wait again"
	switch {
	case refused == len(f.Pieces):
		what = "its pieces are refused"
	case refused > 0:
		what = fmt.Sprintf("%d of its %d pieces are refused, and the others wait again", refused, len(f.Pieces))
	case e.GetIsolate():
		what = "nobody says which piece is bad, once too often, so each half is tried alone"
	}
	r.logAggregate(e.GetAggregate(), "is rejected: "+e.GetReason()+"; "+what)
}

func (r *Room) logAggregate(cid, what string) {
	r.Log.WithField("aggregate", cid).Infof("aggregate %s %s", cid, what)
}

func (r *Room) logRefused(piece, why string) {
	r.Log.WithField("piece", piece).Infof("piece %s is refused: %s", piece, why)
}

func (r *Room) logDeal(aggregate string, fresh []deal.Event) {
	for _, e := range fresh {
		switch e := e.(type) {
		case *messages.DealOffered:
			r.logAggregate(aggregate, "is offered to the broker ("+e.GetBroker()+")")
		case *messages.DealSigned:
			r.Log.WithField("aggregate", aggregate).Infof("the deal about aggregate %s is signed: %s", aggregate,
				e.GetDeal())
		case *messages.DealApproved, *messages.DealRejected, *messages.DealDoubted: // The ledger says it, or an alert.
		}
	}
}
