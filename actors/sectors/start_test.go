package sectors_test

import (
	"context"
	"iter"
	"testing"
	"testing/synctest"

	"github.com/hostnode/hostnode/actors/sectors"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/messages"
)

// watched notes from which revision a stream was read, and how many events that gave. first is called before the first
// read.
type watched struct {
	events.Store
	stream string
	first  func()
	from   []uint64
	read   int
}

func (w *watched) ReadStream(ctx context.Context, stream string, q events.ReadStream) iter.Seq2[events.Recorded, error] {
	if stream != w.stream {
		return w.Store.ReadStream(ctx, stream, q)
	}
	if len(w.from) == 0 {
		w.first()
	}
	w.from = append(w.from, q.From)
	return func(yield func(events.Recorded, error) bool) {
		for r, err := range w.Store.ReadStream(ctx, stream, q) {
			w.read++
			if !yield(r, err) {
				return
			}
		}
	}
}

// write appends what another process decided.
func (h *host) write(n uint64, e sector.Event) {
	h.t.Helper()
	name, version, data, err := codec.Encode(e)
	if err != nil {
		h.t.Fatal(err)
	}
	stream, at := events.SectorStream(me, n), uint64(len(h.events(n)))
	if _, err := h.store.Append(h.t.Context(), stream, events.ExpectNext(at), []events.NewEvent{{
		ID: events.NewEventID(stream, "another", int(at)), Type: name, Data: data, Meta: events.Metadata{Version: version},
	}}); err != nil {
		h.t.Fatal(err)
	}
}

// A start reads each stream once, and begins nothing before it has what was appended since; after a conflict all is read.
func TestAStartReadsAStreamOnce(t *testing.T) {
	refused := &messages.SectorEventRefused{
		At: events.TimeToMessage(events.Unix(1_900_000_000)), Event: "SectorPacked", By: "ben", Reason: "a drill",
	}
	parked := &messages.SectorParked{At: refused.At, Reason: "a drill"}
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.start()
		n := h.create(piece("a"))
		h.until("it is proven", h.in(n, sector.Proving))
		h.kill()
		before, during := len(h.events(n)), func() {}
		var w *watched
		h.change = func(d *sectors.Deps) {
			base := *d.Base
			w = &watched{Store: base.Store, stream: events.SectorStream(me, n), first: during}
			base.Store, d.Base = w, &base
		}
		standing := func() sector.Info {
			synctest.Wait()
			st, err := ask[sectors.Standing](h, sectors.Show{Number: n})
			if err != nil {
				t.Fatal(err)
			}
			return st.Info
		}
		h.start()
		if st := standing(); st.State != sector.Proving || len(w.from) != 1 || w.from[0] != uint64(before) || w.read > 0 {
			t.Errorf("in %s; read from %v, %d events of %d a second time", st.State, w.from, w.read, before)
		}
		h.kill()
		during = func() { h.write(n, parked) }
		h.start()
		if st := standing(); st.Reason != "a drill" || w.read != 1 {
			t.Errorf("what was appended since the scan is not known: parked %q, %d events read", st.Reason, w.read)
		}
		h.write(n, refused) // Another process, once more.
		if _, err := ask[sector.State](h, sectors.Restart{Number: n, By: "anna"}); err == nil {
			t.Error("an order is carried out on a state that is older than its stream")
		}
		if synctest.Wait(); len(w.from) != 2 || w.from[1] != 0 || w.read != before+3 {
			t.Errorf("after a conflict: read from %v, %d events of %d", w.from, w.read, before+2)
		}
		h.do(sectors.Restart{Number: n, By: "anna"})
		if st := standing(); st.Parked() {
			t.Error("still parked")
		}
		h.kill()
	})
}

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
