package projections

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/snapshot"
	"github.com/hostnode/hostnode/projections/internal/saved"
)

const (
	// checkpointFile is the name of the checkpoint in the caller's directory. The file
	// was once plain JSON; it keeps its name, so that an older one is replaced.
	checkpointFile = "views.json"
	// checkpointSchema is the version of what State walks through. A file of another version is
	// ignored and the views are built again, so no upgrade is needed. Every change of
	// a view or of a core's state needs a new version; where the types show the
	// change, a test demands it (testdata/shape.golden).
	checkpointSchema = 27
	// maxCheckpointBytes is the largest file that is read: with a larger one it
	// is better to build the views again.
	maxCheckpointBytes = 2 << 30
)

// Schema names all that a checkpoint depends on beside the events.
func (s Scope) Schema() string {
	return fmt.Sprintf("hostnode-views/%d %s %+v", checkpointSchema, saved.Forms, s)
}

// State writes everything that the views hold, or reads it into new views of the same scope.
func (v *Views) State(c *snapshot.Coder) {
	hosts := slices.Sorted(maps.Keys(v.hosts))
	c.Parts(&v.asOf, &v.recorded, &v.anchor, &v.anchored, &v.problems, &v.skipped, &hosts)
	for _, address := range hosts {
		h := v.host(address)
		if c.Parts(h.parts()...); c.Reading() {
			c.Refuse(h.complete())
		}
	}
}

// parts are what a checkpoint holds of a host.
func (h *host) parts() []any {
	all := []any{
		&h.ledgers, &h.sales, &h.sectors, &h.queue, &h.txs, &h.starts, &h.earnings, &h.incomes, &h.periods,
		&h.tally, &h.validator,
	}
	for _, category := range slices.Sorted(maps.Keys(h.own)) {
		all = append(all, h.own[category].State())
	}
	return all
}

// errForm: views cannot have this state.
var errForm = errors.New("not the form of the views")

// complete looks at what was read. The checksum has been verified; the state is
// checked all the same, because an impossible one is worse than none.
func (h *host) complete() error {
	for _, row := range h.sales.Closed {
		if row.Damaged != nil { // Saved, an empty list is none.
			row.Damaged.Blocks = append([]uint64{}, row.Damaged.Blocks...)
		}
	}
	for _, open := range h.sales.Open {
		if !slices.Contains(sale.Phases(), open.State.Phase) {
			return fmt.Errorf("%w: phase %d of a sale", errForm, open.State.Phase)
		}
		open.Owing.jumbled = !slices.IsSortedFunc(open.Owing.Closed, func(a, b owed) int {
			return cmp.Compare(a.Period, b.Period)
		})
	}
	for _, one := range h.sectors.All {
		if !one.State.State.Known() {
			return fmt.Errorf("%w: state %q of a sector", errForm, one.State.State)
		}
	}
	return nil
}
