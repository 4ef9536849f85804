package esdb

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/hostnode/hostnode/events"
)

// harmless refuses an event whose metadata would stop a system projection of an
// EventStoreDB for good, for everybody who uses it: $by_category and
// $by_event_type fault at an object that ends early, $by_correlation_id at a
// correlation that is no plain value. Only a scavenge behind a tombstone heals
// that (spec/eventstore.md §11). Hostnode never writes such metadata, but what others
// wrote may be on its way here.
func harmless(stream string, e events.NewEvent) error {
	meta := bytes.TrimSpace(e.Foreign)
	if e.Binary || len(meta) == 0 || meta[0] != '{' {
		return nil
	}
	var keys struct {
		Correlation json.RawMessage `json:"$correlationId"`
	}
	err := json.Unmarshal(meta, &keys)
	if err == nil && (len(keys.Correlation) == 0 || keys.Correlation[0] != '{' && keys.Correlation[0] != '[') {
		return nil
	}
	return fmt.Errorf("%w: the metadata of event %s for %s would stop the server's system projections for good: %.80q",
		events.ErrMalformed, e.ID, stream, e.Foreign)
}
