package cargo

import (
	"math"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/prover/commd"
)

// Asked is the command that an event follows from, for whatever judges the record. Where a setting of the moment
// decides, it is what the event says.
func Asked(e Event) Command {
	switch e := e.(type) {
	case *messages.PieceQueued:
		root, _ := commd.ParseCID(e.GetPiece()) // The codec has checked both.
		link, _ := events.ParseContentLink(e.GetContent())
		return Queue{
			At: e.GetAt().AsTime(), Root: root, Size: e.GetSize(), Payload: e.GetPayload(), Content: link,
			Group: e.GetGroup(), Kept: e.GetKept(),
		}
	case *messages.FerryLoaded:
		return Load{
			At: e.GetAt().AsTime(), Ferry: e.GetFerry(), Class: e.GetClass(), Pieces: e.GetPieces(), Part: e.GetPart(),
			Parts: e.GetParts(), Full: e.GetFull(), Isolated: e.GetIsolated(),
		}
	case *messages.FerriesMerged:
		full := e.GetClass()
		if !e.GetFull() {
			full *= 2 // Any larger one.
		}
		return Merge{At: e.GetAt().AsTime(), From: e.GetFrom(), Full: full}
	case *messages.AggregateMade:
		return Make{
			At: e.GetAt().AsTime(), Ferry: e.GetFerry(), Aggregate: e.GetAggregate(), Proofs: e.GetProofs(),
			ProofsSize: e.GetProofsSize(),
		}
	case *messages.AggregateApproved:
		return Approve{At: e.GetAt().AsTime(), Aggregate: e.GetAggregate()}
	case *messages.AggregateRejected:
		attempts := uint8(math.MaxUint8)
		if e.GetIsolate() {
			attempts = 0
		}
		return Reject{
			At: e.GetAt().AsTime(), Aggregate: e.GetAggregate(), Bad: e.GetBad(), Reason: e.GetReason(),
			Part: e.GetPart(), Parts: e.GetParts(), Attempts: attempts,
		}
	case *messages.PieceRefused:
		return Refuse{At: e.GetAt().AsTime(), Priority: e.GetPriority(), Reason: e.GetReason()}
	case *messages.CopiesReleased:
		return Release{At: e.GetAt().AsTime(), Pieces: e.GetPieces(), Proofs: e.GetProofs()}
	}
	return nil
}
