package projections

import (
	"errors"
	"strings"
	"testing"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
)

// All pages of a sector together are its stream, each event with the state it led to.
func TestATimelineOfASectorComesInPages(t *testing.T) {
	store := storetest.NewMemory()
	w := someSectors(t, store)
	var moments []SectorMoment
	page := Page{Most: 7}
	for {
		line, err := ReadSectorTimeline(ctx, store, me, 1, page, nil)
		if err != nil {
			t.Fatal(err)
		}
		moments = append(moments, line.Moments...)
		if page.From = line.Next; page.From == 0 {
			break
		}
	}
	for i, m := range moments {
		if m.Revision != uint64(i) || m.Type == "" || m.Cause == "" || m.At.IsZero() {
			t.Errorf("moment %d: %+v", i, m)
		}
	}
	last := moments[len(moments)-1]
	if last.Type != "SectorSettled" || last.State != string(w.Sectors[1].State) || last.Sentence != "returned 4000, lost 1000" {
		t.Errorf("the last one is %+v", last)
	}
	first := moments[0]
	if !strings.Contains(first.Sentence, "pieces baga6ea4seaqa1 (1024)") || first.State != "Packing" ||
		!strings.Contains(first.Sentence, "provider 0xaa00000000000000…") {
		t.Errorf("the first one is %+v", first)
	}
	if _, err := ReadSectorTimeline(ctx, store, me, 9, page, nil); !errors.Is(err, events.ErrStreamNotFound) {
		t.Errorf("an unknown sector: %v", err)
	}
}
