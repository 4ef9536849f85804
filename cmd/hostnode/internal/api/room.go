package api

import (
	"fmt"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/projections"
)

// fitsDisk checks that the file system has room for everything that is on offer or
// reserved and not written yet, if an availability gets this size. Room excludes what
// must stay free. An availability that does not grow is not refused.
func fitsDisk(l projections.Ledger, id string, size, room events.Bytes) error {
	for _, a := range l.Availabilities {
		if a.ID == id {
			size -= min(size, a.TotalSize)
		}
	}
	if l.Quota > 0 && size > l.Unallocated {
		return nil // The ledger refuses it, by a number that the operator chose.
	}
	promised := l.Free + l.Reserved // Both are parts of the quota, so this does not overflow.
	if size == 0 || promised <= room && size <= room-promised {
		return nil
	}
	return fmt.Errorf("%w: the file system has room for %s, %s of that are on offer or reserved already, "+
		"and %s more would be",
		problem.ErrDiskSmall, room.Human(), promised.Human(), size.Human())
}
