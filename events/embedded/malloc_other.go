//go:build !linux || !cgo

package embedded

// mapBlocks is for glibc. Without C, pebble's blocks are the garbage collector's.
func mapBlocks() {}
