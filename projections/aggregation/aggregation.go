// Package aggregation shows and audits the pipeline from CARs to deals: three rows in projections/catalog, for the CARs
// (content.go), the ledger of pieces (cargo.go) and the deals about aggregates (deal.go). The six views of the pipeline
// are in them:
//
//	content_queue    Contents.Queue
//	cargo            Cargo.Queue
//	aggregate_queue  AggregateQueue, of Cargo and the deals
//	deal_pending     ByStatus, of the deals; likewise deal_approved and deal_rejected
//
// There may be a million CARs and pieces, so lists end somewhere and counts say how many there are. judges.go has what
// must be so within a stream, and between them.
package aggregation

import (
	"cmp"
	"slices"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/cargo"
	"github.com/hostnode/hostnode/projections/machine"
)

// Machines are the rows.
func Machines() []machine.Machine {
	return []machine.Machine{
		{
			Category: events.CategoryContent, View: machine.ViewOf((*contents).fold, (*contents).rows),
			Judge: machine.JudgeOf((*judgedContent).judge), Rules: contentRules(),
		},
		{
			Category: events.CategoryCargo, View: newCargoView, Judge: machine.JudgeOf((*judgedCargo).judge),
			Rules: cargoRules(), Join: join,
		},
		{
			Category: events.CategoryDeal, View: machine.ViewOf((*deals).fold, (*deals).rows),
			Judge: machine.JudgeOf((*judgedDeal).judge), Rules: dealRules(),
		},
	}
}

// most is how long a list is.
const most = 1000

// AggregateQueue are the aggregates that were made and have no deal, the oldest first.
func AggregateQueue(c Cargo, deals []Deal) []Ferry {
	offered := map[string]bool{}
	for _, d := range deals {
		offered[d.Aggregate] = true
	}
	waiting := []Ferry{}
	for _, f := range c.Ferries {
		if f.State == cargo.Made && !offered[f.Aggregate] {
			waiting = append(waiting, f)
		}
	}
	slices.SortStableFunc(waiting, func(a, b Ferry) int { return a.Made.Compare(b.Made) })
	return waiting
}

// ByStatus are the deals of some statuses, in the order in which they were offered; those that are final, in the order
// in which they became so.
func ByStatus(all []Deal, statuses ...events.DealStatus) []Deal {
	some := slices.DeleteFunc(append([]Deal{}, all...), func(d Deal) bool {
		return !slices.Contains(statuses, d.Status)
	})
	slices.SortStableFunc(some, func(a, b Deal) int {
		return cmp.Or(a.Processed.Compare(b.Processed), a.Inserted.Compare(b.Inserted))
	})
	return some
}
