package api_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/projections"
)

func TestAHostThatStartsAnswersWithWhatThereIs(t *testing.T) {
	store := storetest.NewMemory()
	defer store.Close()
	facts := func() health.Facts {
		return health.Facts{
			Stage: health.Starting, StageSince: time.Unix(1_750_000_000, 0), Account: me.String(), DataDir: "/data",
			Record: shell.StoreStatus{Away: true, Since: time.Unix(1_750_000_000, 0), Reason: "refused"},
		}
	}
	p, err := projections.Open(t.Context(), store, projections.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for name, c := range map[string]struct {
		cfg  api.StandbyConfig
		code map[string]int // by path
	}{
		"before the record is open": {
			api.StandbyConfig{Facts: facts},
			map[string]int{"/api/v1/status": 200, "/api/v1/ledger": 503, "/api/v1/audit": 503, "/api/v1/export": 503, "/api/v1/backup": 503},
		},
		"when it is": {
			api.StandbyConfig{Facts: facts, Store: store, Projector: p},
			map[string]int{"/api/v1/status": 200, "/api/v1/ledger": 200, "/api/v1/audit": 200, "/api/v1/export": 200, "/api/v1/no": 404},
		},
	} {
		h := api.Handler(api.NewStandby(c.cfg), silent())
		for path, want := range c.code {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
			if w.Code != want {
				t.Errorf("%s: %s is %d, want %d: %s", name, path, w.Code, want, w.Body)
			}
		}
		s, err := api.NewStandby(c.cfg).Status(t.Context())
		if err != nil || s.Selling || s.AsOf.Running || s.Account != me.String() ||
			s.Reason != "the event store does not answer since 2025-06-15 15:06:40Z: refused" || s.Readiness[1].Code != "starting" {
			t.Errorf("%s: %v, %+v", name, err, s)
		}
	}
}

// Before the record is open it is not known what is hosted, and yet proofs may be owed.
func TestAHostThatWaitsForItsEventStoreSaysWhatItProves(t *testing.T) {
	for name, c := range map[string]struct {
		facts      health.Facts
		notProving bool
		reason     string
	}{
		"it proves": {health.Facts{Hosting: 3, Outage: health.OutageFacts{Proves: true, Slots: 3, Proofs: 4}}, false, "proofs handed in 4"},
		"a slot's data is gone": {health.Facts{
			Hosting: 3, Outage: health.OutageFacts{Proves: true, Slots: 3},
			ProofTrouble: []health.SlotTrouble{{Slot: events.SlotID{7}, Reason: "gone"}},
		}, true, "slots 3"},
		"it does not": {health.Facts{Outage: health.OutageFacts{Nothing: "no key"}}, true, "nothing is proven meanwhile: no key"},
	} {
		c.facts.Stage, c.facts.Record = health.Starting, shell.StoreStatus{Away: true, Reason: "refused"}
		s, err := api.NewStandby(api.StandbyConfig{Facts: func() health.Facts { return c.facts }}).Status(t.Context())
		if err != nil || s.NotProving != c.notProving || s.Selling || !strings.Contains(s.Reason, c.reason) {
			t.Errorf("%s: %v, %+v", name, err, s)
		}
	}
}
