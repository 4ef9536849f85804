package pages

import (
	"context"
	"slices"
	"strings"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/page"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/projections"
)

// This file shows what refused a slot, and leads to where that is changed.

// settingOf has the criteria that a setting decides, as docs/admission.md says.
var settingOf = map[string]string{
	slotqueue.QueueFull:           "sales.maxQueued",
	slotqueue.CriterionClient:     "sales.avoidClient",
	slotqueue.CriterionPeriod:     "sales.proofBlocks",
	slotqueue.CriterionTime:       "sales.minFill",
	slotqueue.CriterionDispersal:  "sales.dispersal",
	slotqueue.CriterionRequestCap: "sales.maxSlotsPerRequest",
	slotqueue.CriterionProofs:     "sales.proofLoad",
	slotqueue.CriterionDisk:       "storage.keepFree",
	slotqueue.CriterionGas:        "fees.walletDays",
	slotqueue.CriterionWithheld:   "sales.giveUpDownload",
	slotqueue.CriterionSlow:       "sales.judgePace",
	slotqueue.CriterionSources:    "content.sources",
	string(capacity.Overhead):     "quota",
	string(capacity.AtRisk):       "sales.maxCollateralAtRisk",
}

// columnOf has the criteria that a term of an availability decides, with its column in availabilityHeads.
var columnOf = map[string]int{
	string(capacity.Disabled): 1, string(capacity.Size): 2, string(capacity.Duration): 3, string(capacity.Price): 4,
	string(capacity.Collateral): 5, string(capacity.Until): 6,
}

// refusedBy is what decided that a slot was not taken: a setting, or the availabilities, of which the refusal names the
// one that came closest.
func refusedBy(ctx context.Context, q *page.Asked, story []projections.Moment) ([]page.Block, error) {
	var last projections.Moment
	for _, m := range slices.Backward(story) {
		if last = m; m.Criterion != "" {
			break
		}
	}
	if key := settingOf[last.Criterion]; key != "" {
		return []page.Block{page.Words{
			Head: page.Head{ID: "decides", Title: "What decides this"}, Each: []string{"It is a setting of the host."},
			Links: []page.Link{{Text: key, To: toSetting(key)}},
		}}, nil
	}
	column, ofOffers := columnOf[last.Criterion]
	if !ofOffers && last.Criterion != string(capacity.NoAvailability) {
		return nil, nil
	}
	l, err := api.ShowLedger.Ask(ctx, q.Backend, then(q))
	if err != nil {
		return nil, err
	}
	closest := func(a projections.Availability) bool {
		return strings.Contains(last.Sentence, "availability "+a.ID[:min(len(a.ID), 10)])
	}
	slices.SortStableFunc(l.Availabilities, func(a, b projections.Availability) int {
		switch {
		case closest(a) == closest(b):
			return 0
		case closest(a):
			return -1
		}
		return 1
	})
	t := page.Table{
		Head: page.Head{
			ID: "decides", Title: "The availabilities that did not take it",
			Note: "As they are now; the first one came closest. The page of each has the form to change it.",
		},
		Heads: availabilityHeads(),
		Empty: "Nothing is on offer.",
	}
	some, next := page.Some(q, "offers", l.Availabilities)
	t.Next = next
	for _, a := range some {
		row := availabilityRow(q, a, l.MarketTime)
		row[0].To += "#set"
		if ofOffers && closest(a) {
			row[0].Under, row[column].Level = "refused it: "+last.Criterion, page.Warn
		}
		t.Row(row...)
	}
	if len(t.Rows) == 0 {
		t.Note, t.Next = "", &page.Link{Text: "Put space on offer", To: page.To("availabilities") + "#add"}
	}
	return []page.Block{t}, nil
}
