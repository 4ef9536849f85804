package wire

import "sync/atomic"

// counters say what the server does and did, for the limit of calls and for tests.
type counters struct {
	calls         atomic.Int64 // From before grpc reads them until their clients have gone.
	streams       atomic.Int64 // Those that are being handled.
	eventsSent    atomic.Uint64
	refusedLogins atomic.Uint64
	refusedCalls  atomic.Uint64
	stalled       atomic.Uint64
}
