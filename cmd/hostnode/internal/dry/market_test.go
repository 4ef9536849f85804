package dry

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/storetest"
)

var _ port.Market = (*Market)(nil)

var (
	us, rival = events.Address{1}, events.Address{2}
	begin     = events.Unix(1_700_000_000)
	request   = events.Request{
		ID: events.RequestID{7}, Expiry: 10 * time.Minute,
		Ask: events.Ask{
			ProofProbability: events.NewAmount(1), PricePerBytePerSecond: events.NewAmount(2),
			CollateralPerByte: events.NewAmount(3), Slots: 3, SlotSize: 65536, Duration: time.Hour, MaxSlotLoss: 1,
		},
		Content: events.Content{CID: "cid"},
	}
	slot = events.SlotIDOf(request.ID, 1)
	call = events.SlotCall{Request: request.ID, Slot: slot, Index: 1, Attempt: 1}
)

// chain is a contract with one slot on offer. It has nothing that sends.
type chain struct {
	Reads
	facts events.SlotFacts
	holds bool
}

func free() *chain {
	return &chain{facts: events.SlotFacts{
		At: events.Head{Number: 9, Time: begin}, RequestKnown: true, RequestState: events.RequestNew,
		SlotState: events.SlotFree, RequestExpiry: begin.Add(10 * time.Minute), RequestEnd: begin.Add(time.Hour),
		CanReserve: true,
	}}
}

func (*chain) Account() events.Address { return us }
func (c *chain) Config(context.Context) (events.MarketConfig, error) {
	return events.MarketConfig{RepairRewardPercentage: 10}, nil
}
func (c *chain) Head(context.Context) (events.Head, error) { return c.facts.At, nil }
func (*chain) Request(context.Context, events.RequestID) (events.Request, error) {
	return request, nil
}

func (c *chain) Slot(context.Context, events.RequestID, uint64) (events.SlotFacts, error) {
	return c.facts, nil
}

func (c *chain) HoldsReservation(context.Context, events.RequestID, uint64) (bool, events.Head, error) {
	return c.holds, c.facts.At, nil
}

func (*chain) Balance(context.Context, ...events.Head) (events.Balance, error) {
	return events.Balance{Tokens: events.NewAmount(1), ProofWei: events.NewAmount(5)}, nil
}

func TestASlotThatWasFreeCountsAsFilledByUsUntilItsRequestIsOver(t *testing.T) {
	for name, row := range map[string]struct {
		over     events.RequestState
		ends     time.Duration // when the contract says that it ends
		state    events.SlotState
		seconds  uint64 // that are paid for
		returned bool   // the collateral
	}{
		"finished":  {events.RequestFinished, time.Hour, events.SlotFinished, 3600, true},
		"cancelled": {events.RequestCancelled, 10 * time.Minute, events.SlotCancelled, 600, true},
		"failed":    {events.RequestFailed, time.Minute, events.SlotFailed, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, c := t.Context(), free()
			m := NewMarket(c)
			if _, err := m.ReserveSlot(ctx, call); err != nil {
				t.Fatal(err)
			}
			if holds, _, err := m.HoldsReservation(ctx, request.ID, 1); !holds || err != nil {
				t.Fatal("the reservation is forgotten", err)
			}
			full, _ := request.Ask.CollateralPerSlot()
			fill, err := m.FillSlot(ctx, call, events.Proof{})
			if err != nil || !fill.FilledAt.Equal(begin) || fill.Collateral != full || fill.Receipt != (events.Receipt{}) {
				t.Fatalf("%+v, %v", fill, err)
			}
			c.facts.SlotState, c.facts.Host, c.facts.RequestState = events.SlotFilled, rival, events.RequestStarted
			f, err := m.Slot(ctx, request.ID, 1)
			if err != nil || f.Host != us || f.SlotState != events.SlotFilled || f.Collateral != full {
				t.Fatalf("it is hosted: %+v, %v", f, err)
			}
			if _, err := m.FreeSlot(ctx, call); !errors.Is(err, events.ErrReverted) {
				t.Fatalf("freed while it runs: %v", err)
			}
			if m.bytes() != request.Ask.SlotSize {
				t.Fatalf("it takes %d bytes", m.bytes())
			}
			c.facts.RequestState, c.facts.RequestEnd = row.over, begin.Add(row.ends)
			c.facts.At.Time = c.facts.RequestEnd
			if _, err := m.FreeSlot(ctx, call); !errors.Is(err, events.ErrTooEarly) {
				t.Fatalf("freed in the second of its end: %v", err)
			}
			c.facts.At.Time = c.facts.RequestEnd.Add(time.Second)
			if f, err := m.Slot(ctx, request.ID, 1); err != nil || f.SlotState != row.state {
				t.Fatalf("it is over: %+v, %v", f, err)
			}
			paid, err := m.FreeSlot(ctx, call)
			want := events.Amount{}
			if row.returned {
				want = full.Add(events.NewAmount(2 * 65536 * row.seconds))
			}
			if err != nil || paid.Paid != want || events.CheckPayout(request, paid) != nil {
				t.Fatalf("%s was paid, want %s (%v)", paid.Paid, want, err)
			}
			if again, err := m.FreeSlot(ctx, call); err != nil || !again.AlreadyFree || again.Paid != want {
				t.Fatalf("freed again: %+v, %v", again, err)
			}
			owned, err := m.MySlots(ctx)
			if err != nil || len(owned) != 0 || m.bytes() != 0 {
				t.Fatalf("%d slots are left (%v)", len(owned), err)
			}
		})
	}
}

func TestASlotIsNotFilledWhenARealHostCouldNot(t *testing.T) {
	ctx := t.Context()
	for name, row := range map[string]struct {
		change func(*chain, *events.SlotCall)
		want   error
	}{
		"another host was faster": {func(c *chain, _ *events.SlotCall) {
			c.facts.SlotState, c.facts.Host = events.SlotFilled, rival
		}, events.ErrSlotNotFree},
		"the host with this account was": {func(c *chain, _ *events.SlotCall) {
			c.facts.SlotState, c.facts.Host = events.SlotFilled, us
		}, events.ErrSlotNotFree},
		"the request is over": {func(c *chain, _ *events.SlotCall) {
			c.facts.RequestState = events.RequestCancelled
		}, events.ErrSlotNotFree},
		"it could not be mined in time": {func(c *chain, call *events.SlotCall) {
			call.Deadline = c.facts.At.Time
		}, events.ErrDeadlinePassed},
	} {
		c, fill := free(), call
		row.change(c, &fill)
		m := NewMarket(c)
		if _, err := m.FillSlot(ctx, fill, events.Proof{}); !errors.Is(err, row.want) {
			t.Errorf("%s: %v", name, err)
		}
		if f, err := m.Slot(ctx, request.ID, 1); err != nil || f.Host == us {
			t.Errorf("%s: it counts as ours: %+v, %v", name, f, err)
		}
		if _, err := m.SubmitProof(ctx, call, 1, events.Proof{}); !errors.Is(err, events.ErrNotOurSlot) {
			t.Errorf("%s: a proof: %v", name, err)
		}
		if _, err := m.FreeSlot(ctx, call); !errors.Is(err, events.ErrNotOurSlot) {
			t.Errorf("%s: freed: %v", name, err)
		}
	}
	c := free()
	c.facts.CanReserve = false
	if _, err := NewMarket(c).ReserveSlot(ctx, call); !errors.Is(err, events.ErrReservationNotAllowed) {
		t.Errorf("reserved: %v", err)
	}
	c.holds = true // The real host with this account has one.
	if _, err := NewMarket(c).ReserveSlot(ctx, call); err != nil {
		t.Errorf("reserved beside the real host: %v", err)
	}
	c.facts.SlotState = events.SlotRepair
	if fill, err := NewMarket(c).FillSlot(ctx, call, events.Proof{}); err != nil || fill.RepairReward != fill.Collateral.Div(10) {
		t.Errorf("a repair: %+v, %v", fill, err)
	}
}

func TestWhatTheRecordCountsAsFilledStaysSo(t *testing.T) {
	store, codec := storetest.NewMemory(), catalog.Codec()
	decide := func(st sale.State, c sale.Command) (sale.State, []events.NewEvent) {
		made, err := sale.Decide(st, c)
		if err != nil || len(made) == 0 {
			t.Fatalf("%T: %v", c, err)
		}
		var batch []events.NewEvent
		for _, e := range made {
			st = sale.Evolve(st, e)
			name, version, data, err := codec.Encode(e)
			if err != nil {
				t.Fatal(err)
			}
			batch = append(batch, events.NewEvent{Type: name, Data: data, Meta: events.Metadata{Version: version}})
		}
		return st, batch
	}
	var st sale.State
	var all []events.NewEvent
	for _, c := range []sale.Command{
		sale.Start{At: begin, Slot: slot, Index: 1, Request: request, ExpiresAt: begin.Add(10 * time.Minute), EndsAt: begin.Add(time.Hour)},
		sale.ReportCapacity{At: begin, Availability: events.AvailabilityID{1}, Reservation: events.ReservationID{1}, Bytes: 65536, Collateral: events.NewAmount(3 * 65536)},
		sale.ReportSlotReserved{At: begin},
		sale.ReportStored{At: begin, Bytes: 65536},
		sale.ReportInitialProof{At: begin},
		sale.ReportFilled{At: begin, Fill: events.Fill{FilledAt: begin, Block: 9, Collateral: events.NewAmount(3 * 65536)}},
	} {
		var batch []events.NewEvent
		st, batch = decide(st, c)
		all = append(all, batch...)
	}
	stream := events.SaleStream(us, slot)
	for i := range all {
		all[i].ID = events.NewEventID(stream, "test", i)
	}
	if _, err := store.Append(t.Context(), stream, events.NoStream(), all); err != nil {
		t.Fatal(err)
	}
	m := NewMarket(free())
	if err := m.restore(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	owned, err := m.MySlots(t.Context())
	if err != nil || len(owned) != 1 || owned[0].Slot != slot || events.CheckOwned(owned) != nil {
		t.Fatalf("%+v, %v", owned, err)
	}
	fill, err := m.FillSlot(t.Context(), call, events.Proof{})
	if err != nil || !fill.FilledAt.Equal(begin) || fill.Block != 9 {
		t.Fatalf("%+v, %v", fill, err)
	}
}
