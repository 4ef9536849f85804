package admission

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/events"
)

// This file is about the room that the file system really has, which is another thing than
// the quota. Without it nothing is taken, and nobody else is blamed for that; proofs, which
// need none, go on. It resumes by itself.

const (
	// roomStep is how much more room there must be before slots that did not fit are looked
	// at again, so that what comes and goes on every disk does not wake them.
	roomStep = 64 << 20
)

// DiskRoom is what is known of the disk. Safe for concurrent use.
type DiskRoom struct {
	mu sync.Mutex
	health.DiskStatus
	wokenAt events.Bytes // the room at which slots that did not fit were looked at last
}

// Now is what was found out last.
func (d *DiskRoom) Now() health.DiskStatus {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.DiskStatus
}

// Set notes whether the disk is full; wakes: there is more room for what did not fit.
func (d *DiskRoom) Set(now time.Time, free events.Bytes, err error) (wakes bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	was := d.Full
	switch {
	case errors.Is(err, events.ErrDiskFull):
		d.Full, d.Reason = true, err.Error()
	case err != nil:
		return false // It is not known.
	default:
		d.Known, d.Free, d.Full, d.Reason = true, free, free < d.Keep, ""
		if d.Full {
			d.Reason = fmt.Sprintf("the file system has %d bytes left, and %d stay free (storage.keepFree)",
				free, d.Keep)
		}
	}
	if d.Full && !was {
		d.Since = now
	}
	d.wokenAt = min(d.wokenAt, d.Free)
	if d.Full || !was && d.Free < d.wokenAt+roomStep {
		return false
	}
	d.wokenAt = d.Free
	return true
}

// Fits says whether so many bytes fit besides what others were promised; the reason is empty
// when they do, or when it is not known.
func (d *DiskRoom) Fits(bytes, promised events.Bytes) (reason string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.Full:
		return d.Reason
	case d.Known && d.Free-min(d.Free, d.Keep) < promised+bytes:
		return fmt.Sprintf("the slot needs %d bytes and downloads that run %d more; "+
			"the file system has %d left, and %d stay free",
			bytes, promised, d.Free, d.Keep)
	}
	return ""
}
