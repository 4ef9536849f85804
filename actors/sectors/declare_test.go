package sectors_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/hostnode/hostnode/actors/sectors"
	"github.com/hostnode/hostnode/events/sector"
)

// declared has so many sectors declared faulty at once, in two messages: the first one is under way until all others wait.
// What happens before the second is given.
func declared(h *host, many int, then func()) {
	for range many {
		h.create(piece("a"))
	}
	all := func(so func(n uint64) bool) func() bool {
		return func() bool {
			for n := range uint64(many) {
				if !so(n + 1) {
					return false
				}
			}
			return true
		}
	}
	h.until("all prove", all(func(n uint64) bool { return h.in(n, sector.Proving)() }))
	gate := make(chan struct{})
	h.world.hang["DeclareFaults"] = gate
	for n := range uint64(many) {
		h.do(sectors.ForceState{Number: n + 1, State: sector.Faulty, By: "anna", Reason: "a drill"})
	}
	synctest.Wait()
	if asked := count(h.world.calls, "DeclareFaults"); asked != 1 {
		h.t.Errorf("%d messages are under way at once", asked)
	}
	then()
	delete(h.world.hang, "DeclareFaults")
	close(gate)
	synctest.Wait()
	h.revive()
	h.until("all recovered", all(func(n uint64) bool { return h.count(n, "SectorRecovered") == 1 }))
	for n := range uint64(many) {
		for _, kind := range []string{"DeclareFaults", "DeclareRecoveries"} {
			if sent := h.world.effects[fmt.Sprint(kind, " ", n+1)]; sent != 1 {
				h.t.Errorf("sector %d: %s was sent %d times", n+1, kind, sent)
			}
		}
	}
}

// Many sectors that are faulty at once are declared in few messages.
func TestDeclarationsShareAMessage(t *testing.T) {
	inTime(t, func(h *host) {
		declared(h, 30, func() {})
		if sent := count(h.world.calls, "DeclareFaults"); sent != 2 {
			t.Errorf("30 faults took %d messages", sent)
		}
	})
}

// A sector whose declaration is refused costs no other one its own.
func TestADeclarationThatIsRefusedCostsNoOtherOne(t *testing.T) {
	inTime(t, func(h *host) {
		declared(h, 12, func() {
			h.world.refuses[5] = true
			h.world.point = func(name string) error {
				if name == "before DeclareRecoveries" { // Of others: all that can be is declared.
					h.world.mu.Lock()
					defer h.world.mu.Unlock()
					delete(h.world.refuses, 5)
				}
				return nil
			}
		})
		if h.count(5, "SectorFatalError") == 0 {
			t.Error("it was not refused")
		}
		for n := range uint64(12) {
			if n+1 != 5 && h.count(n+1, "SectorFatalError") > 0 {
				t.Errorf("sector %d failed with it: %v", n+1, h.events(n+1))
			}
		}
	})
}

// What was mined before a crash is not sent again, whatever the next messages are made of.
func TestDeclarationsThatWereMinedBeforeACrashAreNotSentAgain(t *testing.T) {
	inTime(t, func(h *host) {
		declared(h, 12, func() {
			seen := 0
			h.world.point = func(name string) error {
				if h.crashed.Load() {
					return errCrash
				}
				if name != "after DeclareFaults" {
					return nil
				}
				if seen++; seen == 2 {
					h.crashed.Store(true)
					h.rt.Abandon()
					return errCrash
				}
				return nil
			}
		})
		h.world.point = func(string) error { return nil }
	})
}

// The questions of a window are asked before those of sectors that wait for a ticket.
func TestAWindowDoesNotWaitForNewSectors(t *testing.T) {
	inTime(t, func(h *host) {
		h.change = func(d *sectors.Deps) { d.Reads, d.PreCommit1, d.Pack = 1, 10, 10 }
		h.kill()
		h.start()
		h.create(piece("a"))
		h.until("proving", h.in(1, sector.Proving))
		h.until("proven", func() bool { return h.world.effects["proven 1"] == 1 })
		gate := make(chan struct{})
		h.world.hang["Ticket"] = gate
		for range 5 {
			h.create(piece("b"))
		}
		h.mine(2)
		asked := len(h.world.calls)
		delete(h.world.hang, "Ticket")
		close(gate)
		synctest.Wait()
		next := h.world.calls[asked:]
		window, ticket := slices.Index(next, "Sectors"), slices.Index(next, "Ticket")
		if window < 0 || ticket < 0 || ticket < window {
			t.Errorf("after the ticket that was under way it asked for %v", next)
		}
	})
}
