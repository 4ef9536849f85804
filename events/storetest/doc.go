// Package storetest is the suite that every events.Store passes. Run holds any
// store to the rules of the port, RunDurable also closes and reopens it. A
// store's own tests call one of them and add what only that store can do:
// power cuts, damaged files, full disks.
//
// The last test compares the store with a model of a few lines under random
// operations (rapid): when it fails it prints the shortest sequence it found
// and the seed that repeats it.
package storetest
