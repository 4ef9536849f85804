package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/projections"
)

// ErrUnknownSector: this host has never had a sector of the number.
var ErrUnknownSector = errors.New("no such sector")

// Bounds of a page of a sector's timeline.
const (
	DefaultMoments = 100
	MaxMoments     = 10_000
)

// SectorReader tells of sectors.
type SectorReader interface {
	// Sectors lists all, those that need somebody first.
	Sectors(ctx context.Context) (Sectors, error)
	// Sector is one of them; ErrUnknownSector.
	Sector(ctx context.Context, number uint64) (Sector, error)
	// SectorTimeline is a page of its events; ErrUnknownSector.
	SectorTimeline(ctx context.Context, number uint64, page projections.Page) (SectorTimeline, error)
	// SectorFaults are the sectors with a fault that is not recovered.
	SectorFaults(ctx context.Context) (SectorFaults, error)
}

// Sectors are the sectors of this host.
type Sectors struct {
	AsOf AsOf `json:"asOf"`
	projections.Provider
	// Proves is what the proofs of the running host show: possession, simulated or replication.
	Proves string `json:"proves,omitempty"`
	// Now are those of which a running host knows more, by number.
	Now []SectorNow `json:"now,omitempty"`
}

// SectorNow is what only the running host knows of a sector.
type SectorNow struct {
	SectorNumber uint64 `json:"sectorNumber"`
	// Progress is how much of the step that runs is done, from 0 to 1.
	Progress float64 `json:"progress,omitempty"`
	// CallSince is when the running call on the sealer or on files began, and CallMoved when it last made
	// progress, by the machine's clock. Absent: no call runs, or the step waits for a place.
	CallSince time.Time `json:"callSince,omitzero"`
	CallMoved time.Time `json:"callMoved,omitzero"`
	// Quarantined is why it is left alone; empty: it is not.
	Quarantined string `json:"quarantined,omitempty"`
}

// Sector is one of them.
type Sector struct {
	AsOf   AsOf               `json:"asOf"`
	Sector projections.Sector `json:"sector"`
	Proves string             `json:"proves,omitempty"` // as in Sectors
	Now    *SectorNow         `json:"now,omitempty"`    // nil: nothing, or no host runs
}

// SectorTimeline is a page of the events of a sector.
type SectorTimeline struct {
	AsOf AsOf                       `json:"asOf"`
	Page projections.SectorTimeline `json:"page"`
}

func (r *reader) provider() projections.Provider {
	p := mine(r, r.views.Sectors().Providers, func(p projections.Provider) string { return p.Host })
	if p.Sectors == nil {
		p = projections.Provider{
			Host: r.host.String(), Counts: []projections.StateCount{}, Sectors: []projections.Sector{},
		}
	}
	return p
}

// Sectors implements SectorReader.
func (r *reader) Sectors(context.Context) (Sectors, error) {
	return Sectors{AsOf: r.asOf(), Provider: r.provider()}, nil
}

// Sector implements SectorReader.
func (r *reader) Sector(_ context.Context, number uint64) (Sector, error) {
	all := r.provider().Sectors
	i := slices.IndexFunc(all, func(s projections.Sector) bool { return s.SectorNumber == number })
	if i < 0 {
		return Sector{}, fmt.Errorf("%w: number %d", ErrUnknownSector, number)
	}
	return Sector{AsOf: r.asOf(), Sector: all[i]}, nil
}

// SectorTimeline implements SectorReader.
func (r *reader) SectorTimeline(ctx context.Context, number uint64, page projections.Page) (SectorTimeline, error) {
	if page.Most < 1 || page.Most > MaxMoments {
		return SectorTimeline{}, fmt.Errorf("%w: most = %d, allowed: 1 to %d", ErrBadRequest, page.Most, MaxMoments)
	}
	out, err := projections.ReadSectorTimeline(ctx, r.store, r.host, number, page, r.past)
	if errors.Is(err, events.ErrStreamNotFound) {
		return SectorTimeline{}, fmt.Errorf("%w: number %d", ErrUnknownSector, number)
	}
	return SectorTimeline{r.asOf(), out}, err
}

// stands is what the host knows of its sectors beyond the record; without an answer soon, nothing.
func (l *Live) stands(ctx context.Context) []SectorNow {
	ctx, cancel := context.WithTimeout(ctx, balancePatience)
	defer cancel()
	all, err := l.cfg.Host.Sectors(ctx)
	if err != nil { // Of its trouble the status tells.
		return nil
	}
	var out []SectorNow
	for _, one := range all {
		now := SectorNow{SectorNumber: one.Number, Quarantined: one.Quarantined}
		if one.Call.Key != "" && one.Call.Key == one.Info.Step.Key { // Otherwise its step has ended.
			now.Progress, now.CallSince, now.CallMoved = one.Progress, one.Call.Since, one.Call.Moved
		}
		if now != (SectorNow{SectorNumber: one.Number}) {
			out = append(out, now)
		}
	}
	return out
}

// Sectors implements SectorReader, with what runs.
func (l *Live) Sectors(ctx context.Context) (Sectors, error) {
	answer, err := l.reader.Sectors(ctx)
	if len(answer.Provider.Sectors) > 0 {
		answer.Proves, answer.Now = l.cfg.Proves, l.stands(ctx)
	}
	return answer, err
}

// Sector implements SectorReader, with what runs.
func (l *Live) Sector(ctx context.Context, number uint64) (Sector, error) {
	answer, err := l.reader.Sector(ctx, number)
	if err != nil {
		return Sector{}, err
	}
	answer.Proves = l.cfg.Proves
	for _, now := range l.stands(ctx) {
		if now.SectorNumber == number {
			answer.Now = &now
		}
	}
	return answer, nil
}

// sectorRoutes are those of a SectorReader, below a path; reading finds it for a request.
func sectorRoutes(reading func(*http.Request) (SectorReader, error)) map[string]answer {
	with := func(ask func(SectorReader, *http.Request) (any, error)) answer {
		return func(r *http.Request) (any, error) {
			b, err := reading(r)
			if err != nil {
				return nil, err
			}
			return ask(b, r)
		}
	}
	one := func(ask func(SectorReader, *http.Request, uint64) (any, error)) answer {
		return with(func(b SectorReader, r *http.Request) (any, error) {
			n, err := numberOf(r)
			if err != nil {
				return nil, err
			}
			return ask(b, r, n)
		})
	}
	return map[string]answer{
		"sectors": with(func(b SectorReader, r *http.Request) (any, error) { return b.Sectors(r.Context()) }),
		"sectors/faults": with(func(b SectorReader, r *http.Request) (any, error) {
			return b.SectorFaults(r.Context())
		}),
		"sectors/{number}": one(func(b SectorReader, r *http.Request, n uint64) (any, error) {
			return b.Sector(r.Context(), n)
		}),
		"sectors/{number}/timeline": one(func(b SectorReader, r *http.Request, n uint64) (any, error) {
			page, err := pageOf(r.URL.Query())
			if err != nil {
				return nil, err
			}
			return b.SectorTimeline(r.Context(), n, page)
		}),
	}
}

// numberOf is the number of a sector in the path of a request.
func numberOf(r *http.Request) (uint64, error) {
	n, err := strconv.ParseUint(r.PathValue("number"), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: %.40q is no number of a sector", ErrBadRequest, r.PathValue("number"))
	}
	return n, nil
}

func pageOf(q url.Values) (projections.Page, error) {
	page := projections.Page{Most: DefaultMoments}
	var err error
	if from := q.Get("from"); from != "" {
		if page.From, err = strconv.ParseUint(from, 10, 64); err != nil {
			return page, fmt.Errorf("%w: from = %.40q is no revision", ErrBadRequest, from)
		}
	}
	if most := q.Get("most"); most != "" {
		if page.Most, err = strconv.Atoi(most); err != nil {
			return page, fmt.Errorf("%w: most = %.40q is no number", ErrBadRequest, most)
		}
	}
	return page, nil
}

func sectorPath(number uint64) string { return "sectors/" + strconv.FormatUint(number, 10) }

func queryOf(page projections.Page) url.Values {
	return url.Values{"from": {strconv.FormatUint(page.From, 10)}, "most": {strconv.Itoa(page.Most)}}
}

// Sectors implements SectorReader.
func (c *Client) Sectors(ctx context.Context) (Sectors, error) {
	return ask[Sectors](ctx, c, http.MethodGet, "/v1/sectors", nil)
}

// Sector implements SectorReader.
func (c *Client) Sector(ctx context.Context, number uint64) (Sector, error) {
	return ask[Sector](ctx, c, http.MethodGet, "/v1/"+sectorPath(number), nil)
}

// SectorTimeline implements SectorReader.
func (c *Client) SectorTimeline(ctx context.Context, number uint64, page projections.Page) (SectorTimeline, error) {
	path := "/v1/" + sectorPath(number) + "/timeline?" + queryOf(page).Encode()
	return ask[SectorTimeline](ctx, c, http.MethodGet, path, nil)
}

// SectorFaults implements SectorReader.
func (c *Client) SectorFaults(ctx context.Context) (SectorFaults, error) {
	return ask[SectorFaults](ctx, c, http.MethodGet, "/v1/sectors/faults", nil)
}

// Sectors implements SectorReader.
func (c pastClient) Sectors(ctx context.Context) (Sectors, error) {
	return pastAsk[Sectors](ctx, c, "sectors", url.Values{})
}

// Sector implements SectorReader.
func (c pastClient) Sector(ctx context.Context, number uint64) (Sector, error) {
	return pastAsk[Sector](ctx, c, sectorPath(number), url.Values{})
}

// SectorTimeline implements SectorReader.
func (c pastClient) SectorTimeline(ctx context.Context, number uint64, page projections.Page) (SectorTimeline, error) {
	return pastAsk[SectorTimeline](ctx, c, sectorPath(number)+"/timeline", queryOf(page))
}

// SectorFaults implements SectorReader.
func (c pastClient) SectorFaults(ctx context.Context) (SectorFaults, error) {
	return pastAsk[SectorFaults](ctx, c, "sectors/faults", url.Values{})
}
