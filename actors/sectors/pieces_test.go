package sectors_test

import (
	"errors"
	"maps"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostnode/hostnode/actors/ledger"
	"github.com/hostnode/hostnode/actors/sectors"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sector"
)

// heldPieces is what the ledger holds for pieces, by CID.
func (h *host) heldPieces() map[string]events.Bytes {
	h.t.Helper()
	book, err := shell.Ask[capacity.Snapshot](h.ledger, ledger.Show{}).Wait(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	all := map[string]events.Bytes{}
	for _, one := range book.Pieces {
		all[one.CID] = one.Bytes
	}
	return all
}

func (h *host) hold(cid string, bytes events.Bytes) {
	h.t.Helper()
	err := ledger.Do(h.t.Context(), h.ledger, ledger.Command{
		Cmd: capacity.HoldPiece{At: time.Now(), Piece: capacity.Piece{CID: cid, Bytes: bytes}}, Cause: "operator",
	})
	if err != nil {
		h.t.Fatal(err)
	}
}

// Whenever a host stopped between the ledger and the disk, the next start makes them agree, once.
func TestAStartComparesTheFilesOfPiecesWithTheLedger(t *testing.T) {
	inTime(t, func(h *host) {
		needed := piece("needed")
		n := h.create(needed)
		h.until("it has its piece", h.in(n, sector.WaitSeed))
		h.hold(needed.CID, needed.Payload) // Its file is lost.
		h.hold("bagakept", 100)
		h.hold("bagacut", 100)
		h.hold("bagalost", 100) // The host stopped before its file was written, or after it was removed.
		h.world.pieces = []events.SectorPiece{
			{CID: "bagakept", Payload: 100},
			{CID: "bagacut", Payload: 99},
			{CID: "bagaold", Payload: 300}, // Of an earlier build.
			{CID: "notes.txt", Payload: 5}, // It is told of, and nothing else.
			{CID: "bagalarge", Payload: 1 << 50},
		}
		want := map[string]events.Bytes{needed.CID: needed.Payload, "bagakept": 100, "bagacut": 100, "bagaold": 300}
		for range 2 {
			before, _ := h.store.Head(t.Context())
			h.kill()
			h.start()
			synctest.Wait()
			if got := h.heldPieces(); !maps.Equal(got, want) {
				t.Fatalf("the ledger holds %v, want %v", got, want)
			}
			if all, err := ask[[]sectors.Standing](h, sectors.List{}); err != nil || len(all) != 1 {
				t.Fatalf("%+v, %v", all, err)
			}
			if after, _ := h.store.Head(t.Context()); after-before > 2 {
				t.Fatalf("%d events more", after-before)
			}
		}
	})
}

// A room that panicked compares nothing again: a piece for which bytes are held may just be written.
func TestARoomThatPanickedLeavesThePiecesThatAreBeingWritten(t *testing.T) {
	inTime(t, func(h *host) {
		compared := new(atomic.Bool)
		h.change = func(d *sectors.Deps) { d.Compared = compared }
		h.kill()
		h.start()
		synctest.Wait()
		h.hold("bagawritten", 100)
		h.kill()
		h.start() // In one process with the life before.
		synctest.Wait()
		if got := h.heldPieces(); got["bagawritten"] != 100 {
			t.Errorf("the ledger holds %v", got)
		}
	})
}

// A host that dies around the append of what its start finds does it at the next one.
func TestAStartThatDiesWhileItComparesPiecesIsRepeated(t *testing.T) {
	for _, at := range []string{"before append to capacity", "after append to capacity"} {
		inTime(t, func(h *host) {
			h.hold("bagalost", 100)
			h.world.pieces = []events.SectorPiece{{CID: "bagaold", Payload: 300}}
			h.kill()
			h.crashOnce(at)
			h.start()
			synctest.Wait()
			h.revive()
			synctest.Wait()
			if got := h.heldPieces(); len(got) != 1 || got["bagaold"] != 300 {
				t.Errorf("%s: the ledger holds %v", at, got)
			}
		})
	}
}

// A piece whose bytes are another one's holds up its sector until an operator leaves it out.
func TestAPieceThatCannotBeAddedIsLeftOut(t *testing.T) {
	inTime(t, func(h *host) {
		n, err := ask[uint64](h, sectors.Create{Size: size, By: "anna"})
		if err != nil {
			t.Fatal(err)
		}
		h.world.gone["AddPiece 1"] = events.ErrPieceMismatch
		bad, good := piece("a"), piece("b")
		h.do(sectors.AddPiece{Number: n, Piece: bad, By: "anna"})
		h.until("it fails again and again", func() bool { return h.count(n, "SectorAddPieceFailed") > 1 && h.in(n, sector.AddPieceFailed)() })
		if _, err := ask[sector.State](h, sectors.DropPiece{Number: n, CID: "baga6ea4seaqnone", By: "anna"}); !errors.Is(err, events.ErrNoSuchPiece) {
			t.Errorf("one that is not there: %v", err)
		}
		delete(h.world.gone, "AddPiece 1")
		h.do(sectors.DropPiece{Number: n, CID: bad.CID, By: "anna"})
		h.do(sectors.AddPiece{Number: n, Piece: good, By: "anna"})
		h.do(sectors.StartPacking{Number: n, By: "anna"})
		h.until("proving", h.in(n, sector.Proving))
		if sectors.Needs(h.info(n), bad.CID) || !sectors.Needs(h.info(n), good.CID) {
			t.Errorf("its pieces are %v", h.info(n).Pieces)
		}
	})
}

// A sector that waits for pieces is sealed as it is when it has waited long enough, if the settings say so.
func TestASectorThatWaitsForPiecesTooLongIsSealed(t *testing.T) {
	for after, want := range map[time.Duration]sector.State{0: sector.WaitDeals, 10 * time.Minute: sector.Proving} {
		inTime(t, func(h *host) {
			h.kill()
			h.change = func(d *sectors.Deps) { d.SealAfter = after }
			h.start()
			n, err := ask[uint64](h, sectors.Create{Size: size, By: "anna"})
			if err != nil {
				t.Fatal(err)
			}
			empty, err := ask[uint64](h, sectors.Create{Size: size, By: "anna"})
			if err != nil {
				t.Fatal(err)
			}
			h.do(sectors.AddPiece{Number: n, Piece: piece("a"), By: "anna"})
			h.until("it has it", func() bool { return len(h.info(n).Pieces) == 1 })
			began, from := h.info(n).BeganAt, h.world.head
			h.until("time passes", func() bool { return h.world.head > from+400 })
			if got := h.info(n).State; got != want || h.in(empty, sector.Empty)() == false {
				t.Errorf("after %s it is in %s, want %s; the empty one is in %s", time.Since(began), got, want, h.info(empty).State)
			}
			if refused := h.count(n, "SectorEventRefused"); refused > 0 {
				t.Errorf("%d orders were refused", refused)
			}
		})
	}
}
