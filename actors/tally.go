package actors

import "github.com/hostnode/hostnode/events"

// tally is what is asked of all sales at once, counted whenever one changes: of many thousand each question would take
// milliseconds in which nothing is decided.
type tally struct {
	hosting, due int // of this process: the slots it hosts, and the proofs they owe
	// inWork are the sales, of all members, whose collateral is not paid yet; troubled are those of this process that
	// have a trouble, are left alone, or have damaged data.
	inWork, troubled map[events.SlotID]*agent
}

// counted is how a sale was counted last.
type counted struct{ hosting, due int }

func newTally() tally {
	return tally{inWork: map[events.SlotID]*agent{}, troubled: map[events.SlotID]*agent{}}
}

// put keeps a sale, and counts it as it is now. Whatever changes a sale calls it.
func (s *roster) put(ag *agent) {
	s.drop(ag.slot)
	s.agents[ag.slot] = ag
	if ag.inWork() {
		s.tally.inWork[ag.slot] = ag
	}
	if ag.remote != "" {
		return
	}
	if ag.trouble.Error != "" || ag.Left != "" || ag.state.Damaged() {
		s.tally.troubled[ag.slot] = ag
	}
	ag.counted.due = len(ag.state.Duties)
	if ag.state.Hosting() {
		ag.counted.hosting = 1
	}
	s.tally.hosting += ag.counted.hosting
	s.tally.due += ag.counted.due
}

// drop forgets a sale, if it is there.
func (s *roster) drop(slot events.SlotID) {
	ag := s.agents[slot]
	if ag == nil {
		return
	}
	s.tally.hosting -= ag.counted.hosting
	s.tally.due -= ag.counted.due
	ag.counted = counted{}
	delete(s.tally.inWork, slot)
	delete(s.tally.troubled, slot)
	delete(s.agents, slot)
}
