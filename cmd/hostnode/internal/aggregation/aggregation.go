// Package aggregation is what a host is asked and told about the pipeline from CARs to deals: the questions of the API,
// and the commands that use them. It is a row in cmd/hostnode/internal/machines, for three machines of the record. What
// happens to CARs, pieces and deals is told in events/content, events/cargo and events/deal; here are no rules.
package aggregation

import (
	"context"
	"slices"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/events"
	view "github.com/hostnode/hostnode/projections/aggregation"
)

// API is what the machines answer.
func API() api.Machine {
	return api.Machine{
		Calls: []api.Route{
			ShowQueue, ListDeals, PostContent, PostPiece, RetryContent, ReportAggregate, ShowPiece, ListFerries,
			ShowAggregate, ShowProof,
		},
		Reads: func(r api.Reading) any { return reader{r} },
	}
}

// The calls.
var (
	ShowQueue = api.Question("aggregation/queue", "What waits", reader.queue)
	ListDeals = api.Question("aggregation/deals", "The deals about aggregates", reader.deals)
)

// reader answers questions from the record.
type reader struct{ api.Reading }

// only is the single row of a view; its zero value, if nothing is recorded.
func only[R any](r reader, category string) (row R) {
	if rows := api.RowsOf[R](r.Reading, category); len(rows) > 0 {
		row = rows[0]
	}
	return row
}

func (r reader) all() []view.Deal { return api.RowsOf[view.Deal](r.Reading, events.CategoryDeal) }

// Queue is what waits. Lists end after 1,000; the counts do not.
type Queue struct {
	AsOf api.AsOf `json:"asOf"`
	// Contents are CARs to be read, Pieces wait for an aggregate, and Aggregates for a deal.
	Contents   Waiting[view.Content] `json:"contents"`
	Pieces     Waiting[view.Piece]   `json:"pieces"`
	Aggregates Waiting[view.Ferry]   `json:"aggregates"`
	// Refused are the newest CARs that were refused, the newest first; Count is how often one was.
	Refused Waiting[view.Content] `json:"refused"`
}

// Waiting is a queue, the first in it at first.
type Waiting[T any] struct {
	Count int `json:"count"`
	First []T `json:"first"`
}

func (r reader) queue(context.Context, api.Then) (Queue, error) {
	contents, cargo := only[view.Contents](r, events.CategoryContent), only[view.Cargo](r, events.CategoryCargo)
	aggregates := view.AggregateQueue(cargo, r.all())
	refused := append([]view.Content{}, contents.Latest...)
	slices.Reverse(refused)
	return Queue{
		AsOf:       r.AsOf,
		Contents:   Waiting[view.Content]{contents.Waiting, append([]view.Content{}, contents.Queue...)},
		Pieces:     Waiting[view.Piece]{cargo.Queued, append([]view.Piece{}, cargo.Queue...)},
		Aggregates: Waiting[view.Ferry]{len(aggregates), aggregates},
		Refused:    Waiting[view.Content]{int(contents.Refused), refused}, //nolint:gosec // A count.
	}, nil
}

// Deals are those about the aggregates of the host.
type Deals struct {
	AsOf api.AsOf `json:"asOf"`
	// Pending are PENDING or SIGNED, in the order in which they were offered; Approved and Rejected are in the order in
	// which they became so.
	Pending  []view.Deal `json:"pending"`
	Approved []view.Deal `json:"approved"`
	Rejected []view.Deal `json:"rejected"`
}

func (r reader) deals(context.Context, api.Then) (Deals, error) {
	all := r.all()
	return Deals{
		AsOf: r.AsOf, Pending: view.ByStatus(all, events.DealPending, events.DealSigned),
		Approved: view.ByStatus(all, events.DealApproved), Rejected: view.ByStatus(all, events.DealRejected),
	}, nil
}
