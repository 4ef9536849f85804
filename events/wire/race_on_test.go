//go:build race

package wire_test

// underRace says that the race detector watches, and each byte that is copied
// costs ten times as much.
const underRace = true
