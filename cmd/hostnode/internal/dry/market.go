package dry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/sale"
)

// Reads is what a dry run has of the chain. Nothing of it sends anything.
type Reads interface {
	Account() events.Address
	Config(ctx context.Context) (events.MarketConfig, error)
	Head(ctx context.Context) (events.Head, error)
	HeadAt(ctx context.Context, number uint64) (events.Head, error)
	HeadsBetween(ctx context.Context, first, last uint64) ([]events.Head, error)
	BlockTime() (usual time.Duration, known bool)
	Final(ctx context.Context, number uint64) (bool, error)
	Request(ctx context.Context, id events.RequestID) (events.Request, error)
	Slot(ctx context.Context, request events.RequestID, index uint64) (events.SlotFacts, error)
	HoldsReservation(ctx context.Context, request events.RequestID, index uint64) (bool, events.Head, error)
	Balance(ctx context.Context, paid ...events.Head) (events.Balance, error)
}

// Market is the market of a dry run: the contract as it is, but for the slots that this host would have filled. Safe
// for concurrent use.
type Market struct {
	Reads
	mu       sync.Mutex
	reserved map[events.SlotID]bool
	held     map[events.SlotID]*hold
}

// hold is a slot that the host would have filled.
type hold struct {
	events.OwnedSlot
	fill   events.Fill
	payout *events.PayoutReceipt // nil: it is not freed
}

// NewMarket returns the market of a host that has filled nothing.
func NewMarket(chain Reads) *Market {
	return &Market{Reads: chain, reserved: map[events.SlotID]bool{}, held: map[events.SlotID]*hold{}}
}

// restore takes the slots that a record counts as filled.
func (m *Market) restore(ctx context.Context, store events.Store) error {
	codec, states := catalog.Codec(), map[string]sale.State{}
	for r, err := range store.ReadStream(ctx, events.VirtualCategory+events.CategorySale, events.ReadStream{}) {
		if errors.Is(err, events.ErrStreamNotFound) {
			break
		}
		if err != nil {
			return err
		}
		said, err := codec.Decode(r)
		if e, is := said.(sale.Event); err == nil && is { // The audit tells of what cannot be read.
			states[r.Stream] = sale.Evolve(states[r.Stream], e)
		}
	}
	for _, st := range states {
		if st.OnChain {
			m.held[st.Slot] = &hold{
				OwnedSlot: events.OwnedSlot{Slot: st.Slot, Request: st.Request, Index: st.Index},
				fill:      events.Fill{FilledAt: st.FilledAt, Block: st.FilledBlock, Collateral: st.Collateral},
			}
		}
	}
	return nil
}

// bytes is how much the slots that are filled would take.
func (m *Market) bytes() (sum events.Bytes) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, h := range m.held {
		if h.payout == nil {
			sum += h.Request.Ask.SlotSize
		}
	}
	return sum
}

// holds returns a copy of what is held of a slot.
func (m *Market) holds(slot events.SlotID) (h hold, held bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if is := m.held[slot]; is != nil {
		return *is, true
	}
	return h, false
}

// realHost stands for the host with the same account that may run beside the dry run: it is another one.
var realHost = events.Address(bytes.Repeat([]byte{0xff}, len(events.Address{})))

// Slot is what the contract says of a slot, as if ours were filled by us.
func (m *Market) Slot(ctx context.Context, request events.RequestID, index uint64) (events.SlotFacts, error) {
	f, err := m.Reads.Slot(ctx, request, index)
	if err != nil || !f.RequestKnown {
		return f, err
	}
	h, held := m.holds(events.SlotIDOf(request, index))
	if !held {
		if f.Host == m.Account() {
			f.Host = realHost
		}
		return f, nil
	}
	f.Host, f.Collateral, f.CanReserve, f.SlotState = m.Account(), h.fill.Collateral, false, events.SlotFilled
	switch f.RequestState {
	case events.RequestFinished:
		f.SlotState = events.SlotFinished
	case events.RequestCancelled:
		f.SlotState = events.SlotCancelled
	case events.RequestFailed:
		f.SlotState = events.SlotFailed
	case events.RequestNew, events.RequestStarted:
	}
	if h.payout != nil && f.SlotState != events.SlotFailed {
		f.SlotState, f.Collateral = events.SlotPaid, events.Amount{}
	}
	return f, nil
}

// HoldsReservation is about the reservations that a real host would have made.
func (m *Market) HoldsReservation(
	ctx context.Context, request events.RequestID, index uint64,
) (holds bool, at events.Head, err error) {
	at, err = m.Head(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.reserved[events.SlotIDOf(request, index)], at, err
}

// MySlots are those that would be ours.
func (m *Market) MySlots(context.Context) (owned []events.OwnedSlot, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, slot := range slices.SortedFunc(maps.Keys(m.held), events.SlotID.Compare) {
		if h := m.held[slot]; h.payout == nil {
			owned = append(owned, h.OwnedSlot)
		}
	}
	return owned, nil
}

// Balance is enough for everything: availabilities and sales.maxCollateralAtRisk bound what a dry run sells. The prices
// of gas are the real ones.
func (m *Market) Balance(ctx context.Context, _ ...events.Head) (events.Balance, error) {
	b, err := m.Reads.Balance(ctx)
	b.Tokens, b.Wei = events.MaxAmount(), events.MaxAmount()
	return b, err
}

// ReserveSlot reserves nothing. It says whether the contract would have let a real host.
func (m *Market) ReserveSlot(ctx context.Context, call events.SlotCall) (none events.Receipt, err error) {
	f, err := m.Reads.Slot(ctx, call.Request, call.Index)
	may := f.CanReserve
	if err == nil && !may { // The real host of this account may have reserved it.
		may, _, err = m.Reads.HoldsReservation(ctx, call.Request, call.Index)
	}
	switch {
	case err != nil:
		return none, err
	case !may:
		return none, events.ErrReservationNotAllowed
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reserved[call.Slot] = true
	return none, nil
}

// FillSlot fills nothing. A slot that is free counts as filled by us from now on.
func (m *Market) FillSlot(ctx context.Context, call events.SlotCall, _ events.Proof) (fill events.Fill, err error) {
	if h, held := m.holds(call.Slot); held {
		return h.fill, nil
	}
	request, err := m.Request(ctx, call.Request)
	if err != nil {
		return fill, err
	}
	f, err := m.Reads.Slot(ctx, call.Request, call.Index)
	if err != nil {
		return fill, err
	}
	switch {
	case !call.Deadline.IsZero() && !f.At.Time.Before(call.Deadline):
		return fill, events.ErrDeadlinePassed
	case f.SlotState != events.SlotFree && f.SlotState != events.SlotRepair, f.RequestState.Over():
		return fill, fmt.Errorf("%w: it is %s", events.ErrSlotNotFree, f.SlotState)
	}
	fill = events.Fill{FilledAt: f.At.Time, Block: f.At.Number}
	fill.Collateral, _ = request.Ask.CollateralPerSlot()
	if f.SlotState == events.SlotRepair {
		terms, err := m.Config(ctx)
		if err != nil {
			return fill, err
		}
		fill.RepairReward = fill.Collateral.MulSaturating(uint64(terms.RepairRewardPercentage)).Div(100)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held[call.Slot] = &hold{
		OwnedSlot: events.OwnedSlot{Slot: call.Slot, Request: request, Index: call.Index}, fill: fill,
	}
	return fill, nil
}

// SubmitProof submits nothing.
func (m *Market) SubmitProof(
	_ context.Context, call events.SlotCall, _ uint64, _ events.Proof,
) (none events.Receipt, err error) {
	if _, held := m.holds(call.Slot); !held {
		return none, events.ErrNotOurSlot
	}
	return none, nil
}

// TakenProofs are none: the record has what would have been taken.
func (*Market) TakenProofs(context.Context, events.SlotID, uint64) ([]events.TakenProof, error) {
	return nil, nil
}

// FreeSlot frees nothing. It says what a slot would have paid that was filled when the dry run wanted it.
func (m *Market) FreeSlot(ctx context.Context, call events.SlotCall) (payout events.PayoutReceipt, err error) {
	f, err := m.Slot(ctx, call.Request, call.Index)
	h, held := m.holds(call.Slot)
	switch {
	case err != nil:
		return payout, err
	case !held:
		return payout, events.ErrNotOurSlot
	case h.payout != nil:
		payout = *h.payout
		payout.AlreadyFree = true
		return payout, nil
	case !f.RequestState.Over():
		return payout, fmt.Errorf("%w: the slot is %s", events.ErrReverted, f.SlotState)
	case !f.At.Time.After(f.RequestEnd):
		return payout, events.ErrTooEarly
	}
	if f.RequestState != events.RequestFailed {
		until := f.RequestEnd
		if f.RequestState == events.RequestCancelled {
			until = f.RequestExpiry
		}
		price, _ := h.Request.Ask.PricePerSecond()
		seconds := uint64(max(0, until.Sub(h.fill.FilledAt)) / time.Second)
		payout.Collateral = h.fill.Collateral
		payout.Paid = payout.Collateral.AddSaturating(price.MulSaturating(seconds))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held[call.Slot].payout = &payout
	return payout, nil
}
