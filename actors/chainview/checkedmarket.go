package chainview

import (
	"cmp"
	"context"
	"fmt"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/events"
)

// This file checks the chain's answers against the question, against what types and contract
// allow, and against the newest known block. An impossible answer counts as none: the question
// is repeated, and nothing is decided or recorded by the answer.

// checkedMarket is a market whose answers are checked.
type checkedMarket struct {
	port.Market
	view *View
}

// Optional returns an additional interface of a market, or of the one that it is in front of, if
// one of them has that.
func Optional[T any](m port.Market) (T, bool) {
	if c, ok := m.(*checkedMarket); ok {
		m = c.Market
	}
	t, ok := m.(T)
	if front, is := m.(interface{ Unwrap() port.Market }); is && !ok {
		return Optional[T](front.Unwrap())
	}
	return t, ok
}

// blockReader returns the market's way to read many blocks in one call, with each block
// checked.
func (c *Chain) blockReader() (headReader, bool) {
	r, ok := Optional[headReader](c.Market)
	return checkedReader{r, c.View}, ok
}

type checkedReader struct {
	headReader
	view *View
}

// Possible returns an error if a block cannot be on one chain with the newest block.
func (v *View) Possible(h events.Head) error {
	if err := events.CheckHead(h); err != nil {
		return err
	}
	if now := v.Now(); now.Number > 0 {
		return Beside(now, h)
	}
	return nil
}

// Beside checks by number and time whether two blocks can be of one chain. Blocks with the same
// number may be of two branches; hashes are checked by what follows the chain.
func Beside(a, b events.Head) error {
	if a.Number == b.Number {
		return nil
	}
	a.Parent, b.Parent = b.Hash, a.Hash
	return events.CheckOrder(a, b)
}

// asked checks that a block has the number that was asked for.
func (v *View) asked(h events.Head, number uint64) error {
	if h.Number != number {
		return fmt.Errorf("%w: block %d, when block %d was asked for", events.ErrImpossible, h.Number, number)
	}
	return v.Possible(h)
}

// checked returns an answer, or an error if the answer is impossible.
func checked[T any](answer T, err error, check func(T) error) (T, error) {
	if err == nil {
		err = check(answer)
	}
	if err != nil {
		var none T
		return none, err
	}
	return answer, nil
}

func (m *checkedMarket) Config(ctx context.Context) (events.MarketConfig, error) {
	c, err := m.Market.Config(ctx)
	return checked(c, err, events.CheckConfig)
}

func (m *checkedMarket) Head(ctx context.Context) (events.Head, error) {
	h, err := m.Market.Head(ctx)
	return checked(h, err, m.view.Possible)
}

func (m *checkedMarket) HeadAt(ctx context.Context, number uint64) (events.Head, error) {
	h, err := m.Market.HeadAt(ctx, number)
	return checked(h, err, func(h events.Head) error { return m.view.asked(h, number) })
}

func (r checkedReader) HeadsBetween(ctx context.Context, first, last uint64) ([]events.Head, error) {
	heads, err := r.headReader.HeadsBetween(ctx, first, last)
	return checked(heads, err, func(heads []events.Head) error {
		for i, h := range heads {
			if err := r.view.asked(h, first+uint64(i)); err != nil {
				return err
			}
			if i > 0 && h.Time.Before(heads[i-1].Time) {
				return events.CheckOrder(heads[i-1], h)
			}
		}
		return nil
	})
}

func (m *checkedMarket) Request(ctx context.Context, id events.RequestID) (events.Request, error) {
	r, err := m.Market.Request(ctx, id)
	return checked(r, err, func(r events.Request) error {
		if r.ID != id {
			return fmt.Errorf("%w: request %s, when %s was asked for", events.ErrImpossible, r.ID.Short(), id.Short())
		}
		return nil
	})
}

func (m *checkedMarket) Slot(ctx context.Context, id events.RequestID, index uint64) (events.SlotFacts, error) {
	reached := m.view.reached()
	f, err := m.Market.Slot(ctx, id, index)
	return checked(f, err, func(f events.SlotFacts) error {
		if err := events.CheckFacts(f); err != nil {
			return err
		}
		return cmp.Or(m.view.Possible(f.At), reached(f.At))
	})
}

func (m *checkedMarket) HoldsReservation(
	ctx context.Context, id events.RequestID, index uint64,
) (bool, events.Head, error) {
	holds, at, err := m.Market.HoldsReservation(ctx, id, index)
	if err == nil {
		err = m.view.Possible(at)
	}
	return holds, at, err
}

func (m *checkedMarket) MySlots(ctx context.Context) ([]events.OwnedSlot, error) {
	owned, err := m.Market.MySlots(ctx)
	return checked(owned, err, events.CheckOwned)
}

func (m *checkedMarket) ReserveSlot(ctx context.Context, call events.SlotCall) (events.Receipt, error) {
	r, err := m.Market.ReserveSlot(ctx, call)
	return checked(r, err, m.view.mined)
}

func (m *checkedMarket) SubmitProof(
	ctx context.Context, call events.SlotCall, period uint64, proof events.Proof,
) (events.Receipt, error) {
	r, err := m.Market.SubmitProof(ctx, call, period, proof)
	return checked(r, err, m.view.mined)
}

func (m *checkedMarket) TakenProofs(ctx context.Context, slot events.SlotID, from uint64) ([]events.TakenProof, error) {
	taken, err := m.Market.TakenProofs(ctx, slot, from)
	return checked(taken, err, func(taken []events.TakenProof) error {
		for _, t := range taken {
			if err := m.view.mined(t.Receipt); err != nil {
				return err
			}
		}
		return nil
	})
}

// mined checks that the block of a receipt can be on the chain.
func (v *View) mined(r events.Receipt) error {
	if r.Block == (events.Head{}) {
		return nil
	}
	return v.Possible(r.Block)
}

func (m *checkedMarket) FillSlot(ctx context.Context, call events.SlotCall, proof events.Proof) (events.Fill, error) {
	f, err := m.Market.FillSlot(ctx, call, proof)
	return checked(f, err, func(f events.Fill) error { return m.view.mined(f.Receipt) })
}

func (m *checkedMarket) FreeSlot(ctx context.Context, call events.SlotCall) (events.PayoutReceipt, error) {
	p, err := m.Market.FreeSlot(ctx, call)
	return checked(p, err, func(p events.PayoutReceipt) error { return m.view.mined(p.Receipt) })
}
