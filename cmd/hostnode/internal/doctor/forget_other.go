//go:build !linux

package doctor

import "os"

// forget does nothing here: what was just written may be read from memory.
func forget(*os.File) {}
