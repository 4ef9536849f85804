package sim

import (
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
)

// chances are the proofs that hosts could submit. Whether they did is judged by the contract,
// not by what hosts say or by their rules: a host that was slashed for a challenge that it
// could have answered has missed its chance. It works only on a chain without reorganisations.
type chances struct {
	// open are the challenges that were drawn and not answered by a proof.
	open map[period]map[events.Challenge]*opening
	// lost are the misses that were marked.
	lost map[period]loss
}

// opening is a challenge that a host could answer.
type opening struct {
	since uint64 // the block after which it was first seen, by a host that has run since
	had   bool   // it was open for long enough
}

// loss is a miss that was marked: whose it was, and which challenge demanded the proof.
type loss struct {
	host    events.Address
	demands events.Challenge
}

// newChances watches a chain.
func newChances(b *blockchain) *chances {
	c := &chances{open: map[period]map[events.Challenge]*opening{}, lost: map[period]loss{}}
	b.marked = func(p period, host events.Address, demands events.Challenge) { c.lost[p] = loss{host, demands} }
	return c
}

// note notes which challenges a running host could answer in the next block. It has its chance
// when a challenge was open for some blocks. The chain's lock must be held.
func (c *chances) note(b *blockchain, host events.Address, blocks uint64) {
	c.noteSince(b, host, blocks, func(events.SlotID) uint64 { return 0 })
}

// noteSince is note for a host that can prove a slot only since some block.
func (c *chances) noteSince(b *blockchain, host events.Address, blocks uint64, since func(events.SlotID) uint64) {
	tip, next := b.tip(), b.next()
	state, number := tip.state, next.period(tip.state)
	if number != duty.Period(state.cfg.Proofs, tip.head.Time.Add(time.Second)) {
		return // Nobody can know in advance that the next block is of another period.
	}
	for _, id := range state.mine[host] {
		p, s := period{id, number}, state.slots[id]
		if s.received[number] {
			delete(c.open, p)
			continue
		}
		_, challenge := state.challenge(next, id)
		if state.slotState(s, next.time) != events.SlotFilled || number <= duty.Period(state.cfg.Proofs, s.filledAt) ||
			!duty.Drawn(state.requestOf(s).probability, challenge) {
			continue
		}
		if c.open[p] == nil {
			c.open[p] = map[events.Challenge]*opening{}
		}
		o := c.open[p][challenge]
		if o == nil {
			o = &opening{since: tip.head.Number}
			c.open[p][challenge] = o
		}
		o.had = o.had || tip.head.Number >= max(o.since, since(id))+blocks
	}
}

// interrupt ends the chances that were not open for long enough, because the host crashed.
func (c *chances) interrupt() {
	for _, challenges := range c.open {
		for challenge, o := range challenges {
			if !o.had {
				delete(challenges, challenge)
			}
		}
	}
}

// judge returns an error for a loss that the host had the chance to avert.
func (c *chances) judge(p period, l loss) error {
	if o := c.open[p][l.demands]; o != nil && o.had {
		return broken(NothingMissed,
			"host %s was slashed for the proof of slot %s for period %d, which it could hand in from block %d on",
			l.host, p.slot.Short(), p.number, o.since)
	}
	return nil
}

// first returns an error for the first loss that a host had the chance to avert. Excused slots
// could not be proven.
func (c *chances) first(excused func(events.SlotID) bool) error {
	for p, l := range c.lost {
		if err := c.judge(p, l); err != nil && !excused(p.slot) {
			return err
		}
	}
	return nil
}
