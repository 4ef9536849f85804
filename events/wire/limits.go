package wire

import (
	"cmp"
	"time"

	"github.com/hostnode/hostnode/events"
)

// Limits bound what clients can cost. A zero field means its default.
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
func (l Limits) withDefaults() Limits {
	l.Connections = cmp.Or(l.Connections, 2048)
	l.StreamsPerConnection = cmp.Or(l.StreamsPerConnection, 1000)
	l.SubscriptionBytes = cmp.Or(l.SubscriptionBytes, 1<<20)
	l.SubscriptionEvents = cmp.Or(l.SubscriptionEvents, 512)
	l.StalledFor = cmp.Or(l.StalledFor, 10*time.Minute)
	l.BatchesPerStream = cmp.Or(l.BatchesPerStream, 1024)
	l.BatchBytes = cmp.Or(l.BatchBytes, 128<<20)
	l.PendingBytes = cmp.Or(l.PendingBytes, 512<<20)
	l.AnswerBytes = cmp.Or(l.AnswerBytes, 512<<20)
	l.BusyTime = cmp.Or(l.BusyTime, 30*time.Second)
	l.Calls = cmp.Or(l.Calls, 4096)
	l.AppendBytes = cmp.Or(l.AppendBytes, events.MaxAppendBytes)
	l.AppendTime = cmp.Or(l.AppendTime, time.Minute)
	l.ReceiveBytes = cmp.Or(l.ReceiveBytes, 17<<20)
	l.PingEvery = cmp.Or(l.PingEvery, 5*time.Second)
	l.IdlePing = cmp.Or(l.IdlePing, time.Minute)
	l.HandshakeTime = cmp.Or(l.HandshakeTime, 20*time.Second)
	l.LoginsAtOnce = cmp.Or(l.LoginsAtOnce, 4)
	l.FailedLogins = cmp.Or(l.FailedLogins, 10)
	l.CloseTime = cmp.Or(l.CloseTime, 5*time.Second)
	return l
}
