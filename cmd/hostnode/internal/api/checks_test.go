package api_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/hostnode/hostnode/actors/checks"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
)

func TestOnlyWhatIsKnownIsCheckedAndOnlyByARunningHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live, _, _ := running(t)
		standby := withSectors(t)
		for name, test := range map[string]struct {
			b    api.Backend
			of   api.ToCheck
			want error
		}{
			"nothing":                   {live, api.ToCheck{}, problem.ErrBadRequest},
			"a slot and a sector":       {live, api.ToCheck{Slot: "0x5107", Sector: 1}, problem.ErrBadRequest},
			"no id":                     {live, api.ToCheck{Slot: "0x51zz"}, problem.ErrBadRequest},
			"an unknown slot":           {live, api.ToCheck{Slot: "0x5107"}, problem.ErrUnknownSale},
			"an unknown sector":         {live, api.ToCheck{Sector: 9}, problem.ErrUnknownSector},
			"a host that is starting":   {standby.Backend, api.ToCheck{Sector: 1}, problem.ErrStandby},
			"a past of a host that ran": {past(t, live), api.ToCheck{Slot: "0x5107"}, problem.ErrBadRequest},
		} {
			if _, err := api.BeginCheck.Ask(t.Context(), test.b, api.Send(test.of)); !errors.Is(err, test.want) {
				t.Errorf("%s: %v, want %v", name, err, test.want)
			}
		}
		all, err := api.ListChecks.Ask(t.Context(), live, api.None{})
		if err != nil || all.Checks == nil || len(all.Checks) != 0 {
			t.Errorf("begun: %+v, %v", all.Checks, err)
		}
		_, shown := api.ShowCheck.Ask(t.Context(), live, api.OfCheck{ID: "1-1"})
		_, cancelled := api.CancelCheck.Ask(t.Context(), live, api.OfCheck{ID: "1-1"})
		if !errors.Is(shown, checks.ErrUnknown) || !errors.Is(cancelled, checks.ErrUnknown) {
			t.Errorf("an unknown check: %v, %v", shown, cancelled)
		}
	})
}

func past(t *testing.T, live *api.Live) api.Backend {
	t.Helper()
	when, err := api.ParseWhen("@1", fixed())
	if err != nil {
		t.Fatal(err)
	}
	b, err := live.At(t.Context(), when)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
