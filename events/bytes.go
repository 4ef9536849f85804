package events

import (
	"math"
	"strconv"
	"strings"
)

// Human prints the size in three digits with a binary unit, for tables that people read.
func (b Bytes) Human() string {
	if b < 1024 {
		return strconv.FormatUint(uint64(b), 10) + " B"
	}
	size, name := 1024.0, "KiB"
	for _, next := range []string{"MiB", "GiB", "TiB", "PiB", "EiB"} {
		// A size that would print as 1,000 or more goes to the next unit.
		if float64(b)/size < 999.5 {
			break
		}
		size, name = size*1024, next
	}
	value := float64(b) / size
	decimals := max(0, 2-int(math.Floor(math.Log10(max(value, 1)))))
	text := strconv.FormatFloat(value, 'f', decimals, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text + " " + name
}
