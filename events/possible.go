package events

import (
	"errors"
	"fmt"
	"time"

	"github.com/hostnode/hostnode/messages"
)

// This file says what a chain can't answer, whatever happened on it: by the types of the
// contract, by its rules, or by what was asked. Whoever answers so is not believed, and is
// asked again.

// ErrImpossible means that an answer of the chain cannot be true.
var ErrImpossible = errors.New("the chain's answer cannot be true")

const (
	// MaxBlock is a higher number than any block will ever have.
	MaxBlock = 1 << 48
	// maxBlocksPerSecond is more than any chain makes, by its own time.
	maxBlocksPerSecond = 100
	// maxHalt is longer than any chain that goes on stood still while somebody watched.
	maxHalt = 10 * 365 * 24 * time.Hour
)

func impossible(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrImpossible, fmt.Sprintf(format, args...))
}

// CheckHead says whether there can be such a block.
func CheckHead(h Head) error {
	switch {
	case h.Number > MaxBlock:
		return impossible("block number %d", h.Number)
	case h.Number > 0 && h.Hash.Zero():
		return impossible("block %d without a hash", h.Number)
	case h.Time.Before(time.Unix(0, 0)) || h.Time.After(Unix(MaxUnix)):
		return impossible("block %d of %s", h.Number, h.Time)
	}
	return nil
}

// CheckOrder says whether two blocks can be of one chain, each by its number and time, in
// any order.
func CheckOrder(a, b Head) error {
	if a.Number > b.Number {
		a, b = b, a
	}
	blocks, took := b.Number-a.Number, b.Time.Sub(a.Time)
	switch {
	case took < 0:
		return impossible("block %d is of %s, and block %d before it of %s", b.Number, b.Time, a.Number, a.Time)
	case took/time.Duration(max(blocks, 1)) > maxHalt:
		return impossible("%d blocks took %s, from block %d to block %d", blocks, took, a.Number, b.Number)
	case blocks/maxBlocksPerSecond > uint64(took/time.Second)+1:
		return impossible("%d blocks came in %s, from block %d to block %d", blocks, took, a.Number, b.Number)
	case blocks == 1 && b.Parent != a.Hash:
		return impossible("block %d is not on block %d", b.Number, a.Number)
	}
	return nil
}

// CheckUpdate says whether an update can follow the last block that was delivered; its time
// may be zero, when only number and hash are known.
func CheckUpdate(u ChainUpdate, last Head) error {
	if r := u.Reorganized; r != nil {
		if r.GetAncestor() > last.Number {
			return impossible("a reorganisation goes back from block %d to block %d", last.Number, r.GetAncestor())
		}
		return nil
	}
	if err := CheckHead(u.Head); err != nil {
		return err
	}
	known := !last.Time.IsZero()
	switch {
	case u.Head.Number < last.Number:
		return impossible("block %d came behind block %d without a reorganisation", u.Head.Number, last.Number)
	case u.Head.Number == last.Number && !last.Hash.Zero() && u.Head.Hash != last.Hash:
		return impossible("block %d has another hash without a reorganisation", last.Number)
	case known && u.Head.Number > last.Number:
		if err := CheckOrder(last, u.Head); err != nil {
			return err
		}
	}
	for _, log := range u.Logs {
		if err := checkLog(log, last, u.Head); err != nil {
			return err
		}
	}
	return nil
}

// checkLog says whether a log can stand behind one block, and not behind another.
func checkLog(e messages.MarketEvent, last, head Head) error {
	m, ok := e.(interface{ GetLog() *messages.ChainLog })
	if !ok {
		return nil
	}
	log := m.GetLog()
	if n := log.GetBlock(); n <= last.Number && last.Number > 0 || n > head.Number {
		return impossible("a log of block %d came with the blocks %d to %d", n, last.Number+1, head.Number)
	}
	if at := TimeFromMessage(log.GetTime()); at.After(head.Time) {
		return impossible("a log of %s came with block %d of %s", at, head.Number, head.Time)
	}
	return nil
}

// CheckFacts says whether the contract can say this of a slot.
func CheckFacts(f SlotFacts) error {
	switch {
	case f.RequestState > RequestFailed:
		return impossible("the request is %s", f.RequestState)
	case f.SlotState > SlotRepair:
		return impossible("the slot is %s", f.SlotState)
	case f.RequestKnown && f.SlotState == SlotFilled && f.Host.Zero():
		return impossible("the slot is filled, by nobody")
	case f.RequestKnown && (f.RequestExpiry.After(Unix(MaxUnix)) || f.RequestEnd.After(Unix(MaxUnix))):
		return impossible("the request expires at %s and ends at %s", f.RequestExpiry, f.RequestEnd)
	}
	return CheckHead(f.At)
}

// CheckOwned says whether slots can be an account's.
func CheckOwned(owned []OwnedSlot) error {
	seen := make(map[SlotID]bool, len(owned))
	for _, o := range owned {
		switch {
		case SlotIDOf(o.Request.ID, o.Index) != o.Slot:
			return impossible("slot %s is said to be slot %d of request %s", o.Slot.Short(), o.Index,
				o.Request.ID.Short())
		case seen[o.Slot]:
			return impossible("slot %s is named twice", o.Slot.Short())
		}
		seen[o.Slot] = true
	}
	return nil
}

// CheckCollateral says whether the contract can hold so much for a slot of a request.
func CheckCollateral(r Request, held Amount) error {
	if full, _ := r.Ask.CollateralPerSlot(); full.Less(held) {
		return impossible("%s of collateral for a slot that takes %s", held, full)
	}
	return nil
}

// CheckFill says whether a slot of a request can have been filled so.
func CheckFill(r Request, f Fill) error {
	if f.Block > MaxBlock {
		return impossible("a fill in block %d", f.Block)
	}
	if err := CheckReceipt(f.Receipt); err != nil {
		return err
	}
	if err := CheckCollateral(r, f.RepairReward); err != nil {
		return err
	}
	return CheckCollateral(r, f.Collateral)
}

// CheckPayout says whether a slot of a request can have brought so much.
func CheckPayout(r Request, p PayoutReceipt) error {
	if err := CheckReceipt(p.Receipt); err != nil {
		return err
	}
	if p.Paid.Less(p.Collateral) {
		return impossible("%s was paid, and %s of it is collateral", p.Paid, p.Collateral)
	}
	price, _ := r.Ask.PricePerSecond()
	reward := p.Paid.Sub(p.Collateral)
	if most := price.MulSaturating(uint64(r.Ask.Duration / time.Second)); most.Less(reward) {
		return impossible("%s was paid for a slot that brings %s at most", reward, most)
	}
	return CheckCollateral(r, p.Collateral)
}

// CheckReceipt says whether a transaction can have been mined so. The zero receipt is of
// what was done before.
func CheckReceipt(r Receipt) error {
	if r.Block == (Head{}) {
		return nil
	}
	return CheckHead(r.Block)
}

// CheckTaken says whether these can be the proofs that were taken from a period on, as far
// as a block.
func CheckTaken(taken []TakenProof, cfg ProofConfig, from uint64, now Head) error {
	for _, t := range taken {
		if t.Period < from {
			return impossible("a proof of period %d, when it was asked from %d on", t.Period, from)
		}
		if err := CheckReceipt(t.Receipt); err != nil {
			return err
		}
		// The node may be ahead of what was heard of the chain.
		if cfg.Period <= 0 || now.Time.IsZero() {
			continue
		}
		newest := now.Time
		if t.Receipt.Block.Time.After(newest) {
			newest = t.Receipt.Block.Time
		}
		if t.Period > uint64(newest.Unix())/uint64(cfg.Period/time.Second) {
			return impossible("a proof of period %d, which has not begun", t.Period)
		}
	}
	return nil
}

// CheckConfig says whether a contract can be configured so.
func CheckConfig(c MarketConfig) error {
	p := c.Proofs
	switch {
	case p.Period < time.Second || p.Period%time.Second != 0:
		return impossible("a period of %s", p.Period)
	case p.Timeout < 0 || p.Timeout%time.Second != 0:
		return impossible("a timeout of %s", p.Timeout)
	case max(c.RepairRewardPercentage, c.SlashPercentage, c.ValidatorRewardPercentage) > 100:
		return impossible("percentages of %d, %d and %d", c.RepairRewardPercentage, c.SlashPercentage,
			c.ValidatorRewardPercentage)
	}
	return nil
}
