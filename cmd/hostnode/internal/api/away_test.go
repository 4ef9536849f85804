package api_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem/rows"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/projections"
)

// switchedStore can be away.
type switchedStore struct {
	events.Store
	away atomic.Bool
}

func (s *switchedStore) Append(
	ctx context.Context, stream string, expected events.Expected, batch []events.NewEvent,
) (events.AppendResult, error) {
	if s.away.Load() {
		return events.AppendResult{}, events.ErrAway
	}
	return s.Store.Append(ctx, stream, expected, batch)
}

func (s *switchedStore) Head(ctx context.Context) (events.Position, error) {
	if s.away.Load() {
		return 0, events.ErrAway
	}
	return s.Store.Head(ctx)
}

func TestAHostWhoseStoreIsAwaySaysSoAndSellsAgainByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &switchedStore{Store: storetest.NewMemory()}
		live, _, _ := runningOn(t, store)
		add := func(ctx context.Context) (projections.Availability, error) { return live.AddAvailability(ctx, offer()) }
		ask(t, add)
		if s := ask(t, live.Status); !s.Selling || s.Record.Away {
			t.Fatalf("before: selling %v (%s), %+v", s.Selling, s.Reason, s.Record)
		}
		store.away.Store(true)
		time.Sleep(10 * time.Second)
		s := ask(t, live.Status)
		if s.Selling || !s.Record.Away || s.Hint == "" {
			t.Fatalf("away: selling %v (%s), %+v", s.Selling, s.Reason, s.Record)
		}
		for _, part := range []string{
			"does not answer since 2000-01-01 00:00:0", events.ErrAway.Error(), "proofs that are due are still sent",
		} {
			if !strings.Contains(s.Reason, part) {
				t.Errorf("the reason does not say %q: %s", part, s.Reason)
			}
		}
		text, err := json.Marshal(s)
		if err != nil || !strings.Contains(string(text), `"record":{"away":true,"since":"2000-01-01T00:00:0`) {
			t.Errorf("as JSON (%v): %s", err, text)
		}
		if _, err := add(t.Context()); rows.All().Explain(err).Code != "record-away" {
			t.Fatalf("adding an availability: %v", err)
		}
		store.away.Store(false)
		time.Sleep(10 * time.Second)
		if s := ask(t, live.Status); !s.Selling || s.Record != (api.Record{}) {
			t.Fatalf("back: selling %v (%s), %+v", s.Selling, s.Reason, s.Record)
		}
	})
}
