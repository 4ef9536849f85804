// Package demo is the demonstration: a whole sale, real in every part, with
// two processes of the same binary in one data directory. The parent runs the
// development chain, the client with its data, and the display; the child is
// a host as `hostnode run` starts it. Midway the child is killed and started
// again. What is told at the end is read from the event store and the chain,
// not from what the parent remembers.
//
// Chain time is under the parent's control (pace.go): it stands still while
// the host works on a proof or a download, or is down, and runs otherwise. So
// a slow machine takes longer and misses nothing.
package demo
