package sim

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

func valueOf(m proto.Message) protoreflect.Value {
	return protoreflect.ValueOfMessage(m.ProtoReflect())
}

// late reports whether a transaction could only be mined after its deadline.
func (w *world) late(c events.SlotCall) bool {
	return !w.faithless && !c.Deadline.IsZero() && w.next().time.After(c.Deadline)
}

// did notes an action of the host; the lock must be held.
func (w *world) did(d action) {
	d.unanswered = w.trying[events.SaleStream(w.me, d.slot)]
	w.actions = append(w.actions, d)
}

// fakeMarket is the Market port over the world. It reads at the newest block that its node
// knows, and sends to the newest block of the chain.
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
		return f.sight().state.cfg, nil
	}))
}

func (f fakeMarket) Head(ctx context.Context) (events.Head, error) {
	return do(ctx, f.bus, "market.head", locked(f.world, func() (events.Head, error) {
		return f.sight().head, nil
	}))
}

func (f fakeMarket) HeadAt(ctx context.Context, n uint64) (events.Head, error) {
	h, err := do(ctx, f.bus, fmt.Sprintf("market.headAt %d", n), locked(f.world, func() (events.Head, error) {
		if n > f.sight().head.Number {
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

// HeadsBetween reads many blocks in one call, as the real market does.
func (f fakeMarket) HeadsBetween(ctx context.Context, first, last uint64) ([]events.Head, error) {
	key := fmt.Sprintf("market.headsBetween %d %d", first, last)
	heads, err := do(ctx, f.bus, key, locked(f.world, func() ([]events.Head, error) {
		if last > f.sight().head.Number {
			return nil, errWorld
		}
		heads := make([]events.Head, 0, last-first+1)
		for n := first; n <= last; n++ {
			heads = append(heads, f.blocks[n].head)
		}
		return heads, nil
	}))
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.bus.open { // Without a simulator nobody asks what the host knows.
		for _, h := range heads {
			f.hashes[h.Number] = true
		}
	}
	return heads, err
}

func (f fakeMarket) Request(ctx context.Context, id events.RequestID) (events.Request, error) {
	return do(ctx, f.bus, "market.request "+id.Short(), locked(f.world, func() (events.Request, error) {
		r := f.sight().state.requests[id]
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

// reservation is the answer of HoldsReservation.
type reservation struct {
	held bool
	at   events.Head
}

func (f fakeMarket) HoldsReservation(
	ctx context.Context, id events.RequestID, index uint64,
) (bool, events.Head, error) {
	r, err := do(ctx, f.bus, fmt.Sprintf("market.holds %s %d", id.Short(), index),
		locked(f.world, func() (reservation, error) {
			at := f.sight()
			s := at.state.slots[events.SlotIDOf(id, index)]
			return reservation{s != nil && s.reserved[f.me], at.head}, nil
		}))
	return r.held, r.at, err
}

func (f fakeMarket) MySlots(ctx context.Context) ([]events.OwnedSlot, error) {
	return do(ctx, f.bus, "market.mySlots", locked(f.world, func() ([]events.OwnedSlot, error) {
		return f.sight().state.owned(f.me), nil
	}))
}

func (f fakeMarket) Balance(ctx context.Context, paid ...events.Head) (events.Balance, error) {
	return do(ctx, f.bus, "market.balance", locked(f.world, func() (events.Balance, error) {
		balance := f.purse
		at := f.sight()
		if !f.owning.gullible && !f.hasAll(at.head, paid) {
			return balance, events.ErrBeforePayment
		}
		balance.Tokens = at.state.tokens[f.me]
		return balance, nil
	}))
}

func receiptIn(head events.Head) events.Receipt {
	return events.Receipt{TxHash: head.Hash, Block: head, Fee: events.NewAmount(21_000), GasUsed: 21_000}
}

// sends names a transaction of the host.
func (w *world) sends(what string, slot events.SlotID) string {
	return fmt.Sprintf("%s %s %s", w.me, what, slot)
}

// sending is locked, but waits first until no transaction of that name waits for a block.
func sending[T any](ctx context.Context, w *world, name string, effect func() (T, error)) func() (T, error) {
	return locked(w, func() (none T, err error) {
		if err := w.maySend(); err != nil {
			return none, err
		}
		return settling(ctx, w, name, effect)
	})
}

// settling runs an effect, unless what was sent under its name before is still on its way.
func settling[T any](ctx context.Context, w *world, name string, effect func() (T, error)) (none T, err error) {
	if err := w.settled(ctx, name); err != nil {
		return none, err
	}
	return effect()
}

func (f fakeMarket) ReserveSlot(ctx context.Context, call events.SlotCall) (events.Receipt, error) {
	name := f.sends("reserve", call.Slot)
	return do(ctx, f.bus, "market.reserve "+call.Slot.Short(), sending(ctx, f.world, name, func() (events.Receipt, error) {
		s := f.tip().state.slots[call.Slot]
		if s != nil && s.reserved[f.me] {
			return events.Receipt{}, nil
		}
		if f.late(call) {
			return events.Receipt{}, events.ErrDeadlinePassed
		}
		if s == nil {
			return events.Receipt{}, events.ErrReservationNotAllowed
		}
		f.did(action{kind: "reserve", slot: call.Slot})
		head, err := f.send(ctx, name, &transaction{
			apply: func(c *contract, m blockContext) ([]messages.MarketEvent, error) {
				return c.reserve(m, call.Slot, f.me)
			},
		})
		return receiptIn(head), err
	}))
}

func (f fakeMarket) FillSlot(ctx context.Context, call events.SlotCall, p events.Proof) (events.Fill, error) {
	name := f.sends("fill", call.Slot)
	return do(ctx, f.bus, "market.fill "+call.Slot.Short(), sending(ctx, f.world, name, func() (events.Fill, error) {
		key := fillKey{call.Slot, call.Attempt}
		if mined, ok := f.sentBefore(key); ok {
			return mined, nil // Whatever happened to the slot since.
		}
		if s := f.tip().state.slots[call.Slot]; !f.owning.repeats && s != nil && s.host == f.me && s.state == events.SlotFilled {
			return events.Fill{FilledAt: s.filledAt, Block: f.tip().head.Number, Collateral: s.collateral}, nil
		}
		if f.late(call) || f.tooLateToFill(call.Request) {
			return events.Fill{}, events.ErrDeadlinePassed
		}
		if f.faithless && !f.untilExpiry(call.Request) {
			return events.Fill{}, events.ErrDeadlinePassed
		}
		if err := f.refusal(call, p); err != nil {
			return events.Fill{}, err
		}
		f.did(action{kind: "fill", slot: call.Slot, proof: p})
		repair, late := false, false
		_, err := f.send(ctx, name, &transaction{
			apply: func(c *contract, m blockContext) ([]messages.MarketEvent, error) {
				repair = c.slots[call.Slot] != nil && c.slots[call.Slot].state == events.SlotRepair
				late = fillsLate(c.requests[call.Request], m)
				return c.fill(m, call.Slot, f.me, p)
			},
			mined: func(head events.Head, c *contract) {
				s := c.slots[call.Slot]
				f.repairs[key] = repair
				fill := events.Fill{
					Receipt: receiptIn(head), FilledAt: s.filledAt, Block: head.Number, Collateral: s.collateral,
				}
				if repair {
					fill.RepairReward = discount(c.cfg, c.requestOf(s).Ask)
				}
				_, again := f.fills[key] // After a reorganisation, in a later block: nobody can help that.
				f.fills[key] = fill
				if r := c.requestOf(s); late && !again {
					f.offend(FillAtExpiry, "slot %s was filled at %s; the request expires at %s and ends at %s",
						call.Slot.Short(), head.Time, r.expiresAt, r.endsAt)
				}
			},
		})
		return f.fills[key], err
	}))
}

// offend notes something that must never happen, whatever the record says.
func (w *world) offend(invariant, format string, args ...any) {
	if w.wrong == nil {
		w.wrong = broken(invariant, format, args...)
	}
}

func (f fakeMarket) SubmitProof(
	ctx context.Context, call events.SlotCall, period uint64, p events.Proof,
) (events.Receipt, error) {
	key := fmt.Sprintf("market.proof %s %d", call.Slot.Short(), period)
	name, effect := f.proving(ctx, call, period, p)
	return do(ctx, f.bus, key, sending(ctx, f.world, name, effect))
}

// proving is how a proof is sent, and the name of the transaction.
func (f fakeMarket) proving(
	ctx context.Context, call events.SlotCall, period uint64, p events.Proof,
) (name string, effect func() (events.Receipt, error)) {
	name = f.sends("prove", call.Slot)
	return name, func() (events.Receipt, error) {
		if s := f.tip().state.slots[call.Slot]; s == nil || s.host != f.me {
			return events.Receipt{}, events.ErrNotOurSlot
		} else if s.received[period] {
			return events.Receipt{}, events.ErrProofAlreadySubmitted
		}
		if f.late(call) {
			return events.Receipt{}, events.ErrDeadlinePassed
		}
		f.did(action{kind: "proof", slot: call.Slot, period: period, proof: p})
		head, err := f.send(ctx, name, &transaction{
			apply: func(c *contract, m blockContext) ([]messages.MarketEvent, error) {
				return c.prove(m, call.Slot, f.me, p)
			},
			mined: func(head events.Head, c *contract) {
				counts := blockContext{time: head.Time}.period(c)
				taken := events.TakenProof{Period: counts, Receipt: receiptIn(head)}
				f.proofs[call.Slot] = append(f.proofs[call.Slot], taken)
			},
		})
		return receiptIn(head), err
	}
}

func (f fakeMarket) TakenProofs(
	ctx context.Context, slot events.SlotID, from uint64,
) ([]events.TakenProof, error) {
	key := fmt.Sprintf("market.takenProofs %s %d", slot.Short(), from)
	name, effect := f.taken(slot, from)
	return do(ctx, f.bus, key, sending(ctx, f.world, name, effect))
}

// taken is how the proofs that this process sent are listed, and the name of their transactions.
func (f fakeMarket) taken(slot events.SlotID, from uint64) (string, func() ([]events.TakenProof, error)) {
	return f.sends("prove", slot), func() (taken []events.TakenProof, err error) {
		for _, p := range f.proofs[slot] {
			if p.Period >= from && f.canonical(p.Receipt.Block) {
				taken = append(taken, p)
			}
		}
		return taken, nil
	}
}

// confirmations is how deep a payout must be before FreeSlot reports it: deeper than any
// reorganisation, unless the scenario says otherwise.
const confirmations = 8

func (f fakeMarket) FreeSlot(ctx context.Context, call events.SlotCall) (events.PayoutReceipt, error) {
	name := f.sends("free", call.Slot)
	p, err := do(ctx, f.bus, "market.free "+call.Slot.Short(),
		sending(ctx, f.world, name, func() (events.PayoutReceipt, error) { return f.freeOnce(ctx, name, call) }))
	if err != nil {
		return p, err
	}
	for {
		f.mu.Lock()
		tip, gone := f.tip().head, !f.canonical(p.Block)
		f.mu.Unlock()
		switch {
		case gone:
			return p, errWorld // The next call finds the slot unpaid.
		case tip.Number >= p.Block.Number+f.confirmations:
			return p, nil
		}
		if err := f.wait(ctx, tip); err != nil {
			return p, err
		}
	}
}

func (f fakeMarket) freeOnce(
	ctx context.Context, name string, call events.SlotCall,
) (events.PayoutReceipt, error) {
	tip := f.tip()
	s := tip.state.slots[call.Slot]
	switch {
	case s == nil || s.state == events.SlotFree:
		return events.PayoutReceipt{}, events.ErrSlotIsFree
	case s.host != f.me:
		return events.PayoutReceipt{}, events.ErrNotOurSlot
	}
	state := tip.state.slotState(s, tip.head.Time)
	if state == events.SlotPaid || state == events.SlotFailed && !tip.state.lists(f.me, call.Slot) {
		p := f.paid[call.Slot]
		p.AlreadyFree = true
		return p, nil
	}
	if state == events.SlotFilled && !f.reckless {
		return events.PayoutReceipt{}, reverted("before sending: the slot runs, freeing it would burn the collateral")
	}
	var p events.PayoutReceipt
	f.did(action{kind: "free", slot: call.Slot})
	_, err := f.send(ctx, name, &transaction{
		apply: func(c *contract, m blockContext) ([]messages.MarketEvent, error) {
			got, out, err := c.free(m, call.Slot, f.me)
			if got.burnt {
				f.offend(FreedWhileFilled, "slot %s was freed by its host while it ran", call.Slot.Short())
			}
			p.Paid, p.Collateral = got.reward.Add(got.collateral), got.collateral
			return out, err
		},
		mined: func(head events.Head, _ *contract) {
			p.Receipt = receiptIn(head)
			f.paid[call.Slot] = p
		},
	})
	return f.paid[call.Slot], err
}
