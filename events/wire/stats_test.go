package wire

// Stats is what a server did and does.
type Stats struct {
	// Connections are open, and Streams are running calls.
	Connections, Streams int64
	// PendingBytes are held for appends that are not finished.
	PendingBytes int64
	// AnswerBytes is the memory of answers that their clients have not taken yet.
	AnswerBytes int64
	// MostPendingBytes and MostAnswerBytes are the highest values so far.
	MostPendingBytes, MostAnswerBytes int64
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
	out := Stats{
		Connections: s.conns.open.Load(), Streams: s.stats.streams.Load(),
		EventsSent: s.stats.eventsSent.Load(), RefusedConnections: s.conns.refused.Load(),
		RefusedLogins: s.stats.refusedLogins.Load(), RefusedCalls: s.stats.refusedCalls.Load(),
		Stalled: s.stats.stalled.Load(),
	}
	out.PendingBytes, out.MostPendingBytes = s.arriving.taken()
	out.AnswerBytes, out.MostAnswerBytes = s.leaving.taken()
	return out
}

// taken is how much is taken now, and how much was ever taken at once.
func (b *budget) taken() (now, most int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used, b.peak
}
