// Package feed follows the logs of a contract, block by block.
//
// Follower delivers them in order, across reorganisations and lost connections, each exactly once
// for every block that holds it; blocks that are gone are announced before those that replace them.
// Heads can be followed alone. Old blocks are read in ranges (scan.go), the newest ones by hash. A table
// of readers, one for each topic, says what the logs mean. Finality says which blocks count as
// permanent, and Search looks for old logs, newest first.
//
// The package knows no contract, sends nothing and stores nothing: the consumer keeps the cursor.
package feed
