package readyproofs

import (
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// Table is how the proofs of a member on their way to the owner are stored.
func Table() []events.Entry {
	entry := events.EntryOf
	return []events.Entry{
		entry("ProofReady", &messages.ProofReady{
			SlotId: events.ExampleID, Period: 85_000_000, Challenge: events.ExampleID,
			Deadline: timestamppb.New(events.Unix(1_700_000_000)),
			Proof:    events.Proof{{31: 1}}.String(),
		}),
	}
}
