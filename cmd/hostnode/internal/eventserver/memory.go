package eventserver

import "github.com/hostnode/hostnode/events/wire"

// What of the memory that serving may take is not for the messages of clients,
// measured with 40 clients that append and read events of 12 and 16 MB.
const (
	// beyondCollector is memory that the garbage collector does not see, besides
	// the store's cache: pebble's tables in memory, the blocks that it reads and
	// merges, and the program itself.
	beyondCollector = 256 << 20
	// besideMessages is all that the store takes: that, its cache, and what of large
	// events is on its way to tables. Of the rest, a quarter is room for garbage.
	besideMessages = 512 << 20
	// MinMemory is the least value of Options.Memory. With less, the largest events
	// would not fit.
	MinMemory = 768 << 20
)

// messages is how much of the memory that serving may take is for messages.
func messages(memory int64) int64 { return (memory - besideMessages) / 4 * 3 }

// CollectorLimit is the limit of the garbage collector in a process that does nothing
// but serve, with which the whole process takes no more than this memory. The
// store's cache has so many bytes.
func CollectorLimit(memory, cache int64) int64 {
	return max(memory-cache-beyondCollector, 2*wire.MinMemory)
}
