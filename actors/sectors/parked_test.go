package sectors_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/sectors"
	"github.com/hostnode/hostnode/events/sector"
)

// The declaration of a fault is taken back and never mined again: the sector is parked, says why and what to do, and
// goes on after any of it.
func TestAFaultWhoseDeclarationIsLost(t *testing.T) {
	for name, next := range map[string]func(h *host){
		"the operator has it declared again": func(h *host) {
			h.do(sectors.ForceState{Number: 1, State: sector.Faulty, By: "anna", Reason: "as it says"})
			h.until("declared again", func() bool { return h.world.effects["DeclareFaults 1"] == 2 })
		},
		"the operator retries, and the contract finds it": func(h *host) {
			h.do(sectors.Restart{Number: 1, By: "anna"})
			if st := h.info(1); st.Parked() || st.Step.Name != sector.StepWaitFault {
				t.Errorf("after a retry: %+v", st)
			}
		},
		"nobody does anything, and the contract finds it": func(*host) {},
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(h *host) {
				h.kill()
				h.change = func(d *sectors.Deps) {
					d.Policy = sector.Policy{FirstPause: time.Second, MostPause: time.Second, MaxFailures: 2}
				}
				h.start()
				n := h.create(piece("a"))
				h.until("proving", h.in(n, sector.Proving))
				before := h.world.effects["proven 1"]
				h.until("proven once", func() bool { return h.world.effects["proven 1"] > before })
				h.world.loses = true
				h.do(sectors.ForceState{Number: n, State: sector.Faulty, By: "anna", Reason: "a drill"})
				h.until("parked", func() bool { return h.info(n).Parked() })
				st := h.info(n)
				if st.State != sector.FaultReported || !strings.Contains(st.Reason, "failed 3 times: block ") ||
					!strings.Contains(st.Reason, "did not land; force Faulty to send another") ||
					!slices.Contains(st.Actions, "SectorRestart") || !slices.Contains(st.Actions, "SectorForceState") {
					t.Errorf("it says %q and offers %v in %s", st.Reason, st.Actions, st.State)
				}
				h.world.loses = false
				h.world.damaged[n] = true // Otherwise it would be proven.
				next(h)
				h.until("recovered", func() bool { return h.count(n, "SectorRecovered") == 1 })
				h.until("proving again", h.in(n, sector.Proving))
			})
		})
	}
}

// The contract expects the proofs of a sector that was forced into a state before its proofs, or removed: nobody makes
// them, and each window costs a part of the deposit. Operators are told, once, and again after a restart.
func TestASectorThatLosesItsDepositUnattendedIsTold(t *testing.T) {
	for name, order := range map[string]sectors.Order{
		"forced to Empty":          sectors.ForceState{Number: 1, State: sector.Empty, By: "anna", Reason: "a mistake"},
		"forced to WaitDeals":      sectors.ForceState{Number: 1, State: sector.WaitDeals, By: "anna", Reason: "a mistake"},
		"forced to AddPiece":       sectors.ForceState{Number: 1, State: sector.AddPiece, By: "anna", Reason: "a mistake"},
		"forced to AddPieceFailed": sectors.ForceState{Number: 1, State: sector.AddPieceFailed, By: "anna", Reason: "a mistake"},
		"removed":                  sectors.Remove{Number: 1, By: "anna", Reason: "a mistake"},
		"forced to Faulty":         sectors.ForceState{Number: 1, State: sector.Faulty, By: "anna", Reason: "a drill"},
		"terminated":               sectors.Terminate{Number: 1, By: "anna", Reason: "seen enough"},
	} {
		t.Run(name, func(t *testing.T) {
			bleeds := name != "forced to Faulty" && name != "terminated"
			inTime(t, func(h *host) {
				var told, over []health.SectorTrouble
				h.kill()
				h.change = func(d *sectors.Deps) {
					d.Alert = func(one health.SectorTrouble) { told = append(told, one) }
					d.AlertOver = func(one health.SectorTrouble) { over = append(over, one) }
				}
				h.start()
				n := h.create(piece("a"))
				h.until("proving", h.in(n, sector.Proving))
				h.do(order)
				h.until("it is carried out", func() bool { return h.info(n).State != sector.Proving })
				if st := h.info(n); st.Bleeds() != bleeds {
					t.Errorf("in %s it bleeds: %t", st.State, st.Bleeds())
				}
				if got := len(told) == 1 && told[0].Number == n && strings.Contains(told[0].Reason, "sectors terminate 1"); got != bleeds {
					t.Errorf("told was %+v", told)
				}
				if !bleeds {
					return
				}
				told = nil
				h.kill()
				h.start()
				h.until("told again", func() bool { return len(told) == 1 })
				over = nil
				h.do(sectors.Terminate{Number: n, By: "anna", Reason: "as it says"})
				h.until("it does not any more", func() bool { return !h.info(n).Bleeds() })
				h.until("that is told", func() bool { return len(over) == 1 && over[0].Subject() == told[0].Subject() })
			})
		})
	}
}
