package wire

import (
	"fmt"
	"time"

	"github.com/hostnode/hostnode/events"
)

// Limits bound what clients can cost. A zero field means its default; a
// negative one is refused.
type Limits struct {
	// Connections is how many may be open; further ones are closed at once.
	Connections int
	// StreamsPerConnection is how many calls of one connection may run at a
	// time, so that no client takes all; further ones wait in the client.
	StreamsPerConnection int
	// SubscriptionBytes is how much of the store a read or subscription keeps in
	// memory while its client takes it; a single event may be larger.
	SubscriptionBytes int
	// SubscriptionEvents is the same as a number of events.
	SubscriptionEvents int
	// StalledFor is how long a client may leave an event untaken before its read
	// or subscription is ended. Otherwise it would hold memory for ever.
	StalledFor time.Duration
	// BatchesPerStream is how many appends of one BatchAppend stream may be
	// unfinished or in progress. Further ones are refused.
	BatchesPerStream int
	// BatchBytes is how much memory the unfinished appends of one BatchAppend
	// stream may hold together: each event counts twice, as in PendingBytes.
	BatchBytes int
	// PendingBytes is how much memory the appends of all clients may hold together, from their
	// arrival until they are written. Each event counts twice: for the bytes that it is decoded
	// from, and then for those that the store encodes. When all is taken, a call waits for
	// BusyTime and is then refused.
	PendingBytes int64
	// AnswerBytes is the same for the answers to all readers and subscribers.
	AnswerBytes int64
	// BusyTime is how long a call waits for memory that others hold. While one
	// waits, a call whose client takes or sends nothing for half of that time,
	// at least a millisecond, is ended.
	BusyTime time.Duration
	// Calls is how many may run over all connections: each can make the server
	// hold windowBytes. Further ones are refused.
	Calls int
	// AppendBytes is the most bytes of the events of one append: at most events.MaxAppendBytes, and at
	// least events.PreferredAppendBytes if hosts append here.
	AppendBytes int
	// AppendTime is how long an append may take if its client sets no deadline,
	// or a later one.
	AppendTime time.Duration
	// ReceiveBytes is the largest message that is accepted: an event and what is around it.
	ReceiveBytes int
	// PingEvery is how often a client may ping, even without a running call.
	// The official clients do every 10 s; a client that is much faster is
	// disconnected.
	PingEvery time.Duration
	// IdlePing is how long a connection may be silent before the server asks
	// whether the client is still there.
	IdlePing time.Duration
	// HandshakeTime is how long a new connection may take for TLS and its preface.
	HandshakeTime time.Duration
	// LoginsAtOnce is how many passwords are checked at the same time: each
	// check takes a core some 50 ms, on purpose.
	LoginsAtOnce int
	// FailedLogins is how many wrong passwords a connection may try before it is
	// closed.
	FailedLogins int
	// CloseTime is how long Close waits for calls to end before it cuts them off.
	CloseTime time.Duration
}

// MinMemory is the least sensible value of PendingBytes and AnswerBytes: two
// events of the largest size, each counted twice.
const MinMemory = 4 * events.MaxEventBytes

// WithMemory returns the limits with this much memory for messages, half of it
// for incoming and half for outgoing ones.
func (l Limits) WithMemory(bytes int64) Limits {
	l.PendingBytes, l.AnswerBytes = bytes/2, bytes/2
	return l
}

// withDefaults fills in what suits a machine that has other work, too. An idle client costs
// next to nothing. The messages of all clients together hold at most PendingBytes
// and AnswerBytes, even those of malicious clients, and the buffers around them
// Calls times windowBytes in each direction; the garbage collector can double
// that.
func (l Limits) withDefaults() (Limits, error) {
	var err error
	count(&l.Connections, 2048, "connections", &err)
	count(&l.StreamsPerConnection, 1000, "streams per connection", &err)
	count(&l.SubscriptionBytes, 1<<20, "bytes per subscription", &err)
	count(&l.SubscriptionEvents, 512, "events per subscription", &err)
	count(&l.StalledFor, 10*time.Minute, "time of a stalled client", &err)
	count(&l.BatchesPerStream, 1024, "batches per stream", &err)
	count(&l.BatchBytes, 128<<20, "bytes of unfinished batches", &err)
	count(&l.PendingBytes, 512<<20, "bytes of unfinished appends", &err)
	count(&l.AnswerBytes, 512<<20, "bytes of answers", &err)
	count(&l.BusyTime, 30*time.Second, "time to wait for memory", &err)
	count(&l.Calls, 4096, "calls", &err)
	count(&l.AppendBytes, events.MaxAppendBytes, "bytes of an append", &err)
	count(&l.AppendTime, time.Minute, "time of an append", &err)
	count(&l.ReceiveBytes, 17<<20, "bytes of a message", &err)
	count(&l.PingEvery, 5*time.Second, "time between pings", &err)
	count(&l.IdlePing, time.Minute, "time of an idle connection", &err)
	count(&l.HandshakeTime, 20*time.Second, "time of a handshake", &err)
	count(&l.LoginsAtOnce, 4, "logins at once", &err)
	count(&l.FailedLogins, 10, "failed logins", &err)
	count(&l.CloseTime, 5*time.Second, "time to close", &err)
	return l, err
}

func count[T int | int64 | time.Duration](n *T, def T, name string, err *error) {
	switch {
	case *n == 0:
		*n = def
	case *n < 0 && *err == nil:
		*err = fmt.Errorf("limits: %s: %v is less than nothing", name, *n)
	}
}
