// Package demo is the demonstration: a complete sale in which every part is
// real, with two processes of the same binary in one data directory. The parent
// runs the development chain, the client with its data, and the display; the
// child is a host as `hostnode run` starts it. Midway the child is killed and
// started again. The summary at the end is read from the event store and the
// chain, not from the parent's memory.
//
// The parent controls chain time (pace.go): it stands still while the host
// makes a proof, downloads or is down, and runs otherwise. So a slow machine
// takes longer, but misses no proof.
package demo
