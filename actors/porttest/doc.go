// Package porttest has a test suite for each port of the host (package actors/port). It checks
// what the comments there promise, above all that a call may be repeated after its answer was
// lost. The fakes of package sim and the real adapters run the same suites, so that a fake
// cannot differ from the real thing unnoticed.
//
// An adapter calls the suite from an external test, and gives it a world in which it can act:
// seal blocks, move other hosts, put slots on disk.
package porttest
