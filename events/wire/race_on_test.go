//go:build race

package wire_test

// underRace: the race detector is on, and copying a byte costs ten times as much.
const underRace = true
