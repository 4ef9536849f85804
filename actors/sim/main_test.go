package sim

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain lets garbage collection wait for longer: worlds live shortly, and memory is not scarce.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
