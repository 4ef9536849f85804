package shell

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/embedded"
	"github.com/hostnode/hostnode/messages"
)

// BenchmarkCommands measures durable commands per second through journals over
// the embedded store, beside the naive way in which each command waits for the
// append of the one before it.
func BenchmarkCommands(b *testing.B) {
	for _, entities := range []int{1, 1024} {
		b.Run(fmt.Sprintf("journal/entities=%d", entities), func(b *testing.B) { benchJournal(b, entities) })
		b.Run(fmt.Sprintf("oneByOne/entities=%d", entities), func(b *testing.B) { benchOneByOne(b, entities) })
	}
}

func openEmbedded(b *testing.B) events.Store {
	b.Helper()
	store, _, err := embedded.Open(b.TempDir(), embedded.Config{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = store.Close() })
	return store
}

func entity(i int) string { return fmt.Sprintf("capacity-0x%040x", i+1) }

// outstanding is how many commands wait at once in all: what a busy host has
// in its mailboxes, the same for both ways.
const outstanding = 4096

func benchJournal(b *testing.B, entities int) {
	store := openEmbedded(b)
	rt := NewRuntime(context.Background(), quietLog())
	defer rt.Kill()
	refs := make([]Ref, entities)
	for i := range refs {
		j := newCounter(store)
		j.Stream = entity(i)
		refs[i] = j.run(rt)
	}
	var mu sync.Mutex
	var failed error
	places := make(chan struct{}, outstanding)
	b.ResetTimer()
	for i := range b.N {
		places <- struct{}{}
		refs[i%entities].Tell(counterCommand{n: 2, reply: func(r Result[uint64, messages.CapacityEvent]) {
			if r.Err != nil {
				mu.Lock()
				failed = r.Err
				mu.Unlock()
			}
			<-places
		}})
	}
	for range outstanding {
		places <- struct{}{}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commands/s")
	if failed != nil {
		b.Fatal(failed)
	}
}

func benchOneByOne(b *testing.B, entities int) {
	store := openEmbedded(b)
	codec := catalog.Codec()
	var wait sync.WaitGroup
	errs := make(chan error, entities)
	b.ResetTimer()
	for e := range entities {
		n := b.N / entities
		if e < b.N%entities {
			n++
		}
		wait.Go(func() { errs <- oneByOne(store, codec, entity(e), n) })
	}
	wait.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commands/s")
	for range entities {
		if err := <-errs; err != nil {
			b.Fatal(err)
		}
	}
}

func oneByOne(store events.Store, codec *events.Codec, stream string, n int) error {
	sum := uint64(0)
	for i := range n {
		sum += 2
		name, version, data, err := codec.Encode(&messages.QuotaSet{Bytes: sum})
		if err != nil {
			return err
		}
		if _, err := store.Append(context.Background(), stream, events.ExpectNext(uint64(i)), []events.NewEvent{{
			ID: events.NewEventID(stream, "bench", i), Type: name, Data: data, Meta: events.Metadata{Version: version},
		}}); err != nil {
			return err
		}
	}
	return nil
}
