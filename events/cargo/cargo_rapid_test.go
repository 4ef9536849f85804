package cargo_test

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/cargo"
	"github.com/hostnode/hostnode/prover/commd"
	"github.com/hostnode/hostnode/prover/segment"
)

// world runs a ledger with a broker that refuses some pieces.
type world struct {
	t               *rapid.T
	s, ahead, saved cargo.State
	pack            cargo.Packing
	now             time.Time
	bad             map[uint64]bool
	offered         map[string]bool // aggregates that were made, ever
}

func (w *world) do(c cargo.Command) error {
	es, err := cargo.Decide(w.s, c)
	for _, e := range es {
		if again, err := cargo.Decide(w.s, cargo.Asked(e)); err != nil || len(again) != 1 || !proto.Equal(again[0], e) {
			w.t.Fatalf("%s is decided again as %s: %v", e, again, err)
		}
		w.s, w.ahead, w.saved = cargo.Evolve(w.s, e), cargo.Evolve(w.ahead, e), cargo.Evolve(w.saved, e)
	}
	return err
}

func (w *world) must(c cargo.Command) {
	w.t.Helper()
	if err := w.do(c); err != nil {
		w.t.Fatalf("%+v: %v", c, err)
	}
}

func root(n uint64) (r commd.Node) {
	r[0], r[1], r[2] = byte(n), byte(n>>8), byte(n>>16)
	return r
}

func (w *world) queue(size uint64, group string) {
	n := w.s.Pieces() + 1
	w.must(cargo.Queue{
		At: w.now, Root: root(n), Size: size, Payload: commd.PayloadRoom(size), Content: events.ContentLink{byte(n)},
		Group: group, Kept: true, Largest: w.pack.Size / 2,
	})
}

// plan packs until nothing is to be packed, and makes what is full.
func (w *world) plan() {
	for range 1000 {
		all := w.pack.Plan(w.s, w.now)
		for _, c := range all {
			w.must(c)
		}
		for _, f := range w.s.Ferries() {
			if f.Full && f.State == cargo.Loaded {
				link := commd.CID(root(1_000_000 + uint64(f.Number)))
				w.must(cargo.Make{At: w.now, Ferry: f.ID, Aggregate: link, Proofs: link, ProofsSize: 100})
				if w.offered[f.ID] {
					w.t.Fatalf("list %s is offered twice", f.ID)
				}
				w.offered[f.ID] = true
				if !f.Isolated && f.Bytes < w.pack.MinFill && uint64(len(f.Pieces)) < segment.Entries(f.Class) &&
					w.pack.Packer == "greedy" {
					w.t.Fatalf("%d bytes were enough for an aggregate", f.Bytes)
				}
			}
		}
		if len(all) == 0 {
			return
		}
	}
	w.t.Fatal("it plans for ever")
}

// judge has the broker answer for one aggregate.
func (w *world) judge(f *cargo.Ferry, names bool) {
	var bad []uint64
	for _, p := range f.Pieces {
		if w.bad[p] {
			bad = append(bad, p)
		}
	}
	switch c := (cargo.Reject{At: w.now, Aggregate: f.Aggregate, Reason: "bad", Attempts: 3}); {
	case len(bad) == 0:
		w.must(cargo.Approve{At: w.now, Aggregate: f.Aggregate})
	case names:
		c.Bad, c.Part, c.Parts = bad, 1, 1
		w.must(c)
	default:
		w.must(c)
	}
}

// check demands that each piece is in one place, and that all sums are right.
func (w *world) check() {
	w.t.Helper()
	for _, f := range w.s.Ferries() {
		sum, last := uint64(0), uint64(1<<62)
		for _, n := range f.Pieces {
			p, _ := w.s.Piece(n)
			sum += p.Size()
			if p.Size() > last {
				w.t.Fatalf("%s is not in the order in which it is placed", f.ID)
			}
			last = p.Size()
		}
		if sum != f.Bytes || !cargo.Fits(f.Class, sum, len(f.Pieces)) {
			w.t.Fatalf("ferry %+v does not fit", f)
		}
	}
	if err := w.s.Check(); err != nil {
		w.t.Fatal(err)
	}
	for n := uint64(1); n <= w.s.Pieces(); n++ {
		p, _ := w.s.Piece(n)
		if p.Status == cargo.Refused && !w.bad[n] {
			w.t.Fatalf("piece %d is refused and good", n)
		}
		if other, _ := w.ahead.Piece(n); other != p {
			w.t.Fatalf("piece %d is %+v, and %+v in the ledger that shares it", n, p, other)
		}
	}
	if diff := cmp.Diff(w.s.Saved(), w.saved.Saved()); diff != "" {
		w.t.Fatalf("the ledger that was saved and restored is another one:\n%s", diff)
	}
}

func TestEachPieceIsInOnePlaceWhateverABrokerSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pack := cargo.Packing{
			Packer: rapid.SampledFrom([]string{"ferry", "greedy"}).Draw(t, "packer"), Size: 1 << 20, Smallest: 1 << 16,
			MinFill: rapid.SampledFrom([]uint64{1 << 18, 1 << 19}).Draw(t, "fill"), Batch: 5, Merge: 3,
			Window: 5 * time.Minute, Notice: 48 * time.Hour,
		}
		if err := pack.Check(); err != nil {
			t.Fatal(err)
		}
		w := &world{
			t: t, s: cargo.Empty(), pack: pack, now: time.Unix(1_700_000_000, 0).UTC(), bad: map[uint64]bool{},
			offered: map[string]bool{},
		}
		w.ahead, w.saved = w.s.Share(), cargo.Empty()
		t.Repeat(map[string]func(*rapid.T){
			"queue": func(t *rapid.T) {
				for range rapid.IntRange(1, 10).Draw(t, "pieces") {
					size := uint64(1) << rapid.IntRange(7, 19).Draw(t, "size")
					if rapid.IntRange(0, 5).Draw(t, "bad") == 0 {
						w.bad[w.s.Pieces()+1] = true
					}
					w.queue(size, rapid.SampledFrom([]string{"a", "b"}).Draw(t, "group"))
				}
			},
			"plan": func(*rapid.T) { w.plan() },
			"wait": func(t *rapid.T) {
				w.now = w.now.Add(rapid.SampledFrom([]time.Duration{time.Minute, 6 * time.Minute, 50 * time.Hour}).Draw(t, "for"))
			},
			"judge": func(t *rapid.T) {
				for _, f := range w.s.Ferries() {
					if f.State == cargo.Made {
						w.judge(f, rapid.Bool().Draw(t, "names"))
						return
					}
				}
			},
			"share": func(*rapid.T) { w.ahead = w.s.Share() },
			"save": func(t *rapid.T) {
				again, err := cargo.Restore(w.s.Share().Saved())
				if err != nil {
					t.Fatal(err)
				}
				w.saved = again
			},
			"release": func(*rapid.T) {
				pieces, proofs := w.s.Releasable()
				w.must(cargo.Release{At: w.now, Pieces: pieces, Proofs: proofs})
			},
			"": func(*rapid.T) { w.check() },
		})
		// All good pieces are stored in the end, if enough comes after them.
		for i := 0; ; i++ {
			w.now = w.now.Add(50 * time.Hour)
			w.plan()
			for _, f := range w.s.Ferries() {
				if f.State == cargo.Made {
					w.judge(f, false)
				}
			}
			w.check()
			if w.s.Groups["a"].Queued+w.s.Groups["b"].Queued+w.s.Groups["a"].Aggregated+w.s.Groups["b"].Aggregated == 0 {
				break
			}
			if i > 500 {
				t.Fatalf("they are never stored: %+v", slices.Collect(maps.Values(w.s.Groups)))
			}
			if i%3 == 0 {
				w.queue(1<<19, "a")
			}
		}
	})
}

func TestLedgerRefuses(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	good := cargo.Queue{At: at, Root: root(1), Size: 1024, Payload: 1000, Group: "a"}
	s := cargo.Empty()
	es, err := cargo.Decide(s, good)
	if err != nil || len(es) != 1 {
		t.Fatal(err)
	}
	s = cargo.Evolve(s, es[0])
	for what, c := range map[string]struct {
		cmd  cargo.Command
		want error
	}{
		"the same":       {good, nil},
		"another size":   {cargo.Queue{At: at, Root: root(1), Size: 2048, Payload: 1000}, cargo.ErrOtherPayload},
		"no power":       {cargo.Queue{At: at, Root: root(2), Size: 1000, Payload: 900}, cargo.ErrPiece},
		"no payload":     {cargo.Queue{At: at, Root: root(2), Size: 128, Payload: 64}, cargo.ErrPiece},
		"too large":      {cargo.Queue{At: at, Root: root(2), Size: 2048, Payload: 2000, Largest: 1024}, cargo.ErrTooLarge},
		"unknown list":   {cargo.Make{At: at, Ferry: "x"}, cargo.ErrStale},
		"unknown piece":  {cargo.Load{At: at, Class: 4096, Pieces: []uint64{7}, Part: 1, Parts: 1}, cargo.ErrStale},
		"twice the same": {cargo.Load{At: at, Class: 4096, Pieces: []uint64{1, 1}, Part: 1, Parts: 1}, cargo.ErrStale},
		"too small":      {cargo.Load{At: at, Class: 512, Pieces: []uint64{1}, Part: 1, Parts: 1}, cargo.ErrPiece},
		"another list":   {cargo.Load{At: at, Ferry: "y", Class: 4096, Pieces: []uint64{1}, Part: 1, Parts: 1}, cargo.ErrStale},
		"second part":    {cargo.Load{At: at, Ferry: "y", Class: 4096, Pieces: []uint64{1}, Part: 2, Parts: 2}, cargo.ErrStale},
		"no aggregate":   {cargo.Approve{At: at, Aggregate: "x"}, cargo.ErrUnknown},
	} {
		es, err := cargo.Decide(s, c.cmd)
		if !errors.Is(err, c.want) || len(es) > 0 {
			t.Errorf("%s: %v, %v; want %v", what, es, err, c.want)
		}
	}
}

func TestRoomIsThatOfTheIndexLess(t *testing.T) {
	if got := segment.Room(32 << 30); got != 34_342_961_152 {
		t.Errorf("32 GiB have room for %d", got)
	}
	for _, c := range []struct {
		pieces int
		size   uint64
		fits   bool
	}{{262_016, 128 << 10, true}, {262_017, 128 << 10, false}, {7, 4 << 30, true}, {8, 4 << 30, false}} {
		if got := cargo.Fits(32<<30, uint64(c.pieces)*c.size, c.pieces); got != c.fits {
			t.Errorf("%d pieces of %d: %v", c.pieces, c.size, got)
		}
	}
}
