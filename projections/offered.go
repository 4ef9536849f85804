package projections

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/events/snapshot"
)

// Offered is what a host's queue did with a slot.
type Offered struct {
	Slot      string   `json:"slotId"`
	Request   string   `json:"requestId"`
	SlotIndex uint64   `json:"slotIndex"`
	Moments   []Moment `json:"moments"` // their phase is where the slot was afterwards
	// Forgotten: what the queue did before its newest snapshot is no longer in its stream.
	Forgotten bool `json:"forgotten,omitempty"`
}

// ReadOffered reads in the stream of a host's queue what became of the slots whose id begins with a prefix, in the
// order in which they were first mentioned. The judge of a slot wrote there why. It is as of until; nil: as it is
// now. What the queue did before its snapshots is read from the log, as far as the store still has it.
func ReadOffered(
	ctx context.Context, store events.Store, host events.Address, prefix string, until Until,
) ([]Offered, error) {
	codec, found := catalog.Codec(), []Offered{}
	position := map[string]int{} // in found
	first := true
	var forgotten bool
	for r, err := range snapshot.Kept(ctx, store, events.SlotQueueStream(host)) {
		switch {
		case errors.Is(err, events.ErrStreamNotFound):
			return found, nil
		case err != nil:
			return nil, fmt.Errorf("read what the queue did: %w", err)
		case until != nil && !until(r):
			return found, nil
		case first:
			first, forgotten = false, r.Revision > 0
		}
		m, err := codec.Decode(r)
		e, ok := m.(slotqueue.Event)
		if err != nil || !ok {
			continue // The audit tells of it.
		}
		told, ok := slotqueue.Tell(e)
		if !ok {
			continue
		}
		for _, index := range told.Indices {
			slot := events.SlotIDOf(told.Request, index).String()
			if !strings.HasPrefix(slot, prefix) {
				continue
			}
			i, known := position[slot]
			if !known {
				i = len(found)
				position[slot] = i
				found = append(found, Offered{
					Slot: slot, Request: told.Request.String(), SlotIndex: index, Forgotten: forgotten,
				})
			}
			found[i].Moments = append(found[i].Moments, Moment{
				At: at(e), Sentence: told.Sentence, Type: r.Type, Phase: told.Where,
				Criterion: criterionOf(e), Revision: r.Revision, Position: r.Position,
			})
		}
	}
	return found, nil
}
