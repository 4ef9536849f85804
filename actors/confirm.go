package actors

import (
	"context"
	"fmt"

	"github.com/hostnode/hostnode/events"
)

// This file asks a second node of the chain, if the market has one (chain.fallbacks), before
// something follows that cannot be taken back: one node alone may say what is not so.

// confirmer is a market with a second endpoint. An error says that the two differ, or that
// it is not known yet.
type confirmer interface {
	Confirm(ctx context.Context, request events.RequestID, index uint64, facts events.SlotFacts) error
	ConfirmNotOurs(ctx context.Context, slot events.SlotID) error
}

// confirm is for what is said of a slot.
func (c *chain) confirm(ctx context.Context, request events.RequestID, index uint64, facts events.SlotFacts) error {
	return c.beside(ctx, func(ctx context.Context, m confirmer) error { return m.Confirm(ctx, request, index, facts) })
}

// confirmNotOurs is for a slot that is not among ours, and of which only the id is known.
func (c *chain) confirmNotOurs(ctx context.Context, slot events.SlotID) error {
	return c.beside(ctx, func(ctx context.Context, m confirmer) error { return m.ConfirmNotOurs(ctx, slot) })
}

func (c *chain) beside(ctx context.Context, ask func(context.Context, confirmer) error) error {
	m, ok := optional[confirmer](c.Market)
	if !ok {
		return nil
	}
	_, err := patiently(ctx, c.Base, c.patience(), func(ctx context.Context) (struct{}, error) {
		return struct{}{}, ask(ctx, m)
	})
	if err != nil {
		return fmt.Errorf("what the chain says is not confirmed: %w", err)
	}
	return nil
}
