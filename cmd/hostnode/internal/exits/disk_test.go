package exits

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/messages"
)

// The directory of slots is moved under a running host: that is one alert, no repair and no new slot, and nothing is
// written where it was. When it is back, proofs and sales go on.
func TestADiskThatGoesAwayIsNoDamageAndNoRoom(t *testing.T) {
	w := newWorld(t)
	var mu sync.Mutex
	told := map[health.AlertKind]int{}
	// The disk is looked at every 15 s: not seldom beside the blocks that are mined meanwhile.
	h := w.newHost(options{clock: clock{shorter: 30}, alert: func(a health.Alert) {
		mu.Lock()
		defer mu.Unlock()
		told[a.Kind]++
	}})
	alerts := func(kind health.AlertKind) int {
		mu.Lock()
		defer mu.Unlock()
		return told[kind]
	}
	r := w.post(terms{probability: 1, expiry: 300 * time.Second, duration: 4000 * time.Second, maxLoss: 1})
	first := h.picks(r)
	h.comesTo(first, sale.Proving)
	slots := filepath.Join(h.options.dir, "slots")
	ok(t, os.Rename(slots, slots+".moved"))
	moved := len(h.events(first.Slot))
	next := w.post(terms{probability: 1, expiry: 2000 * time.Second, duration: 4000 * time.Second, maxLoss: 1})
	h.until("the host says that the disk is away, and a proof meets it", func() bool {
		st, err := h.host.Status(t.Context())
		ok(t, err)
		return st.Disk.Away && alerts(health.AlertDiskAway) > 0 && len(st.Sales) > 0 &&
			strings.Contains(st.Sales[0].Trouble.Error, events.ErrDiskAway.Error())
	})
	if _, err := os.Stat(slots); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it was made again: %v", err)
	}
	for index := range next.Ask.Slots {
		c := callOf(next, index)
		for _, e := range h.events(c.Slot) {
			if _, reserved := e.(*messages.SlotReserved); reserved {
				t.Errorf("slot %d was reserved without a disk", index)
			}
		}
	}
	ok(t, os.Rename(slots+".moved", slots))
	h.until("a proof is taken again", func() bool {
		for _, e := range h.events(first.Slot)[moved:] {
			if _, proven := e.(*messages.ProofSubmitted); proven {
				return true
			}
		}
		return false
	})
	for _, e := range h.events(first.Slot) {
		if _, damaged := e.(*messages.SlotDamaged); damaged {
			t.Errorf("the slot was damaged: %v", e)
		}
	}
	// Perhaps not the slot whose sale had begun before the host knew that the disk is away.
	h.until("a slot of the other request is proven", func() bool {
		for index := range next.Ask.Slots {
			if h.sale(callOf(next, index).Slot).Phase == sale.Proving {
				return true
			}
		}
		return false
	})
	if n, damaged := alerts(health.AlertDiskAway), alerts(health.AlertDamaged); n != 1 || damaged != 0 {
		t.Errorf("%d alerts of the disk, %d of damage", n, damaged)
	}
}
