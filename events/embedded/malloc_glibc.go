//go:build linux && cgo

package embedded

/*
#include <malloc.h>

static void map_from(int bytes) {
#ifdef __GLIBC__
	mallopt(M_MMAP_THRESHOLD, bytes);
#endif
}
*/
import "C"

import "sync"

// mapBlocks has the C library map blocks of a megabyte and more one by one, and
// unmap them when pebble lets go of them. Left alone it raises that size to the
// largest block that it has seen, and then keeps hundreds of megabytes of
// those that large events were read into.
var mapBlocks = sync.OnceFunc(func() { C.map_from(1 << 20) })
