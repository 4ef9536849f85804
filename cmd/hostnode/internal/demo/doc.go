// Package demo has two demonstrations in which every part is real, with two
// processes of the same binary in one data directory: a complete sale
// (demo.go), and sectors from their first piece on (sectors.go; what happens in
// sectorplay.go). The parent runs the development chain, whoever has the data,
// and the display; the child is a host as `hostnode run` starts it. Midway the
// child is killed and started again. The summary at the end is read from the
// event store and the chain, not from the parent's memory.
//
// The parent controls chain time (pace.go): it stands still while the host
// makes a proof, downloads, seals or is down, and runs otherwise. So a slow
// machine takes longer, but misses no proof. Now and then a block comes all the
// same, a second of chain time, so that the host does not take the chain for
// silent.
package demo
