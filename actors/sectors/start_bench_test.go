package sectors_test

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors/ledger"
	"github.com/hostnode/hostnode/actors/quarantine"
	"github.com/hostnode/hostnode/actors/sectors"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/actors/shell/shelltest"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/embedded"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/messages"
)

// The record of BenchmarkStart10kSectors.
const (
	benchSectors = 10_000
	benchEvents  = 40
)

// aLife returns so many events of a sector that is proven.
func aLife(b *testing.B, n uint64) (life []sector.Event) {
	b.Helper()
	s := sector.New(sector.Policy{})
	at := events.TimeToMessage(time.Unix(1_900_000_000, 0))
	do := func(e sector.Event) {
		fresh, err := sector.Decide(s, sector.Happened{Inputs: sector.Inputs{At: at.AsTime()}, Event: e, By: "anna"})
		if err != nil {
			b.Error(err)
		}
		for _, e := range fresh {
			s = sector.Evolve(s, e)
		}
		life = append(life, fresh...)
	}
	p := piece("a")
	do(&messages.SectorStart{
		At: at, Sector: n, Provider: me.String(), Size: uint64(size), By: "anna",
		Pieces: []*messages.SectorPiece{{Cid: p.CID, Size: uint64(p.Size), Payload: uint64(p.Payload)}},
	})
	for i := 0; len(life) < benchEvents-2; i++ {
		to := []sector.State{sector.FailedUnrecoverable, sector.Empty}[i%2]
		do(&messages.SectorForceState{At: at, State: string(to), By: "anna", Reason: "again"})
		if i > benchEvents {
			panic(fmt.Sprintf("a life of %d events", len(life)))
		}
	}
	do(&messages.SectorForceState{At: at, State: string(sector.FailedUnrecoverable), By: "anna", Reason: "enough"})
	return life
}

func appendLife(b *testing.B, store events.Store, n uint64) error {
	stream := events.SectorStream(me, n)
	var batch []events.NewEvent
	for i, e := range aLife(b, n) {
		name, version, data, err := codec.Encode(e)
		if err != nil {
			return err
		}
		batch = append(batch, events.NewEvent{
			ID: events.NewEventID(stream, "bench", i), Type: name, Data: data,
			Meta: events.Metadata{Version: version, Epoch: 1},
		})
	}
	_, err := store.Append(b.Context(), stream, events.NoStream(), batch)
	return err
}

// counted counts the streams of sectors that were read to the end.
type counted struct {
	events.Store
	read atomic.Int64
}

func (c *counted) ReadStream(ctx context.Context, stream string, q events.ReadStream) iter.Seq2[events.Recorded, error] {
	all := c.Store.ReadStream(ctx, stream, q)
	return func(yield func(events.Recorded, error) bool) {
		for r, err := range all {
			if !yield(r, err) {
				return
			}
		}
		if events.Category(stream) == events.CategorySector {
			c.read.Add(1)
		}
	}
}

func (c *counted) ReadPrefixed(ctx context.Context, after events.Position, prefixes []string,
) iter.Seq2[events.Recorded, error] {
	return events.ReadPrefixed(ctx, c.Store, after, prefixes)
}

// BenchmarkStart10kSectors measures how long a start takes until all sectors of an embedded store run: one pass over
// the record folds them (known), and each agent reads what was appended since: nothing.
func BenchmarkStart10kSectors(b *testing.B) {
	store, _, err := embedded.Open(b.TempDir(), embedded.Config{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = store.Close() })
	var all sync.WaitGroup
	next := make(chan uint64)
	for range 200 { // Many share a sync.
		all.Go(func() {
			for n := range next {
				if err := appendLife(b, store, n); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for n := range uint64(benchSectors) {
		next <- n + 1
	}
	close(next)
	all.Wait()
	var known time.Duration
	for b.Loop() {
		began, c := time.Now(), &counted{Store: store}
		rt := shell.NewRuntime(context.Background(), shelltest.QuietLog())
		base := &shell.Base{
			RT: rt, Log: shelltest.QuietLog(), Clock: shelltest.Clock{}, Store: c, Codec: codec, Me: me, Epoch: 1, Node: "b",
			StoreWatch: shell.NewStoreWatch(shelltest.Clock{}, shelltest.QuietLog(), shelltest.NoYield),
			RetryAfter: time.Second, RetryMost: time.Minute, SnapshotEvery: -1, Yield: shelltest.NoYield,
			Savers: map[string]shell.Saver{},
		}
		list := quarantine.New(base, func(_ quarantine.Event, stored func()) { stored() })
		book, room := shell.NewPart(ledger.Name), shell.NewPart(sectors.Name)
		book.Began(rt.Root(ledger.Name, ledger.New(ledger.Deps{
			Base: base, Repo: noLimit{}, Quarantined: list, Queue: shell.NewPart("queue"), Decide: capacity.Decide,
			Broken: func(err error) { b.Errorf("ledger: %v", err) },
		})))
		w := newWorld()
		w.gone["chain"] = errNoNode
		room.Began(rt.Root(sectors.Name, sectors.New(sectors.Deps{
			Base: base, Sealer: sealer{w}, Files: files{w}, Pieces: source{w}, Chain: chain{w}, Ledger: book,
			Quarantined: list, Decide: sector.Decide, Compared: new(atomic.Bool),
			Space: func(n events.Bytes) capacity.Space { return capacity.Space{Unsealed: n} },
		})))
		if all, err := shell.Ask[[]sectors.Standing](room, sectors.List{}).Wait(b.Context()); err != nil || len(all) != benchSectors {
			b.Fatalf("%d sectors, %v", len(all), err)
		}
		known += time.Since(began)
		for c.read.Load() < benchSectors {
			time.Sleep(time.Millisecond)
		}
		rt.Kill()
	}
	b.ReportMetric(known.Seconds()/float64(b.N), "s/known")
}
