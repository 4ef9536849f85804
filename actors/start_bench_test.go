package actors

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/embedded"
	"github.com/hostnode/hostnode/events/sale"
)

// The record of BenchmarkStart1M: so many sales of a hundred events, of which
// the last hundred are not over.
const (
	benchSales  = 10_000
	benchLiving = 100
	benchEvents = 100
)

// benchRecord writes a record of a million events.
func benchRecord(b *testing.B, e *shell.Base) {
	b.Helper()
	examples := map[string]proto.Message{}
	for entry := range e.Codec.Entries() {
		examples[entry.Name] = entry.Example
	}
	life := []string{"SaleStarted", "CapacityReserved", "SlotReserved", "SlotStored", "InitialProofMade", "SlotFilled"}
	for len(life) < benchEvents-1 {
		life = append(life, "ProofDue", "ProofSubmitted")
	}
	life = append(life[:benchEvents-1], "SaleSettled")
	encoded := map[string]events.NewEvent{}
	for _, name := range life {
		stored, version, data, err := e.Codec.Encode(examples[name])
		if err != nil {
			b.Fatal(err)
		}
		encoded[name] = events.NewEvent{Type: stored, Data: data, Meta: events.Metadata{Version: version, Epoch: 1}}
	}
	for n := range benchSales {
		stream := events.SaleStream(e.Me, events.SlotID{byte(n >> 8), byte(n)})
		batch := make([]events.NewEvent, len(life))
		for i, name := range life {
			batch[i] = encoded[name]
			batch[i].ID = events.NewEventID(stream, "bench", i)
		}
		if n >= benchSales-benchLiving {
			batch = batch[:len(batch)-1]
		}
		if _, err := e.Store.Append(b.Context(), stream, events.NoStream(), batch); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkStart1M is how long a start takes to learn which sales are not over
// from an embedded store with a million events: by folding every sale, by
// reading the whole log for beginnings and ends, and from a snapshot with
// 10,000 events behind it.
func BenchmarkStart1M(b *testing.B) {
	store, _, err := embedded.Open(b.TempDir(), embedded.Config{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = store.Close() })
	e := bareBase(store)
	benchRecord(b, e)
	start := func(b *testing.B) {
		for b.Loop() {
			s, err := readLivingSales(b.Context(), e)
			if err != nil || len(s.inOrder()) != benchLiving {
				b.Fatalf("%d sales are not over, %v", len(s.inOrder()), err)
			}
		}
	}
	b.Run("every sale folded", func(b *testing.B) {
		for b.Loop() {
			foldEverySale(b, e)
		}
	})
	b.Run("the whole log", start)
	whole := newLivingSales(e)
	for r, err := range store.ReadAll(b.Context(), 0, (benchSales-benchLiving)*benchEvents) {
		if err != nil {
			b.Fatal(err)
		}
		whole.take(r)
	}
	if err := saverOf(e, whole).save(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.Run("a snapshot and its tail", start)
}

func foldEverySale(b *testing.B, e *shell.Base) {
	b.Helper()
	states := map[events.SlotID]sale.State{}
	for r, err := range e.Store.ReadAll(b.Context(), 0, 0) {
		if err != nil {
			b.Fatal(err)
		}
		_, slot, err := events.ParseSaleStream(r.Stream)
		if err != nil {
			continue
		}
		ev, err := shell.DecodeAs[sale.Event](e.Codec, r)
		if err != nil {
			b.Fatal(err)
		}
		states[slot] = sale.Evolve(states[slot], ev)
	}
	n := 0
	for _, st := range states {
		if !st.Over() {
			n++
		}
	}
	if n != benchLiving {
		b.Fatalf("%d sales are not over", n)
	}
}
