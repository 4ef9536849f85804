package api_test

import (
	"context"
	"errors"
	"iter"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/replay"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/stores"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/projections"
)

func TestPointsInTheRecordAreRead(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]api.When{
		"":                          {},
		"17":                        {Revision: 17, HasRevision: true},
		"0":                         {HasRevision: true},
		"@1234":                     {Position: 1234},
		"2026-11-20T08:00:00Z":      {Time: now.Add(-4 * time.Hour)},
		"2026-11-20T09:00:00+01:00": {Time: now.Add(-4 * time.Hour)},
		"2026-11-20":                {Time: now.Add(-12 * time.Hour)},
		"-2h":                       {Time: now.Add(-2 * time.Hour)},
		"-90m":                      {Time: now.Add(-90 * time.Minute)},
		"-3d":                       {Time: now.Add(-72 * time.Hour)},
	} {
		got, err := api.ParseWhen(text, now)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got):\n%s", text, err, diff)
		}
		again, err := api.ParseWhen(got.String(), now)
		if diff := cmp.Diff(want, again); diff != "" || err != nil {
			t.Errorf("%q travels as %q: %v\n%s", text, got, err, diff)
		}
	}
	for _, text := range []string{
		"@", "@0", "@-1", "@x", "yesterday", "-2", "--2h", "-xd", "2026-13-01", "2026-11-21", "2027-01-01T00:00:00Z",
		"+2h", "1.5", "-99999999999999h", " ",
	} {
		if got, err := api.ParseWhen(text, now); !errors.Is(err, problem.ErrBadRequest) {
			t.Errorf("%q is %+v, error %v", text, got, err)
		}
	}
}

func FuzzParseWhen(f *testing.F) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	f.Add("-2h")
	f.Add("@12")
	f.Fuzz(func(t *testing.T, text string) {
		w, err := api.ParseWhen(text, now)
		if err != nil {
			return
		}
		if again, err := api.ParseWhen(w.String(), now); err != nil || again != w {
			t.Fatalf("%q is %+v and travels as %+v, %v", text, w, again, err)
		}
	})
}

// The record of this test: a quota and an availability, then another one.
func TestTheHostIsShownAsItWas(t *testing.T) {
	b := offline(t, me)
	first, second := offer(), offer()
	first.ID, second.ID = api.DrawID().String(), api.DrawID().String()
	for _, o := range []api.Offer{first, second} {
		ask(t, func(ctx context.Context) (projections.Availability, error) { return b.AddAvailability(ctx, o) })
	}
	client := served(t, b)
	for name, backend := range map[string]asking{"offline": {b}, "over the socket": client} {
		t.Run(name, func(t *testing.T) {
			past, err := backend.At(t.Context(), api.When{Position: 2})
			if err != nil {
				t.Fatal(err)
			}
			l := ask(t, past.Ledger)
			if len(l.Availabilities) != 1 || l.Availabilities[0].ID != first.ID || l.AsOf.Position != 2 ||
				!l.AsOf.Recorded.Equal(fixed()) {
				t.Fatalf("%+v", l)
			}
			s := ask(t, past.Status)
			if s.Selling || len(s.Ledger.Availabilities) != 1 || s.AsOf.Position != 2 || s.Reason == "" {
				t.Fatalf("%+v", s)
			}
			ask(t, past.Queue)
			if sales := ask(t, func(ctx context.Context) (api.Sales, error) { return past.Sales(ctx, 5) }); len(sales.Sales) > 0 {
				t.Fatalf("%+v", sales)
			}
			if _, err := past.Sale(t.Context(), "0x5107"); !errors.Is(err, problem.ErrUnknownSale) {
				t.Fatal(err)
			}
			for _, c := range []struct {
				when api.When
				want error
			}{
				{api.When{Time: fixed().Add(-time.Second)}, replay.ErrBefore},
				{api.When{Position: 99}, replay.ErrBeyond},
				{api.When{Revision: 1, HasRevision: true}, problem.ErrBadRequest},
			} {
				past, err := backend.At(t.Context(), c.when)
				if err == nil { // Over the socket the request says so.
					_, err = past.Status(t.Context())
				}
				if !errors.Is(err, c.want) {
					t.Errorf("at %s: %v", c.when, err)
				}
			}
		})
	}
}

func TestAMachineIsReplayed(t *testing.T) {
	b := offline(t, me)
	o := offer()
	o.ID = api.DrawID().String()
	ask(t, func(ctx context.Context) (projections.Availability, error) { return b.AddAvailability(ctx, o) })
	client := served(t, b)
	question := api.ReplayQuestion{Stream: "capacity", At: api.When{HasRevision: true, Revision: 0}, Events: true}
	for name, backend := range map[string]asking{"offline": {b}, "over the socket": client} {
		t.Run(name, func(t *testing.T) {
			r, err := backend.Replay(t.Context(), question)
			if err != nil {
				t.Fatal(err)
			}
			if r.Stream != events.CapacityStream(me) || r.Revision != 0 || r.Last != 1 || len(r.History) != 1 ||
				!slices.Contains(r.State.Facts, replay.Fact{Name: "bookUnallocated", Value: "10485760"}) || len(r.State.Lists) != 0 {
				t.Fatalf("%+v", r)
			}
			r, err = backend.Replay(t.Context(), api.ReplayQuestion{Stream: "capacity"})
			if err != nil || len(r.State.Lists) != 1 ||
				!slices.Contains(r.State.Lists[0].Rows[0], replay.Fact{Name: "id", Value: o.ID}) {
				t.Fatalf("%+v, %v", r, err)
			}
			for _, c := range []struct {
				q    api.ReplayQuestion
				want error
			}{
				{api.ReplayQuestion{Stream: "capcity"}, replay.ErrUnknownStream},
				{api.ReplayQuestion{Stream: events.TxStream(me)}, replay.ErrUnknownStream},
				{api.ReplayQuestion{Stream: "capacity", At: api.When{HasRevision: true, Revision: 2}}, replay.ErrBeyond},
				{api.ReplayQuestion{Stream: "capacity", At: api.When{Position: 99}}, replay.ErrBeyond},
				{api.ReplayQuestion{Stream: "capacity", At: api.When{Time: fixed().Add(-time.Hour)}}, replay.ErrBefore},
			} {
				if _, err := backend.Replay(t.Context(), c.q); !errors.Is(err, c.want) {
					t.Errorf("%+v: %v, want %v", c.q, err, c.want)
				}
			}
		})
	}
}

// whole is a store that counts the events that are read from its log.
type whole struct {
	events.Store
	read *atomic.Int64
}

func (w whole) ReadAll(ctx context.Context, after events.Position, limit int) iter.Seq2[events.Recorded, error] {
	return w.counted(w.Store.ReadAll(ctx, after, limit))
}

func (w whole) Subscribe(ctx context.Context, after events.Position) iter.Seq2[events.Recorded, error] {
	return w.counted(w.Store.Subscribe(ctx, after))
}

func (w whole) counted(all iter.Seq2[events.Recorded, error]) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		for r, err := range all {
			if w.read.Add(1); !yield(r, err) {
				return
			}
		}
	}
}

// TestAStreamWithItsWholeNameIsReplayedWithoutTheLog: on a server, the log may have millions of events of others.
func TestAStreamWithItsWholeNameIsReplayedWithoutTheLog(t *testing.T) {
	store := whole{storetest.NewMemory(), &atomic.Int64{}}
	for n := range 100 {
		stream := events.SaleStream(me, events.SlotID{byte(n)})
		for i, e := range benchLife(t) {
			e.ID = events.NewEventID(stream, "test", i)
			if _, err := store.Append(t.Context(), stream, events.ExpectNext(uint64(i)), []events.NewEvent{e}); err != nil {
				t.Fatal(err)
			}
		}
	}
	b, err := api.OpenOffline(t.Context(), api.OfflineConfig{
		Source: api.Source{DataDir: t.TempDir() + "/none"}, Store: stores.Spec{URL: serveStore(t, store)}, NoViews: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	name := events.SaleStream(me, events.SlotID{7})
	store.read.Store(0)
	r, err := b.Replay(t.Context(), api.ReplayQuestion{Stream: name})
	if err != nil || r.Stream != name || store.read.Load() > 10 { // The connection looks at the end of the log.
		t.Fatalf("%d events of the log were read for %+v: %v", store.read.Load(), r, err)
	}
	if r, err = b.Replay(t.Context(), api.ReplayQuestion{Stream: "0x07"}); err != nil || r.Stream != name {
		t.Fatalf("%+v: %v", r, err)
	}
}

func TestAnAuditContinuesOverTheSocket(t *testing.T) {
	b := offline(t, me)
	client := served(t, b)
	o := api.AuditOptions{Checkpoint: filepath.Join(t.TempDir(), "audit.state")}
	for i, want := range []events.Position{0, 2} {
		offer := offer()
		offer.ID = api.DrawID().String()
		ask(t, func(ctx context.Context) (projections.Availability, error) { return b.AddAvailability(ctx, offer) })
		a := ask(t, func(ctx context.Context) (api.Audit, error) { return client.Audit(ctx, o) })
		if a.ContinuedFrom != want || !a.Clean || a.CheckpointIgnored != "" || a.Events != uint64(2+i) {
			t.Fatalf("audit %d continued from %d: %+v", i, a.ContinuedFrom, a)
		}
	}
	if _, err := client.Audit(t.Context(), api.AuditOptions{Checkpoint: "here"}); !errors.Is(err, problem.ErrBadRequest) {
		t.Fatal(err)
	}
	if _, err := client.Audit(t.Context(), api.AuditOptions{Chain: api.OwnChain}); !errors.Is(err, problem.ErrBadRequest) {
		t.Fatal(err)
	}
}

// TestViewsOfASharedServerAreOfOneHostAndSaved: the events of its other hosts are not sent, and the next command,
// or the host itself, goes on from there.
func TestViewsOfASharedServerAreOfOneHostAndSaved(t *testing.T) {
	store := whole{storetest.NewMemory(), &atomic.Int64{}}
	for _, host := range []events.Address{me, {0xee}} {
		stream := events.SaleStream(host, events.SlotID{1})
		life := benchLife(t)
		for i := range life {
			life[i].ID = events.NewEventID(stream, "test", i)
		}
		if _, err := store.Append(t.Context(), stream, events.NoStream(), life); err != nil {
			t.Fatal(err)
		}
	}
	dir := shortDir(t)
	for _, from := range []events.Position{0, 18} {
		b, err := api.OpenOffline(t.Context(), api.OfflineConfig{
			Source: api.Source{DataDir: dir, Account: me}, Store: stores.Spec{URL: serveStore(t, store)}, Create: true, Changes: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		s, err := b.Status(t.Context())
		if err != nil || s.Views.StartedFrom != from || s.Views.AsOf != 36 || s.Views.Ignored != "" {
			t.Errorf("%+v: %v", s.Views, err)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
	views, err := projections.Open(t.Context(), store, projections.Config{
		Dir: datadir.At(dir).Views(), Scope: projections.Scope{Host: me},
	})
	if err != nil || views.Status().StartedFrom != 18 || len(views.Sales().Sales) != 1 {
		t.Fatalf("%+v: %v", views.Status(), err)
	}
}
