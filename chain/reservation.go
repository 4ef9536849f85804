package chain

import (
	"context"
	"fmt"

	"github.com/hostnode/hostnode/events"
)

// HoldsReservation says whether we have one of the contract's reservations for a slot, at the
// newest block.
func (m *Market) HoldsReservation(
	ctx context.Context, request events.RequestID, index uint64,
) (bool, events.Head, error) {
	head, err := m.conn.Latest(ctx)
	if err != nil {
		return false, events.Head{}, fmt.Errorf("find out whether slot %d of request %s is reserved: %w",
			index, request.Short(), err)
	}
	held, err := m.holdsReservation(ctx, head, events.SlotCall{Request: request, Index: index})
	return held, head.Head(), err
}
