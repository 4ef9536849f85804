package node

import (
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/messages"
)

func TestAHostThatRunsElsewhereIsNotStartedTwice(t *testing.T) {
	me := events.Address{0xaa}
	at := timestamppb.New(time.Date(2031, 4, 5, 6, 7, 8, 0, time.UTC))
	start := &messages.HostStarted{
		At: at, Epoch: 1, ChainId: 1, Genesis: events.Hash{1}.String(), Contract: me.String(), Node: "cellar",
	}
	stop := &messages.HostStopped{At: at, Epoch: 1}
	beat := &messages.HostHeartbeat{At: timestamppb.New(at.AsTime().Add(time.Hour)), Epoch: 1}
	heard := at.AsTime()
	for _, c := range []struct {
		name    string
		record  []messages.HostEvent
		used    bool // the data directory
		node    string
		now     time.Time
		refused bool
	}{
		{name: "a new host"},
		{name: "it runs, and the directory is new", record: []messages.HostEvent{start}, refused: true},
		{name: "it was killed here", record: []messages.HostEvent{start}, used: true, node: "cellar", now: heard},
		{
			name: "the used directory was copied to another machine", record: []messages.HostEvent{start},
			used: true, node: "attic", now: heard.Add(time.Minute), refused: true,
		},
		{
			name: "the same, and the other process goes on saying that it lives", record: []messages.HostEvent{start, beat},
			used: true, node: "attic", now: heard.Add(time.Hour + time.Minute), refused: true,
		},
		{
			name: "the machine has another name, and nobody was heard for long", record: []messages.HostEvent{start},
			used: true, node: "attic", now: heard.Add(time.Hour),
		},
		{
			name: "the directory is new, and nobody was heard for long", record: []messages.HostEvent{start, beat},
			node: "attic", now: heard.Add(1000 * time.Hour), refused: true,
		},
		{name: "it has stopped elsewhere", record: []messages.HostEvent{start, beat, stop}},
		{name: "it runs again", record: []messages.HostEvent{start, stop, start}, refused: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := storetest.NewMemory()
			defer store.Close()
			for i, m := range c.record {
				name, version, data, err := catalog.Codec().Encode(m)
				if err != nil {
					t.Fatal(err)
				}
				_, err = store.Append(t.Context(), events.HostStream(me), events.Any(), []events.NewEvent{{
					ID: events.NewEventID(events.HostStream(me), "test", i), Type: name, Data: data,
					Meta: events.Metadata{Version: version},
				}})
				if err != nil {
					t.Fatal(err)
				}
			}
			dir := datadir.At(t.TempDir())
			if c.used {
				if err := os.MkdirAll(filepath.Join(dir.Outbox(), "tx"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			err := notElsewhere(t.Context(), store, me, dir, c.node, c.now)
			if errors.Is(err, ErrElsewhere) != c.refused || !c.refused && err != nil {
				t.Fatalf("refused: %v, want %v", err, c.refused)
			}
			if c.refused && !strings.Contains(err.Error(), `2031-04-05T06:07:08Z on "cellar"`) {
				t.Errorf("%v does not say where and since when", err)
			}
		})
	}
}

// unreadable is a store that goes away before it is asked.
type unreadable struct{ events.Store }

func (unreadable) ReadStream(context.Context, string, events.ReadStream) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) { yield(events.Recorded{}, events.ErrAway) }
}

func TestAHostDoesNotBeginWhenItCannotLookWhetherItRunsElsewhere(t *testing.T) {
	err := notElsewhere(t.Context(), unreadable{storetest.NewMemory()}, events.Address{1}, datadir.At(t.TempDir()),
		"", time.Time{})
	if !errors.Is(err, events.ErrAway) {
		t.Fatalf("a record that does not answer: %v", err)
	}
	err = notElsewhere(t.Context(), storetest.NewMemory(), events.Address{1}, datadir.At(t.TempDir()), "", time.Time{})
	if err != nil {
		t.Fatalf("a host that is new: %v", err)
	}
}
