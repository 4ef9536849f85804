// Package sectorstest is the suite of the store of sectors' files, and a fake in memory. What the
// suite says holds for both, so that a test with the fake tests what happens on a disk.
package sectorstest
