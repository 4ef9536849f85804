// Package storetest is the suite that every events.Store passes. Run holds any
// store to the rules of the port, RunDurable also closes and reopens it, RunAged
// sets its clock. A store's own tests call these and add what only that store
// can do: power cuts, damaged files, full disks.
//
// RunRemote is for stores behind a network, also for a server that others use
// at the same time (Options.Shared): own.go then gives each test a view of its
// own, with names that nobody else has, and replaces positions by the number of
// the event in the test's part of the log. So one suite serves all, and what a
// server with gaps between its positions owes is checked on the way.
//
// The last test compares the store with a model (rapid) under random
// operations: when it fails it prints the shortest sequence it found and the
// seed that repeats it.
package storetest
