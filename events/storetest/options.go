package storetest

import (
	"testing"

	"github.com/hostnode/hostnode/events"
)

// Options say what a store behind a network cannot promise. The zero value is
// for a server of the test's own that is empty at each open and has positions
// 1, 2, 3.
type Options struct {
	// Shared: the server is not the test's own. It holds other events, others
	// may write to it meanwhile, and its positions are not dense. Each test then
	// has stream names, event types and conversations of its own, and looks at
	// nothing else; positions are checked for order and for agreement between
	// answers, the log and the streams.
	Shared bool
	// NoVirtual: there are no virtual streams.
	NoVirtual bool
	// Late: what the server writes by itself follows after a while, as in an
	// EventStoreDB: the links of virtual streams, which its system projections
	// make, and the metadata that makes a deleted stream readable again.
	Late bool
	// DeleteForgets: deleting a stream softly removes the rest of its metadata,
	// as EventStoreDB does.
	DeleteForgets bool
	// AppendBytes is the most bytes of an append that the server accepts, if
	// less than events.MaxAppendBytes; 0: it is not.
	AppendBytes int
}

// RunRemote is Run for a store behind a network, which cannot tell a repeated
// append from a first one (AppendResult.Repeated).
func RunRemote(t *testing.T, open func(t *testing.T) events.Store, o Options) {
	run(t, bench{start: open, remote: true, Options: o})
}
