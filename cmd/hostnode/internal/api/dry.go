package api

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/projections"
)

// Dry is what a dry run would have sold (hostnode run --dry), at most: another host may have been faster.
type Dry struct {
	AsOf    AsOf   `json:"asOf"`
	DataDir string `json:"dataDir"`
	// From is when the first sale began, in chain time.
	From time.Time `json:"from,omitzero"`
	// Filled is how many slots it would have filled, Hosted those of them that it would host now, and FilledByOthers
	// those that another host has filled on chain.
	Filled         int `json:"filled"`
	Hosted         int `json:"hosted"`
	FilledByOthers int `json:"filledByOthers"`
	// Earned is what would have been earned; ExpectedAtMost what the slots that it would host now would still bring.
	Earned         string        `json:"earned"`
	PerDay         events.Amount `json:"earnedPerDay"` // of the days of chain time since From
	ExpectedAtMost events.Amount `json:"expectedAtMost"`
	// Collateral is what would be at stake now.
	Collateral events.Amount `json:"collateral"`
	// Refused counts the slots that it would not have sold, by criterion, and Waiting those that may still be.
	Refused []projections.Refusals     `json:"refused"`
	Waiting []projections.WaitingSlots `json:"waiting"`
}

// dryObstacle is why a dry run does not sell.
func dryObstacle(dir string) Obstacle {
	return Obstacle{
		Code: "dry-run", Selling: "no", Proving: "yes",
		Reason: "this is a dry run: nothing is sent, fetched or proven, and nothing is earned",
		Hint:   "hostnode dry shows what would have been sold; its record is in " + dir,
	}
}

// Dry is what a dry run would have sold.
func (r *reader) Dry(ctx context.Context) (out Dry, err error) {
	if !datadir.At(r.DataDir).Dry() {
		return out, fmt.Errorf("%w: %s is not the directory of a dry run; begin one with hostnode run --dry",
			problem.ErrBadRequest, r.DataDir)
	}
	out = Dry{AsOf: r.asOf(), DataDir: r.DataDir, Earned: "0"}
	filled, newest := map[string]bool{}, time.Time{}
	var earned events.Amount
	r.views.Read(func(v *projections.Views) {
		for s, expected := range v.SalesOf(r.Account) {
			if s.FilledAt.IsZero() {
				continue
			}
			filled[slotName(s.Request, s.SlotIndex)] = true
			if out.Filled++; !s.Over {
				out.Hosted++
				held, _ := events.ParseAmount(s.Collateral.Committed)
				out.Collateral = out.Collateral.AddSaturating(held)
			}
			if out.From.IsZero() || s.FilledAt.Before(out.From) {
				out.From = s.FilledAt
			}
			if s.Since.After(newest) {
				newest = s.Since
			}
			reward, _ := events.ParseAmount(s.Reward)
			earned, out.ExpectedAtMost = earned.AddSaturating(reward), out.ExpectedAtMost.AddSaturating(expected)
		}
	})
	const day = 24 * time.Hour
	out.Earned, out.PerDay = earned.String(), earned
	if days := uint64((newest.Sub(out.From) + day - 1) / day); days > 1 {
		out.PerDay = earned.Div(days)
	}
	q := r.queue()
	out.Refused = slices.Concat([]projections.Refusals{}, q.Refusals, q.LetGo)
	out.Waiting = slices.Concat([]projections.WaitingSlots{}, q.Waiting)
	out.FilledByOthers, err = r.filledOnChain(ctx, filled)
	return out, err
}

func slotName(request string, index uint64) string { return fmt.Sprintf("%s:%d", request, index) }

// filledOnChain counts the slots of which the newest events of the market say that a host has filled them.
func (r *reader) filledOnChain(ctx context.Context, slots map[string]bool) (n int, err error) {
	run, started := r.run()
	if !started || len(slots) == 0 {
		return 0, nil
	}
	contract, err := events.ParseAddress(run.Contract)
	if err != nil {
		return 0, fmt.Errorf("the contract of the last start: %w", err)
	}
	codec, read := catalog.Codec(), events.ReadStream{From: events.End, Backward: true, Limit: maxMarket}
	for e, err := range r.store.ReadStream(ctx, events.MarketStream(run.ChainID, contract), read) {
		if errors.Is(err, events.ErrStreamNotFound) {
			break
		}
		if err != nil {
			return n, fmt.Errorf("read which slots were filled: %w", err)
		}
		if e.Type != "ChainSlotFilled" || r.past != nil && !r.past(e) {
			continue
		}
		if m, err := codec.Decode(e); err == nil {
			f := m.(*messages.ChainSlotFilled) //nolint:forcetypeassert // The type says so.
			if name := slotName(f.GetRequestId(), f.GetSlotIndex()); slots[name] {
				delete(slots, name) // It may have been filled twice.
				n++
			}
		}
	}
	return n, nil
}
