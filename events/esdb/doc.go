// Package esdb is the events.Store port over an EventStoreDB server or cluster,
// by its official Go client. Start with store.go (opening, and the goroutine
// that keeps the connection) and session.go (one connection and what is dangerous
// about it).
//
//	config.go    settings, the connection string and what is wrong with it
//	node.go      which node of a cluster, and whether it answers
//	session.go      a connection: the client, an own gRPC connection, who uses them
//	store.go     one link after the other; whether the server answers
//	pause.go     how long is waited before another try
//	append.go    Append, Delete, and when an attempt may be repeated
//	batch.go     many appends on one stream of the protocol
//	feed.go      what pumps events out of the client
//	read.go      reads, which go on where they were when the server comes back
//	subscribe.go subscriptions, the same for ever
//	errors.go    the server's errors as those of the port; hints.go for people
//	logger.go    the client's log lines
//
// The client serves reads, subscriptions and single appends. What it cannot do
// goes over the own connection, with the client's generated stubs: BatchAppend,
// the check of an append without events, and deletions, whose actual revision
// the client drops. Both connections go to the same node, with the same TLS
// configuration and credentials.
//
// # Around the client
//
// The client looks for a node on a goroutine of its own, and whoever waits for
// that ignores its context; when the search fails, those who wait hang for ever
// (spec/eventstore.md §2). So here the client never searches: a link begins with a
// node that has just answered, and is given up at the first sign that its
// connection is lost, before the client can begin a search (session.enter). Every
// call runs on a goroutine that its caller can abandon; their number is bounded
// (Config.MaxCalls). A client is closed when nobody uses it any more, because
// closing it under a call panics.
//
// Two things cannot be avoided. When a server sends an event whose time of
// creation is no decimal number, the client ends the process (log.Fatalf in its
// createdFromProto). And a log written by a TCP client with transactions of
// many appends has several events at one commit position, while
// events.Position has no room for more than that: whoever goes on after such a
// position misses the rest of the transaction. No gRPC client writes those.
package esdb
