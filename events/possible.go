package events

import (
	"errors"
	"fmt"
	"time"

	"github.com/hostnode/hostnode/messages"
)

// This file says which answers of a chain cannot be true, whatever happened on it: because
// of the contract's types or rules, or because of the question. A node that gives such an
// answer is not believed, and the question is asked again.

// ErrImpossible means that an answer of the chain cannot be true.
var ErrImpossible = errors.New("the chain's answer cannot be true")

const (
	// MaxBlock is a higher number than any block will ever have.
	MaxBlock = 1 << 48
	// maxBlocksPerSecond is more blocks than any chain makes in a second of its own time.
	maxBlocksPerSecond = 100
	// maxHalt is longer than any living chain was ever seen to stand still.
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

// CheckOrder reports whether two blocks, in any order, can be of the same chain, by their
// numbers and times.
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

// CheckUpdate reports whether an update can follow the last delivered block, whose time may
// be zero if only its number and hash are known.
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

// checkLog reports whether a log can be of a block after last, up to and including head.
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

// CheckFacts reports whether the contract can have given these facts of a slot.
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

// CheckOwned reports whether these slots can be an account's.
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

// CheckCollateral reports whether the contract can hold this much for a slot of the request.
func CheckCollateral(r Request, held Amount) error {
	if full, _ := r.Ask.CollateralPerSlot(); full.Less(held) {
		return impossible("%s of collateral for a slot that takes %s", held, full)
	}
	return nil
}

// CheckFill reports whether a slot of the request can have been filled like this.
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

// CheckPayout reports whether a slot of the request can have paid this much.
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

// CheckReceipt reports whether a transaction can have such a receipt. The zero receipt
// stands for something that was done earlier.
func CheckReceipt(r Receipt) error {
	if r.Block == (Head{}) {
		return nil
	}
	return CheckHead(r.Block)
}

// CheckTaken reports whether these can be the proofs that were accepted from a period on,
// up to a block.
func CheckTaken(taken []TakenProof, cfg ProofConfig, from uint64, now Head) error {
	for _, t := range taken {
		if t.Period < from {
			return impossible("a proof of period %d, when it was asked from %d on", t.Period, from)
		}
		if err := CheckReceipt(t.Receipt); err != nil {
			return err
		}
		// The node may know newer blocks than we do.
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

// CheckConfig reports whether a contract can be configured like this.
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
