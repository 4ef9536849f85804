// Package esdb is an events.Store on an EventStoreDB server or cluster, through
// its official Go client. Start with store.go (opening, and the goroutine that
// keeps a session) and session.go (the connection to one node, and its dangers).
//
//	config.go    settings, the connection string and what is wrong with it
//	node.go      finding the node of a cluster to use, and asking whether it answers
//	session.go   the connection to one node: the client, our own connection, their users
//	store.go     one session after the other; whether the server answers
//	pause.go     the pauses between two tries
//	append.go    Append, Delete, and when an attempt may be repeated
//	judge.go     what the answer to an append means
//	batch.go     many appends on one stream of the protocol
//	feed.go      the goroutine that takes events out of the client
//	read.go      reads, which go on from the same event after an outage
//	subscribe.go subscriptions, which go on for ever
//	errors.go    the server's errors, translated to the port's; hints.go for people
//	logger.go    the client's log lines
//
// The client serves reads, subscriptions and single appends. What it cannot do
// goes over a gRPC connection of our own, with the client's generated stubs:
// BatchAppend, appends without events, which only check, and deletions, for which
// the client does not return the actual revision. Both connections go to the same
// node, with the same TLS configuration and credentials.
//
// # Around the client
//
// The client looks for a node on a goroutine of its own. Calls that wait for this
// ignore their contexts, and hang for ever when the search fails
// (spec/eventstore.md §2). So here the client never searches: a session begins
// with a node that has just answered, and is given up at the first sign that its
// connection is lost, before the client can begin a search (session.enter). Every
// call runs on a goroutine that its caller can abandon; their number is bounded
// (Config.MaxCalls). A client is closed only when nobody uses it any more, because
// closing it during a call panics.
//
// Two things cannot be avoided. When a server sends an event whose time of
// creation is not a decimal number, the client ends the process (log.Fatalf in its
// createdFromProto). And a TCP client can write transactions of many appends,
// whose events share one commit position. events.Position cannot tell them apart,
// so a read that goes on after such a position misses the rest of the transaction.
// gRPC clients do not write such transactions.
package esdb
