package api_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/projections"
)

// withSectors is a process with a record of two sectors, the second of which is parked.
func withSectors(t *testing.T) asking {
	t.Helper()
	store := storetest.NewMemory()
	for n := range uint64(2) {
		s, first := sector.New(sector.Policy{}), uint64(0)
		decide := func(e sector.Event) {
			t.Helper()
			out, err := sector.Decide(s, sector.Happened{Inputs: sector.Inputs{At: fixed()}, Event: e, By: "operator"})
			if err != nil {
				t.Fatal(err)
			}
			var batch []events.NewEvent
			for i, e := range out {
				name, version, data, err := catalog.Codec().Encode(e)
				if err != nil {
					t.Fatal(err)
				}
				s = sector.Evolve(s, e)
				batch = append(batch, events.NewEvent{
					ID: events.NewEventID("test", name, int(n+first)*10+i), Type: name, Data: data,
					Meta: events.Metadata{Version: version, Causation: "operator"},
				})
			}
			_, err = store.Append(t.Context(), events.SectorStream(me, n+1), events.ExpectNext(first), batch)
			if err != nil {
				t.Fatal(err)
			}
			first += uint64(len(batch))
		}
		at := events.TimeToMessage(fixed())
		decide(&messages.SectorStartEmpty{At: at, Sector: n + 1, Provider: me.String(), Size: 2048, By: "operator"})
		if n == 1 {
			decide(&messages.SectorForceState{At: at, State: "FailedUnrecoverable", By: "operator", Reason: "to see"})
		}
	}
	p, err := projections.Open(t.Context(), store, projections.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return asking{api.NewStandby(api.StandbyConfig{
		Facts: func() health.Facts { return health.Facts{Account: me.String()} }, Store: store, Projector: p,
		Source: api.Source{Now: func() time.Time { return fixed() }},
	})}
}

func TestSectorsAreTheSameOverTheSocket(t *testing.T) {
	direct := withSectors(t)
	client := served(t, direct.Backend)
	past := func(b asking) api.SectorReader {
		p, err := b.At(t.Context(), api.When{Position: 2})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, b := range []struct{ one, other api.SectorReader }{{client, direct}, {past(client), past(direct)}} {
		same(t, b.one.Sectors, b.other.Sectors)
		same(t, b.one.SectorFaults, b.other.SectorFaults)
		sector := func(r api.SectorReader) func(context.Context) (api.Sector, error) {
			return func(ctx context.Context) (api.Sector, error) { return r.Sector(ctx, 1) }
		}
		same(t, sector(b.one), sector(b.other))
		timeline := func(r api.SectorReader) func(context.Context) (api.SectorTimeline, error) {
			return func(ctx context.Context) (api.SectorTimeline, error) {
				return r.SectorTimeline(ctx, 1, projections.Page{From: 1, Most: 1})
			}
		}
		same(t, timeline(b.one), timeline(b.other))
	}
	all := ask(t, client.Sectors)
	if len(all.Sectors) != 2 || all.Sectors[0].SectorNumber != 2 || all.Parked != 1 {
		t.Errorf("%+v", all)
	}
	if was := ask(t, past(client).Sectors); len(was.Sectors) != 1 || was.Parked != 0 {
		t.Errorf("as it was: %+v", was)
	}
	for _, b := range []api.SectorReader{client, direct} {
		if _, err := b.Sector(t.Context(), 3); !errors.Is(err, problem.ErrUnknownSector) {
			t.Errorf("an unknown sector: %v", err)
		}
		if _, err := b.SectorTimeline(t.Context(), 3, projections.Page{Most: 1}); !errors.Is(err, problem.ErrUnknownSector) {
			t.Errorf("the timeline of an unknown sector: %v", err)
		}
		for _, most := range []int{-1, 0, api.MaxMoments + 1} {
			if _, err := b.SectorTimeline(t.Context(), 1, projections.Page{Most: most}); !errors.Is(err, problem.ErrBadRequest) {
				t.Errorf("a page of %d: %v", most, err)
			}
		}
	}
}

func TestPathsOfSectorsAreChecked(t *testing.T) {
	h := api.Handler(withSectors(t).Backend, silent())
	for path, want := range map[string]int{
		"/api/v1/sectors": 200, "/api/v1/sectors/1": 200, "/api/v1/sectors/9": 404, "/api/v1/sectors/one": 400,
		"/api/v1/sectors/1/timeline": 200, "/api/v1/sectors/1/timeline?most=x": 400, "/api/v1/sectors/1/timeline?from=-1": 400,
		"/api/v1/sectors/faults": 200, "/api/v1/sectors/faults?at=@1": 200,
		"/api/v1/sectors?at=@1": 200, "/api/v1/sectors?at=tea": 400, "/api/v1/past/sectors/2?at=@1": 404,
	} {
		if status, code, _ := request(h, http.MethodGet, path, ""); status != want {
			t.Errorf("%s is %d %s, want %d", path, status, code, want)
		}
	}
}
