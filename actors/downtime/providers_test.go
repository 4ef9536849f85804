package downtime_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/actors/downtime"
	"github.com/hostnode/hostnode/events"
	core "github.com/hostnode/hostnode/events/downtime"
)

// fakeWindows is a contract of sectors with periods of 60 blocks.
type fakeWindows struct {
	said []events.ProviderWindows
	err  error
}

func (f fakeWindows) Config(context.Context) (events.SectorConfig, error) {
	return events.SectorConfig{PeriodBlocks: 60}, f.err
}

func (f fakeWindows) WindowsOfAll(_ context.Context, first, last uint64) (found []events.ProviderWindows, _ error) {
	for _, w := range f.said {
		if first <= w.Block && w.Block <= last {
			found = append(found, w)
		}
	}
	return found, nil
}

func TestWindowsOfProvidersAreAudits(t *testing.T) {
	node := events.Node(anna.String())
	audit := func(id string, is core.Outcome, block uint64) downtime.Finding {
		return downtime.Finding{Node: node, Audit: core.Audit{ID: id, Source: core.Proof, Outcome: is, Time: when(block)}}
	}
	proven := func(block uint64) events.ProviderWindows {
		return events.ProviderWindows{
			Provider: anna, Name: "deadline 1.0", Period: block / 60, Periods: 1, Proven: true, Block: block,
		}
	}
	missed := func(period, periods, block uint64) events.ProviderWindows {
		return events.ProviderWindows{Provider: anna, Name: "sector 7", Period: period, Periods: periods, Block: block}
	}
	const first, end = 600, 660
	for name, c := range map[string]struct {
		said events.ProviderWindows
		want []downtime.Finding
	}{
		"a proof":                {proven(630), []downtime.Finding{audit("window:10:deadline 1.0", core.Online, 630)}},
		"one in the first block": {proven(first), []downtime.Finding{audit("window:10:deadline 1.0", core.Online, first)}},
		"one before it":          {proven(first - 1), nil},
		"one in the last block":  {proven(end - 1), []downtime.Finding{audit("window:10:deadline 1.0", core.Online, end-1)}},
		"one after it":           {proven(end), nil},
		"a miss of this period":  {missed(10, 1, 640), []downtime.Finding{audit("window:10:sector 7", core.Offline, 640)}},
		"misses that are told late": {missed(8, 2, 601), []downtime.Finding{
			audit("window:8:sector 7", core.Offline, 539), audit("window:9:sector 7", core.Offline, 599),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMarket(t, &fakeChain{}, 700)
			p := downtime.Providers{Chain: m.Chain, Contract: fakeWindows{said: []events.ProviderWindows{c.said}}}
			got, err := p.Findings(t.Context(), when(first), when(end))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// fixed is a source with one answer.
type fixed struct {
	settled time.Time
	found   []downtime.Finding
	err     error
}

func (f fixed) Settled(context.Context) (time.Time, error) { return f.settled, f.err }

func (f fixed) Findings(context.Context, time.Time, time.Time) ([]downtime.Finding, error) {
	return f.found, f.err
}

func TestSeveralSourcesAreSettledWhenAllAre(t *testing.T) {
	a, b := downtime.Finding{Node: "a"}, downtime.Finding{Node: "b"}
	early, late := fixed{when(1), []downtime.Finding{a}, nil}, fixed{when(2), []downtime.Finding{b}, nil}
	for name, c := range map[string]struct {
		of    downtime.Markets
		until time.Time
		found []downtime.Finding
		err   error
	}{
		"two":               {downtime.Markets{late, early}, when(1), []downtime.Finding{b, a}, nil},
		"one knows nothing": {downtime.Markets{late, fixed{}}, time.Time{}, []downtime.Finding{b}, nil},
		"one fails":         {downtime.Markets{late, fixed{err: errNode}}, time.Time{}, nil, errNode},
	} {
		until, err := c.of.Settled(t.Context())
		if !until.Equal(c.until) || !errors.Is(err, c.err) {
			t.Errorf("%s: settled until %s, %v", name, until, err)
		}
		found, err := c.of.Findings(t.Context(), when(0), when(1))
		if diff := cmp.Diff(c.found, found); diff != "" || !errors.Is(err, c.err) {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}
