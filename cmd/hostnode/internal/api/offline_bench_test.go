package api_test

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/stores"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/embedded"
	"github.com/hostnode/hostnode/events/wire"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/projections"
)

// The record of the benchmark: about 100,000 events, and on the server as many events of the
// system, which a server with projections writes.
const (
	benchHosts = 440
	benchSales = 12 // of each host, with 18 events
)

func benchHost(n int) (a events.Address) {
	binary.BigEndian.PutUint32(a[:], uint32(n+1))
	return a
}

func benchSlot(n int) (s events.SlotID) {
	binary.BigEndian.PutUint32(s[:], uint32(n+1))
	return s
}

// benchLife is a whole sale as it was stored.
func benchLife(b testing.TB) (life []events.NewEvent) {
	b.Helper()
	f, err := os.Open("../../../../events/sale/testdata/history/complete.jsonl")
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var e struct {
			Type    string          `json:"type"`
			Version uint32          `json:"version"`
			Data    json.RawMessage `json:"data"`
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			b.Fatal(err)
		}
		life = append(life, events.NewEvent{Type: e.Type, Data: e.Data, Meta: events.Metadata{Version: e.Version}})
	}
	return life
}

func benchRecord(b *testing.B, store events.Store, system bool, hosts, sales int) {
	b.Helper()
	life := benchLife(b)
	add := func(stream string, batch []events.NewEvent) {
		for i := range batch {
			batch[i].ID = events.NewEventID(stream, "bench", i)
		}
		if _, err := store.Append(b.Context(), stream, events.NoStream(), batch); err != nil {
			b.Fatal(err)
		}
	}
	for slot := range sales {
		for n := range hosts {
			host := benchHost(n)
			if slot == 0 {
				start := &messages.HostStarted{
					At: events.TimeToMessage(time.Unix(1_700_000_000, 0)), Epoch: 1, ChainId: 1, Node: "bench", Version: "bench",
					Genesis: events.Hash{1}.String(), Contract: events.Address{1}.String(),
				}
				name, version, data, err := catalog.Codec().Encode(start)
				if err != nil {
					b.Fatal(err)
				}
				add(events.HostStream(host), []events.NewEvent{{Type: name, Data: data, Meta: events.Metadata{Version: version, Epoch: 1}}})
			}
			stream := events.SaleStream(host, benchSlot(slot))
			add(stream, append([]events.NewEvent(nil), life...))
			if system {
				links := make([]events.NewEvent, len(life))
				for i := range links {
					links[i] = events.NewEvent{Type: "link", Data: fmt.Appendf(nil, "%d@%s", i, stream), Binary: true}
				}
				add("$links-"+stream, links)
			}
		}
	}
}

// benchPlaces are a data directory and a server with the same record; the server has streams of others, too.
func benchPlaces(b *testing.B, fill func(store events.Store, system bool)) (local, url string) {
	b.Helper()
	local = b.TempDir()
	dir, err := datadir.Open(local, time.Now())
	if err != nil {
		b.Fatal(err)
	}
	store, _, err := embedded.Open(dir.Events(), embedded.Config{})
	if err != nil {
		b.Fatal(err)
	}
	fill(store, false)
	if err := errors.Join(store.Close(), dir.Close()); err != nil {
		b.Fatal(err)
	}
	behind, _, err := embedded.Open(b.TempDir(), embedded.Config{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = behind.Close() })
	fill(behind, true)
	return local, serveStore(b, behind)
}

// serveStore serves a store as an EventStoreDB does, to anybody.
func serveStore(t testing.TB, store events.Store) (url string) {
	t.Helper()
	server, err := wire.New(wire.Config{Store: store, Anonymous: wire.RoleAdmin})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		_ = server.Close()
		<-served
	})
	return "esdb://" + listener.Addr().String() + "?tls=false"
}

// BenchmarkStatusWithoutAHost is what `hostnode status` does when no host runs: it opens the record,
// builds the views and answers. The server has the events of many hosts, and streams of the system.
func BenchmarkStatusWithoutAHost(b *testing.B) {
	local, url := benchPlaces(b, func(store events.Store, system bool) {
		benchRecord(b, store, system, benchHosts, benchSales)
	})
	far := stores.Spec{URL: url}
	benchStatus(b, map[string]api.OfflineConfig{
		"embedded":                  {Source: api.Source{DataDir: local, Account: benchHost(7)}},
		"server":                    {Source: api.Source{DataDir: b.TempDir() + "/none", Account: benchHost(7)}, Store: far},
		"server of an unknown host": {Source: api.Source{DataDir: b.TempDir() + "/none"}, Store: far},
	})
}

// BenchmarkStatusOfOneLargeHost is the same where the whole record is one host's.
func BenchmarkStatusOfOneLargeHost(b *testing.B) {
	local, url := benchPlaces(b, func(store events.Store, system bool) {
		benchRecord(b, store, system, 1, benchHosts*benchSales)
	})
	benchStatus(b, map[string]api.OfflineConfig{
		"embedded": {Source: api.Source{DataDir: local, Account: benchHost(0)}},
		"server": {
			Source: api.Source{DataDir: b.TempDir() + "/none", Account: benchHost(0)}, Store: stores.Spec{URL: url},
		},
	})
}

func benchStatus(b *testing.B, places map[string]api.OfflineConfig) {
	for _, name := range slices.Sorted(maps.Keys(places)) {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				b.StopTimer() // With its views the second run would read nothing.
				if err := os.RemoveAll(datadir.At(places[name].DataDir).Views()); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				o, err := api.OpenOffline(b.Context(), places[name])
				if err != nil {
					b.Fatal(err)
				}
				s, err := o.Status(b.Context())
				if err != nil || s.Epoch != 1 {
					b.Fatalf("%v: %+v", err, s)
				}
				if err := o.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkReplayOfOneStream is `hostnode replay STREAM` where no host runs: with the whole name, and with the
// first digits of a slot.
func BenchmarkReplayOfOneStream(b *testing.B) {
	local, url := benchPlaces(b, func(store events.Store, system bool) {
		benchRecord(b, store, system, benchHosts, benchSales)
	})
	whole := events.SaleStream(benchHost(7), benchSlot(3))
	for _, c := range []struct{ name, dir, url, typed string }{
		{"embedded", local, "", whole},
		{"server", b.TempDir() + "/none", url, whole},
		{"embedded, shortened", local, "", whole[:len(whole)-1]},
		{"server, shortened", b.TempDir() + "/none", url, whole[:len(whole)-1]},
	} {
		b.Run(c.name, func(b *testing.B) {
			for range b.N {
				o, err := api.OpenOffline(b.Context(), api.OfflineConfig{
					Source: api.Source{DataDir: c.dir}, Store: stores.Spec{URL: c.url}, NoViews: c.url != "",
				})
				if err != nil {
					b.Fatal(err)
				}
				r, err := o.Replay(b.Context(), api.ReplayQuestion{Stream: c.typed})
				if err != nil || r.Events != 18 {
					b.Fatalf("%v: %+v", err, r)
				}
				if err := o.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkStartOnASharedServer is what a start without snapshot and views reads of a server on which 439 of 440
// hosts, and half of the log, are others': its living sales and its views. The second row reads as before.
func BenchmarkStartOnASharedServer(b *testing.B) {
	_, url := benchPlaces(b, func(store events.Store, system bool) {
		benchRecord(b, store, system, benchHosts, benchSales)
	})
	me := benchHost(7)
	for _, c := range []struct {
		name  string
		as    func(events.Store) events.Store
		scope projections.Scope
	}{
		{"its own streams", func(s events.Store) events.Store { return s }, projections.Scope{Host: me}},
		{"the whole log", func(s events.Store) events.Store { return struct{ events.Store }{s} }, projections.Scope{}},
	} {
		b.Run(c.name, func(b *testing.B) {
			for range b.N {
				far, err := stores.Open(b.Context(), stores.Spec{URL: url}, nil)
				if err != nil {
					b.Fatal(err)
				}
				store := c.as(far)
				if _, err := actors.LivingSales(b.Context(), store, me); err != nil {
					b.Fatal(err)
				}
				if _, err := projections.Open(b.Context(), store, projections.Config{Scope: c.scope}); err != nil {
					b.Fatal(err)
				}
				if err := far.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
