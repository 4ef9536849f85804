// Package standin is a simulated EventStoreDB cluster for tests: its nodes answer as
// real ones did when something was wrong with them. Behind them is one server of
// events/wire, which holds what is committed.
//
// A node leads, follows, or accepts nothing. A leader can be cut off from the
// others: then it keeps appends in its log, acknowledges none, and judges later ones
// by that log; in the end this tail is committed or truncated. A follower can stand
// still, and then serves an old log to calls that do not demand the leader. Answers
// can be lost, before or after the append was done.
//
//	cluster.go  the nodes, and what a test does to them
//	node.go     what a node answers to reads and questions about the cluster
//	append.go   what it answers to appends
//
// It has no elections of its own and stores nothing; only its answers are those of a
// real cluster. For a leader that dies use Kill and Lead.
package standin
