package catalog_test

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/embedded"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/messages"
)

// history is a sale of 100 events that hosts its slot for 46 periods.
func history(tb testing.TB, codec *events.Codec) []events.NewEvent {
	tb.Helper()
	examples := map[string]proto.Message{}
	for e := range codec.Entries() {
		examples[e.Name] = e.Example
	}
	life := []proto.Message{
		examples["SaleStarted"], examples["CapacityReserved"], examples["SlotReserved"],
		examples["SlotStored"], examples["InitialProofMade"], examples["SlotFilled"],
		examples["DataLifetimeExtended"], examples["RequestStarted"],
	}
	for period := range uint64(46) {
		due := proto.CloneOf(examples["ProofDue"].(*messages.ProofDue))
		sent := proto.CloneOf(examples["ProofSubmitted"].(*messages.ProofSubmitted))
		due.Period, sent.Period = period, period
		life = append(life, due, sent)
	}
	stored := make([]events.NewEvent, 0, len(life))
	for _, m := range life {
		name, version, data, err := codec.Encode(m)
		if err != nil {
			tb.Fatal(err)
		}
		stored = append(stored, events.NewEvent{Type: name, Data: data, Meta: events.Metadata{Version: version}})
	}
	return stored
}

// fill appends the history once for each of n sales and returns their streams.
func fill(tb testing.TB, store events.Store, codec *events.Codec, n int) []string {
	tb.Helper()
	template := history(tb, codec)
	streams := make([]string, 0, n)
	for i := range n {
		slot := events.SlotID{byte(i >> 8), byte(i)}
		stream := events.SaleStream(events.Address{1}, slot)
		life := slices.Clone(template)
		for at := range life {
			life[at].ID = events.NewEventID(stream, "filled", at)
		}
		if _, err := store.Append(tb.Context(), stream, events.NoStream(), life); err != nil {
			tb.Fatal(err)
		}
		streams = append(streams, stream)
	}
	return streams
}

// fold replays a sale as a starting host does: read, check, decode, Evolve.
func fold(tb testing.TB, store events.Store, codec *events.Codec, stream string) (s sale.State, n int) {
	tb.Helper()
	for r, err := range store.ReadStream(tb.Context(), stream, events.ReadStream{}) {
		if err != nil {
			tb.Fatal(err)
		}
		m, err := codec.Decode(r)
		if err != nil {
			tb.Fatal(err)
		}
		s = sale.Evolve(s, m.(sale.Event))
		n++
	}
	return s, n
}

func TestAReplayedSaleHasItsProofs(t *testing.T) {
	store, codec := storetest.NewMemory(), catalog.Codec()
	stream := fill(t, store, codec, 1)[0]
	s, n := fold(t, store, codec, stream)
	if n != 100 || s.Phase != sale.Proving || s.Submitted != 46 || len(s.Duties) != 0 {
		t.Fatalf("%d events lead to %s with %d proofs and %d duties", n, s.Phase, s.Submitted, len(s.Duties))
	}
}

// BenchmarkFold100k replays 1,000 sales of 100 events from the embedded store.
func BenchmarkFold100k(b *testing.B) {
	store, _, err := embedded.Open(b.TempDir(), embedded.Config{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := store.Close(); err != nil {
			b.Fatal(err)
		}
	})
	codec := catalog.Codec()
	streams := fill(b, store, codec, 1000)
	total := 0
	for b.Loop() {
		for _, stream := range streams {
			_, n := fold(b, store, codec, stream)
			total += n
		}
	}
	b.ReportMetric(float64(total)/b.Elapsed().Seconds(), "events/s")
}
