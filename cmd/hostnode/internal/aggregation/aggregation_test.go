package aggregation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	view "github.com/hostnode/hostnode/projections/aggregation"
	"github.com/hostnode/hostnode/projections/machine"
)

// reading answers from the recorded history of a host that makes aggregates, or from none.
func reading(t *testing.T, history bool) reader {
	t.Helper()
	views := map[string]machine.View{}
	for _, m := range view.Machines() {
		views[m.Category] = m.View()
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "testdata", "history", "v1", "aggregation.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var r struct {
			Stream, Type string
			Data         json.RawMessage
		}
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		e := events.Recorded{Stream: r.Stream, Type: r.Type, Data: r.Data, Meta: events.Metadata{Version: 1}}
		m, err := catalog.Codec().Decode(e)
		if err != nil {
			t.Fatal(err)
		}
		if v := views[events.Category(r.Stream)]; v != nil && history && !v.Fold(e, m) {
			t.Fatalf("%s is passed over", r.Type)
		}
	}
	return reader{api.Reading{Rows: func(category string) any {
		if history {
			return views[category].Rows()
		}
		return nil
	}}}
}

func TestWhatWaitsIsShown(t *testing.T) {
	q, err := reading(t, true).queue(t.Context(), api.Then{})
	if err != nil {
		t.Fatal(err)
	}
	p := &cli.Printer{}
	if err := printQueue(p, q); err != nil {
		t.Fatal(err)
	}
	want := []string{"4 CARs are to be read", "4 pieces wait for an aggregate", "1 aggregate waits for a deal", "tried alone"}
	for _, line := range want {
		if !strings.Contains(p.Text(), line) {
			t.Errorf("%q is missing in\n%s", line, p.Text())
		}
	}
}

func TestDealsAreShownByStatus(t *testing.T) {
	d, err := reading(t, true).deals(t.Context(), api.Then{})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(len(d.Pending), len(d.Approved), len(d.Rejected)); got != "1 1 4" {
		t.Errorf("%s deals are pending, approved, rejected", got)
	}
	p := &cli.Printer{}
	if err := printDeals(p, d); err != nil || strings.Count(p.Text(), "REJECTED") != 4 {
		t.Errorf("%v:\n%s", err, p.Text())
	}
}

func TestAHostWithoutARecordHasNoQueueAndNoDeals(t *testing.T) {
	r := reading(t, false)
	q, _ := r.queue(t.Context(), api.Then{})
	d, _ := r.deals(t.Context(), api.Then{})
	for _, answer := range []any{q, d} {
		text, err := json.Marshal(answer)
		if err != nil || strings.Contains(strings.Replace(string(text), `"asOf":null`, "", 1), "null") {
			t.Errorf("%v: %s", err, text)
		}
	}
	p := &cli.Printer{}
	if err := printDeals(p, d); err != nil || !strings.Contains(p.Text(), "no aggregate was offered") {
		t.Errorf("%v:\n%s", err, p.Text())
	}
}
