// Package feed follows what a contract says, block after block.
//
// Follower delivers the logs of one contract in order, each once for every block that holds it, across
// reorganisations and lost connections: blocks that are gone are announced before those that
// replace them. Old blocks are read by ranges (scan.go), the newest ones by hash. What the logs mean
// is told by a table of readers, one for each topic. Finality says which blocks can be taken for
// permanent, and Search looks for old logs, newest first.
//
// It knows no contract and sends nothing. It stores nothing either: the consumer keeps the cursor.
package feed
