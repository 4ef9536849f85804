package api

import (
	"errors"
	"testing"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/projections"
)

func TestWhatTheDiskHasNoRoomForIsNotOffered(t *testing.T) {
	l := projections.Ledger{Quota: 1000, Unallocated: 900, Free: 10, Reserved: 5, Stored: 100, Availabilities: []projections.Availability{{ID: "a", TotalSize: 40}}}
	for _, test := range []struct {
		id         string
		size, room events.Bytes
		fits       bool
	}{
		{"b", 20, 35, true},
		{"b", 21, 35, false},
		{"a", 40, 0, true}, // It is on offer already.
		{"a", 30, 0, true}, // Less than before.
		{"a", 60, 34, false},
		{"a", 60, 35, true},
		{"b", 901, 35, true}, // The quota refuses it.
	} {
		err := fitsDisk(l, test.id, test.size, test.room)
		if (err == nil) != test.fits || err != nil && !errors.Is(err, problem.ErrDiskSmall) {
			t.Errorf("%d bytes of %s where there is room for %d: %v", test.size, test.id, test.room, err)
		}
	}
}
