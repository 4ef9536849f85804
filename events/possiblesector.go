package events

// This file says which answers of a contract of sectors cannot be true; see possible.go.

// CheckSector reports whether the contract can have a sector of this number like this. The block is checked
// by a caller that knows others of its chain.
func CheckSector(c SectorConfig, number uint64, s SectorOnChain) error {
	states := 0
	for _, is := range []bool{s.PreCommitted, s.Active, s.Terminated, s.Void} {
		if is {
			states++
		}
	}
	began := max(s.PreCommitEpoch, s.Activation)
	switch {
	case c.Deadlines == 0 || c.PartitionSize == 0:
		return impossible("the contract of sectors has %d deadlines, and partitions of %d",
			c.Deadlines, c.PartitionSize)
	case states == 0 && s != SectorOnChain{Block: s.Block}:
		return impossible("there is no sector %d, and it has %d bytes and a deposit of %s", number, s.Size, s.Deposit)
	case states == 0:
		return nil
	case states > 1, s.Faulty && !s.Active, s.Ended && !s.Terminated:
		return impossible("sector %d is in a state that there is not: %+v", number, s.SectorFacts)
	case s.Size == 0, c.Deposit(s.Size).Less(s.Deposit):
		return impossible("sector %d has %d bytes and a deposit of %s", number, s.Size, s.Deposit)
	case began > s.Block.Number, s.TicketEpoch >= s.PreCommitEpoch:
		return impossible("in block %d, sector %d has a ticket of %d, was precommitted in %d and proven in %d",
			s.Block.Number, number, s.TicketEpoch, s.PreCommitEpoch, s.Activation)
	case s.SeedEpoch != s.PreCommitEpoch+c.ChallengeDelay:
		return impossible("sector %d was precommitted in %d, and its seed is of %d",
			number, s.PreCommitEpoch, s.SeedEpoch)
	case s.Deadline != number%c.Deadlines, s.Partition != number/c.Deadlines/c.PartitionSize:
		return impossible("sector %d is in partition %d of deadline %d", number, s.Partition, s.Deadline)
	}
	return nil
}

// CheckWindow reports whether there can be such a window.
func CheckWindow(c SectorConfig, w SectorWindow) error {
	if c.Deadlines == 0 {
		return impossible("the contract of sectors has no deadlines")
	}
	blocks := c.PeriodBlocks / c.Deadlines
	opens := w.Period*c.PeriodBlocks + w.Deadline*blocks
	switch {
	case w.Period > MaxBlock, w.Deadline >= c.Deadlines, opens > MaxBlock, w.Opens != opens, w.Closes != opens+blocks:
		return impossible("window %d of period %d lasts from block %d to %d", w.Deadline, w.Period, w.Opens, w.Closes)
	}
	return nil
}

// CheckDrawn reports whether a contract can have drawn this from a block.
func CheckDrawn(value Hash, epoch uint64) error {
	if value.Zero() || epoch > MaxBlock {
		return impossible("block %d gives %s", epoch, value)
	}
	return nil
}
