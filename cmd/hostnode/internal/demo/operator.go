package demo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
)

// operator asks a host, or a member of one, over the same socket as every command.
type operator struct {
	*api.Client
	member events.Member // empty: the host is one process
	// sectors: the host gets on only when its sectors answer; before that they cannot be proven.
	sectors bool
}

const (
	// answerTime is how long the host may take to answer the demonstration.
	answerTime = 5 * time.Second
	// whoDemonstrates is recorded as the giver of the orders.
	whoDemonstrates = "demonstration"
)

// Progress is what the host does now.
type Progress struct {
	Head    uint64 // the newest block that it knows
	Working bool   // it proves, downloads, waits for its event store, or does not follow the chain yet
	Away    bool   // its event store is away
	Sending bool   // messages about sectors are on their way
	Open    int    // sales
	Done    string // how far its work is; another text when that has changed
	Stored  events.Bytes
}

// within asks the host, and waits no longer than answerTime.
func within[R, Q, A any](ctx context.Context, o operator, call api.Call[R, Q, A], q Q) (A, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	answer, err := call.Ask(ctx, o.Client, q)
	return answer, refused(err)
}

// refused marks the error of an offer or order that the host refused, as opposed to one that it did not answer.
func refused(err error) error {
	if p, ok := errors.AsType[*problem.Problem](err); ok && p.Status/100 == 4 {
		return fmt.Errorf("%w: %s", problem.ErrDemoRefused, p.Detail)
	}
	return err
}

// progress says what the host is doing; an error means that it does not answer.
func (o operator) progress(ctx context.Context) (Progress, error) {
	s, err := within(ctx, o, api.ShowStatus, api.Then{})
	if err != nil {
		return Progress{}, err
	}
	if !s.AsOf.Running { // Time stands still while it cannot prove.
		return Progress{}, errors.New(s.Reason)
	}
	p := Progress{Head: s.Chain.Head, Away: s.Record.Away, Working: s.Chain.Head == 0 || !s.Chain.Live}
	p.Stored, p.Done = s.Ledger.Stored, fmt.Sprint(s.Ledger.Stored, s.Ledger.Pieces, s.Phases)
	if s.Sectors != nil {
		p.Done += fmt.Sprint(s.Sectors.Counts)
	}
	// Until the host knows that the event store is away, it waits for it before it proves.
	p.Working = p.Working || s.Record.Unanswered > 0 && !s.Record.Away
	for _, n := range s.Phases {
		p.Open += n
	}
	for _, pool := range s.Pools {
		switch {
		case pool.Running+pool.Waiting == 0:
		case pool.Name == "sector transactions", pool.Name == "sector proofs": // Messages wait for blocks.
			p.Sending = true
		case pool.Name == "proofs", pool.Name == "downloads", strings.HasPrefix(pool.Name, "sector "):
			p.Working = true
		}
	}
	if o.sectors {
		_, err = within(ctx, o, api.ListPieces, api.None{})
	}
	return p, err
}

// offer makes sure that an enabled availability has room for the bytes and the collateral; a large enough one of an
// earlier demonstration is used again. It returns problem.ErrDemoRefused when the host refuses; other errors mean that
// it does not answer yet.
func (o operator) offer(ctx context.Context, size events.Bytes, longest time.Duration, collateral events.Amount) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	ledger, err := api.ShowLedger.Ask(ctx, o.Client, api.Then{})
	if err != nil {
		return err
	}
	if ledger.Quota == 0 {
		return errors.New("the host is starting")
	}
	for _, a := range ledger.Availabilities {
		remaining, err := events.ParseAmount(a.Remaining)
		if err == nil && a.Member == o.member && a.Enabled && a.FreeSize >= size && !remaining.Less(collateral) &&
			a.DurationSeconds >= uint64(longest/time.Second) {
			return nil
		}
	}
	_, err = api.AddAvailability.Ask(ctx, o.Client, api.Send(api.Offer{
		Size: size, DurationSeconds: uint64(longest / time.Second), MinPrice: "1", Collateral: collateral.String(),
	}))
	return refused(err)
}

// order orders something of a sector; an order that the host refuses is problem.ErrDemoRefused.
func (o operator) order(ctx context.Context, sector uint64, verb api.Verb, order api.SectorOrder) error {
	order.By = whoDemonstrates
	_, err := within(ctx, o, api.OrderSector(verb), api.OrderOf{Number: sector, Body: order})
	return err
}
