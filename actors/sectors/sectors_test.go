package sectors_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors/quarantine"
	"github.com/hostnode/hostnode/actors/sectors"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/messages"
)

func TestASectorIsSealedAndProvenDayByDay(t *testing.T) {
	inTime(t, func(h *host) {
		n := h.create(piece("a"), piece("b"))
		h.until("proving", h.in(n, sector.Proving))
		h.until("two windows", func() bool { return h.world.effects[fmt.Sprintf("proven %d", n)] == 2 })
		h.once(n, "PreCommit", "PinSeed", "Commit")
		if h.world.missed != 0 {
			t.Errorf("%d windows were missed", h.world.missed)
		}
		if h.world.tooEarly != 0 {
			t.Errorf("%d proofs were sent before the first block of their window", h.world.tooEarly)
		}
		one, ok := h.book(n)
		if !ok || one.Unsealed != size || one.Tree != 2*size || one.Scratch != 0 || one.Deposit.String() != "2048" {
			t.Errorf("the ledger has %+v", one)
		}
	})
}

func TestPiecesComeOneByOne(t *testing.T) {
	inTime(t, func(h *host) {
		n := h.create()
		h.do(sectors.AddPiece{Number: n, Piece: piece("a"), By: "anna"})
		h.until("added", func() bool { return len(h.info(n).Pieces) == 1 && h.info(n).State == sector.WaitDeals })
		_, err := ask[sector.State](h, sectors.AddPiece{Number: n, Piece: piece("a"), By: "anna"})
		if !errors.Is(err, sector.ErrSamePiece) {
			t.Errorf("the same piece twice: %v", err)
		}
		h.do(sectors.StartPacking{Number: n, By: "anna"})
		h.until("proving", h.in(n, sector.Proving))
		if got := h.world.made["AddPiece 1"]; got != 1 {
			t.Errorf("the piece was written %d times", got)
		}
	})
}

func TestNumbersAreGivenOutOnce(t *testing.T) {
	inTime(t, func(h *host) {
		if n := h.create(); n != 1 {
			t.Errorf("the first is %d", n)
		}
		_, err := ask[uint64](h, sectors.Create{Size: 3000, By: "anna"})
		if !errors.Is(err, sector.ErrSize) {
			t.Errorf("a sector of 3000 bytes: %v", err)
		}
		h.world.gone["chain"] = errNoNode // So the ledger never learns of it.
		second := h.create()
		h.kill()
		h.start()
		if n := h.create(); n <= second || len(h.events(n)) == 0 {
			t.Errorf("after %d and a restart comes %d", second, n)
		}
		all, err := ask[[]sectors.Standing](h, sectors.List{})
		if err != nil || len(all) != 3 || all[0].Info.State != sector.Empty {
			t.Errorf("%v, %v", all, err)
		}
		_, err = ask[sectors.Standing](h, sectors.Show{Number: 77})
		if !errors.Is(err, sectors.ErrNoSector) {
			t.Errorf("sector 77: %v", err)
		}
	})
}

func TestASlowSectorDelaysNoOther(t *testing.T) {
	for _, slow := range []string{"Pack 1", "PreCommit1 1", "PreCommit2 1", "Commit 1", "Finalize 1"} {
		t.Run(slow, func(t *testing.T) {
			inTime(t, func(h *host) {
				h.kill()
				h.change = func(d *sectors.Deps) { d.Settings.PreCommit1, d.Settings.PreCommit2, d.Settings.Commit = 2, 2, 2 }
				h.start()
				gate := make(chan struct{})
				h.world.hang[slow] = gate
				h.create(piece("a"))
				other := h.create(piece("b"))
				h.until("the other proves", h.in(other, sector.Proving))
				standing, err := ask[sectors.Standing](h, sectors.Show{Number: 1})
				if err != nil || slow == "PreCommit1 1" && standing.Progress != 0.5 {
					t.Errorf("it is said to stand so: %+v, %v", standing, err)
				}
				if h.in(1, sector.Proving)() {
					t.Error("the slow one was not held")
				}
				close(gate)
				h.until("the slow one proves", h.in(1, sector.Proving))
			})
		})
	}
}

// A forced state waits for the running call, even if that ignores its cancellation.
func TestARunningStepIsWaitedFor(t *testing.T) {
	inTime(t, func(h *host) {
		gate := make(chan struct{})
		h.world.hang["PreCommit1 1"], h.world.deaf = gate, true
		n := h.create(piece("a"))
		h.until("it hangs", func() bool { return slices.Contains(h.world.calls, "PreCommit1 1") })
		packed := count(h.world.calls, "Pack 1")
		h.do(sectors.ForceState{Number: n, State: sector.Packing, By: "anna", Reason: "again"})
		h.mine(2)
		if count(h.world.calls, "Pack 1") != packed {
			t.Error("packed beside a call that has not returned")
		}
		h.world.deaf = false
		delete(h.world.hang, "PreCommit1 1")
		close(gate)
		h.until("proving", h.in(n, sector.Proving))
		h.once(n, "PreCommit", "Commit")
	})
}

func count(calls []string, name string) (n int) {
	for _, c := range calls {
		if c == name {
			n++
		}
	}
	return n
}

func TestEndsOfASector(t *testing.T) {
	for name, end := range map[string]func(h *host){
		"terminated": func(h *host) {
			h.until("proving", h.in(1, sector.Proving))
			h.do(sectors.Terminate{Number: 1, By: "anna", Reason: "old disk"})
		},
		"terminated, and its past is told": func(h *host) {
			h.world.tellsPast = true
			h.until("proving", h.in(1, sector.Proving))
			h.do(sectors.Terminate{Number: 1, By: "anna", Reason: "old disk"})
		},
		"removed before it was on chain": func(h *host) {
			h.do(sectors.Remove{Number: 1, By: "anna", Reason: "never mind"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(h *host) {
				terminated := strings.HasPrefix(name, "terminated")
				if !terminated {
					h.world.gone["PreCommit1 1"] = events.ErrSealerAway
				}
				h.create(piece("a"))
				end(h)
				h.until("over", func() bool { return h.info(1).Over() })
				if _, held := h.book(1); held || len(h.world.files[1]) > 0 {
					t.Error("the ledger or the disk has something of it")
				}
				if st := h.info(1); !strings.HasPrefix(st.Doing, "anna") && !strings.HasPrefix(st.Doing, "host") {
					t.Errorf("who wanted it: %q", st.Doing)
				}
				if terminated && h.info(1).Lost != events.NewAmount(5) {
					t.Errorf("lost %s", h.info(1).Lost)
				}
				_, err := ask[sector.State](h, sectors.Restart{Number: 1, By: "anna"})
				if !errors.Is(err, sectors.ErrNoSector) {
					t.Errorf("a sector that is over: %v", err)
				}
				h.kill()
				h.start()
				if n := h.create(); n != 2 {
					t.Errorf("the next number is %d", n)
				}
			})
		})
	}
}

// The ledger gets space back only when the store says that the files are gone.
func TestSpaceIsGivenBackWhenTheFilesAreGone(t *testing.T) {
	inTime(t, func(h *host) {
		h.create(piece("a"))
		h.until("proving", h.in(1, sector.Proving))
		h.world.gone["Usage"] = errors.New("the disk does not say")
		h.do(sectors.Remove{Number: 1, By: "anna", Reason: "never mind"})
		h.mine(20)
		if one, held := h.book(1); !held || one.Unsealed != size {
			t.Errorf("the ledger has %+v", one)
		}
		delete(h.world.gone, "Usage")
		h.do(sectors.Restart{Number: 1, By: "anna"})
		h.until("given back", func() bool { return h.info(1).Released })
	})
}

func TestOrdersThatCannotBe(t *testing.T) {
	inTime(t, func(h *host) {
		h.create(piece("a"))
		h.until("proving", h.in(1, sector.Proving))
		var refused *sector.Refused
		_, err := ask[sector.State](h, sectors.AddPiece{Number: 1, Piece: piece("b"), By: "anna"})
		if !errors.As(err, &refused) || refused.State != sector.Proving || h.count(1, "SectorEventRefused") != 1 {
			t.Errorf("a piece for a sector that proves: %v", err)
		}
		_, err = ask[sector.State](h, sectors.ForceState{Number: 1, State: "Nowhere", By: "anna"})
		if !errors.Is(err, sector.ErrUnknownState) {
			t.Errorf("an unknown state: %v", err)
		}
		if _, err = ask[sector.State](h, sectors.Restart{Number: 1}); err == nil {
			t.Error("an order of nobody was taken")
		}
	})
}

func TestASectorThatPanicsIsLeftAloneAndTheOthersGoOn(t *testing.T) {
	inTime(t, func(h *host) {
		h.kill()
		broken := true
		h.change = func(d *sectors.Deps) {
			d.QuarantineRetry = 24 * time.Hour
			d.Decide = func(st sector.Info, c sector.Command) ([]sector.Event, error) {
				if broken && st.Number == 1 && st.State == sector.Packing {
					panic("a bug")
				}
				return sector.Decide(st, c)
			}
		}
		h.start()
		h.create(piece("a"))
		other := h.create(piece("b"))
		h.until("the other one proves", h.in(other, sector.Proving))
		if len(h.words) != 1 {
			t.Fatalf("said of quarantine: %v", h.words)
		}
		if w, ok := h.words[0].(*messages.WorkQuarantined); !ok || w.GetKind() != "sector" || w.GetKey() != "1" {
			t.Errorf("said of quarantine: %v", h.words[0])
		}
		_, err := ask[sector.State](h, sectors.Restart{Number: 1, By: "anna"})
		if !errors.Is(err, quarantine.ErrQuarantined) {
			t.Errorf("an order: %v", err)
		}
		broken = false
		h.room.Tell(sectors.TryAgain{Number: 1})
		h.until("it goes on", h.in(1, sector.Proving))
		if _, ok := h.words[len(h.words)-1].(*messages.QuarantineEnded); !ok {
			t.Errorf("said of quarantine: %v", h.words)
		}
		h.once(1, "PreCommit", "Commit")
	})
}

func TestAnOrderThatMakesASectorPanicIsAnswered(t *testing.T) {
	inTime(t, func(h *host) {
		h.kill()
		h.change = func(d *sectors.Deps) {
			d.Decide = func(st sector.Info, c sector.Command) ([]sector.Event, error) {
				if e, ok := c.(sector.Happened); ok && sector.NameOf(e.Event) == "SectorTerminate" {
					panic("a bug")
				}
				return sector.Decide(st, c)
			}
		}
		h.start()
		n := h.create(piece("a"))
		began := time.Now()
		_, err := ask[sector.State](h, sectors.Terminate{Number: n, By: "anna"})
		if !errors.Is(err, shell.ErrPartDown) || time.Since(began) > time.Second {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		h.until("it goes on", h.in(n, sector.Proving))
	})
}

func TestARestartWithAThousandSectorsAsksInBatches(t *testing.T) {
	inTime(t, func(h *host) {
		const many = 1000
		for range many {
			h.create(piece("a"))
		}
		h.until("all prove", func() bool {
			all, err := ask[[]sectors.Standing](h, sectors.List{})
			return err == nil && !slices.ContainsFunc(all, func(s sectors.Standing) bool { return s.Info.State != sector.Proving })
		})
		h.kill()
		h.world.asked, h.world.calls = nil, nil
		h.start()
		total := 0
		for _, n := range h.world.asked {
			if total += n; n > 100 {
				t.Errorf("the chain was asked about %d sectors at once", n)
			}
		}
		if total != many || len(h.world.calls) > many/100+10 {
			t.Errorf("the chain was asked about %d sectors in %d calls", total, len(h.world.calls))
		}
		before := h.world.missed
		h.mine(60)
		if h.world.missed != before {
			t.Errorf("%d windows were missed", h.world.missed-before)
		}
	})
}

// After a reorganisation a sector goes back, and no message is lost.
func TestAReorganisationLeadsBack(t *testing.T) {
	inTime(t, func(h *host) {
		n := h.create(piece("a"))
		h.until("proving", h.in(n, sector.Proving))
		h.world.mu.Lock()
		h.world.onchain[n].Active, h.world.onchain[n].PreCommitted = false, true
		h.world.mu.Unlock()
		h.until("it is seen", func() bool { return h.count(n, "SectorCommitFailed") == 1 })
		h.until("proving again", h.in(n, sector.Proving))
		if h.world.effects["Commit 1"] != 2 || h.world.effects["PreCommit 1"] != 1 {
			t.Errorf("sent: %v", h.world.effects)
		}
	})
}

func TestASectorForWhichThereIsNoRoomSaysSo(t *testing.T) {
	inTime(t, func(h *host) {
		h.kill()
		h.change = func(d *sectors.Deps) {
			d.Space = func(events.Bytes) capacity.Space { return capacity.Space{Unsealed: 1 << 50} }
		}
		h.start()
		n := h.create(piece("a"))
		h.until("a pause", func() bool { return !h.info(n).Until.IsZero() })
		if st := h.info(n); st.Outage || !strings.Contains(st.LastErr, "sector 1") || len(h.world.files) > 0 {
			t.Errorf("it stands so: %+v", st)
		}
	})
}

// A reorganisation drops a sector altogether, long after it was sealed: it is sealed again
// under another ticket, with scratch space that is held again.
func TestAReorganisationThatForgetsASectorHasItSealedAgain(t *testing.T) {
	inTime(t, func(h *host) {
		n := h.create(piece("a"))
		h.until("proving", h.in(n, sector.Proving))
		h.until("proven", func() bool { return h.world.effects["proven 1"] == 2 })
		h.world.mu.Lock()
		delete(h.world.onchain, n)
		h.world.mu.Unlock()
		h.until("it is sealed again", func() bool { return h.count(n, "SectorRetrySeal") > 0 })
		h.until("proving again", h.in(n, sector.Proving))
		h.mine(1)
		if one, _ := h.book(n); one.Scratch != 0 || one.Unsealed != size || h.count(n, "SectorOpened") != 2 {
			t.Errorf("the ledger has %+v", one)
		}
		if h.world.effects["PreCommit 1"] != 2 || h.info(n).Parked() {
			t.Errorf("sent: %v", h.world.effects)
		}
	})
}
