// Package demo has the demonstrations, in which every part is real and is a process of the same binary: a complete sale
// (sale.go), a host of several members (members.go), sectors from their first piece on (sectors.go), hosts that are
// watched and judged (downtime.go), and CARs that become aggregates (aggregation.go).
//
// engine.go has what they share. A demonstration is a list of steps, one after the other (run). The parent runs the
// development chain, the client that has the data, and the display; its children are hosts as `hostnode run` starts
// them. While a step waits for something (until), the logs of the hosts are received, and hosts and chain must live.
// Midway a host is killed and started again. The summary at the end is read from the event store and the chain, not
// from the parent's memory, and the record is audited.
//
// The parent controls chain time (pace.go): it stands still while the host makes a proof, downloads, seals or is down,
// and runs otherwise. So a slow machine takes longer, but misses no proof. Now and then a block comes all the same, a
// second of chain time, so that the host does not take the chain for silent.
package demo
