//go:build e2e

package demo

import (
	"context"
	"testing"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/requester"
)

// Members and their event store die, and the members are started first: those with the key prove what is on their
// disks, each beside the other one.
func TestMembersThatStartWithoutTheirEventStoreMissNothing(t *testing.T) {
	f := newFaultRig(t, program(t), beatOr(t, faultBeat), "north", "south")
	f.began = time.Now()
	req := f.client.request(f.period, 1)
	req.Expiry, req.Ask.Duration = 4*f.period, 12*f.period
	f.offer(req)
	f.must(f.client.enter(t.Context(), f.remote, requester.Price(req)))
	req.ID = f.post(req)
	f.await("all slots are filled", func(ctx context.Context) bool { return f.logs(ctx, "SlotFilled", 0) >= 3 })
	f.nextProof()
	for _, m := range f.members {
		if len(m.onDisk()) == 0 {
			t.Fatalf("member %s hosts nothing", m.name)
		}
		f.must(m.killIt())
	}
	f.must(f.record.kill())
	for _, m := range f.members {
		f.must(m.startIt())
		f.box = m.oneBox
		f.says("status", "NOT SELLING: the event store does not answer", "proven meanwhile: slots")
	}
	f.wholePeriods(2)
	f.must(f.record.start())
	f.settles(req, 5*time.Minute)
	f.auditsWithChain()
	f.stopsAll()
	f.effects()
	f.judge()
}
