package chainview

import (
	"context"
	"fmt"

	"github.com/hostnode/hostnode/events"
)

// This file asks a second node, if the market has one (chain.fallbacks), before something
// irrevocable follows from an answer, because a single node may be wrong.

// confirmer is a market with a second endpoint. An error means that the two differ, or that the
// answer is not known yet.
type confirmer interface {
	Confirm(ctx context.Context, request events.RequestID, index uint64, facts events.SlotFacts) error
	ConfirmNotOurs(ctx context.Context, slot events.SlotID) error
}

// Confirm confirms what the first node said of a slot.
func (c *Chain) Confirm(ctx context.Context, request events.RequestID, index uint64, facts events.SlotFacts) error {
	return c.beside(ctx, func(ctx context.Context, m confirmer) error { return m.Confirm(ctx, request, index, facts) })
}

// ConfirmNotOurs confirms that a slot, of which only the id is known, is not ours.
func (c *Chain) ConfirmNotOurs(ctx context.Context, slot events.SlotID) error {
	return c.beside(ctx, func(ctx context.Context, m confirmer) error { return m.ConfirmNotOurs(ctx, slot) })
}

func (c *Chain) beside(ctx context.Context, ask func(context.Context, confirmer) error) error {
	m, ok := Optional[confirmer](c.Market)
	if !ok {
		return nil
	}
	_, err := Patiently(ctx, c.Base, c.Patience(), func(ctx context.Context) (struct{}, error) {
		return struct{}{}, ask(ctx, m)
	})
	if err != nil {
		return fmt.Errorf("what the chain says is not confirmed: %w", err)
	}
	return nil
}
