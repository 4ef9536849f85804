package sim

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

func valueOf(m proto.Message) protoreflect.Value {
	return protoreflect.ValueOfMessage(m.ProtoReflect())
}

// canonical reports whether a block is of the current chain.
func (w *world) canonical(head events.Head) bool {
	return head.Number <= w.tip().head.Number && w.blocks[head.Number].head.Hash == head.Hash
}

// late reports whether a transaction could only be mined after its deadline.
func (w *world) late(c events.SlotCall) bool {
	return !c.Deadline.IsZero() && w.next().time.After(c.Deadline)
}

// did notes what the host did; the lock is held.
func (w *world) did(d deed) { w.deeds = append(w.deeds, d) }

// fakeMarket is the Market port over the world.
type fakeMarket struct{ *world }

func locked[T any](w *world, effect func() (T, error)) func() (T, error) {
	return func() (T, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		return effect()
	}
}

func (f fakeMarket) Account() events.Address { return f.me }

func (f fakeMarket) Config(ctx context.Context) (events.MarketConfig, error) {
	return do(ctx, f.bus, "market.config", locked(f.world, func() (events.MarketConfig, error) {
		return f.tip().state.cfg, nil
	}))
}

func (f fakeMarket) Head(ctx context.Context) (events.Head, error) {
	return do(ctx, f.bus, "market.head", locked(f.world, func() (events.Head, error) {
		return f.tip().head, nil
	}))
}

func (f fakeMarket) HeadAt(ctx context.Context, n uint64) (events.Head, error) {
	h, err := do(ctx, f.bus, fmt.Sprintf("market.headAt %d", n), locked(f.world, func() (events.Head, error) {
		if n >= uint64(len(f.blocks)) {
			return events.Head{}, errWorld
		}
		return f.blocks[n].head, nil
	}))
	if err == nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.hashes[n] = true
	}
	return h, err
}

func (f fakeMarket) Request(ctx context.Context, id events.RequestID) (events.Request, error) {
	return do(ctx, f.bus, "market.request "+id.Short(), locked(f.world, func() (events.Request, error) {
		r := f.tip().state.requests[id]
		if r == nil {
			return events.Request{}, events.ErrUnknownRequest
		}
		return r.Request, nil
	}))
}

func (f fakeMarket) Slot(ctx context.Context, id events.RequestID, index uint64) (events.SlotFacts, error) {
	return do(ctx, f.bus, fmt.Sprintf("market.slot %s %d", id.Short(), index),
		locked(f.world, func() (events.SlotFacts, error) { return f.facts(id, index), nil }))
}

func (f fakeMarket) MySlots(ctx context.Context) ([]events.OwnedSlot, error) {
	return do(ctx, f.bus, "market.mySlots", locked(f.world, func() ([]events.OwnedSlot, error) {
		var out []events.OwnedSlot
		c := f.tip().state
		for _, id := range c.order {
			if s := c.slots[id]; s.host == f.me && s.state == events.SlotFilled && !s.dropped {
				out = append(out, events.OwnedSlot{Slot: id, Request: s.request.Request, Index: s.index})
			}
		}
		return out, nil
	}))
}

func (f fakeMarket) Balance(ctx context.Context) (events.Balance, error) {
	return do(ctx, f.bus, "market.balance", locked(f.world, func() (events.Balance, error) {
		return events.Balance{Tokens: f.tip().state.tokens[f.me], Wei: events.NewAmount(1 << 60)}, nil
	}))
}

func (f fakeMarket) receipt() events.Receipt {
	head := f.tip().head
	return events.Receipt{TxHash: head.Hash, Block: head, Fee: events.NewAmount(21_000), GasUsed: 21_000}
}

func (f fakeMarket) ReserveSlot(ctx context.Context, call events.SlotCall) (events.Receipt, error) {
	return do(ctx, f.bus, "market.reserve "+call.Slot.Short(), locked(f.world, func() (events.Receipt, error) {
		s := f.tip().state.slots[call.Slot]
		if s == nil {
			return events.Receipt{}, events.ErrReservationNotAllowed
		}
		if s.reserved[f.me] {
			return events.Receipt{}, nil
		}
		err := f.seal(func(c *contract, m moment) ([]messages.MarketEvent, error) {
			s := c.slots[call.Slot]
			if !c.canReserve(m, s, f.me) {
				return nil, events.ErrReservationNotAllowed
			}
			s.reserved[f.me] = true
			f.did(deed{kind: "reserve", slot: call.Slot})
			return nil, nil
		})
		return f.receipt(), err
	}))
}

func (f fakeMarket) FillSlot(ctx context.Context, call events.SlotCall, p events.Proof) (events.Fill, error) {
	return do(ctx, f.bus, "market.fill "+call.Slot.Short(), locked(f.world, func() (events.Fill, error) {
		key := fillKey{call.Slot, call.Attempt}
		if mined, ok := f.fills[key]; ok && f.canonical(mined.Receipt.Block) {
			return mined, nil // Whatever became of the slot since.
		}
		if s := f.tip().state.slots[call.Slot]; s != nil && s.host == f.me && s.state == events.SlotFilled {
			return events.Fill{FilledAt: s.filledAt, Block: f.tip().head.Number, Collateral: s.collateral}, nil
		}
		if f.late(call) {
			return events.Fill{}, events.ErrDeadlinePassed
		}
		err := f.seal(func(c *contract, m moment) ([]messages.MarketEvent, error) {
			s := c.slots[call.Slot]
			if s == nil {
				return nil, events.ErrSlotNotFree
			}
			return c.fill(m, s, f.me, p)
		})
		f.did(deed{kind: "fill", slot: call.Slot, proof: p})
		if err != nil {
			return events.Fill{}, err
		}
		s := f.tip().state.slots[call.Slot]
		f.fills[key] = events.Fill{
			Receipt: f.receipt(), FilledAt: s.filledAt, Block: f.tip().head.Number, Collateral: s.collateral,
		}
		return f.fills[key], nil
	}))
}

func (f fakeMarket) SubmitProof(
	ctx context.Context, call events.SlotCall, period uint64, p events.Proof,
) (events.Receipt, error) {
	key := fmt.Sprintf("market.proof %s %d", call.Slot.Short(), period)
	return do(ctx, f.bus, key, locked(f.world, func() (events.Receipt, error) {
		if s := f.tip().state.slots[call.Slot]; s == nil || s.host != f.me {
			return events.Receipt{}, events.ErrNotOurSlot
		} else if s.received[period] {
			return events.Receipt{}, events.ErrProofAlreadySubmitted
		}
		if f.late(call) {
			return events.Receipt{}, events.ErrDeadlinePassed
		}
		err := f.seal(func(c *contract, m moment) ([]messages.MarketEvent, error) {
			return nil, c.takeProof(m, c.slots[call.Slot], p)
		})
		f.did(deed{kind: "proof", slot: call.Slot, period: period, proof: p})
		return f.receipt(), err
	}))
}

// confirmations is how deep a payout must be before FreeSlot reports it; more
// than any reorganisation of a simulation.
const confirmations = 8

func (f fakeMarket) FreeSlot(ctx context.Context, call events.SlotCall) (events.PayoutReceipt, error) {
	p, err := do(ctx, f.bus, "market.free "+call.Slot.Short(), locked(f.world, func() (events.PayoutReceipt, error) {
		return f.freeOnce(call)
	}))
	if err != nil {
		return p, err
	}
	for {
		f.mu.Lock()
		tip, gone := f.tip().head, !f.canonical(p.Block)
		f.mu.Unlock()
		switch {
		case gone:
			return p, errWorld // Asking again finds the slot unpaid.
		case tip.Number >= p.Block.Number+confirmations:
			return p, nil
		}
		if err := f.wait(ctx, tip); err != nil {
			return p, err
		}
	}
}

func (f fakeMarket) freeOnce(call events.SlotCall) (events.PayoutReceipt, error) {
	s := f.tip().state.slots[call.Slot]
	if s != nil && s.state == events.SlotPaid {
		p := f.paid[call.Slot]
		p.AlreadyFree = true
		return p, nil
	}
	var p events.PayoutReceipt
	f.did(deed{kind: "free", slot: call.Slot})
	err := f.seal(func(c *contract, m moment) (_ []messages.MarketEvent, err error) {
		s := c.slots[call.Slot]
		if s == nil {
			return nil, events.ErrNotOurSlot
		}
		p.Paid, p.Collateral, err = c.free(m, s, f.me)
		return nil, err
	})
	if err == nil {
		p.Receipt = f.receipt()
		f.paid[call.Slot] = p
	}
	return p, err
}

// fakeFeed is the ChainFeed port over the world.
type fakeFeed struct{ *world }

func (f fakeFeed) Follow(
	ctx context.Context, from events.Cursor, deliver func(context.Context, events.ChainUpdate) error,
) error {
	at := events.Head{Number: from.Number, Hash: from.Hash}
	delivered := map[uint64]events.Hash{}
	for n, h := range from.Recent {
		delivered[n] = h
	}
	delivered[at.Number] = at.Hash
	for {
		if err := f.wait(ctx, at); err != nil {
			return err
		}
		update, err := do(ctx, f.bus, "feed", locked(f.world, func() (events.ChainUpdate, error) {
			return f.after(at, delivered), nil
		}))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		times := 1
		if f.repeats() {
			times = 2
		}
		for range times {
			if err := deliver(ctx, update); err != nil {
				return err
			}
		}
		f.took(update.Head)
		if r := update.Reorganized; r != nil {
			at = events.Head{Number: r.GetAncestor(), Hash: events.Must(events.ParseHash(r.GetAncestorHash()))}
			continue
		}
		at = update.Head
		delivered[at.Number] = at.Hash
	}
}

// repeats says whether the feed delivers the next update twice.
func (w *world) repeats() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	again := w.again
	w.again = false
	return again
}

func (w *world) took(head events.Head) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen, w.fresh = head, true
	w.hashes[head.Number] = true
	if head.Number > 0 {
		w.hashes[head.Number-1] = true
	}
}

// after is the next update behind a block: the reorganisation that removed it,
// or the blocks up to the tip.
func (f fakeFeed) after(at events.Head, delivered map[uint64]events.Hash) events.ChainUpdate {
	tip := f.tip().head
	if at.Number > tip.Number || f.blocks[at.Number].head.Hash != at.Hash && !at.Hash.Zero() {
		ancestor := uint64(0)
		var dropped []string
		for n, h := range delivered {
			if n <= tip.Number && f.blocks[n].head.Hash == h {
				ancestor = max(ancestor, n)
			} else {
				dropped = append(dropped, h.String())
			}
		}
		slices.Sort(dropped)
		for n := range delivered {
			if n > ancestor {
				delete(delivered, n)
			}
		}
		return events.ChainUpdate{Reorganized: &messages.ChainReorganized{
			Ancestor: ancestor, AncestorHash: f.blocks[ancestor].head.Hash.String(), Dropped: dropped,
		}}
	}
	u := events.ChainUpdate{Head: tip, Live: true}
	for _, b := range f.blocks[at.Number+1:] {
		u.Logs = append(u.Logs, b.logs...)
	}
	return u
}
