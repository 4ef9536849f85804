package sim

import (
	"maps"
	"math/big"
	"slices"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
)

// contract is the marketplace after one block, with the token (spec/marketplace.md §3 to §7). A
// block changes a clone, so that earlier states stay as they were. A clone shares requests and
// slots with its origin; writeRequest and writeSlot copy one before it changes.
//
// myRequests and the totals are left out, because no port of the host shows them.
type contract struct {
	cfg      events.MarketConfig
	requests map[events.RequestID]*request
	slots    map[events.SlotID]*slot
	// mine are the slots of each host, in the contract's order.
	mine map[events.Address][]events.SlotID
	// active are the slots in the raw state Filled, in the order of their filling.
	active []events.SlotID

	tokens map[events.Address]events.Amount
	held   events.Amount // by the contract itself
	minted events.Amount // all tokens
	leaky  bool          // a planted error: payouts vanish

	provider *sectorContract // on the same chain, with the same token; nil: there is none

	// freshRequests and the like are those that this clone owns.
	freshRequests map[events.RequestID]bool
	freshSlots    map[events.SlotID]bool
}

type request struct {
	events.Request
	expiresAt, endsAt time.Time
	state             events.RequestState // stored
	filled            uint64
	toClient          events.Amount // fundsToReturnToClient
	probability       *big.Int      // of a proof, as the contract computes it
}

type slot struct {
	request    events.RequestID
	id         events.SlotID
	index      uint64
	state      events.SlotState // stored: Free, Filled, Repair, Paid
	touched    bool             // it was filled before
	host       events.Address
	filledAt   time.Time
	collateral events.Amount
	reserved   map[events.Address]bool
	received   map[uint64]bool
	missing    map[uint64]bool
	missed     int
}

func newContract(cfg events.MarketConfig) *contract {
	return &contract{
		cfg: cfg, requests: map[events.RequestID]*request{}, slots: map[events.SlotID]*slot{},
		mine: map[events.Address][]events.SlotID{}, tokens: map[events.Address]events.Amount{},
		freshRequests: map[events.RequestID]bool{}, freshSlots: map[events.SlotID]bool{},
	}
}

func (c *contract) clone() *contract {
	n := *c
	n.provider = c.provider.clone()
	n.requests, n.slots = maps.Clone(c.requests), maps.Clone(c.slots)
	n.mine, n.tokens = maps.Clone(c.mine), maps.Clone(c.tokens)
	n.freshRequests, n.freshSlots = map[events.RequestID]bool{}, map[events.SlotID]bool{}
	return &n
}

func (c *contract) writeRequest(id events.RequestID) *request {
	if !c.freshRequests[id] {
		copied := *c.requests[id]
		c.requests[id], c.freshRequests[id] = &copied, true
	}
	return c.requests[id]
}

func (c *contract) writeSlot(id events.SlotID) *slot {
	if !c.freshSlots[id] {
		copied := *c.slots[id]
		copied.reserved, copied.received = maps.Clone(copied.reserved), maps.Clone(copied.received)
		copied.missing = maps.Clone(copied.missing)
		c.slots[id], c.freshSlots[id] = &copied, true
	}
	return c.slots[id]
}

func (c *contract) requestOf(s *slot) *request { return c.requests[s.request] }

// blockContext is the block in which a transaction or a view is evaluated.
type blockContext struct {
	number uint64
	time   time.Time
	hash   func(uint64) events.Hash
}

// period is the period that the block lies in.
func (m blockContext) period(c *contract) uint64 { return duty.Period(c.cfg.Proofs, m.time) }

// requestState is §4.1. The comparisons are strict: in the second of its expiry a request can
// still be filled.
func (c *contract) requestState(r *request, now time.Time) events.RequestState {
	switch {
	case r.state == events.RequestNew && now.After(r.expiresAt):
		return events.RequestCancelled
	case r.state <= events.RequestStarted && now.After(r.endsAt):
		return events.RequestFinished
	}
	return r.state
}

// slotState is §4.2. A slot that nobody ever filled is free, whatever the state of its request.
func (c *contract) slotState(s *slot, now time.Time) events.SlotState {
	switch {
	case !s.touched:
		return events.SlotFree
	case s.state == events.SlotPaid:
		return events.SlotPaid
	}
	switch c.requestState(c.requestOf(s), now) {
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

// requestEnd is §4.3.
func (c *contract) requestEnd(r *request, now time.Time) time.Time {
	switch c.requestState(r, now) {
	case events.RequestCancelled:
		return r.expiresAt
	case events.RequestFinished, events.RequestFailed:
		if now.Before(r.endsAt) {
			return now
		}
	case events.RequestNew, events.RequestStarted:
	}
	return r.endsAt
}

func (c *contract) canReserve(m blockContext, s *slot, host events.Address) bool {
	st := c.slotState(s, m.time)
	return (st == events.SlotFree || st == events.SlotRepair) &&
		len(s.reserved) < int(c.cfg.MaxReservations) && !s.reserved[host]
}

func (c *contract) challenge(m blockContext, s events.SlotID) (period uint64, ch events.Challenge) {
	period = m.period(c)
	return period, c.challengeFor(m, s, period)
}

// challengeFor is the challenge that decides in a block about a period, maybe an earlier one.
func (c *contract) challengeFor(m blockContext, s events.SlotID, period uint64) events.Challenge {
	n, _ := duty.ChallengeBlock(m.number, duty.Pointer(c.cfg.Proofs, s, m.number, period))
	return duty.Challenge(m.hash(n))
}

// required is isProofRequired for a period, evaluated in a block.
func (c *contract) required(m blockContext, s *slot, period uint64) bool {
	if c.slotState(s, m.time) != events.SlotFilled || period <= duty.Period(c.cfg.Proofs, s.filledAt) {
		return false
	}
	pointer := duty.Pointer(c.cfg.Proofs, s.id, m.number, period)
	if pointer < c.cfg.Proofs.Downtime {
		return false
	}
	n, _ := duty.ChallengeBlock(m.number, pointer)
	return duty.Drawn(c.requestOf(s).probability, duty.Challenge(m.hash(n)))
}

// owned returns the slots that the contract lists for a host.
func (c *contract) owned(host events.Address) (out []events.OwnedSlot) {
	for _, id := range c.mine[host] {
		s := c.slots[id]
		out = append(out, events.OwnedSlot{Slot: id, Request: c.requestOf(s).Request, Index: s.index})
	}
	return out
}

func (c *contract) lists(host events.Address, id events.SlotID) bool {
	return slices.Contains(c.mine[host], id)
}

// unlist removes a slot from a host's list: the last one takes its place.
func (c *contract) unlist(host events.Address, id events.SlotID) {
	list := slices.Clone(c.mine[host])
	if i := slices.Index(list, id); i >= 0 {
		list[i] = list[len(list)-1]
		c.mine[host] = list[:len(list)-1]
	}
}

func (c *contract) list(host events.Address, id events.SlotID) {
	if !c.lists(host, id) {
		c.mine[host] = append(slices.Clip(c.mine[host]), id)
	}
}

func (c *contract) deactivate(id events.SlotID) {
	if i := slices.Index(c.active, id); i >= 0 {
		c.active = slices.Delete(slices.Clone(c.active), i, i+1)
	}
}

// mint creates tokens.
func (c *contract) mint(to events.Address, amount events.Amount) {
	c.tokens[to] = c.tokens[to].Add(amount)
	c.minted = c.minted.Add(amount)
}

// pull takes tokens from an account that allowed it.
func (c *contract) pull(from events.Address, amount events.Amount) error {
	if c.tokens[from].Less(amount) {
		return events.ErrInsufficientFunds
	}
	c.tokens[from], c.held = c.tokens[from].Sub(amount), c.held.Add(amount)
	return nil
}

// pay is a transfer of the contract's own tokens.
func (c *contract) pay(to events.Address, amount events.Amount) {
	if c.leaky {
		amount, c.held = events.Amount{}, c.held.Sub(amount)
	}
	c.held, c.tokens[to] = c.held.Sub(amount), c.tokens[to].Add(amount)
}

// conserved reports whether no token has appeared or vanished.
func (c *contract) conserved() bool {
	sum := c.held
	for _, amount := range c.tokens {
		sum = sum.Add(amount)
	}
	return sum == c.minted
}

// percent is a percentage of an amount as the contract computes it: multiplied first, then
// rounded down.
func percent(of events.Amount, part uint8) events.Amount {
	return of.MulSaturating(uint64(part)).Div(100)
}

// discount is how much less a host pays that fills a slot in repair.
func discount(cfg events.MarketConfig, ask events.Ask) events.Amount {
	full, _ := ask.CollateralPerSlot()
	return percent(full, cfg.RepairRewardPercentage)
}

// payoutFor is slotPayout; false when it reverts with StartNotBeforeExpiry.
func payoutFor(ask events.Ask, from, to time.Time) (events.Amount, bool) {
	price, _ := ask.PricePerSecond()
	return price.MulSaturating(uint64(max(0, to.Sub(from)) / time.Second)), from.Before(to)
}
