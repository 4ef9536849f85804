package api

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/projections"
)

// This file has both sides of the socket for what Past answers, of the present too.

// questions asks what Past answers, below a path, always with the same parameters.
type questions struct {
	client *Client
	below  string
	always url.Values
}

func look[A any](ctx context.Context, q questions, path string, with url.Values) (A, error) {
	all := maps.Clone(q.always)
	maps.Copy(all, with)
	return ask[A](ctx, q.client, http.MethodGet, q.below+path+"?"+all.Encode(), nil)
}

// Status implements Past.
func (q questions) Status(ctx context.Context) (Status, error) {
	return look[Status](ctx, q, "status", nil)
}

// Ledger implements Past.
func (q questions) Ledger(ctx context.Context) (Ledger, error) {
	return look[Ledger](ctx, q, "ledger", nil)
}

// Queue implements Past.
func (q questions) Queue(ctx context.Context) (Queue, error) {
	return look[Queue](ctx, q, "queue", nil)
}

// Sales implements Past.
func (q questions) Sales(ctx context.Context, settled int) (Sales, error) {
	return look[Sales](ctx, q, "sales", url.Values{"settled": {strconv.Itoa(settled)}})
}

// Sale implements Past.
func (q questions) Sale(ctx context.Context, slot string) (Story, error) {
	return look[Story](ctx, q, "sales/"+url.PathEscape(slot), nil)
}

// Members implements Past.
func (q questions) Members(ctx context.Context) (Members, error) {
	return look[Members](ctx, q, "members", nil)
}

// Sectors implements Past.
func (q questions) Sectors(ctx context.Context) (Sectors, error) {
	return look[Sectors](ctx, q, "sectors", nil)
}

// Sector implements Past.
func (q questions) Sector(ctx context.Context, number uint64) (Sector, error) {
	return look[Sector](ctx, q, sectorPath(number), nil)
}

// SectorTimeline implements Past.
func (q questions) SectorTimeline(
	ctx context.Context, number uint64, page projections.Page,
) (SectorTimeline, error) {
	return look[SectorTimeline](ctx, q, sectorPath(number)+"/timeline", url.Values{
		"from": {strconv.FormatUint(page.From, 10)}, "most": {strconv.Itoa(page.Most)},
	})
}

// SectorFaults implements Past.
func (q questions) SectorFaults(ctx context.Context) (SectorFaults, error) {
	return look[SectorFaults](ctx, q, "sectors/faults", nil)
}

func sectorPath(number uint64) string { return "sectors/" + strconv.FormatUint(number, 10) }

// answers are what a Past answers, by path; of finds the one that a request is about.
func answers(of func(*http.Request) (Past, error)) map[string]answer {
	all := map[string]answer{}
	for path, ask := range map[string]func(Past, *http.Request) (any, error){
		"status":         func(p Past, r *http.Request) (any, error) { return p.Status(r.Context()) },
		"ledger":         func(p Past, r *http.Request) (any, error) { return p.Ledger(r.Context()) },
		"queue":          func(p Past, r *http.Request) (any, error) { return p.Queue(r.Context()) },
		"members":        func(p Past, r *http.Request) (any, error) { return p.Members(r.Context()) },
		"sectors":        func(p Past, r *http.Request) (any, error) { return p.Sectors(r.Context()) },
		"sectors/faults": func(p Past, r *http.Request) (any, error) { return p.SectorFaults(r.Context()) },
		"sales": func(p Past, r *http.Request) (any, error) {
			n, err := asked(r.URL.Query(), "settled", "number", DefaultSettled, strconv.Atoi)
			if err != nil {
				return nil, err
			}
			return p.Sales(r.Context(), n)
		},
		"sales/{slot}": func(p Past, r *http.Request) (any, error) {
			return p.Sale(r.Context(), r.PathValue("slot"))
		},
		"sectors/{number}": func(p Past, r *http.Request) (any, error) {
			n, err := numberOf(r)
			if err != nil {
				return nil, err
			}
			return p.Sector(r.Context(), n)
		},
		"sectors/{number}/timeline": func(p Past, r *http.Request) (any, error) {
			n, err1 := numberOf(r)
			from, err2 := asked(r.URL.Query(), "from", "revision", 0, parseUint)
			most, err3 := asked(r.URL.Query(), "most", "number", DefaultMoments, strconv.Atoi)
			if err := cmp.Or(err1, err2, err3); err != nil {
				return nil, err
			}
			return p.SectorTimeline(r.Context(), n, projections.Page{From: from, Most: most})
		},
	} {
		all[path] = func(r *http.Request) (any, error) {
			p, err := of(r)
			if err != nil {
				return nil, err
			}
			return ask(p, r)
		}
	}
	return all
}

// numberOf is the number of a sector in the path of a request.
func numberOf(r *http.Request) (uint64, error) {
	n, err := strconv.ParseUint(r.PathValue("number"), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: %.40q is no number of a sector", problem.ErrBadRequest, r.PathValue("number"))
	}
	return n, nil
}

// asked is a parameter of a question, or what counts without it; what is what it should be.
func asked[N any](q url.Values, name, what string, without N, parse func(string) (N, error)) (N, error) {
	text := q.Get(name)
	if text == "" {
		return without, nil
	}
	n, err := parse(text)
	if err != nil {
		err = fmt.Errorf("%w: %s = %.40q is no %s", problem.ErrBadRequest, name, text, what)
	}
	return n, err
}

func parseUint(text string) (uint64, error) { return strconv.ParseUint(text, 10, 64) }
