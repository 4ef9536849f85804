// Package porttest is the suite of each port of the host (package actors/port): it
// checks what the comments there promise, above all that a call may be made
// again after its answer was lost. The fakes of package sim and the real
// adapters run the same suites, so that a fake that lies is found out.
//
// An adapter calls the suite from an external test and gives it a world that it
// can move: blocks, other hosts, slots on disk.
package porttest
