package sim

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/commd"
)

// SectorRules are the rules of a contract of sectors. The fees are in basis points of the deposit: for
// a void precommit, a missed window, a window while faulty, and an early end.
type SectorRules struct {
	Config                          events.SectorConfig
	Void, Missed, Fault, Terminated uint64
}

// sectorRules are the rules of the scenarios. A day is short, so that a run has several.
var sectorRules = SectorRules{
	Config: events.SectorConfig{
		TicketLookback: 3, TicketValid: 60, ChallengeDelay: 4, SeedValid: 60, CommitDue: 100, MinLife: 20,
		MaxLife: 1 << 20, PeriodBlocks: 60, Deadlines: 2, FaultCutoff: 3, PartitionSize: 2, SealLeaves: 4,
		DailyLeaves: 3, MaxFaultPeriods: 8, DepositPerByte: events.NewAmount(10),
		Rewards: map[string]events.Amount{events.ProvesPossession: {}},
	},
	Void: 2000, Missed: 500, Fault: 100, Terminated: 2000,
}

// sectorContract is the contract of sectors after one block, for one provider, as
// docs/provider-contract.md describes it. It shares the chain and the token with the marketplace, and like
// the marketplace it is cloned before it changes.
type sectorContract struct {
	SectorRules
	account events.Address
	sectors map[uint64]*sectorThere
	settled map[uint64]events.SectorSettlement
	// said is the last message of the provider that had an effect, by that effect.
	said map[string]events.Receipt
	// paid is how much each withdrawal paid, by its key.
	paid map[string]events.Amount
	// owed is what the contract returned and the provider has not withdrawn; taken is all that the contract holds.
	owed, taken events.Amount
	// lost is how much the sectors of each number have lost for good.
	lost map[uint64]events.Amount
	// tickets are the epochs of the tickets of void precommits: a number takes only a younger one afterwards.
	tickets map[uint64]uint64
	// missed are the windows whose proof was due and did not come.
	missed map[sectorPeriod]bool
}

type sectorThere struct {
	events.SectorOnChain
	pinned, collected bool
}

// sectorPeriod is a period of one sector.
type sectorPeriod struct{ sector, period uint64 }

func newSectorContract(rules SectorRules, account events.Address) *sectorContract {
	return &sectorContract{
		SectorRules: rules, account: account, sectors: map[uint64]*sectorThere{},
		settled: map[uint64]events.SectorSettlement{}, said: map[string]events.Receipt{},
		lost: map[uint64]events.Amount{}, paid: map[string]events.Amount{}, missed: map[sectorPeriod]bool{},
		tickets: map[uint64]uint64{},
	}
}

// clone returns nil for a chain without sectors.
func (c *sectorContract) clone() *sectorContract {
	if c == nil {
		return nil
	}
	n := *c
	n.sectors = make(map[uint64]*sectorThere, len(c.sectors))
	for number, s := range c.sectors {
		copied := *s
		n.sectors[number] = &copied
	}
	n.settled, n.said, n.missed = maps.Clone(c.settled), maps.Clone(c.said), maps.Clone(c.missed)
	n.lost, n.paid, n.tickets = maps.Clone(c.lost), maps.Clone(c.paid), maps.Clone(c.tickets)
	return &n
}

func (c *sectorContract) windowBlocks() uint64 { return c.Config.PeriodBlocks / c.Config.Deadlines }

func (c *sectorContract) opens(deadline, period uint64) uint64 {
	return period*c.Config.PeriodBlocks + deadline*c.windowBlocks()
}

// nextOpening is the first period in which the window of a deadline opens after a block.
func (c *sectorContract) nextOpening(deadline, block uint64) uint64 {
	first := c.opens(deadline, 0)
	if first > block {
		return 0
	}
	return (block-first)/c.Config.PeriodBlocks + 1
}

func share(whole events.Amount, points uint64) events.Amount {
	return whole.MulSaturating(points).Add(events.NewAmount(9999)).Div(10_000)
}

// closes reports whether the next window in which a sector must be proven closes with a block.
func (c *sectorContract) closes(s *sectorThere, block uint64) bool {
	opens := c.opens(s.Deadline, s.NextPeriod)
	return s.Active && block >= opens+c.windowBlocks() && opens < s.Expiration
}

// due reports whether a block changes a sector without a message.
func (c *sectorContract) due(block uint64) bool {
	for _, s := range c.sectors {
		if c.closes(s, block) || c.ends(s, block) {
			return true
		}
	}
	return false
}

// pass takes the fees for windows that close with a block; that needs no message.
func (c *sectorContract) pass(block uint64) {
	for number, s := range c.sectors {
		if c.closes(s, block) {
			c.miss(number, s)
		}
		if c.ends(s, block) {
			s.Active, s.Faulty, s.Terminated, s.Ended = false, false, true, true
		}
	}
}

func (c *sectorContract) miss(number uint64, s *sectorThere) {
	period, fee := s.NextPeriod, c.Fault
	undeclared := !s.Faulty || period < s.FaultyFrom
	if undeclared || s.RecoverAt == period && period > 0 {
		fee = c.Missed
		c.missed[sectorPeriod{number, period}] = true
	}
	s.Deposit = s.Deposit.SubFloor(share(c.Config.Deposit(s.Size), fee))
	s.NextPeriod, s.FaultPeriods = period+1, s.FaultPeriods+1
	if undeclared {
		s.Faulty, s.FaultyFrom = true, period
	}
	if s.FaultPeriods == c.Config.MaxFaultPeriods {
		c.end(number, s)
	}
}

// ends reports whether a sector is over in a block: it has expired, and its last window is closed.
func (c *sectorContract) ends(s *sectorThere, block uint64) bool {
	last := c.nextOpening(s.Deadline, s.Expiration-1) // The first in which no proof is due.
	return s.Active && block >= s.Expiration && (last == 0 || block >= c.opens(s.Deadline, last-1)+c.windowBlocks())
}

// end ends a sector before its time.
func (c *sectorContract) end(number uint64, s *sectorThere) {
	whole := c.Config.Deposit(s.Size)
	returned := s.Deposit.SubFloor(share(whole, c.Terminated))
	c.closeDeposit(number, returned, whole.Sub(returned))
	s.Active, s.Faulty, s.Terminated, s.Deposit = false, false, true, events.Amount{}
}

func (c *sectorContract) closeDeposit(number uint64, returned, lost events.Amount) {
	c.owed, c.lost[number] = c.owed.Add(returned), c.lost[number].Add(lost)
	c.settled[number] = events.SectorSettlement{Returned: returned, Lost: c.lost[number]}
}

// at returns what the contract says of a sector in a block.
func (c *sectorContract) at(number uint64, m blockContext) (view events.SectorOnChain) {
	s, ok := c.sectors[number]
	if !ok {
		return view
	}
	view = s.SectorOnChain
	if view.PreCommitted {
		lost := !s.pinned && m.number > s.SeedEpoch+c.Config.SeedValid || m.number > s.PreCommitEpoch+c.Config.CommitDue
		view.PreCommitted, view.Void = !lost, lost
		if !s.pinned && !lost && m.number > s.SeedEpoch {
			view.Seed = m.hash(s.SeedEpoch)
		}
	}
	return view
}

// waiting returns why a precommit does not wait for its proof; nil: it does.
func waiting(s events.SectorOnChain) error {
	switch {
	case s.Void:
		return events.ErrSeedLost
	case !s.PreCommitted:
		return events.ErrNotPreCommitted
	case s.Seed.Zero():
		return events.ErrTooEarly
	}
	return nil
}

func (c *sectorContract) ticket(number uint64, hash events.Hash) events.Hash {
	return hashOf(hash, c.account, number, "ticket")
}

func (c *sectorContract) windowIn(m blockContext) events.SectorWindow {
	w := events.SectorWindow{
		Period: m.number / c.Config.PeriodBlocks, Deadline: m.number % c.Config.PeriodBlocks / c.windowBlocks(),
	}
	w.Opens = c.opens(w.Deadline, w.Period)
	w.Closes, w.Randomness = w.Opens+c.windowBlocks(), m.hash(w.Opens-1)
	return w
}

// saidEnded names the effect that the contract released a sector's deposit.
func saidEnded(number uint64) string { return fmt.Sprint("ended", number) }

// The messages follow, each with its checks. A failed one may leave the contract half changed: the caller
// discards the clone.

func (c *contract) preCommit(m blockContext, call events.PreCommitCall) error {
	p := c.provider
	commR := commd.CommR(p.account, call.Number, call.Ticket, commd.Node(call.CommD))
	least := m.number + p.Config.CommitDue + p.Config.MinLife
	switch s := p.at(call.Number, m); {
	case call.Expiration < least || call.Expiration > m.number+p.Config.MaxLife,
		commd.CheckSectorSize(uint64(call.Size)) != nil, call.Proves != events.ProvesPossession:
		return events.ErrMalformed
	case s.Void:
		return events.ErrSeedLost
	case s.Size != 0:
		return events.ErrNumberUsed
	case call.TicketEpoch+p.Config.TicketLookback >= m.number, m.number > call.TicketEpoch+p.Config.TicketValid,
		call.TicketEpoch <= p.tickets[call.Number],
		p.ticket(call.Number, m.hash(call.TicketEpoch)) != call.Ticket:
		return events.ErrTicketExpired
	case commR != commd.Node(call.CommR):
		return events.ErrMalformed
	}
	deposit := p.Config.Deposit(call.Size)
	if err := c.pull(p.account, deposit); err != nil {
		return err
	}
	p.taken = p.taken.Add(deposit)
	delete(p.said, saidEnded(call.Number)) // An earlier precommit of the number was void.
	p.sectors[call.Number] = &sectorThere{SectorOnChain: events.SectorOnChain{
		SectorFacts: events.SectorFacts{PreCommitted: true, SeedEpoch: m.number + p.Config.ChallengeDelay},
		Size:        call.Size, Proves: call.Proves, CommD: call.CommD, CommR: call.CommR,
		Ticket: call.Ticket, TicketEpoch: call.TicketEpoch,
		PreCommitEpoch: m.number, Expiration: call.Expiration, Deadline: call.Number % p.Config.Deadlines,
		Partition: call.Number / p.Config.Deadlines / p.Config.PartitionSize, Deposit: deposit,
	}}
	return nil
}

func (c *sectorContract) pin(m blockContext, number uint64) error {
	if s := c.sectors[number]; s != nil && (s.pinned || s.Active) {
		return reverted("Sectors_AlreadyPinned")
	}
	view := c.at(number, m)
	if err := waiting(view); err != nil {
		return err
	}
	s := c.sectors[number]
	s.pinned, s.Seed = true, view.Seed
	return nil
}

func (c *sectorContract) verify(number uint64, domain commd.Domain, seed events.Hash, leaves int, proof []byte) error {
	s := c.sectors[number]
	err := commd.Verify(commd.Node(s.CommD), uint64(s.Size), commd.Challenge{
		Domain: domain, Ticket: s.Ticket, Seed: seed, Provider: c.account, Number: number, Leaves: leaves,
	}, proof)
	if err != nil {
		return fmt.Errorf("%w: %w", events.ErrInvalidProof, err)
	}
	return nil
}

func (c *sectorContract) commit(m blockContext, number uint64, proof []byte) error {
	view := c.at(number, m)
	if err := waiting(view); err != nil {
		return err
	}
	s := c.sectors[number]
	s.pinned, s.Seed = true, view.Seed
	s.PreCommitted, s.Active, s.Activation = false, true, m.number
	s.NextPeriod = c.nextOpening(s.Deadline, m.number)
	return c.verify(number, commd.Seal, s.Seed, c.Config.SealLeaves, proof)
}

func (c *sectorContract) prove(m blockContext, call events.PossessionCall) error {
	opens := c.opens(call.Deadline, call.Period)
	if m.number < opens || m.number >= opens+c.windowBlocks() {
		return events.ErrDeadlinePassed
	}
	for i, n := range call.Numbers {
		s := c.sectors[n]
		switch {
		case s == nil || !s.Active:
			return events.ErrSectorNotLive
		case s.Partition != call.Partition || s.Deadline != call.Deadline:
			return events.ErrMalformed
		case s.NextPeriod > call.Period:
			return events.ErrProofAlreadySubmitted
		case s.Activation >= opens || s.Expiration <= opens,
			s.Faulty && call.Period >= s.FaultyFrom && s.RecoverAt != call.Period:
			return events.ErrSectorNotDue
		}
		if err := c.verify(n, commd.Possession, m.hash(opens-1), c.Config.DailyLeaves, call.Proofs[i]); err != nil {
			return err
		}
		s.NextPeriod = call.Period + 1
		if s.Faulty && call.Period >= s.FaultyFrom {
			s.Faulty, s.FaultyFrom, s.RecoverAt, s.FaultPeriods = false, 0, 0, 0
		}
	}
	return nil
}

// promised reports whether the recovery of a faulty sector is declared and its window has not passed.
func promised(s events.SectorOnChain) bool { return s.RecoverAt > 0 && s.RecoverAt >= s.NextPeriod }

func (c *sectorContract) declareFaults(m blockContext, numbers []uint64) error {
	for _, n := range numbers {
		s := c.sectors[n]
		if s == nil || !s.Active {
			return events.ErrSectorNotLive
		}
		if next := c.nextOpening(s.Deadline, m.number+c.Config.FaultCutoff); !s.Faulty {
			s.Faulty, s.FaultyFrom = true, next
		} else if s.RecoverAt >= next {
			s.RecoverAt = 0
		}
	}
	return nil
}

func (c *sectorContract) declareRecoveries(m blockContext, numbers []uint64) error {
	for _, n := range numbers {
		s := c.sectors[n]
		switch {
		case s == nil || !s.Active:
			return events.ErrSectorNotLive
		case !s.Faulty:
			return events.ErrSectorNotDue
		case !promised(s.SectorOnChain):
			s.RecoverAt = c.nextOpening(s.Deadline, m.number+c.Config.FaultCutoff)
		}
	}
	return nil
}

func (c *sectorContract) terminate(m blockContext, number uint64) error {
	s := c.sectors[number]
	switch {
	case c.at(number, m).PreCommitted:
		return events.ErrTooEarly
	case s == nil || !s.Active:
		return events.ErrSectorNotLive
	}
	c.end(number, s)
	return nil
}

// release returns a deposit: that of a void precommit, or of a sector that has expired.
func (c *sectorContract) release(m blockContext, number uint64) error {
	s, view := c.sectors[number], c.at(number, m)
	switch {
	case view.Void:
		fee := share(s.Deposit, c.Void)
		c.closeDeposit(number, s.Deposit.Sub(fee), fee)
		c.tickets[number] = s.TicketEpoch
		delete(c.sectors, number)
	case view.Ended && !s.collected:
		c.closeDeposit(number, s.Deposit, c.Config.Deposit(s.Size).Sub(s.Deposit))
		s.collected, s.Ended, s.Deposit = true, false, events.Amount{}
	case view.PreCommitted || view.Active:
		return events.ErrTooEarly
	}
	return nil
}

// has returns how many of the account's tokens the contract has, including those that were lost.
func (c *sectorContract) has() events.Amount {
	if c == nil {
		return events.Amount{}
	}
	return c.taken
}

// deposits adds up the deposits of all sectors.
func (c *sectorContract) deposits() (held events.Amount) {
	for _, n := range slices.Sorted(maps.Keys(c.sectors)) {
		held = held.Add(c.sectors[n].Deposit)
	}
	return held
}
