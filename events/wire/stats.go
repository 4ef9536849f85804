package wire

import "sync/atomic"

type counters struct {
	streams       atomic.Int64
	subscriptions atomic.Int64
	appends       atomic.Uint64
	eventsWritten atomic.Uint64
	eventsSent    atomic.Uint64
	refusedLogins atomic.Uint64
	refusedCalls  atomic.Uint64
	calls         atomic.Int64
	stalled       atomic.Uint64
}

// Stats counts what a server did and does.
type Stats struct {
	// Connections are open, Streams are running calls, Subscriptions those of
	// them that follow a stream or the log.
	Connections, Streams, Subscriptions int64
	// PendingBytes are held for appends that are not finished.
	PendingBytes int64
	// AnswerBytes is the memory of answers that their clients have not taken yet.
	AnswerBytes int64
	// MostPendingBytes and MostAnswerBytes are the highest values so far.
	MostPendingBytes, MostAnswerBytes int64
	// Appends were written, with EventsWritten events. Those that were refused
	// do not count.
	Appends, EventsWritten uint64
	// EventsSent went out to readers and subscribers.
	EventsSent uint64
	// RefusedCalls were over the limit of calls.
	RefusedCalls uint64
	// RefusedConnections were over the limit, RefusedLogins had no valid
	// credentials, Stalled calls were ended because their client read nothing.
	RefusedConnections, RefusedLogins, Stalled uint64
}

// Stats returns what the server has done since it was made, and what it is doing.
func (s *Server) Stats() Stats {
	return Stats{
		Connections: s.conns.open.Load(), Streams: s.stats.streams.Load(),
		Subscriptions: s.stats.subscriptions.Load(), PendingBytes: s.arriving.held(), AnswerBytes: s.leaving.held(),
		MostPendingBytes: s.arriving.most(), MostAnswerBytes: s.leaving.most(),
		Appends: s.stats.appends.Load(), EventsWritten: s.stats.eventsWritten.Load(),
		EventsSent: s.stats.eventsSent.Load(), RefusedConnections: s.conns.refused.Load(),
		RefusedLogins: s.stats.refusedLogins.Load(), RefusedCalls: s.stats.refusedCalls.Load(),
		Stalled: s.stats.stalled.Load(),
	}
}
