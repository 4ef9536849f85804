package pages

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/money"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/page"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/projections"
)

// This file shows what is on offer, and puts space on offer. What is typed is read as the command reads it.

func availabilities(ctx context.Context, q *page.Asked) (v page.View, err error) {
	l, err := api.ShowLedger.Ask(ctx, q.Backend, then(q))
	if err != nil {
		return v, err
	}
	v.AsOf = l.AsOf
	t := page.Table{
		Head:  page.Head{ID: "availabilities", Note: "Slots are taken that fit one; open sales keep their terms."},
		Heads: availabilityHeads(),
		Empty: "Nothing is on offer, so nothing is sold. Put space on offer below.",
	}
	for _, a := range l.Availabilities {
		t.Row(availabilityRow(q, a, l.MarketTime)...)
	}
	add := page.Form{
		Head: page.Head{
			ID: "add", Title: "Put space on offer", Note: cli.Size(l.Unallocated) + " of the quota are not on offer.",
		},
		Do: "add", Button: "Put on offer", Fields: terms(q, nil),
	}
	if len(l.Members) > 0 {
		member := page.Field{Name: "member", Label: "Member", Value: q.Typed("member", "")}
		for _, m := range l.Members {
			member.Choices = append(member.Choices, string(m.Member))
		}
		add.Fields = append(add.Fields, member)
	}
	// The id is drawn before, so that a form that is sent twice makes one availability.
	add.Fields = append(add.Fields, page.Hidden("id", q.Typed("id", api.DrawID().String())))
	v.Add(t, add)
	if !asks(q) {
		v.Add(tryForm(q))
		return v, nil
	}
	tried, err := preview(ctx, q)
	v.Add(tryForm(q), tried)
	return v, err
}

func availabilityHeads() []string {
	return []string{
		"Availability", "State", "Free", "Longest", "Least price", "Collateral left", "Until (chain)", "Sales",
	}
}

func availabilityRow(q *page.Asked, a projections.Availability, now time.Time) []page.Cell {
	id := page.ID(a.ID, page.To("availabilities", a.ID))
	id.Under = string(a.Member)
	left := page.Number(q.Token.Amount(a.Remaining))
	left.Under = "of " + q.Token.Amount(a.Collateral)
	free := page.Number(cli.Size(a.FreeSize))
	free.Under = "of " + cli.Size(a.TotalSize)
	return []page.Cell{
		id, offered(a, now), free, page.Number(cli.Span(a.DurationSeconds)), page.Number(q.Token.Price(a.MinPrice)),
		left, page.Text(never(a.Until)), page.Number(a.Reservations),
	}
}

// tryForm asks what an offer would match. Its values are in the address, so that it can be asked again.
func tryForm(q *page.Asked) page.Form {
	return page.Form{
		Head: page.Head{
			ID: "try", Title: "Try an offer",
			Note: "Says how many of the newest requests it would match. Nothing is changed.",
		},
		Asks: true, Button: "Try it", Fields: terms(q, nil),
	}
}

// asks reports whether the address has an offer to be tried.
func asks(q *page.Asked) bool { return q.Get("do") == "" && q.Get("size") != "" }

// preview says what an offer would have matched. One that cannot be read is no error of the page.
func preview(ctx context.Context, q *page.Asked) (page.Block, error) {
	n := page.Notices{Head: page.Head{ID: "tried"}}
	c, err := changesOf(q)
	if c.Size == nil || c.DurationSeconds == nil || c.MinPrice == nil || c.Collateral == nil {
		err = cmp.Or(err, errors.New("fill in all fields but the last"))
	}
	if err != nil {
		n.Each = []page.Notice{{Level: page.Warn, Text: err.Error()}}
		return n, nil
	}
	question := api.PreviewQuestion{
		Window: api.Window{Requests: 1_000, Days: 30}, Size: *c.Size, DurationSeconds: *c.DurationSeconds,
		MinPrice: *c.MinPrice, Collateral: *c.Collateral,
	}
	if c.Until != nil {
		question.Until = *c.Until
	}
	of, err := api.PreviewOffer.Ask(ctx, q.Backend, question)
	if err != nil {
		return nil, err
	}
	t := page.Table{
		Head: page.Head{
			ID: "tried", Note: fmt.Sprintf("It would match %d of %s: the newest ones of 30 days.", of.Matches,
				cli.Count(of.Asked.Requests, "request")),
		},
		Heads: []string{"What", "Requests", "Why not, or with which price"}, Empty: "No request is in the record yet.",
	}
	for _, r := range of.Refused {
		t.Row(page.Text("not matched"), page.Number(r.Requests), page.Text(nearest(q, r)))
	}
	for _, p := range of.Prices {
		t.Row(page.Text("matched with another least price"), page.Number(p.Matches),
			page.Text(q.Token.Price(p.MinPrice.String())))
	}
	return t, nil
}

// nearest says which criterion requests fail, and what would be enough for the first of them.
func nearest(q *page.Asked, r api.Unmatched) string {
	text, needs := string(r.Criterion), r.Nearest.String()
	n := number(needs)
	switch r.Criterion { //nolint:exhaustive // Only these are about a number of the offer.
	case capacity.Size:
		return text + ": the smallest needs " + cli.Size(events.Bytes(n))
	case capacity.Duration:
		return text + ": the shortest lasts " + cli.Span(n)
	case capacity.Price:
		return text + ": the best pays " + q.Token.Price(needs)
	case capacity.Collateral:
		return text + ": the least needs " + q.Token.Amount(needs)
	}
	return text
}

// offered says whether slots are taken for an availability.
func offered(a projections.Availability, now time.Time) page.Cell {
	switch {
	case !a.Enabled:
		return page.Stands(page.Warn, "disabled")
	case !a.Until.IsZero() && !now.Before(a.Until):
		return page.Stands(page.Warn, "over")
	case a.FreeSize == 0:
		return page.Text("sold out")
	}
	return page.Stands(page.Good, "on offer")
}

// terms are the fields of an offer; now is the one that is changed.
func terms(q *page.Asked, now *projections.Availability) []page.Field {
	fields := []page.Field{
		{Name: "size", Label: "Size", Hint: "such as 10GiB"},
		{Name: "duration", Label: "Longest sale", Hint: "such as 720h or 30d"},
		{Name: "price", Label: "Least price", Hint: "such as 0.5/GiB/month; rounded up to base units"},
		{Name: "collateral", Label: "Most collateral at stake", Hint: "such as 5 " + cmp.Or(q.Token.Symbol, "TOKEN")},
		{Name: "until", Label: "Until", Hint: "such as 2031-12-31, when the last sale must have ended, or never"},
	}
	var is []string
	if now != nil {
		is = []string{
			cli.Size(now.TotalSize), cli.Span(now.DurationSeconds), q.Token.Price(now.MinPrice),
			q.Token.Amount(now.Collateral), never(now.Until),
		}
	}
	for i := range fields {
		fields[i].Value = q.Get(fields[i].Name)
		if fields[i].Required = now == nil && fields[i].Name != "until"; now != nil {
			fields[i].Hint = "now " + is[i] + "; empty: as it is"
		}
	}
	return fields
}

func never(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return cli.Clock(t)
}

// changesOf is what was typed into the fields of terms. All that is wrong is said at once.
func changesOf(q *page.Asked) (c api.Changes, err error) {
	size, wrongSize := typed(q, "size", cli.ParseSize)
	duration, wrongDuration := typed(q, "duration", cli.ParseDuration)
	price, wrongPrice := typed(q, "price", amountOf(q, money.PerByteSecond))
	collateral, wrongCollateral := typed(q, "collateral", amountOf(q, money.Amount))
	until, wrongUntil := typed(q, "until", cli.ParseTime)
	c = api.Changes{Size: size, MinPrice: price, Collateral: collateral, Until: until}
	if duration != nil {
		c.DurationSeconds = new(uint64(*duration / time.Second))
	}
	if c.NoEnd = until != nil && until.IsZero(); c.NoEnd {
		c.Until = nil
	}
	return c, errors.Join(wrongSize, wrongDuration, wrongPrice, wrongCollateral, wrongUntil)
}

// typed reads a field; nil: it is empty.
func typed[T any](q *page.Asked, name string, parse func(string) (T, error)) (*T, error) {
	text := q.Get(name)
	if text == "" {
		return nil, nil //nolint:nilnil // Nothing was typed, and nothing is wrong.
	}
	value, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", problem.ErrBadRequest, name, err)
	}
	return &value, nil
}

// amountOf reads an amount as base units of the market's token.
func amountOf(q *page.Asked, kind money.Kind) func(string) (string, error) {
	return func(text string) (string, error) {
		entry, err := money.Parse(text, kind)
		if err != nil {
			return "", err
		}
		amount, err := entry.In(q.Token)
		return amount.String(), err
	}
}

// one finds an availability, of whose id the beginning is enough.
func one(ctx context.Context, q *page.Asked) (l api.Ledger, a projections.Availability, err error) {
	if l, err = api.ShowLedger.Ask(ctx, q.Backend, then(q)); err != nil {
		return l, a, err
	}
	id := q.Path("id")
	at := slices.IndexFunc(l.Availabilities, func(a projections.Availability) bool { return a.ID == id })
	if at < 0 {
		return l, a, fmt.Errorf("%w: %.80q; it may have been removed", capacity.ErrUnknownAvailability, id)
	}
	return l, l.Availabilities[at], nil
}

func availability(ctx context.Context, q *page.Asked) (v page.View, err error) {
	l, a, err := one(ctx, q)
	if err != nil {
		return v, err
	}
	v.Title, v.AsOf = "Availability "+cli.Short(a.ID), l.AsOf
	f := page.Facts{Head: page.Head{ID: "facts", Title: "How it stands"}}
	f.Fact("State", offered(a, l.MarketTime))
	f.Fact("Id", page.Cell{Text: a.ID, Code: true})
	f.Fact("Member", page.Text(string(a.Member)))
	f.Fact("Size", page.Text(fmt.Sprintf("%s, of which %s are free", cli.Size(a.TotalSize), cli.Size(a.FreeSize))))
	f.Fact("Longest sale", page.Text(cli.Span(a.DurationSeconds)))
	f.Fact("Least price", page.Text(q.Token.Price(a.MinPrice)))
	f.Fact("Collateral", page.Text(fmt.Sprintf("%s, of which %s are at stake, %s lost and %s left",
		q.Token.Amount(a.Collateral), q.Token.Amount(a.Committed), q.Token.Amount(a.Lost),
		q.Token.Amount(a.Remaining))))
	f.Fact("Until (chain)", page.Text(never(a.Until)))
	f.Fact("Sales", page.Leads(cli.Count(a.Reservations, "slot"), page.To("earnings")+"?by=slot&availability="+a.ID))
	v.Add(f)
	id := page.Hidden("id", a.ID)
	enable := page.Form{
		Head: page.Head{ID: "enable"}, Do: "enable", Button: "Sell from it again", Fields: []page.Field{id},
	}
	if a.Enabled {
		enable = page.Form{
			Head: page.Head{ID: "disable", Note: "Its sales go on."}, Do: "disable", Button: "Sell nothing new from it",
			Fields: []page.Field{id},
		}
	}
	v.Add(page.Form{
		Head: page.Head{ID: "set", Title: "Change it", Note: "Open sales keep their terms."}, Do: "set",
		Button: "Change", Fields: append(terms(q, &a), id),
	}, enable)
	if a.Reservations == 0 {
		v.Add(page.Form{
			Head: page.Head{ID: "remove"}, Of: page.To("availabilities"), Do: "remove", Button: "Remove it",
			Confirm: "It has no sales; remove it", Fields: []page.Field{id},
		})
	}
	return v, nil
}

func set(ctx context.Context, q *page.Asked, c api.Changes) error {
	_, err := api.SetAvailability.Ask(ctx, q.Backend, api.ChangesOf{ID: q.Get("id"), Body: c})
	return err
}

func add(ctx context.Context, q *page.Asked) error {
	c, err := changesOf(q)
	for _, f := range terms(q, nil) {
		if f.Required && q.Get(f.Name) == "" {
			err = errors.Join(err, fmt.Errorf("%w: %s: it is empty", problem.ErrBadRequest, f.Name))
		}
	}
	if err != nil {
		return err
	}
	offer := api.Offer{
		ID: q.Get("id"), Member: events.Member(q.Get("member")), Size: *c.Size, DurationSeconds: *c.DurationSeconds,
		MinPrice: *c.MinPrice, Collateral: *c.Collateral,
	}
	if c.Until != nil {
		offer.Until = *c.Until
	}
	_, err = api.AddAvailability.Ask(ctx, q.Backend, api.Send(offer))
	return err
}

var (
	availabilitiesOrders = map[string]page.Order{
		"add": {Done: "It is on offer.", Do: add},
		"remove": {Done: "It is removed.", Do: func(ctx context.Context, q *page.Asked) error {
			_, err := api.RemoveAvailability.Ask(ctx, q.Backend, api.OfAvailability{ID: q.Get("id")})
			return err
		}},
	}
	availabilityOrders = map[string]page.Order{
		"set": {Done: "It is changed.", Do: func(ctx context.Context, q *page.Asked) error {
			c, err := changesOf(q)
			if err == nil && c == (api.Changes{}) {
				err = fmt.Errorf("%w: nothing is to be changed; fill in at least one field", problem.ErrBadRequest)
			}
			if err != nil {
				return err
			}
			return set(ctx, q, c)
		}},
		"enable": {Done: "Slots are taken for it.", Do: func(ctx context.Context, q *page.Asked) error {
			return set(ctx, q, api.Changes{Enabled: new(true)})
		}},
		"disable": {Done: "No more slots are taken for it.", Do: func(ctx context.Context, q *page.Asked) error {
			return set(ctx, q, api.Changes{Enabled: new(false)})
		}},
	}
)
