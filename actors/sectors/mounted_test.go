package sectors_test

import (
	"testing"
	"testing/synctest"

	"github.com/hostnode/hostnode/actors/sectors"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sector"
)

// A host whose disk of sectors is not mounted reports none of them faulty, and writes nothing there.
func TestWithoutAnyFileOfASectorNothingIsDone(t *testing.T) {
	inTime(t, func(h *host) {
		n := h.create(piece("a"))
		h.until("it is proven", h.in(n, sector.Proving))
		h.kill()
		kept, before := h.world.files, len(h.events(n))
		h.world.files = map[uint64]map[string][]byte{}
		h.start()
		if _, err := ask[[]sectors.Standing](h, sectors.List{}); err == nil {
			t.Error("it runs")
		}
		if after := len(h.events(n)); after != before || len(h.world.files) > 0 {
			t.Errorf("%d events more, files %v", after-before, h.world.files)
		}
		h.kill()
		h.world.files = kept
		h.start()
		synctest.Wait()
		if all, err := ask[[]sectors.Standing](h, sectors.List{}); err != nil || len(all) != 1 {
			t.Errorf("with its files: %+v, %v", all, err)
		}
		for name, change := range map[string]func(*sectors.Deps){
			"they are known to be lost":  func(d *sectors.Deps) { d.FilesLost = true },
			"the sealer has them itself": func(d *sectors.Deps) { d.FilesElsewhere = true },
		} {
			h.kill()
			h.world.files = map[uint64]map[string][]byte{}
			h.change = change
			h.start()
			if all, err := ask[[]sectors.Standing](h, sectors.List{}); err != nil || len(all) != 1 {
				t.Errorf("when %s: %+v, %v", name, all, err)
			}
		}
	})
}

// A sector that was forced back after its removal has no files, and that is no sign of a disk that is missing.
func TestASectorThatWasRemovedAndForcedBackIsNotMissed(t *testing.T) {
	inTime(t, func(h *host) {
		n := h.create(piece("a"))
		h.until("it is packed", h.in(n, sector.WaitSeed))
		h.world.gone["Settle"] = errNoNode
		h.do(sectors.Remove{Number: n, By: "anna", Reason: "enough"})
		h.until("its space is given back", func() bool { return h.info(n).Released })
		h.do(sectors.ForceState{Number: n, State: sector.Packing, By: "anna", Reason: "a drill"})
		h.kill()
		h.start()
		if all, err := ask[[]sectors.Standing](h, sectors.List{}); err != nil || len(all) != 1 {
			t.Fatalf("%+v, %v", all, err)
		}
		delete(h.world.gone, "Settle")
		h.do(sectors.Remove{Number: n, By: "anna", Reason: "enough"})
		h.until("over", func() bool { return h.info(n).Over() })
	})
}

func TestSectorsDoNothingWhileTheirDiskIsAway(t *testing.T) {
	inTime(t, func(h *host) {
		n := h.create(piece("a"))
		h.until("it is proven", h.in(n, sector.Proving))
		before := len(h.events(n))
		for _, away := range []error{events.ErrDiskAway, nil} {
			h.kill()
			h.world.gone["Files"] = away
			h.start()
			all, err := ask[[]sectors.Standing](h, sectors.List{})
			if runs := err == nil && len(all) == 1; runs != (away == nil) {
				t.Errorf("away: %v; it runs: %t, %v", away, runs, err)
			}
		}
		if after := len(h.events(n)); after != before {
			t.Errorf("%d events more", after-before)
		}
	})
}
