package esdb_test

import (
	"errors"
	"testing"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/esdb"
	"github.com/hostnode/hostnode/events/storetest"
)

func TestMetadataThatWouldStopAServersProjectionsIsNotSentToIt(t *testing.T) {
	s := open(t, esdb.Config{URL: plain(serveStore(t, storetest.NewMemory()))})
	defer s.Close()
	for text, refused := range map[string]bool{
		`{`: true, `{"a":1`: true, ` {"a":`: true, `{"$correlationId":{}}`: true, `{"$correlationId":["x"]}`: true,
		`[`: false, `[]`: false, `"x`: false, `null`: false, "no JSON": false, `{"$correlationId":7}`: false, `{"a":{}}`: false,
	} {
		for _, binary := range []bool{false, true} {
			e := events.NewEvent{
				ID: events.NewEventID("hazard", text, 0), Type: "x", Data: []byte("{}"), Binary: binary, Foreign: []byte(text),
			}
			_, err := s.Append(t.Context(), "a-1", events.Any(), []events.NewEvent{e})
			if errors.Is(err, events.ErrMalformed) != (refused && !binary) || !refused && err != nil {
				t.Errorf("metadata %s, binary %t: %v", text, binary, err)
			}
		}
	}
}
