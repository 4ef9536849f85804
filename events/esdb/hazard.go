package esdb

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/hostnode/hostnode/events"
)

// Harmless refuses what an append refuses of an event because of its metadata, before anything is written.
func (s *Store) Harmless(stream string, e events.NewEvent) error { return harmless(stream, e) }

// harmless refuses an event whose metadata would stop a system projection of an
// EventStoreDB or a KurrentDB, for all its users: $by_category, $by_event_type, $streams and
// $stream_by_category fail at a JSON object that ends early, $by_correlation_id at a
// correlation id that is not a plain value. Only a tombstone and a scavenge repair that (spec/eventstore.md §11).
// Hostnode never writes such metadata, but events of other programs may be copied
// here.
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
