//go:build !race

package chain_test

// raced says that the race detector watches, which makes everything slower.
const raced = false
