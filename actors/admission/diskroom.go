package admission

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/events"
)

// This file keeps track of the room that the file system really has, which may be less than the
// quota. Without room no slot is taken, and no client is blamed for it. Proofs need no room and
// go on. Selling resumes by itself.

const (
	// roomStep is how much more room there must be before slots that did not fit are judged
	// again, so that the usual ups and downs of a disk do not wake them.
	roomStep = 64 << 20
)

// DiskRoom is what is known of the room on the disk. Safe for concurrent use.
type DiskRoom struct {
	mu sync.Mutex
	health.DiskStatus
	wokenAt events.Bytes // the room when slots that did not fit were last woken
}

// Now is the last measurement.
func (d *DiskRoom) Now() health.DiskStatus {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.DiskStatus
}

// Set notes a measurement, and whether the disk is full; wakes: there is more room for slots
// that did not fit.
func (d *DiskRoom) Set(now time.Time, free events.Bytes, err error) (wakes bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	was, wasAway := d.Full, d.Away
	switch {
	case errors.Is(err, events.ErrDiskFull), errors.Is(err, events.ErrDiskAway):
		d.Full, d.Reason, d.Away = true, err.Error(), errors.Is(err, events.ErrDiskAway)
	case err != nil:
		return false // Not known.
	default:
		d.Known, d.Free, d.Full, d.Reason = true, free, free < d.Keep, ""
		d.Away = false
		if d.Full {
			d.Reason = fmt.Sprintf("the file system has %d bytes left, and %d must stay free (storage.keepFree)",
				free, d.Keep)
		}
	}
	if d.Full && !was || d.Away != wasAway {
		d.Since = now
	}
	d.wokenAt = min(d.wokenAt, d.Free)
	if d.Full || !was && d.Free < d.wokenAt+roomStep {
		return false
	}
	d.wokenAt = d.Free
	return true
}

// SetSectors notes why the disk with the sectors is away; empty: it is not.
func (d *DiskRoom) SetSectors(why string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.SectorsAway = why
}

// Fits says why so many bytes do not fit in addition to what is promised to others; the
// reason is empty when they do, or when that is not known.
func (d *DiskRoom) Fits(bytes, promised events.Bytes) (reason string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.Full:
		return d.Reason
	case d.Known && d.Free-min(d.Free, d.Keep) < promised+bytes:
		return fmt.Sprintf("the slot needs %d bytes and running downloads %d more; "+
			"the file system has %d left, and %d must stay free",
			bytes, promised, d.Free, d.Keep)
	}
	return ""
}
