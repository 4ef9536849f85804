// Package standin plays a cluster of EventStoreDB for tests: nodes that answer as
// real ones were seen to when something is wrong with them, in front of one server
// of events/wire, which holds what is committed.
//
// A node leads, follows, or takes nothing. A leader can be cut off from the others:
// it keeps what it is sent in its log, acknowledges nothing, and judges what comes
// next by it; later that tail is committed or truncated. A follower can stand still,
// and then serves an old log to whoever does not ask for the leader. Answers can be
// lost, before or after the append was done.
//
//	cluster.go  the nodes, and what a test does to them
//	node.go     what a node answers to reads and questions about the cluster
//	append.go   what it answers to appends
//
// It is a fake: it has no elections of its own and keeps nothing on disk, and what
// it has in common with a real cluster is what it answers. For a leader that dies
// use Kill and Lead.
package standin
