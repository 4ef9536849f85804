// Package storetest is the test suite that every events.Store passes. Run checks
// the rules of the port, RunDurable also closes and reopens the store, RunAged
// sets its clock. A store's own tests call these and add what only that store
// can do: power cuts, damaged files, full disks.
//
// RunRemote is for stores behind a network, even a server that others use at the
// same time (Options.Shared): own.go then gives each test a view of its own,
// with names that nobody else has, and replaces positions by the number of the
// event within the test's part of the log. So one suite serves all stores, and
// the positions of a server that has gaps between them are checked as well.
//
// The last test compares the store with a model (rapid) under random
// operations: when it fails it prints the shortest sequence it found and the
// seed that repeats it.
//
// Memory is the store in memory, for tests and simulations.
package storetest
