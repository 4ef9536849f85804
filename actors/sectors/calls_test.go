package sectors_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostnode/hostnode/actors/sectors"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sector"
)

// A call that hangs counts, after its limit, as a failure of its own sector, and takes no other
// sector's slot, whether it notices its cancellation or not.
func TestACallThatHangsGivesItsPlaceAway(t *testing.T) {
	for name, deaf := range map[string]bool{"and hears": false, "and hears nothing": true} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(h *host) {
				h.kill()
				h.change = func(d *sectors.Deps) {
					d.StepLimits = map[sector.Step]time.Duration{sector.StepPreCommit1: time.Hour}
				}
				h.start()
				gate := make(chan struct{})
				h.world.hang["PreCommit1 1"], h.world.deaf = gate, deaf
				hung := h.create(piece("a"))
				h.until("it hangs", func() bool { return slices.Contains(h.world.calls, "PreCommit1 1") })
				h.world.deaf = false
				other := h.create(piece("b"))
				h.mine(200)
				if h.in(other, sector.PreCommit2)() || h.in(other, sector.Proving)() {
					t.Error("the slot was given away before the limit")
				}
				h.until("the limit", func() bool { return h.count(hung, "SectorFatalError") > 0 })
				if why := h.info(hung).LastErr; !strings.Contains(why, "1h0m0s (sectors.stepLimit)") {
					t.Errorf("the reason is %q", why)
				}
				delete(h.world.hang, "PreCommit1 1")
				h.until("the other proves", h.in(other, sector.Proving))
				close(gate)
				h.until("the first proves, too", h.in(hung, sector.Proving))
				h.once(hung, "PreCommit", "Commit")
			})
		})
	}
}

// An operator's order cancels a call that hangs, and its slot is free.
func TestAnOrderFreesThePlaceOfACallThatHangs(t *testing.T) {
	for name, order := range map[string]any{
		"restart":   sectors.Restart{Number: 1, By: "anna"},
		"terminate": sectors.Terminate{Number: 1, By: "anna"},
		"remove":    sectors.Remove{Number: 1, By: "anna"},
	} {
		for _, deaf := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", deaf ", deaf), func(t *testing.T) {
				inTime(t, func(h *host) {
					gate := make(chan struct{})
					h.world.hang["PreCommit1 1"], h.world.deaf = gate, deaf
					h.create(piece("a"))
					h.until("it hangs", func() bool { return slices.Contains(h.world.calls, "PreCommit1 1") })
					h.world.deaf = false
					other := h.create(piece("b"))
					h.mine(2)
					delete(h.world.hang, "PreCommit1 1")
					h.do(order)
					h.until("the other proves", h.in(other, sector.Proving))
					switch {
					case name == "terminate" && !h.in(1, sector.Terminating)() && h.count(1, "SectorTerminated") == 0:
						t.Error("the termination waits for the sealer")
					case name == "remove" && deaf && h.count(1, "SectorRemoved") > 0:
						t.Error("files were removed beside a call that has not ended")
					}
					close(gate)
					if name == "restart" {
						h.until("it proves, too", h.in(1, sector.Proving))
						h.once(1, "PreCommit", "Commit")
						return
					}
					h.until("it is over", func() bool { return h.info(1).Over() })
				})
			})
		}
	}
}

func TestTheCallThatRunsIsShown(t *testing.T) {
	inTime(t, func(h *host) {
		gate := make(chan struct{})
		h.world.hang["PreCommit1 1"] = gate
		h.create(piece("a"))
		began := time.Now()
		time.Sleep(time.Hour)
		synctest.Wait()
		standing, err := ask[sectors.Standing](h, sectors.Show{Number: 1})
		c := standing.Call
		if err != nil || c.Key != "PreCommit1:1:1" || c.Progress != 0.5 || standing.Progress != 0.5 ||
			c.Since.After(began) || c.Moved.After(began) {
			t.Errorf("it stands so: %+v, %v", c, err)
		}
		close(gate)
		h.until("proving", h.in(1, sector.Proving))
		if standing, _ := ask[sectors.Standing](h, sectors.Show{Number: 1}); standing.Call != (sectors.Call{}) {
			t.Errorf("nothing runs, and it is said: %+v", standing.Call)
		}
	})
}

// Sealers that ignore cancellation do not cost the others of the partition their proofs, now or
// in later windows.
func TestAChallengeThatHearsNothingDoesNotCostTheOthers(t *testing.T) {
	inTime(t, func(h *host) {
		h.kill()
		h.change = func(d *sectors.Deps) { d.Challenges, d.ChallengeLimit = 1, 30*time.Second }
		h.start()
		h.create(piece("a"))
		h.create(piece("b"))
		h.create(piece("c")) // 1 and 3 have one deadline and one partition.
		h.until("proving", func() bool { return h.in(1, sector.Proving)() && h.in(3, sector.Proving)() })
		h.until("proven once", func() bool { return h.world.effects["proven 3"] > 0 && h.world.effects["proven 1"] > 0 })
		gate := make(chan struct{})
		h.world.hang["Challenge 1"], h.world.deaf = gate, true
		before, third := h.world.effects["proven 2"], h.world.effects["proven 3"]
		h.until("left out", func() bool { return h.count(1, "SectorFaulty") > 0 })
		h.mine(2)
		if h.world.effects["proven 3"] != third+1 {
			t.Error("the other one of the partition was not proven")
		}
		h.until("the next window is proven", func() bool { return h.world.effects["proven 2"] > before })
		h.world.deaf = false
		delete(h.world.hang, "Challenge 1")
		close(gate)
		h.until("recovered", func() bool { return h.count(1, "SectorRecovered") > 0 })
	})
}

// Messages that take hours, of whatever kind, do not keep proofs from being sent.
func TestMessagesThatHangDoNotHoldUpProofs(t *testing.T) {
	for kind, begin := range map[string]func(h *host){
		"PreCommit": func(h *host) { h.create(piece("b")) },
		"Settle": func(h *host) { // Its precommit becomes void, and the cost is to be settled.
			h.world.gone["Commit 2"] = events.ErrSealerAway
			h.create(piece("b"))
		},
	} {
		t.Run(kind, func(t *testing.T) {
			inTime(t, func(h *host) {
				h.kill()
				h.change = func(d *sectors.Deps) { d.Transactions, d.Reads = 1, 1 }
				h.start()
				n := h.create(piece("a"))
				h.until("proven", func() bool { return h.world.effects["proven 1"] == 1 })
				h.world.hang[kind] = make(chan struct{})
				begin(h)
				h.until("it hangs", func() bool { return slices.Contains(h.world.calls, kind) })
				before, missed := h.world.effects["proven 1"], h.world.missed
				h.mine(80)
				if h.world.effects["proven 1"] != before+2 || h.world.missed != missed || h.count(n, "SectorFaulty") > 0 {
					t.Errorf("proven %d times, before %d; missed %d", h.world.effects["proven 1"], before, h.world.missed)
				}
			})
		})
	}
}
