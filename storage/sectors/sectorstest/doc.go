// Package sectorstest is the test suite for stores of sectors' files, and a fake in memory. The
// fake passes the suite, too, so that a test with it shows what happens on a disk.
package sectorstest
