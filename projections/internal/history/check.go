package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/events"
)

// drawsEnough is how many draws rapid makes unless it is told otherwise. With fewer, which are those of -short and
// of -rapid.checks, a rare event may be missing by chance.
const drawsEnough = 100

// Check is rapid.Check of a property of a record, which returns the host that wrote it. If the property holds, it
// fails for each event of the tables that was in no record: about such an event nothing was checked.
func Check(t *testing.T, property func(*rapid.T) *Writer, tables ...[]events.Entry) {
	t.Helper()
	draws, had := 0, map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		w := property(t)
		draws++
		for name := range w.written {
			had[name]++
		}
	})
	var names []string
	for _, e := range slices.Concat(tables...) {
		names = append(names, e.Name)
		if draws >= drawsEnough && had[e.Name] == 0 {
			t.Errorf("no draw leads to %s: draw what does (projections/internal/history)", e.Name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(had[a], had[b]) })
	var rarest strings.Builder
	for _, name := range names[:min(len(names), 8)] {
		fmt.Fprintf(&rarest, " %s %d", name, had[name])
	}
	t.Logf("of %d draws, so many have the rarest events:%s", draws, rarest.String())
}
