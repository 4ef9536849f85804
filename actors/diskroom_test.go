package actors_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/slotqueue"
)

// Our full disk is nobody else's fault: the client is not avoided, nothing is taken until there
// is room, hosted slots are proven, and selling resumes by itself.
func TestAFullDiskIsBlamedOnNobodyAndSellingGoesOnWhenThereIsRoom(t *testing.T) {
	inWorld(t, func(r *rig) {
		s, heard := r.disturb(), r.listen()
		r.cfg.AvoidClient, r.cfg.GiveUpDownload = time.Hour, time.Minute
		r.hosting()
		proven := len(r.submitted())
		s.download = func(context.Context, events.DownloadJob) error {
			r.world.Fill(true)
			return fmt.Errorf("write block 3: %w", events.ErrDiskFull)
		}
		q := long(2, 1)
		r.world.Post(q)
		r.mineUntil("the slot is put back", r.releasedFor(q.ID, slotqueue.CriterionDisk))
		started := r.count("SaleStarted")
		r.mineUntil("a proof is taken meanwhile", func() bool { return len(r.submitted()) > proven })
		if d := r.status().Disk; !d.Full || d.Reason == "" || d.Since.IsZero() {
			r.Fatalf("the disk is %+v", d)
		}
		if n := len(heard.of(health.AlertDisk)); n != 1 {
			r.Fatalf("%d alerts of a full disk", n)
		}
		if r.count("SaleStarted") != started || r.count("ClientAvoided") != 0 || !r.released(q.ID).GetRequeue() {
			r.Fatalf("taken on a full disk, or the client pays for it: %v", r.names())
		}
		s.download = nil
		r.world.Fill(false)
		r.mineUntil("it is tried again", func() bool { return r.count("SlotFilled") == 2 })
		if r.status().Disk.Full {
			r.Fatal("the disk has room and is called full")
		}
	})
}
