package sim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/slotqueue"
)

// record is the fold of everything that is stored.
type record struct {
	ledger capacity.State
	queue  slotqueue.State
	sales  map[events.SlotID]sale.State
}

// fold replays the store with the cores alone, independent of the actors.
func fold(ctx context.Context, store events.Store) (record, error) {
	r := record{
		ledger: capacity.New(), queue: slotqueue.New(slotqueue.Limits{}),
		sales: map[events.SlotID]sale.State{},
	}
	codec := catalog.Codec()
	for e, err := range store.ReadAll(ctx, 0, 0) {
		if err != nil {
			return r, err
		}
		m, err := codec.Decode(e)
		if err != nil {
			return r, err
		}
		switch m := m.(type) {
		case sale.Event:
			_, slot, err := events.ParseSaleStream(e.Stream)
			if err != nil {
				return r, err
			}
			r.sales[slot] = sale.Evolve(r.sales[slot], m)
		case capacity.Event:
			r.ledger = capacity.Evolve(r.ledger, m)
			if err := r.ledger.Check(); err != nil {
				return r, fmt.Errorf("%s at %d: %w", e.Type, e.Position, err)
			}
		case slotqueue.Event:
			r.queue = slotqueue.Evolve(r.queue, m)
		}
	}
	return r, r.queue.Check()
}

// check looks at what must hold after every step: the ledger of the running
// host is closed, and so is the record.
func (s *simulator) check(ctx context.Context) error {
	if s.steps%64 != 0 { // Folding everything at each step would make the run quadratic.
		return nil
	}
	r, err := fold(ctx, s.store)
	if err != nil {
		return err
	}
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	for _, slot := range slices.SortedFunc(maps.Keys(s.world.repo), compareSlots) {
		st, known := r.sales[slot]
		if !known || st.Settled {
			return fmt.Errorf("slot %s is on disk, and no living sale owns it", slot.Short())
		}
	}
	return nil
}

func compareSlots(a, b events.SlotID) int { return slices.Compare(a[:], b[:]) }

// over reports whether all requests have ended and all sales are settled, and
// then checks what must hold at the end.
func (s *simulator) over(ctx context.Context) (bool, error) {
	r, err := fold(ctx, s.store)
	if err != nil {
		return false, err
	}
	s.waits = ""
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	tip := s.world.tip()
	for _, req := range tip.state.requests {
		if tip.state.requestState(req, tip.head.Time) <= events.RequestStarted {
			s.waits = "request " + req.ID.Short() + " runs"
			return false, nil
		}
	}
	for _, st := range r.sales {
		if !st.Over() {
			s.waits = fmt.Sprintf("slot %s is %s and waits for %s", st.Slot.Short(), st.Phase, sale.Waiting(st))
			return false, nil
		}
	}
	if len(r.queue.Taken()) > 0 || r.ledger.Quota() == 0 {
		s.waits = fmt.Sprintf("%d slots are taken, the quota is %d", len(r.queue.Taken()), r.ledger.Quota())
		return false, nil
	}
	return true, s.atTheEnd(r, tip)
}

// atTheEnd checks the whole account: bytes, collateral, tokens, proofs.
func (s *simulator) atTheEnd(r record, tip block) error {
	var errs []error
	complain := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if n := len(s.world.repo); n > 0 {
		complain("%d slots are still on disk", n)
	}
	if r.ledger.Reserved()+r.ledger.Stored()+r.ledger.Overhead() != 0 {
		complain("%d bytes reserved, %d stored, %d overhead are left in the ledger",
			r.ledger.Reserved(), r.ledger.Stored(), r.ledger.Overhead())
	}
	reward, lost := events.Amount{}, events.Amount{}
	for _, st := range r.sales {
		reward = reward.Add(st.Reward)
	}
	for a := range r.ledger.Availabilities() {
		lost = a.Lost
		if !a.Committed.IsZero() {
			complain("%s of collateral is still committed", a.Committed)
		}
	}
	for _, id := range tip.state.order {
		if sl := tip.state.slots[id]; sl.host == me && sl.state == events.SlotFilled && !sl.dropped {
			complain("slot %s is still ours on chain", id.Short())
		}
	}
	// What the account holds is what it held, with what was earned and without
	// what was lost. A sale that was repeated has only its last attempt's
	// reward in the fold, so the account may hold more, never less.
	want := events.NewAmount(tokensAtAll).Add(reward).SubFloor(lost)
	if have := tip.state.tokens[me]; have.Less(want) {
		complain("the account holds %s, the record accounts for %s", have, want)
	}
	return errors.Join(errs...)
}
