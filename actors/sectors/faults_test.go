package sectors_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/sectors"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sector"
)

func TestASealerThatLies(t *testing.T) {
	for step, failed := range map[string]string{
		"PreCommit2": "SectorSealPreCommitFailed", "Commit": "SectorComputeProofFailed",
	} {
		t.Run(step, func(t *testing.T) {
			inTime(t, func(h *host) {
				h.world.lies[step] = true
				n := h.create(piece("a"))
				h.until("found out", func() bool { return h.count(n, failed) > 1 })
				if !strings.Contains(h.info(n).LastErr, events.ErrSealerLies.Error()) {
					t.Errorf("the reason is %q", h.info(n).LastErr)
				}
				if step == "PreCommit2" && h.world.effects["PreCommit 1"] > 0 || h.world.effects["Commit 1"] > 0 {
					t.Error("a lie was sent")
				}
				h.world.lies[step] = false
				h.until("proving", h.in(n, sector.Proving))
			})
		})
	}
}

// What the first half took hours for is thrown away only when the second has failed three times in a row.
func TestTheFirstHalfOfSealingOutlivesTwoFailuresOfTheSecond(t *testing.T) {
	for fails, first := range map[int]int{0: 1, 1: 1, 2: 1, 3: 2, 5: 2, 6: 3} {
		inTime(t, func(h *host) {
			left := fails
			h.world.point = func(name string) error {
				if name != "before PreCommit2 1" || left == 0 {
					return nil
				}
				left--
				return errors.New("no memory")
			}
			n := h.create(piece("a"))
			h.until("proving", h.in(n, sector.Proving))
			if got := h.count(n, "SectorPreCommit1"); got != first {
				t.Errorf("after %d failures of the second half the first was made %d times, want %d", fails, got, first)
			}
		})
	}
}

// The second half is not begun with a ticket that is too old when it ends, by what it took the last time.
func TestTheSecondHalfIsNotBegunWithATicketThatCannotLast(t *testing.T) {
	for slow, want := range map[uint64]int{0: 0, 20: 0, 57: 1, 70: 1} { // Tickets live 60 blocks.
		inTime(t, func(h *host) {
			hang := make(chan struct{})
			h.world.hang["PreCommit2 1"] = hang
			one := h.create(piece("a"))
			h.until("it hangs", func() bool { return h.info(one).Step.Name == sector.StepPreCommit2 })
			from := h.world.head
			h.until("blocks pass", func() bool { return h.world.head >= from+slow })
			delete(h.world.hang, "PreCommit2 1")
			close(hang)
			h.until("it is over", func() bool { return h.count(one, "SectorPreCommit2") > 0 })
			first := make(chan struct{})
			h.world.hang["PreCommit1 2"] = first
			two := h.create(piece("b"))
			h.until("its first half", func() bool { return h.info(two).Step.Name == sector.StepPreCommit1 })
			from = h.world.head
			h.until("blocks pass", func() bool { return h.world.head >= from+10 })
			delete(h.world.hang, "PreCommit1 2")
			close(first)
			h.until("its first half is over", func() bool { return h.count(two, "SectorPreCommit1") > 0 })
			h.until("it is decided", func() bool {
				return h.count(two, "SectorPreCommit2")+h.count(two, "SectorSealPreCommitFailed") > 0
			})
			if got := min(1, h.count(two, "SectorSealPreCommitFailed")); got != want {
				t.Errorf("after %d blocks: thrown away %d times, want %d: %s", slow, got, want, h.info(two).LastErr)
			}
			// It is begun with the next ticket, although none may last for what it took the last time.
			h.until("both prove", func() bool { return h.in(one, sector.Proving)() && h.in(two, sector.Proving)() })
		})
	}
}

// A prover that refuses this host, or is none, has failed no step: all sectors pause, and operators are told once.
func TestAProverThatDoesNoWorkIsToldOnce(t *testing.T) {
	inTime(t, func(h *host) {
		var told, over []health.SectorTrouble
		h.kill()
		h.change = func(d *sectors.Deps) {
			d.Alert = func(one health.SectorTrouble) { told = append(told, one) }
			d.AlertOver = func(one health.SectorTrouble) { over = append(over, one) }
		}
		h.start()
		for _, call := range []string{"Pack 1", "Pack 2"} {
			h.world.gone[call] = fmt.Errorf("answered 401: %w: %w", events.ErrNoProver, events.ErrSealerAway)
		}
		one, two := h.create(piece("a")), h.create(piece("b"))
		h.until("both pause, again and again", func() bool { return h.info(one).Outages > 2 && h.info(two).Outages > 2 })
		if st := h.info(one); len(told) != 1 || !strings.Contains(told[0].Reason, "401") || len(st.Failures) > 0 {
			t.Errorf("told was %+v; failures %v", told, st.Failures)
		}
		clear(h.world.gone)
		over = nil
		h.until("proving", func() bool { return h.in(one, sector.Proving)() && h.in(two, sector.Proving)() })
		if !slices.ContainsFunc(over, func(t health.SectorTrouble) bool { return t.Subject() == told[0].Subject() }) {
			t.Errorf("told %+v; over: %+v", told, over)
		}
	})
}

func TestWhatIsAwayIsWaitedFor(t *testing.T) {
	for what, err := range map[string]error{
		"chain": errNoNode, "Pack 1": events.ErrSealerAway, "PreCommit1 1": events.ErrSealerAway,
	} {
		t.Run(what, func(t *testing.T) {
			inTime(t, func(h *host) {
				h.world.gone[what] = fmt.Errorf("%w today", err)
				n := h.create(piece("a"))
				h.until("a pause", func() bool { return h.info(n).Outages > 2 })
				st := h.info(n)
				if !st.Outage || len(st.Failures) > 0 || st.Parked() || !strings.Contains(st.LastErr, "today") {
					t.Errorf("it stands so: %+v", st)
				}
				// The pause is in the record, so a restart does not shorten it.
				calls := count(h.world.calls, what)
				h.kill()
				h.start()
				if count(h.world.calls, what) != calls {
					t.Error("a restart did not keep the pause")
				}
				delete(h.world.gone, what)
				if wait := time.Until(h.info(n).Until); wait > time.Second {
					time.Sleep(wait - time.Second)
					synctest.Wait()
					if h.info(n).Until.IsZero() {
						t.Error("the pause ended early")
					}
				}
				h.until("proving", h.in(n, sector.Proving))
				h.once(n, "PreCommit", "Commit")
			})
		})
	}
}

func TestDamageIsDeclaredMendedAndRecovered(t *testing.T) {
	for name, begin := range map[string]func(h *host){
		"found by a challenge": func(h *host) { h.world.damaged[1] = true },
		"a challenge that lies": func(h *host) {
			h.world.lies["Challenge"] = true
			h.until("found out", func() bool { return h.count(1, "SectorFaulty") > 0 })
			delete(h.world.lies, "Challenge")
		},
		// The contract knows it already: no message of ours declares it.
		"marked by the chain": func(h *host) {
			h.world.mu.Lock()
			on := h.world.onchain[1]
			on.Faulty, on.FaultyFrom = true, on.NextPeriod
			h.world.mu.Unlock()
		},
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(h *host) {
				n, sound := h.create(piece("a")), h.create(piece("b"))
				h.until("proving", func() bool { return h.in(n, sector.Proving)() && h.in(sound, sector.Proving)() })
				begin(h)
				h.until("a fault", func() bool { return h.count(n, "SectorFaulty") > 0 })
				h.until("recovered", func() bool { return h.count(n, "SectorRecovered") == 1 && h.in(n, sector.Proving)() })
				if name == "a challenge that lies" && h.world.missed > 0 {
					t.Error("a lie was sent")
				}
				if h.world.damaged[n] || h.world.made["AddPiece 1"] != 1 {
					t.Error("it is still damaged, or its piece was added at another place")
				}
				if name != "a challenge that lies" && h.count(sound, "SectorFaulty") > 0 {
					t.Error("the other one was reported faulty")
				}
				before := h.world.effects["proven 1"]
				h.until("proven again", func() bool { return h.world.effects["proven 1"] > before })
			})
		})
	}
}

// One that cannot be proven in time is left out, and the others of its partition are proven.
func TestASlowChallengeDoesNotCostItsPartition(t *testing.T) {
	inTime(t, func(h *host) {
		h.create(piece("a"))
		h.create(piece("b"))
		h.create(piece("c")) // 1 and 3 have one deadline and one partition.
		h.until("proving", func() bool { return h.in(1, sector.Proving)() && h.in(3, sector.Proving)() })
		h.until("proven once", func() bool { return h.world.effects["proven 3"] > 0 })
		h.world.hang["Challenge 1"] = make(chan struct{})
		before := h.world.effects["proven 3"]
		h.until("left out", func() bool { return h.count(1, "SectorFaulty") > 0 })
		h.mine(2)
		if h.world.effects["proven 3"] != before+1 || h.world.effects["Possession"] > 0 {
			t.Errorf("the other one was proven %d times, before %d", h.world.effects["proven 3"], before)
		}
	})
}

// A node that lags does not know yet what was mined: its answers are ignored.
func TestANodeThatLagsIsNotBelieved(t *testing.T) {
	inTime(t, func(h *host) {
		h.mine(5)
		h.world.stale = 100
		n := h.create(piece("a"))
		h.until("precommitted", h.in(n, sector.WaitSeed))
		h.mine(4)
		h.world.stale = 0
		h.until("proving", h.in(n, sector.Proving))
		if h.count(n, "SectorChainPreCommitFailed") > 0 {
			t.Error("it was believed")
		}
	})
}

// A reorganisation takes proofs back while their window is open: they are sent again.
func TestProofsThatAreTakenBackAreSentAgain(t *testing.T) {
	inTime(t, func(h *host) {
		n := h.create(piece("a"))
		h.until("proving", h.in(n, sector.Proving))
		h.until("proven", func() bool { return h.world.effects["proven 1"] == 1 })
		h.world.mu.Lock()
		h.world.onchain[n].NextPeriod--
		h.world.mu.Unlock()
		h.mine(2)
		if h.world.effects["proven 1"] != 2 || h.world.missed > 0 {
			t.Errorf("proven %d times, missed %d", h.world.effects["proven 1"], h.world.missed)
		}
	})
}

// Temporary failures are tried again while the window is open, because a declared fault costs
// money.
func TestAChallengeThatFailsForAWhileIsNoFault(t *testing.T) {
	for name, c := range map[string]struct {
		err   error
		fault bool
	}{
		"another error": {errors.New("the disk is busy"), false},
		"away":          {events.ErrSealerAway, false},
		"disk full":     {events.ErrDiskFull, false},
		"disk away":     {events.ErrDiskAway, false},
		"lie":           {events.ErrSealerLies, false},
		"damaged":       {events.ErrSectorDamaged, true},
		"no such file":  {events.ErrNoSectorPart, true},
		"out of order":  {events.ErrSectorStep, true},
		"malformed":     {events.ErrMalformed, true},
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(h *host) {
				h.create(piece("a"))
				h.until("proving", h.in(1, sector.Proving))
				h.until("proven", func() bool { return h.world.effects["proven 1"] == 1 })
				h.world.gone["Challenge 1"] = c.err
				asked := count(h.world.calls, "Challenge 1")
				h.until("asked", func() bool { return count(h.world.calls, "Challenge 1") > asked })
				h.mine(3)
				delete(h.world.gone, "Challenge 1")
				h.mine(6)
				if fault := h.count(1, "SectorFaulty") > 0; fault != c.fault {
					t.Errorf("reported faulty: %t", fault)
				}
				if !c.fault && (h.world.missed > 0 || h.world.effects["proven 1"] != 2) {
					t.Errorf("proven %d times, missed %d", h.world.effects["proven 1"], h.world.missed)
				}
			})
		})
	}
}

// A sector whose proof the contract refuses, although it verifies here, costs no other one its
// proof.
func TestASectorThatIsRefusedDoesNotCostItsPartition(t *testing.T) {
	inTime(t, func(h *host) {
		for range 9 { // The odd ones have one deadline and one partition.
			h.create(piece("a"))
		}
		h.until("proving", func() bool { return h.in(1, sector.Proving)() && h.in(9, sector.Proving)() })
		h.until("proven once", func() bool { return h.world.effects["proven 9"] > 0 })
		h.world.refuses[3] = true
		before := h.world.effects["proven 9"]
		h.until("left out", func() bool { return h.count(3, "SectorFaulty") > 0 })
		for _, n := range []uint64{1, 5, 7, 9} {
			if h.world.effects[fmt.Sprintf("proven %d", n)] != before+1 || h.count(n, "SectorFaulty") > 0 {
				t.Errorf("sector %d was not proven, or is said to be faulty", n)
			}
		}
		if h.world.missed > 0 {
			t.Errorf("missed are %d", h.world.missed)
		}
		delete(h.world.refuses, 3)
		h.until("recovered", func() bool { return h.count(3, "SectorRecovered") == 1 })
	})
}

// Proofs of another branch are refused, too, and no sector is to blame.
func TestAReorganisationBehindTheOpeningOfAWindowIsNoFault(t *testing.T) {
	inTime(t, func(h *host) {
		h.create(piece("a"))
		h.until("proving", h.in(1, sector.Proving))
		h.until("proven once", func() bool { return h.world.effects["proven 1"] == 1 })
		h.world.point = func(name string) error {
			if name == "before Possession" {
				h.world.mu.Lock()
				h.world.forked = 1
				h.world.mu.Unlock()
			}
			return nil
		}
		h.until("proven again", func() bool { return h.world.effects["proven 1"] == 2 })
		if h.count(1, "SectorFaulty") > 0 || h.world.missed > 0 || count(h.world.calls, "Possession") != 3 {
			t.Errorf("missed %d, events %v", h.world.missed, h.events(1))
		}
	})
}

// A void precommit costs a part of the deposit: the ledger learns that from the chain, once,
// and the sector is sealed again under another ticket.
func TestAVoidPrecommitIsAccountedForAtOnce(t *testing.T) {
	for _, at := range []string{
		"", "before Settle", "after Settle", "before append to capacity",
		"after append to capacity", "before append to sector", "after append to sector",
	} {
		t.Run(at, func(t *testing.T) {
			inTime(t, func(h *host) {
				n := h.create(piece("a"))
				h.world.gone["Commit 1"] = fmt.Errorf("%w today", events.ErrSealerAway)
				h.until("the seed", h.in(n, sector.Committing))
				h.until("the precommit is void", func() bool { return h.world.onchain[n].Void })
				delete(h.world.gone, "Commit 1")
				if h.crashOnce(at); at == "" {
					h.world.point = func(string) error { return nil }
				}
				h.until("it is accounted for", func() bool { return h.count(n, "SectorSettled") > 0 })
				if one, _ := h.book(n); one.Lost != events.NewAmount(3) || one.Deposit.String() != "2048" {
					t.Errorf("the ledger has %+v", one)
				}
				h.until("proving", h.in(n, sector.Proving))
				h.do(sectors.Terminate{Number: n, By: "anna"})
				h.until("over", func() bool { return h.info(n).Over() })
				if st := h.info(n); st.Lost != events.NewAmount(8) || st.Returned.String() != "2043" {
					t.Errorf("lost are %s, and %s returned", st.Lost, st.Returned)
				}
				if h.count(n, "SectorSettled") != 2 || h.world.effects["PreCommit 1"] != 2 {
					t.Errorf("settled %d times; sent %v", h.count(n, "SectorSettled"), h.world.effects)
				}
			})
		})
	}
}

// A sector that is removed after its precommit was void has lost that cost and no more.
func TestAVoidPrecommitIsCountedOnce(t *testing.T) {
	inTime(t, func(h *host) {
		n := h.create(piece("a"))
		h.world.gone["Commit 1"] = fmt.Errorf("%w today", events.ErrSealerAway)
		h.until("the precommit is void", func() bool { return h.world.onchain[n] != nil && h.world.onchain[n].Void })
		h.world.gone["PreCommit1 1"] = events.ErrSealerAway
		h.until("it is accounted for", func() bool { return h.count(n, "SectorSettled") > 0 })
		h.do(sectors.Remove{Number: n, By: "anna"})
		h.until("over", func() bool { return h.info(n).Over() })
		if st := h.info(n); st.Lost != events.NewAmount(3) || st.Returned.String() != "2048" {
			t.Errorf("lost are %s, and %s returned", st.Lost, st.Returned)
		}
	})
}

// The sender of messages is told by when the proofs of the open window must be mined, and when they are mined.
func TestProofsThatAreDueAreAnnounced(t *testing.T) {
	inTime(t, func(h *host) {
		h.create(piece("a"))
		h.until("proving", h.in(1, sector.Proving))
		h.until("proven", func() bool { return h.world.effects["proven 1"] == 1 })
		h.mine(2)
		if last := h.world.due[len(h.world.due)-1]; !last.IsZero() {
			t.Errorf("with nothing to prove %s is due", last)
		}
		h.world.gone["Challenge 1"] = events.ErrSealerAway
		asked := count(h.world.calls, "Challenge 1")
		h.until("asked", func() bool { return count(h.world.calls, "Challenge 1") > asked })
		h.mine(3)
		if last := h.world.due[len(h.world.due)-1]; !last.IsZero() {
			t.Errorf("in the first half of the window %s is due, and holds up all else", last)
		}
		h.mine(9)
		want := h.world.block(h.world.window().Closes - 1).Time
		if last := h.world.due[len(h.world.due)-1]; !last.Equal(want) {
			t.Errorf("due is %s, want %s", last, want)
		}
		delete(h.world.gone, "Challenge 1")
		h.until("proven", func() bool { return h.world.effects["proven 1"] == 2 })
		h.mine(2)
		if last := h.world.due[len(h.world.due)-1]; !last.IsZero() {
			t.Errorf("after the proofs %s is due", last)
		}
	})
}

// The ledger was told of a settlement and has ended the sector, the record was not, and an operator forces the sector
// back: what was settled is neither held nor returned once more.
func TestASettlementThatOnlyTheLedgerKnowsIsRecordedOnce(t *testing.T) {
	inTime(t, func(h *host) {
		n := h.create(piece("a"))
		h.world.gone["Commit 1"] = fmt.Errorf("%w today", events.ErrSealerAway)
		h.until("the seed", h.in(n, sector.Committing))
		h.until("the precommit is void", func() bool { return h.world.onchain[n].Void })
		h.do(sectors.Remove{Number: n, By: "anna", Reason: "enough"})
		h.crashInOrder("after Settle", "after append to capacity", "before append to sector")
		h.until("the ledger has ended it", func() bool {
			_, known := h.book(n)
			return !known
		})
		if st := h.info(n); st.Settled || st.Over() {
			t.Fatalf("the record knows it, too: %+v", st)
		}
		h.do(sectors.ForceState{Number: n, State: sector.CommitFailed, By: "anna", Reason: "a drill"})
		delete(h.world.gone, "Settle")
		h.until("the record has it, too", func() bool { return h.count(n, "SectorSettled") == 1 })
		h.do(sectors.Remove{Number: n, By: "anna", Reason: "enough"})
		h.until("over", func() bool { return h.info(n).Over() })
		if st := h.info(n); st.Lost != events.NewAmount(3) || st.Returned.String() != "2045" {
			t.Errorf("lost are %s, and %s returned", st.Lost, st.Returned)
		}
	})
}

// crashInOrder ends the host at the last of these points, when they come in this order. Nothing is settled from then on.
func (h *host) crashInOrder(points ...string) {
	h.world.point = func(name string) error {
		h.world.mu.Lock()
		defer h.world.mu.Unlock()
		if h.crashed.Load() {
			return errCrash
		}
		if len(points) > 0 && name == points[0] {
			if points = points[1:]; len(points) == 0 {
				h.world.gone["Settle"] = errNoNode
				h.crashed.Store(true)
				h.rt.Abandon()
				return errCrash
			}
		}
		return nil
	}
}
