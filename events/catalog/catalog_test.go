package catalog_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
)

func TestEveryExampleIsValidAndSurvivesTheRecord(t *testing.T) {
	codec := catalog.Codec()
	n := 0
	for e := range codec.Entries() {
		n++
		name, version, data, err := codec.Encode(e.Example)
		if err != nil {
			t.Errorf("encode the example: %v", err)
			continue
		}
		got, err := codec.Decode(events.Recorded{
			Type: name, Data: data, Meta: events.Metadata{Version: version},
		})
		if err != nil {
			t.Errorf("decode the example: %v", err)
			continue
		}
		if diff := cmp.Diff(e.Example, got, protocmp.Transform()); diff != "" {
			t.Errorf("%s changed on the way (-want +got):\n%s", name, diff)
		}
	}
	if n == 0 {
		t.Fatal("the catalog is empty")
	}
}
