package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/projections"
)

// Price hints: what clients asked for lately, by the market's stream in the record, and how many of these requests an
// offer would match. An offer is tried by the ledger's own rules, as if nothing of it were sold and each request were
// made now. Whether the host would also have had the gas, the prover and the luck to fill a slot is not asked.

const (
	// MaxAsked is the most requests that are looked at, and maxMarket the most events of the market's stream.
	MaxAsked  = 10_000
	maxMarket = 200_000
)

// Window says which requests count: the newest ones, at most Requests of them, of the last Days days of chain time.
type Window struct {
	Requests int `default:"1000" query:"requests"`
	Days     int `default:"30"   query:"days"`
}

// PricesQuestion asks what clients pay, and what the availabilities match of that.
type PricesQuestion struct {
	Then
	Window
}

// PreviewQuestion asks what an offer would match. It has the fields of Offer.
type PreviewQuestion struct {
	Window
	Size            events.Bytes `query:"size"`
	DurationSeconds uint64       `query:"durationSeconds"`
	MinPrice        string       `query:"minPricePerBytePerSecond"`
	Collateral      string       `query:"totalCollateral"`
	Until           time.Time    `query:"until"`
}

// Asked says which requests were looked at.
type Asked struct {
	Requests int       `json:"requests"`
	From     time.Time `json:"from,omitzero"`  // when the oldest was made, in chain time
	Until    time.Time `json:"until,omitzero"` // and the newest
	// Cut: the record may have more requests of these days.
	Cut bool `json:"cut,omitempty"`
}

// Spread is how values of requests are spread: each request counts once, whatever its size.
type Spread struct {
	Least  events.Amount `json:"least"`
	Tenth  events.Amount `json:"tenth"` // a tenth has this or less
	Median events.Amount `json:"median"`
	Ninth  events.Amount `json:"ninth"` // nine tenths have this or less
	Most   events.Amount `json:"most"`
}

// Prices is what clients asked for lately.
type Prices struct {
	AsOf  AsOf  `json:"asOf"`
	Asked Asked `json:"asked"`

	Price           Spread `json:"pricePerBytePerSecond"`
	Collateral      Spread `json:"collateralPerByte"`
	DurationSeconds Spread `json:"durationSeconds"`
	SlotSize        Spread `json:"slotSize"`
	// Matched is how many of the requests at least one enabled availability matches.
	Matched        int         `json:"matched"`
	Availabilities []OfferHint `json:"availabilities"`
}

// OfferHint is what an availability matches of the requests, also if it is disabled.
type OfferHint struct {
	ID       string `json:"id"`
	MinPrice string `json:"minPricePerBytePerSecond"`
	Hint
}

// Preview is what an offer would match.
type Preview struct {
	AsOf  AsOf  `json:"asOf"`
	Asked Asked `json:"asked"`
	Hint
}

// Hint is how an offer fits the requests.
type Hint struct {
	Matches int `json:"matches"`
	// Refused are the criteria that the others fail first, the commonest first.
	Refused []Unmatched `json:"refused"`
	// Prices are minimum prices with the requests that they match, the highest price first, if all else of the offer
	// stays as it is.
	Prices []PriceStep `json:"prices"`
}

// Unmatched are requests that an offer does not match.
type Unmatched struct {
	Criterion capacity.Criterion `json:"criterion"`
	Requests  int                `json:"requests"`
	// Nearest is what the offer must have for the first of them to meet the criterion: bytes, seconds, base units per
	// byte and second, or base units of collateral; 0: that is not a number.
	Nearest events.Amount `json:"nearest"`
}

// PriceStep is what a minimum price matches.
type PriceStep struct {
	MinPrice events.Amount `json:"minPricePerBytePerSecond"`
	Matches  int           `json:"matches"`
}

// Prices is what clients asked for lately, and what the availabilities match of it.
func (r *reader) Prices(ctx context.Context, q PricesQuestion) (out Prices, err error) {
	requests, asked, err := r.asked(ctx, q.Window)
	if err != nil {
		return out, err
	}
	out = Prices{AsOf: r.asOf(), Asked: asked, Availabilities: []OfferHint{}}
	for _, one := range []struct {
		into *Spread
		of   func(events.Ask) events.Amount
	}{
		{&out.Price, func(a events.Ask) events.Amount { return a.PricePerBytePerSecond }},
		{&out.Collateral, func(a events.Ask) events.Amount { return a.CollateralPerByte }},
		{&out.DurationSeconds, func(a events.Ask) events.Amount { return inSeconds(a.Duration) }},
		{&out.SlotSize, func(a events.Ask) events.Amount { return events.NewAmount(uint64(a.SlotSize)) }},
	} {
		values := make([]events.Amount, 0, len(requests))
		for _, a := range requests {
			values = append(values, one.of(a))
		}
		*one.into = spreadOf(values)
	}
	matched := make([]bool, len(requests))
	for _, a := range r.ledger().Availabilities {
		offer, err := OfferOf(a).command(r.now())
		if err != nil {
			return out, err
		}
		hint, matches, err := tried(offer.Now, requests, r.now())
		if err != nil {
			return out, fmt.Errorf("try availability %s: %w", a.ID, err)
		}
		for i := range matches {
			matched[i] = matched[i] || matches[i] && a.Enabled
		}
		out.Availabilities = append(out.Availabilities, OfferHint{a.ID, a.MinPrice, hint})
	}
	for _, yes := range matched {
		if yes {
			out.Matched++
		}
	}
	return out, nil
}

// PreviewOffer is what an offer would match.
func (r *reader) PreviewOffer(ctx context.Context, q PreviewQuestion) (out Preview, err error) {
	offer, err := Offer{
		Size: q.Size, DurationSeconds: q.DurationSeconds, MinPrice: q.MinPrice, Collateral: q.Collateral,
		Until: q.Until,
	}.command(r.now())
	if err != nil {
		return out, err
	}
	requests, asked, err := r.asked(ctx, q.Window)
	if err != nil {
		return out, err
	}
	out = Preview{AsOf: r.asOf(), Asked: asked}
	out.Hint, _, err = tried(offer.Now, requests, r.now())
	return out, err
}

// OfferOf is what an availability of this process puts on offer.
func OfferOf(a projections.Availability) Offer {
	return Offer{
		ID: a.ID, Disabled: !a.Enabled, Size: a.TotalSize, DurationSeconds: a.DurationSeconds, MinPrice: a.MinPrice,
		Collateral: a.Collateral, Until: a.Until,
	}
}

// asked are the sound requests of a window in the record, the newest first.
func (r *reader) asked(ctx context.Context, w Window) (all []events.Ask, said Asked, err error) {
	if w.Requests < 1 || w.Requests > MaxAsked || w.Days < 1 {
		return nil, said, fmt.Errorf("%w: requests = %d, days = %d, allowed: 1 to %d requests, and at least a day",
			problem.ErrBadRequest, w.Requests, w.Days, MaxAsked)
	}
	run, started := r.run()
	if !started {
		return nil, said, nil
	}
	contract, err := events.ParseAddress(run.Contract)
	if err != nil {
		return nil, said, fmt.Errorf("the contract of the last start: %w", err)
	}
	codec, seen, n := catalog.Codec(), map[string]bool{}, 0
	back := events.ReadStream{From: events.End, Backward: true}
	for e, err := range r.store.ReadStream(ctx, events.MarketStream(run.ChainID, contract), back) {
		if errors.Is(err, events.ErrStreamNotFound) {
			break
		} else if err != nil {
			return nil, said, fmt.Errorf("read what clients asked for: %w", err)
		}
		if n++; n > maxMarket || len(all) == w.Requests {
			said.Cut = true
			break
		}
		if e.Type != "ChainStorageRequested" || r.past != nil && !r.past(e) {
			continue
		}
		m, err := codec.Decode(e)
		if err != nil {
			continue // The audit tells of it.
		}
		asked := m.(*messages.ChainStorageRequested) //nolint:forcetypeassert // The type says so.
		made := events.TimeFromMessage(asked.GetLog().GetTime())
		if said.Until.IsZero() {
			said.Until = made
		}
		if said.Until.Sub(made) > time.Duration(min(w.Days, maxDays))*24*time.Hour {
			break
		}
		request := events.RequestFromMessage(asked.GetRequest())
		if seen[asked.GetRequestId()] || events.CheckRequest(request) != nil {
			continue // A reorganisation moved it, or no host could serve it.
		}
		seen[asked.GetRequestId()] = true
		all, said.From = append(all, request.Ask), made
	}
	said.Requests = len(all)
	return all, said, nil
}

// maxDays is more than any record has.
const maxDays = 36_500

func inSeconds(d time.Duration) events.Amount {
	return events.NewAmount(uint64(max(0, d) / time.Second))
}

// spreadOf is the spread of values, which it sorts; of none it is zero.
func spreadOf(values []events.Amount) (s Spread) {
	if len(values) == 0 {
		return s
	}
	slices.SortFunc(values, events.Amount.Cmp)
	at := func(tenths int) events.Amount { return values[(len(values)-1)*tenths/10] }
	return Spread{at(0), at(1), at(5), at(9), at(10)}
}

// tried says which of the requests an offer matches, if all of it is free and each request is made now.
func tried(o capacity.Offer, requests []events.Ask, now time.Time) (h Hint, matches []bool, err error) {
	o.Enabled = true
	ledger, err := onlyOffer(o, now)
	if err != nil {
		return h, nil, err
	}
	refused, prices := map[capacity.Criterion]Unmatched{}, []events.Amount{}
	matches = make([]bool, len(requests))
	for i, r := range requests {
		ask := capacity.Ask{
			SlotSize: r.SlotSize, Duration: r.Duration, PricePerBytePerSecond: r.PricePerBytePerSecond,
			CollateralPerByte: r.CollateralPerByte, RequestEnd: now.Add(r.Duration),
		}
		_, no := capacity.Match(ledger, ask)
		if matches[i] = no == nil; matches[i] {
			h.Matches++
		} else {
			refused[no.Criterion] = refused[no.Criterion].with(no.Criterion, r)
		}
		ask.PricePerBytePerSecond = o.MinPrice // As if the price were right.
		if _, no := capacity.Match(ledger, ask); no == nil {
			prices = append(prices, r.PricePerBytePerSecond)
		}
	}
	h.Refused = make([]Unmatched, 0, len(refused))
	for _, one := range refused {
		h.Refused = append(h.Refused, one)
	}
	slices.SortFunc(h.Refused, func(a, b Unmatched) int {
		return cmp.Or(b.Requests-a.Requests, cmp.Compare(a.Criterion, b.Criterion))
	})
	h.Prices = stepsOf(prices)
	return h, matches, nil
}

// with counts one more request.
func (u Unmatched) with(criterion capacity.Criterion, r events.Ask) Unmatched {
	var needs events.Amount
	switch criterion { //nolint:exhaustive // Only these are about a number of the offer.
	case capacity.Size:
		needs = events.NewAmount(uint64(r.SlotSize))
	case capacity.Duration:
		needs = inSeconds(r.Duration)
	case capacity.Price:
		needs = r.PricePerBytePerSecond
	case capacity.Collateral:
		needs, _ = r.CollateralPerSlot()
	}
	nearer := needs.Less(u.Nearest)
	if criterion == capacity.Price {
		nearer = u.Nearest.Less(needs)
	}
	if u.Requests == 0 || nearer {
		u.Nearest = needs
	}
	u.Criterion, u.Requests = criterion, u.Requests+1
	return u
}

// stepsOf are the prices at which a quarter, a half, three quarters and all of the requests are matched that pay so.
func stepsOf(prices []events.Amount) []PriceStep {
	slices.SortFunc(prices, func(a, b events.Amount) int { return b.Cmp(a) })
	steps := []PriceStep{}
	for quarter := 1; quarter <= 4 && len(prices) > 0; quarter++ {
		price := prices[(len(prices)*quarter+3)/4-1]
		matches := len(prices)
		if cheaper := slices.IndexFunc(prices, func(p events.Amount) bool { return p.Less(price) }); cheaper >= 0 {
			matches = cheaper
		}
		if len(steps) == 0 || steps[len(steps)-1].Matches < matches {
			steps = append(steps, PriceStep{price, matches})
		}
	}
	return steps
}

// onlyOffer is the ledger of a host with one offer, of which nothing is sold.
func onlyOffer(o capacity.Offer, at time.Time) (capacity.State, error) {
	s := capacity.New()
	for _, c := range []capacity.Command{
		capacity.SetQuota{At: at, Bytes: capacity.MaxQuota}, capacity.Create{At: at, ID: DrawID(), Now: o},
	} {
		made, err := capacity.Decide(s, c)
		if err != nil {
			return s, err
		}
		for _, e := range made {
			s = capacity.Evolve(s, e)
		}
	}
	return s, nil
}
