package sectors_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors/sectors"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sector"
)

// Each kind of bad input: a clear error, and nothing is lost.

func TestAPieceThatCannotBeInASectorIsRefused(t *testing.T) {
	large, odd := piece("large"), piece("odd")
	large.Size, large.Payload = 2*size, 3000
	odd.Size = 500
	half := events.SectorPiece{CID: "baga6ea4seaqhalf", Size: size / 2, Payload: 1000}
	for name, c := range map[string]struct {
		pieces []events.SectorPiece
		want   error
		says   string
	}{
		"larger than the sector":     {[]events.SectorPiece{large}, sector.ErrNoRoom, "4096 bytes, of 2048 are"},
		"the same twice":             {[]events.SectorPiece{piece("b"), piece("b")}, sector.ErrSamePiece, piece("b").CID},
		"of a size that is none":     {[]events.SectorPiece{odd}, sector.ErrSize, "500 bytes"},
		"more than it has room":      {[]events.SectorPiece{piece("b"), piece("c"), half}, sector.ErrNoRoom, "512 left"},
		"the same as one in it":      {[]events.SectorPiece{piece("a")}, sector.ErrSamePiece, piece("a").CID},
		"too large for what is left": {[]events.SectorPiece{{CID: "baga6ea4seaqfull", Size: size, Payload: 2000}}, sector.ErrNoRoom, "1536 left"},
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(h *host) {
				n := h.create()
				h.do(sectors.AddPiece{Number: n, Piece: piece("a"), By: "anna"})
				h.until("added", func() bool { return len(h.info(n).Pieces) == 1 })
				var err error
				for _, p := range c.pieces {
					_, err = ask[sector.State](h, sectors.AddPiece{Number: n, Piece: p, By: "anna"})
				}
				if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
					t.Errorf("%v; want %v, which says %q", err, c.want, c.says)
				}
				if len(c.pieces) > 1 || name[0] != 't' {
					_, err = ask[uint64](h, create(append([]events.SectorPiece{piece("a")}, c.pieces...)...))
					if !errors.Is(err, c.want) {
						t.Errorf("at its begin: %v", err)
					}
				}
				h.do(sectors.StartPacking{Number: n, By: "anna"})
				h.until("proving", h.in(n, sector.Proving))
				if all, err := ask[[]sectors.Standing](h, sectors.List{}); err != nil || len(all) != 1 {
					t.Errorf("there are %d sectors, %v", len(all), err)
				}
			})
		})
	}
}

// Bytes that do not match the commitment, too few or too many: the error names the piece, and once the source has
// the right ones, the sector goes on with everything that it had.
func TestBytesThatAreNotThoseOfThePiece(t *testing.T) {
	for name, change := range map[string]func([]byte) []byte{
		"other":    func(b []byte) []byte { return flipped(bytes.Clone(b)) },
		"too few":  func(b []byte) []byte { return b[:100] },
		"too many": func(b []byte) []byte { return append(bytes.Clone(b), 1) },
		"none":     func([]byte) []byte { return nil },
	} {
		for _, begin := range []string{"one by one", "all at once"} {
			t.Run(name+", "+begin, func(t *testing.T) {
				inReality(t, func(r *realHost) {
					good, bad := r.piece("good", 500), r.piece("bad", 500)
					whole := r.pieces[bad.CID]
					r.pieces[bad.CID] = change(whole)
					var n uint64
					if begin == "one by one" {
						n = r.create()
						r.do(sectors.AddPiece{Number: n, Piece: good, By: "anna"})
						r.until("added", func() bool { return len(r.info(n).Pieces) == 1 })
						r.do(sectors.AddPiece{Number: n, Piece: bad, By: "anna"})
					} else {
						n = r.create(good, bad)
					}
					r.until("found", func() bool { return r.info(n).LastErr != "" })
					st := r.info(n)
					if !strings.Contains(st.LastErr, events.ErrPieceMismatch.Error()) || !strings.Contains(st.LastErr, bad.CID) {
						t.Errorf("it says %q", st.LastErr)
					}
					r.mine(400)
					if st = r.info(n); !st.Parked() || len(st.Actions) == 0 || len(st.Pieces)+len(st.Pending) != 2 {
						t.Errorf("it stands so: %+v", st)
					}
					r.pieces[bad.CID] = whole
					r.do(sectors.Restart{Number: n, By: "anna"})
					if begin == "one by one" {
						r.until("added", func() bool { return len(r.info(n).Pieces) == 2 })
						r.do(sectors.StartPacking{Number: n, By: "anna"})
					}
					r.until("proving", r.in(n, sector.Proving))
				})
			})
		}
	}
}

// everyStep are the calls of a sector's life, and the state in which each is made.
var everyStep = map[string]sector.State{
	"AddPiece": sector.AddPiece, "Pack": sector.Packing, "PreCommit1": sector.PreCommit1, "PreCommit2": sector.PreCommit2,
	"Commit": sector.Committing, "Finalize": sector.FinalizeSector, "Restore": sector.FaultedFinal, "Remove": sector.Removing,
}

// throughLife leads a sector through all steps. An obstacle to one of them is there from the beginning, and
// is taken away once it was met.
func throughLife(h *host, met func(n uint64) bool, away func()) {
	h.world.cfg.CommitDue = 5000
	n := h.create()
	h.do(sectors.AddPiece{Number: n, Piece: piece("a"), By: "anna"})
	gone := false
	reach := func(what string, so func() bool) {
		h.until(what, func() bool {
			if !gone && met(n) {
				gone = true
				away()
			}
			return so()
		})
	}
	reach("added", func() bool { return len(h.info(n).Pieces) == 1 })
	h.do(sectors.StartPacking{Number: n, By: "anna"})
	reach("proving", h.in(n, sector.Proving))
	h.world.damaged[n] = true
	reach("recovered", func() bool { return h.count(n, "SectorRecovered") > 0 })
	h.do(sectors.Terminate{Number: n, By: "anna"})
	reach("over", func() bool { return h.info(n).Over() })
	if !gone {
		h.t.Error("it was not met")
	}
	h.once(n, "PreCommit", "Commit", "Terminate")
	if one, held := h.book(n); held || len(h.world.files[n]) > 0 {
		h.t.Errorf("left are %+v and %v", one, h.world.files[n])
	}
}

func TestAFullDiskInEachStep(t *testing.T) {
	for step, state := range everyStep {
		t.Run(step, func(t *testing.T) {
			inTime(t, func(h *host) {
				call := step + " 1"
				h.world.gone[call] = fmt.Errorf("%s: %w", step, events.ErrDiskFull)
				throughLife(h, func(n uint64) bool {
					st := h.info(n)
					if !strings.Contains(st.LastErr, events.ErrDiskFull.Error()) || st.Failures[state] < 2 {
						return false
					}
					if st.State != state || st.Outage || len(st.Pieces)+len(st.Pending) == 0 {
						t.Errorf("it stands so: %+v", st)
					}
					return true
				}, func() { delete(h.world.gone, call) })
			})
		})
	}
	t.Run("of the real sealer", func(t *testing.T) {
		inReality(t, func(r *realHost) {
			r.disk.SetFull(true)
			n := r.create(r.piece("a", 500))
			r.until("it is said", func() bool { return strings.Contains(r.info(n).LastErr, events.ErrDiskFull.Error()) })
			r.disk.SetFull(false)
			r.until("proving", r.in(n, sector.Proving))
		})
	})
}

func TestASealerThatIsGoneForAnHourInEachStep(t *testing.T) { goneInEachStep(t, events.ErrSealerAway) }

func TestADiskThatIsAwayForAnHourInEachStep(t *testing.T) { goneInEachStep(t, events.ErrDiskAway) }

func goneInEachStep(t *testing.T, gone error) {
	t.Helper()
	for step, state := range everyStep {
		t.Run(step, func(t *testing.T) {
			inTime(t, func(h *host) {
				call := step + " 1"
				h.world.gone[call] = fmt.Errorf("%s: %w", step, gone)
				var since time.Time
				throughLife(h, func(n uint64) bool {
					st := h.info(n)
					if since.IsZero() && st.Outages > 0 {
						since = time.Now()
					}
					if since.IsZero() || time.Since(since) < time.Hour {
						return false
					}
					if st.State != state || len(st.Failures) > 0 || st.Parked() || !strings.Contains(st.LastErr, step) {
						t.Errorf("after an hour it stands so: %+v", st)
					}
					return true
				}, func() { delete(h.world.gone, call) })
			})
		})
	}
}

// While it is gone, windows are missed; then the sector recovers.
func TestAProverThatIsGoneForAnHourMissesItsWindowsAndRecovers(t *testing.T) {
	inTime(t, func(h *host) {
		n := h.create(piece("a"))
		h.until("proven", func() bool { return h.world.effects["proven 1"] == 1 })
		h.world.gone["Challenge 1"], h.world.gone["Restore 1"] = events.ErrSealerAway, events.ErrSealerAway
		h.mine(300)
		if st := h.info(n); !strings.Contains(st.LastErr, events.ErrSealerAway.Error()) || !st.Outage || st.Parked() {
			t.Errorf("after an hour it stands so: %+v", st)
		}
		delete(h.world.gone, "Challenge 1")
		delete(h.world.gone, "Restore 1")
		h.until("recovered", func() bool { return h.count(n, "SectorRecovered") == 1 })
		before := h.world.effects["proven 1"]
		h.until("proven", func() bool { return h.world.effects["proven 1"] > before })
	})
}

func TestAStateThatDoesNotExistIsForcedOnNobody(t *testing.T) {
	inTime(t, func(h *host) {
		n := h.create(piece("a"))
		h.until("proving", h.in(n, sector.Proving))
		recorded := len(h.events(n))
		for state, want := range map[sector.State]error{
			"Nowhere": sector.ErrUnknownState, "": sector.ErrUnknownState, "proving": sector.ErrUnknownState,
			sector.Removed: sector.ErrFilesFirst,
		} {
			_, err := ask[sector.State](h, sectors.ForceState{Number: n, State: state, By: "anna", Reason: "why not"})
			if !errors.Is(err, want) {
				t.Errorf("forced into %q: %v, want %v", state, err, want)
			}
		}
		if !h.in(n, sector.Proving)() || len(h.events(n)) != recorded {
			t.Error("it is in another state, or something was recorded")
		}
	})
}

// A reorganisation drops a precommit, or moves it to before its seed, in each state that waits for the chain.
func TestAChainThatForgetsAPrecommit(t *testing.T) {
	for _, at := range []sector.State{sector.WaitSeed, sector.Committing, sector.CommitWait, sector.FinalizeSector} {
		t.Run(string(at), func(t *testing.T) {
			inTime(t, func(h *host) {
				hold := map[sector.State]string{sector.Committing: "Commit 1", sector.FinalizeSector: "Finalize 1"}[at]
				if hold != "" {
					h.world.gone[hold] = events.ErrSealerAway
				}
				forgotten := false
				h.world.point = func(name string) error {
					if at == sector.CommitWait && name == "after Commit" && !forgotten {
						forgotten = true
						h.world.mu.Lock()
						delete(h.world.onchain, 1)
						h.world.mu.Unlock()
					}
					return nil
				}
				n := h.create(piece("a"))
				if at != sector.CommitWait {
					h.until("it is there", h.in(n, at))
					h.world.mu.Lock()
					delete(h.world.onchain, n)
					h.world.mu.Unlock()
				}
				delete(h.world.gone, hold)
				h.until("proving", h.in(n, sector.Proving))
				h.until("proven", func() bool { return h.world.effects["proven 1"] > 0 })
				if made := h.world.made["Pack 1"]; made != 1 || h.world.effects["PreCommit 1"] != 2 {
					t.Errorf("packed %d times, sent %v", made, h.world.effects)
				}
				if one, _ := h.book(n); !one.Lost.IsZero() || one.Deposit.String() != "2048" {
					t.Errorf("the ledger has %+v", one)
				}
			})
		})
	}
}
