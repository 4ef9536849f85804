package sectors_test

import (
	"testing"
	"testing/synctest"

	"github.com/hostnode/hostnode/actors/sectors"
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
		h.kill()
		h.world.files = map[uint64]map[string][]byte{}
		h.change = func(d *sectors.Deps) { d.FilesLost = true }
		h.start()
		if all, err := ask[[]sectors.Standing](h, sectors.List{}); err != nil || len(all) != 1 {
			t.Errorf("when it is known that they are lost: %+v, %v", all, err)
		}
	})
}
