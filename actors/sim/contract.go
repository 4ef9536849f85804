package sim

import (
	"fmt"
	"maps"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/messages"
)

// contract is the marketplace of one moment. clone makes the next moment's.
type contract struct {
	cfg      events.MarketConfig
	requests map[events.RequestID]*request
	slots    map[events.SlotID]*slot
	tokens   map[events.Address]events.Amount
	order    []events.SlotID // slots in the order of their filling
}

type request struct {
	events.Request
	expiresAt, endsAt time.Time
	state             events.RequestState // stored: New, Started, Failed
	filled            uint64
}

type slot struct {
	request    *request
	id         events.SlotID
	index      uint64
	state      events.SlotState // stored: Free, Filled, Repair, Paid
	host       events.Address
	filledAt   time.Time
	collateral events.Amount
	reserved   map[events.Address]bool
	received   map[uint64]bool
	missing    map[uint64]bool
	missed     int
	dropped    bool // a failed slot that its host let go
}

func (c *contract) clone() *contract {
	n := &contract{
		cfg: c.cfg, requests: map[events.RequestID]*request{}, slots: map[events.SlotID]*slot{},
		tokens: maps.Clone(c.tokens), order: append([]events.SlotID(nil), c.order...),
	}
	for id, r := range c.requests {
		copied := *r
		n.requests[id] = &copied
	}
	for id, s := range c.slots {
		copied := *s
		copied.request = n.requests[s.request.ID]
		copied.reserved, copied.received = maps.Clone(s.reserved), maps.Clone(s.received)
		copied.missing = maps.Clone(s.missing)
		n.slots[id] = &copied
	}
	return n
}

// moment is the block that a transaction or a view is evaluated in.
type moment struct {
	number uint64
	time   time.Time
	hash   func(uint64) events.Hash
}

func (c *contract) requestState(r *request, now time.Time) events.RequestState {
	switch {
	case r.state == events.RequestNew && now.After(r.expiresAt):
		return events.RequestCancelled
	case r.state <= events.RequestStarted && now.After(r.endsAt):
		return events.RequestFinished
	}
	return r.state
}

func (c *contract) slotState(s *slot, now time.Time) events.SlotState {
	switch {
	case s.filledAt.IsZero() && s.state == events.SlotFree:
		return events.SlotFree
	case s.state == events.SlotPaid:
		return events.SlotPaid
	}
	switch c.requestState(s.request, now) {
	case events.RequestCancelled:
		return events.SlotCancelled
	case events.RequestFinished:
		return events.SlotFinished
	case events.RequestFailed:
		return events.SlotFailed
	case events.RequestNew, events.RequestStarted:
	}
	return s.state
}

func (c *contract) post(m moment, r events.Request) messages.MarketEvent {
	req := &request{Request: r, expiresAt: m.time.Add(r.Expiry), endsAt: m.time.Add(r.Ask.Duration)}
	c.requests[r.ID] = req
	for i := range r.Ask.Slots {
		id := events.SlotIDOf(r.ID, i)
		c.slots[id] = &slot{
			request: req, id: id, index: i, reserved: map[events.Address]bool{},
			received: map[uint64]bool{}, missing: map[uint64]bool{},
		}
	}
	return &messages.ChainStorageRequested{
		RequestId: r.ID.String(), Request: events.RequestToMessage(r),
		ExpiresAt: events.TimeToMessage(req.expiresAt),
	}
}

func (c *contract) canReserve(m moment, s *slot, host events.Address) bool {
	st := c.slotState(s, m.time)
	return (st == events.SlotFree || st == events.SlotRepair) &&
		len(s.reserved) < int(c.cfg.MaxReservations) && !s.reserved[host]
}

func (c *contract) challenge(m moment, s events.SlotID) (period uint64, pointer uint8, ch events.Challenge) {
	period = duty.Period(c.cfg.Proofs, m.time)
	pointer = duty.Pointer(c.cfg.Proofs, s, m.number, period)
	n, _ := duty.ChallengeBlock(m.number, pointer)
	return period, pointer, duty.Challenge(m.hash(n))
}

// proofFor is the proof that this world takes for a slot and a challenge.
func proofFor(s events.SlotID, ch events.Challenge) events.Proof {
	return events.Proof{0: s, 1: ch, 7: {31: 1}}
}

func (c *contract) takeProof(m moment, s *slot, p events.Proof) error {
	period, _, ch := c.challenge(m, s.id)
	if s.received[period] {
		return events.ErrProofAlreadySubmitted
	}
	if p != proofFor(s.id, ch) {
		return events.ErrInvalidProof
	}
	s.received[period] = true
	return nil
}

func (c *contract) fill(m moment, s *slot, host events.Address, p events.Proof) ([]messages.MarketEvent, error) {
	if !s.reserved[host] {
		return nil, fmt.Errorf("%w: no reservation", events.ErrReverted)
	}
	if st := c.slotState(s, m.time); st != events.SlotFree && st != events.SlotRepair {
		return nil, events.ErrSlotNotFree
	}
	if rs := c.requestState(s.request, m.time); rs > events.RequestStarted {
		return nil, events.ErrSlotNotFree
	}
	if err := c.takeProof(m, s, p); err != nil {
		return nil, err
	}
	collateral, _ := s.request.Ask.CollateralPerSlot()
	pays := collateral
	if s.state == events.SlotRepair {
		pays = pays.Sub(discount(c.cfg, s.request.Ask))
	}
	if c.tokens[host].Less(pays) {
		return nil, events.ErrInsufficientFunds
	}
	c.tokens[host] = c.tokens[host].Sub(pays)
	s.state, s.host, s.filledAt, s.collateral = events.SlotFilled, host, m.time, collateral
	c.order = append(c.order, s.id)
	s.request.filled++
	out := []messages.MarketEvent{&messages.ChainSlotFilled{
		RequestId: s.request.ID.String(), SlotIndex: s.index,
	}}
	if s.request.filled == s.request.Ask.Slots && s.request.state == events.RequestNew {
		s.request.state = events.RequestStarted
		out = append(out, &messages.ChainRequestFulfilled{RequestId: s.request.ID.String()})
	}
	return out, nil
}

// discount is what the contract adds to the collateral of whoever fills a slot
// in repair.
func discount(cfg events.MarketConfig, ask events.Ask) events.Amount {
	full, _ := ask.CollateralPerSlot()
	return full.Div(100).MulSaturating(uint64(cfg.RepairRewardPercentage))
}

// period is the period that a moment lies in.
func (m moment) period(c *contract) uint64 { return duty.Period(c.cfg.Proofs, m.time) }

// required is isProofRequired for a period, evaluated in a block.
func (c *contract) required(m moment, s *slot, period uint64) bool {
	if c.slotState(s, m.time) != events.SlotFilled || period <= duty.Period(c.cfg.Proofs, s.filledAt) {
		return false
	}
	pointer := duty.Pointer(c.cfg.Proofs, s.id, m.number, period)
	n, _ := duty.ChallengeBlock(m.number, pointer)
	probability := duty.Probability(c.cfg.Proofs, s.request.Ask.ProofProbability)
	return pointer >= c.cfg.Proofs.Downtime && duty.Drawn(probability, duty.Challenge(m.hash(n)))
}

// mark is what an attentive validator does in a block: every miss of the last
// period that can be marked is marked.
func (c *contract) mark(m moment) []messages.MarketEvent {
	var out []messages.MarketEvent
	period := duty.Period(c.cfg.Proofs, m.time) - 1
	end := duty.End(c.cfg.Proofs, period)
	if !m.time.After(end) || !m.time.Before(end.Add(c.cfg.Proofs.Timeout)) {
		return nil
	}
	for _, id := range c.order {
		s := c.slots[id]
		if s.state != events.SlotFilled || s.received[period] || s.missing[period] || !c.required(m, s, period) {
			continue
		}
		s.missing[period] = true
		s.missed++
		full, _ := s.request.Ask.CollateralPerSlot()
		s.collateral = s.collateral.SubFloor(full.Div(100).MulSaturating(uint64(c.cfg.SlashPercentage)))
		if s.missed >= int(c.cfg.MaxNumberOfSlashes) {
			out = append(out, c.forfeit(m, s)...)
		}
	}
	return out
}

func (c *contract) forfeit(m moment, s *slot) []messages.MarketEvent {
	s.state, s.host, s.collateral, s.missed = events.SlotRepair, events.Address{}, events.Amount{}, 0
	s.reserved = map[events.Address]bool{}
	r := s.request
	r.filled--
	out := []messages.MarketEvent{&messages.ChainSlotFreed{RequestId: r.ID.String(), SlotIndex: s.index}}
	if r.Ask.Slots-r.filled > r.Ask.MaxSlotLoss && r.state == events.RequestStarted {
		r.state, r.endsAt = events.RequestFailed, m.time.Add(-time.Second)
		out = append(out, &messages.ChainRequestFailed{RequestId: r.ID.String()})
	}
	return out
}

func (c *contract) free(m moment, s *slot, host events.Address) (paid, collateral events.Amount, err error) {
	if s.host != host {
		return paid, collateral, events.ErrNotOurSlot
	}
	until := s.request.endsAt
	switch c.slotState(s, m.time) {
	case events.SlotCancelled:
		until = s.request.expiresAt
	case events.SlotFinished:
	case events.SlotFailed:
		s.dropped = true // No longer among the host's slots; it may be asked again.
		return paid, collateral, nil
	case events.SlotFree, events.SlotFilled, events.SlotPaid, events.SlotRepair:
		return paid, collateral, events.ErrReverted
	}
	price, _ := s.request.Ask.PricePerSecond()
	reward, _ := price.Mul(uint64(until.Sub(s.filledAt) / time.Second))
	s.state, collateral = events.SlotPaid, s.collateral
	paid = reward.Add(collateral)
	c.tokens[host] = c.tokens[host].Add(paid)
	return paid, collateral, nil
}
