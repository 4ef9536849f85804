package sim

import (
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/sale"
)

// noteDuties notes which periods demand a proof, by the contract's own rule, at a block that
// the host has just taken from the feed, if it had the hash of the challenge and its record
// said that the sale proves.
func (s *simulator) noteDuties() {
	up := s.running() != nil
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	tip, fresh := s.world.tip(), s.world.fresh
	s.world.fresh = false
	if !up || !fresh || s.world.seen.Hash != tip.head.Hash {
		return
	}
	m, c := s.world.next(), tip.state
	number := m.period(c)
	if number <= s.unsettled {
		return // What was recorded about it is of a branch that is gone.
	}
	for id, st := range s.audit.sales {
		pointer := duty.Pointer(c.cfg.Proofs, id, m.number, number)
		known, _ := duty.ChallengeBlock(m.number, pointer)
		if c.slots[id] == nil { // A reorganisation removed it, and the record does not know yet.
			continue
		}
		if st.Phase != sale.Proving || s.world.unanswered[events.SaleStream(me, id)] || !s.world.hashes[known] {
			continue
		}
		if pointer > 255-hostMargin {
			continue // No proof can be mined before the pointer wraps to where none is demanded.
		}
		if c.required(m, c.slots[id], number) && !c.slots[id].received[number] {
			s.owed[period{id, number}] = true
		}
	}
}

// checkChances: the host was not slashed for a proof that it could have sent. It checks once
// per block, while the host runs.
func (s *simulator) checkChances() error {
	if s.chances == nil {
		return nil
	}
	up := s.running() != nil && !s.stopping
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	if tip := s.world.tip().head.Number; tip != s.noted && up {
		s.noted = tip
		s.chances.note(s.world.blockchain, me, s.Chance)
	}
	return s.chances.first(s.spoils)
}
