package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/messages"
)

// This file holds the contract's transactions, each with its checks in the contract's order
// (spec/marketplace.md §5). A failed transaction may leave half of its work behind: the caller
// discards the clone.

// validator is the account that marks every miss that can be marked.
var validator = events.Address{0x7a}

func reverted(name string) error { return fmt.Errorf("%w: %s", events.ErrReverted, name) }

// post is requestStorage (§5.1).
func (c *contract) post(m blockContext, r events.Request) ([]messages.MarketEvent, error) {
	ask := r.Ask
	full, _ := ask.PricePerSecond()
	price := full.MulSaturating(ask.Slots).MulSaturating(uint64(ask.Duration / time.Second))
	switch {
	case c.requests[r.ID] != nil:
		return nil, reverted("Marketplace_RequestAlreadyExists")
	case r.Expiry <= 0 || r.Expiry >= ask.Duration:
		return nil, reverted("Marketplace_InvalidExpiry")
	case ask.Slots == 0:
		return nil, reverted("Marketplace_InsufficientSlots")
	case ask.MaxSlotLoss > ask.Slots:
		return nil, reverted("Marketplace_InvalidMaxSlotLoss")
	case ask.ProofProbability.IsZero():
		return nil, reverted("Marketplace_InsufficientProofProbability")
	case ask.CollateralPerByte.IsZero():
		return nil, reverted("Marketplace_InsufficientCollateral")
	case ask.PricePerBytePerSecond.IsZero():
		return nil, reverted("Marketplace_InsufficientReward")
	case r.Content.CID == "":
		return nil, reverted("Marketplace_InvalidCid")
	case ask.Duration > c.cfg.RequestDurationLimit:
		return nil, reverted("Marketplace_DurationExceedsLimit")
	}
	if err := c.pull(r.Client, price); err != nil {
		return nil, err
	}
	req := &request{
		Request: r, expiresAt: m.time.Add(r.Expiry), endsAt: m.time.Add(ask.Duration), toClient: price,
		probability: duty.Probability(c.cfg.Proofs, ask.ProofProbability),
	}
	c.requests[r.ID], c.freshRequests[r.ID] = req, true
	for i := range ask.Slots {
		id := events.SlotIDOf(r.ID, i)
		c.slots[id] = &slot{
			request: r.ID, id: id, index: i, reserved: map[events.Address]bool{},
			received: map[uint64]bool{}, missing: map[uint64]bool{},
		}
		c.freshSlots[id] = true
	}
	return []messages.MarketEvent{&messages.ChainStorageRequested{
		RequestId: r.ID.String(), Request: events.RequestToMessage(r),
		ExpiresAt: events.TimeToMessage(req.expiresAt),
	}}, nil
}

// reserve is reserveSlot (§5.2).
func (c *contract) reserve(m blockContext, id events.SlotID, host events.Address) ([]messages.MarketEvent, error) {
	if c.slots[id] == nil || !c.canReserve(m, c.slots[id], host) {
		return nil, events.ErrReservationNotAllowed
	}
	s := c.writeSlot(id)
	s.reserved[host] = true
	if len(s.reserved) < int(c.cfg.MaxReservations) {
		return nil, nil
	}
	return []messages.MarketEvent{&messages.ChainSlotReservationsFull{
		RequestId: s.request.String(), SlotIndex: s.index,
	}}, nil
}

// proofFor is the proof that this world takes for a slot and a challenge.
func proofFor(s events.SlotID, ch events.Challenge) events.Proof {
	return events.Proof{0: s, 1: ch, 7: {31: 1}}
}

// keptPeriods bounds for how many old periods a slot remembers its proofs.
const keptPeriods = 64

// takeProof is the part of submitProof that fillSlot shares (§5.4).
func (c *contract) takeProof(m blockContext, s *slot, p events.Proof) ([]messages.MarketEvent, error) {
	period, ch := c.challenge(m, s.id)
	if s.received[period] {
		return nil, events.ErrProofAlreadySubmitted
	}
	if p != proofFor(s.id, ch) {
		return nil, events.ErrInvalidProof
	}
	s.received[period] = true
	if len(s.received) > keptPeriods {
		for old := range s.received {
			if old+keptPeriods/2 < period {
				delete(s.received, old)
			}
		}
	}
	return []messages.MarketEvent{&messages.ChainProofSubmitted{SlotId: s.id.String()}}, nil
}

// prove is submitProof. It checks neither whether a proof is demanded nor whether the slot is
// filled.
func (c *contract) prove(
	m blockContext, id events.SlotID, host events.Address, p events.Proof,
) ([]messages.MarketEvent, error) {
	if c.slots[id] == nil {
		return nil, events.ErrUnknownRequest
	}
	if c.slots[id].host != host {
		return nil, events.ErrNotOurSlot
	}
	return c.takeProof(m, c.writeSlot(id), p)
}

// fill is fillSlot (§5.3).
func (c *contract) fill(
	m blockContext, id events.SlotID, host events.Address, p events.Proof,
) ([]messages.MarketEvent, error) {
	if c.slots[id] == nil {
		return nil, events.ErrUnknownRequest
	}
	s := c.writeSlot(id)
	st := c.slotState(s, m.time)
	// The end of a request shows in a slot's state only once it was filled.
	over := c.requestState(c.requestOf(s), m.time) > events.RequestStarted
	switch {
	case !s.reserved[host]:
		return nil, fmt.Errorf("%w: Marketplace_ReservationRequired", events.ErrReservationNotAllowed)
	case st != events.SlotFree && st != events.SlotRepair || over:
		return nil, events.ErrSlotNotFree
	}
	out, err := c.takeProof(m, s, p)
	if err != nil {
		return nil, err
	}
	r := c.writeRequest(s.request)
	worth, before := payoutFor(r.Ask, m.time, r.endsAt)
	if !before {
		return nil, reverted("Marketplace_StartNotBeforeExpiry")
	}
	collateral, _ := r.Ask.CollateralPerSlot()
	if err := c.pull(host, c.pays(s)); err != nil {
		return nil, err
	}
	r.toClient = r.toClient.Sub(worth)
	r.filled++
	s.state, s.touched, s.host, s.filledAt, s.collateral = events.SlotFilled, true, host, m.time, collateral
	c.list(host, id)
	c.active = append(slices.Clip(c.active), id)
	out = append(out, &messages.ChainSlotFilled{RequestId: r.ID.String(), SlotIndex: s.index})
	if r.filled == r.Ask.Slots && r.state == events.RequestNew {
		r.state = events.RequestStarted
		out = append(out, &messages.ChainRequestFulfilled{RequestId: r.ID.String()})
	}
	return out, nil
}

// pays is what filling a slot costs.
func (c *contract) pays(s *slot) events.Amount {
	ask := c.requestOf(s).Ask
	collateral, _ := ask.CollateralPerSlot()
	if s.state == events.SlotRepair {
		return collateral.Sub(discount(c.cfg, ask))
	}
	return collateral
}

// rewardFor is the validator's share of what a miss costs.
func rewardFor(cfg events.MarketConfig, ask events.Ask) events.Amount {
	return percent(slashFor(cfg, ask), cfg.ValidatorRewardPercentage)
}

// slashFor is what a miss costs: a part of the full collateral.
func slashFor(cfg events.MarketConfig, ask events.Ask) events.Amount {
	full, _ := ask.CollateralPerSlot()
	return percent(full, cfg.SlashPercentage)
}

// markable returns the slots, in the order of their filling, whose proof of the period that
// just ended can be marked as missing in this block.
func (c *contract) markable(m blockContext) (period uint64, slots []events.SlotID) {
	period = m.period(c) - 1
	end := duty.End(c.cfg.Proofs, period)
	if !m.time.After(end) || !m.time.Before(end.Add(c.cfg.Proofs.Timeout)) {
		return period, nil
	}
	for _, id := range c.active {
		if c.mayMark(m, c.slots[id], period) == nil {
			slots = append(slots, id)
		}
	}
	return period, slots
}

// mayMark is canMarkProofAsMissing (§5.5).
func (c *contract) mayMark(m blockContext, s *slot, period uint64) error {
	end := duty.End(c.cfg.Proofs, period)
	switch {
	case s == nil || c.slotState(s, m.time) != events.SlotFilled:
		return fmt.Errorf("%w: the slot is not filled", events.ErrNotMissing)
	case !m.time.After(end):
		return events.ErrTooEarly
	case !m.time.Before(end.Add(c.cfg.Proofs.Timeout)):
		return fmt.Errorf("%w: the window is closed", events.ErrNotMissing)
	case s.received[period] || s.missing[period]:
		return events.ErrNotMissing
	case !c.required(m, s, period):
		return fmt.Errorf("%w: no proof is demanded in this block", events.ErrTooEarly)
	}
	return nil
}

// mark is markProofAsMissing; the validator that marks gets the reward.
func (c *contract) mark(
	m blockContext, id events.SlotID, period uint64, by events.Address,
) (reward events.Amount, logs []messages.MarketEvent, err error) {
	if err := c.mayMark(m, c.slots[id], period); err != nil {
		return reward, nil, err
	}
	s := c.writeSlot(id)
	s.missing[period] = true
	s.missed++
	ask := c.requestOf(s).Ask
	reward = rewardFor(c.cfg, ask)
	c.pay(by, reward)
	s.collateral = s.collateral.Sub(slashFor(c.cfg, ask))
	if s.missed >= int(c.cfg.MaxNumberOfSlashes) {
		logs = c.forfeit(m, id)
	}
	return reward, logs, nil
}

// forfeit frees a slot by force (§5.7). Received and missed proofs stay.
func (c *contract) forfeit(m blockContext, id events.SlotID) []messages.MarketEvent {
	s := c.writeSlot(id)
	r := c.writeRequest(s.request)
	worth, _ := payoutFor(r.Ask, s.filledAt, r.endsAt)
	r.toClient = r.toClient.Add(worth)
	c.unlist(s.host, id)
	c.deactivate(id)
	s.state, s.host, s.filledAt = events.SlotRepair, events.Address{}, time.Time{}
	s.collateral, s.missed = events.Amount{}, 0
	s.reserved = map[events.Address]bool{}
	r.filled--
	out := []messages.MarketEvent{&messages.ChainSlotFreed{RequestId: r.ID.String(), SlotIndex: s.index}}
	if r.Ask.Slots-r.filled > r.Ask.MaxSlotLoss && r.state == events.RequestStarted {
		r.state, r.endsAt = events.RequestFailed, m.time.Add(-time.Second)
		out = append(out, &messages.ChainRequestFailed{RequestId: r.ID.String()})
	}
	return out
}

// paid is what freeSlot pays to the host.
type paid struct {
	reward, collateral events.Amount
	burnt              bool // the slot was running: its collateral is burnt
}

// free is freeSlot by its host, with the host as both recipients (§5.6).
func (c *contract) free(m blockContext, id events.SlotID, host events.Address) (paid, []messages.MarketEvent, error) {
	s := c.slots[id]
	switch {
	case s == nil || s.state == events.SlotFree:
		return paid{}, nil, events.ErrSlotIsFree
	case s.host != host:
		return paid{}, nil, events.ErrNotOurSlot
	}
	r := c.requestOf(s)
	until := r.endsAt
	switch c.slotState(s, m.time) {
	case events.SlotFilled:
		return paid{burnt: true}, c.forfeit(m, id), nil
	case events.SlotFailed:
		c.unlist(host, id)
		c.deactivate(id)
		return paid{}, nil, nil
	case events.SlotCancelled:
		until = r.expiresAt
	case events.SlotFinished:
		c.writeRequest(s.request).state = events.RequestFinished
	case events.SlotPaid:
		return paid{}, nil, reverted("Marketplace_AlreadyPaid")
	case events.SlotFree, events.SlotRepair: // Its host is zero.
	}
	reward, before := payoutFor(r.Ask, s.filledAt, until)
	if !before {
		return paid{}, nil, reverted("Marketplace_StartNotBeforeExpiry")
	}
	s = c.writeSlot(id)
	c.unlist(host, id)
	c.deactivate(id)
	s.state = events.SlotPaid
	p := paid{reward: reward, collateral: s.collateral}
	c.pay(host, p.reward.Add(p.collateral))
	return p, nil, nil
}

// withdraw is withdrawFunds by the client (§5.8).
func (c *contract) withdraw(m blockContext, id events.RequestID, client events.Address) ([]messages.MarketEvent, error) {
	if c.requests[id] == nil {
		return nil, events.ErrUnknownRequest
	}
	if c.requests[id].Client != client {
		return nil, reverted("Marketplace_InvalidClientAddress")
	}
	r := c.writeRequest(id)
	amount := r.toClient
	var out []messages.MarketEvent
	switch c.requestState(r, m.time) {
	case events.RequestNew, events.RequestStarted:
		return nil, reverted("Marketplace_InvalidState")
	case events.RequestCancelled:
		r.state = events.RequestCancelled
		worth, _ := payoutFor(r.Ask, r.expiresAt, r.endsAt)
		amount = amount.Add(worth.MulSaturating(r.filled))
		out = append(out, &messages.ChainRequestCancelled{RequestId: id.String()})
	case events.RequestFailed:
		price, _ := r.Ask.PricePerSecond()
		amount = price.MulSaturating(r.Ask.Slots).MulSaturating(uint64(r.Ask.Duration / time.Second))
	case events.RequestFinished:
		r.state = events.RequestFinished
	}
	if r.toClient.IsZero() {
		return nil, reverted("Marketplace_NothingToWithdraw")
	}
	c.pay(client, amount)
	r.toClient = events.Amount{}
	return out, nil
}
