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
	Done    string // how far its work is; another text when that has changed
	Stored  events.Bytes
}

// asked asks the host, and does not wait for long.
func asked[R, Q, A any](ctx context.Context, o operator, call api.Call[R, Q, A], q Q) (A, error) {
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
	s, err := asked(ctx, o, api.ShowStatus, api.None{})
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
	for _, pool := range s.Pools {
		busy := pool.Running+pool.Waiting > 0
		p.Working = p.Working || busy && holdsTime(pool.Name)
		p.Sending = p.Sending || busy && sectorMessages[pool.Name]
	}
	return p, nil
}

// holdsTime reports whether chain time stands still while a pool is busy. It does not for messages, which
// wait for blocks.
func holdsTime(pool string) bool {
	return pool == "proofs" || pool == "downloads" ||
		strings.HasPrefix(pool, "sector ") && !sectorMessages[pool]
}

// sectorMessages are the pools of messages about sectors.
var sectorMessages = map[string]bool{"sector transactions": true, "sector proofs": true}

// openSales is how many sales are open.
func (o operator) openSales(ctx context.Context) (int, error) {
	s, err := asked(ctx, o, api.ShowStatus, api.None{})
	if err != nil {
		return 0, err
	}
	if s.Chain.Head == 0 {
		return 0, errors.New("the host is starting")
	}
	open := 0
	for _, n := range s.Phases {
		open += n
	}
	return open, nil
}

// owner is the member that has the term; empty: nobody has.
func (o operator) owner(ctx context.Context) (name events.Member, since time.Time, _ error) {
	all, err := asked(ctx, o, api.ListMembers, api.None{})
	if err != nil || all.Term == nil || !all.Term.Ended.IsZero() {
		return "", since, err
	}
	return events.Member(all.Term.Member), all.Term.Since, nil
}

// offer makes sure that an enabled availability has room for the bytes and the collateral; a large enough one of an
// earlier demonstration is used again. It returns problem.ErrDemoRefused when the host refuses; other errors mean that it
// does not answer yet.
func (o operator) offer(ctx context.Context, size events.Bytes, longest time.Duration, collateral events.Amount) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	ledger, err := api.ShowLedger.Ask(ctx, o.Client, api.None{})
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
	_, err = api.AddAvailability.Ask(ctx, o.Client, api.Offer{
		Size: size, DurationSeconds: uint64(longest / time.Second), MinPrice: "1", Collateral: collateral.String(),
	})
	return refused(err)
}

// sectorProgress is progress, and fails until sectors answer too: before that they cannot be proven.
func (o operator) sectorProgress(ctx context.Context) (Progress, error) {
	p, err := o.progress(ctx)
	if err == nil {
		_, err = asked(ctx, o, api.ListPieces, api.None{})
	}
	return p, err
}

// order orders something of a sector; an order that the host refuses is problem.ErrDemoRefused.
func (o operator) order(ctx context.Context, sector uint64, verb api.Verb, order api.SectorOrder) error {
	order.By = whoDemonstrates
	_, err := asked(ctx, o, api.OrderSector(verb), api.OrderOf{Number: sector, SectorOrder: order})
	return err
}
