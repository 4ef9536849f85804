package requester

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/storage/dataset"
)

// Progress is what became of a request.
type Progress struct {
	ID   events.RequestID `json:"id"`
	File string           `json:"file"`
	CID  string           `json:"cid"`
	At   time.Time        `json:"at"`
	// Known: the market has it. Of one that never got there nothing else is known.
	Known  bool                `json:"known"`
	State  events.RequestState `json:"state"`
	Filled int                 `json:"filled"`
	// Expires is until when all slots must be filled, and Ends when the storage ends; in chain time.
	Expires time.Time `json:"expires"`
	Ends    time.Time `json:"ends"`
	Slots   []Slot    `json:"slots"`
}

// Slot is a slot of a request.
type Slot struct {
	State string         `json:"state"`
	Host  events.Address `json:"host"`
}

// Says is the state in words.
func (p Progress) Says() string {
	switch {
	case !p.Known:
		return "the market does not have it: it was not sent, or its transaction failed"
	case p.State == events.RequestNew:
		return "waits for hosts"
	case p.State == events.RequestStarted:
		return "stored"
	case p.State == events.RequestCancelled:
		return "cancelled: not all slots were filled in time"
	case p.State == events.RequestFinished:
		return "finished"
	}
	return "failed: too many slots were lost"
}

// Until is the next point in time that matters, as the end of a sentence.
func (p Progress) Until() string {
	switch {
	case p.Known && p.State == events.RequestNew:
		return fmt.Sprintf("; all must be by %s, in chain time", p.Expires.UTC().Format(time.DateTime))
	case p.Known && p.State == events.RequestStarted:
		return fmt.Sprintf("; until %s, in chain time", p.Ends.UTC().Format(time.DateTime))
	}
	return ""
}

// Progress is what became of the requests for a dataset that were posted on a market.
func (s *Shelf) Progress(ctx context.Context, account *chain.Requester, d *dataset.Dataset) ([]Progress, error) {
	noted, err := s.Requests(d)
	if err != nil {
		return nil, err
	}
	var all []Progress
	for _, n := range noted {
		if n.Marketplace != account.Marketplace() {
			continue
		}
		p := Progress{ID: n.ID, File: d.Manifest().Filename, CID: d.CID().String(), At: n.At}
		if err := p.read(ctx, account, d.Layout().Slots()); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// Only leaves the requests whose ids begin with a name, if it is the beginning of any.
func Only(all []Progress, name string) []Progress {
	i := slices.IndexFunc(all, func(p Progress) bool { return begins(p.ID, name) })
	if i < 0 {
		return all
	}
	return slices.DeleteFunc(all, func(p Progress) bool { return !begins(p.ID, name) })
}

// Withdrawal is what was collected of a request's payment.
type Withdrawal struct {
	ID     events.RequestID `json:"id"`
	File   string           `json:"file"`
	Amount events.Amount    `json:"amount"`
	// Nothing is why nothing was collected.
	Nothing string `json:"nothing,omitempty"`
}

// Withdraw collects what is left of the payment for a request.
func Withdraw(ctx context.Context, account *chain.Requester, p Progress) (Withdrawal, error) {
	w := Withdrawal{ID: p.ID, File: p.File}
	if !p.State.Over() {
		w.Nothing = p.Says() + p.Until()
		return w, nil
	}
	before, err := account.Balance(ctx)
	if err != nil {
		return w, err
	}
	switch err := account.WithdrawFunds(ctx, p.ID); {
	case errors.Is(err, chain.ErrNothingLeft):
		w.Nothing = "all was paid to hosts, or was collected before"
		return w, nil
	case err != nil:
		return w, err
	}
	after, err := account.Balance(ctx)
	w.Amount = after.Tokens.SubFloor(before.Tokens)
	return w, err
}

func (p *Progress) read(ctx context.Context, account *chain.Requester, slots int) (err error) {
	p.State, err = account.RequestState(ctx, p.ID)
	if errors.Is(err, events.ErrUnknownRequest) {
		return nil
	}
	p.Known = true
	for i := 0; err == nil && i < slots; i++ {
		var facts events.SlotFacts
		if facts, err = account.Slot(ctx, p.ID, uint64(i)); err != nil {
			break
		}
		p.Expires, p.Ends = facts.RequestExpiry, facts.RequestEnd
		p.Slots = append(p.Slots, Slot{facts.SlotState.String(), facts.Host})
		if facts.SlotState == events.SlotFilled || facts.SlotState == events.SlotPaid {
			p.Filled++
		}
	}
	return err
}
