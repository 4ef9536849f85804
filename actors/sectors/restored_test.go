package sectors_test

import (
	"context"
	"testing"

	"github.com/hostnode/hostnode/actors/sectors"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/events/storetest"
)

// cutAt lets the host begin again with the first events of its record, as with a restored backup, while files and chain
// went on. It returns how the sector stands by that.
func (h *host) cutAt(position int) (was sector.Info) {
	h.t.Helper()
	old := storetest.NewMemory()
	copied := 0
	for r, err := range h.store.ReadAll(context.Background(), 0, 0) {
		if err != nil {
			h.t.Fatal(err)
		}
		if copied++; copied > position {
			break
		}
		if _, err := old.Append(context.Background(), r.Stream, events.ExpectNext(r.Revision), []events.NewEvent{{
			ID: r.ID, Type: r.Type, Data: r.Data, Meta: r.Meta, Foreign: r.Foreign,
		}}); err != nil {
			h.t.Fatal(err)
		}
	}
	h.kill()
	h.store = old
	was = h.info(1)
	h.start()
	return was
}

// A backup of any moment is restored when the sector is proven, or over: it comes to the same end, and no message has
// its effect twice.
func TestASectorGoesOnWithARestoredBackup(t *testing.T) {
	for name, life := range map[string]struct {
		leads func(h *host)
		ended func(h *host) bool
	}{
		"proven": {
			func(h *host) { h.until("proven", func() bool { return h.world.effects["proven 1"] > 0 }) },
			func(h *host) bool { return h.in(1, sector.Proving)() },
		},
		"over": {
			func(h *host) { h.terminated() },
			func(h *host) bool { return h.info(1).Over() },
		},
	} {
		t.Run(name, func(t *testing.T) {
			whole := 0
			for at := 2; at == 2 || at < whole; at++ { // The first is the quota, the second the start of the sector.
				inTime(t, func(h *host) {
					if name == "proven" {
						h.create(piece("a"))
					}
					life.leads(h)
					if head, err := h.store.Head(context.Background()); err == nil {
						whole = int(head)
					}
					// When it is over they are gone, as they should be.
					h.change = func(d *sectors.Deps) { d.FilesLost = true }
					// What the contract has cannot be made again: it says so, and can be ended.
					if h.cutAt(at).TicketValue.Zero() {
						h.until("it says so", func() bool { return h.info(1).Parked() })
						h.do(sectors.Terminate{Number: 1, By: "anna", Reason: "restored"})
						h.until("it is over", func() bool { return h.info(1).Over() })
						h.once(1, "PreCommit", "Commit")
						return
					}
					h.until("the same end", func() bool { return life.ended(h) || h.info(1).Parked() })
					if st := h.info(1); st.Parked() {
						t.Errorf("cut at %d of %d it is parked in %s: %s", at, whole, st.State, st.Reason)
					}
					h.once(1, "PreCommit", "Commit")
					if h.world.missed > 0 {
						t.Errorf("cut at %d: %d windows were missed", at, h.world.missed)
					}
				})
			}
		})
	}
}

// The backup does not know a sector that the contract has: a new one does not get its number, nor its files.
func TestASectorThatABackupDoesNotKnowKeepsItsNumber(t *testing.T) {
	inTime(t, func(h *host) {
		h.create(piece("a"))
		h.until("proven", func() bool { return h.world.effects["proven 1"] > 0 })
		h.cutAt(1)
		n, err := ask[uint64](h, sectors.Create{Size: size, Pieces: []events.SectorPiece{piece("b")}, By: "anna"})
		if err != nil || n == 1 {
			t.Fatalf("the new one is %d: %v", n, err)
		}
		h.until("it is proven", h.in(n, sector.Proving))
	})
}
