package downtime

import (
	"context"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/downtime"
)

// This file says where audits come from. Each source has an adapter.

// Prober asks nodes over the network whether they are there (source probe). What nobody asked cannot be asked later.
type Prober interface {
	// Nodes are those that it can ask; they do not change.
	Nodes() []events.Node
	// Probe asks each of them once, and returns when all have answered or had time to. An error says that nobody could
	// be asked, because of a fault here; then there is no answer.
	Probe(ctx context.Context) (map[events.Node]Answer, error)
}

// Answer is what a probe found.
type Answer struct {
	// Online: it answered. Proven: with a signature of its account, so that it was this node.
	Online, Proven bool
}

// Market says what the market's contract shows of those who host its slots (sources proof and loss). It can be asked
// again, also after the host did not run.
type Market interface {
	// Settled is the time before which what it finds is not expected to change: periods are over and can be marked no
	// longer, and their blocks are final. Zero: it does not know yet.
	Settled(ctx context.Context) (time.Time, error)
	// Findings are the audits of times from one to before another, which must be before Settled. Asked again, it may
	// find otherwise only after a deep reorganisation.
	Findings(ctx context.Context, from, until time.Time) ([]Finding, error)
}

// Finding is an audit of a node.
type Finding struct {
	Node events.Node
	downtime.Audit
}
