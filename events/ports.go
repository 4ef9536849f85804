package events

import (
	"context"
	"time"

	"github.com/hostnode/hostnode/messages"
)

// This file holds the values that the ports of the host take and return. They
// are here, not beside the ports, so that an adapter never has to import its
// consumer.

// SlotCall says which slot a transaction is about.
type SlotCall struct {
	Request RequestID
	Slot    SlotID
	Index   uint64
	// Attempt numbers our tries at this slot. The idempotency key of the
	// transaction contains it.
	Attempt uint32
	// Deadline is the chain time after which the call is worthless; zero: none.
	Deadline time.Time
	// Challenge is what the proof of a fill, or of a period, answers. It tells a
	// proof that came too late from a wrong one; zero: not known.
	Challenge Challenge
	// Refill says that the slot was ours, was lost, and is filled again with its data. Keep is what must be left of
	// the account's tokens after that fill, because other slots were promised them. Paid are the blocks in which
	// others have paid: a chain without one of them still has those tokens (ErrBeforePayment).
	Refill bool
	Keep   Amount
	Paid   []Head
}

// Fill is a mined fill of ours.
type Fill struct {
	Receipt Receipt
	// FilledAt is the timestamp of the block. The slot is paid for from then on.
	FilledAt   time.Time
	Block      uint64
	Collateral Amount
	// RepairReward is the discount on the collateral, because the slot was in repair.
	RepairReward Amount
}

// OwnedSlot is a slot of ours on chain.
type OwnedSlot struct {
	Slot    SlotID
	Request Request
	Index   uint64
}

// Balance is what an account has, and the present price of what it does on chain.
type Balance struct {
	Tokens Amount // base units of the market's token
	Wei    Amount // for gas
	// ProofWei is the gas cost of one proof at today's price; SaleWei that of
	// reserving, filling and freeing one slot together.
	ProofWei, SaleWei Amount
}

// SlotRef names a slot in both of the contract's ways.
type SlotRef struct {
	Request RequestID
	Slot    SlotID
	Index   uint64
}

// MissingProof names a proof that a slot owed in a period and that was not handed in.
type MissingProof struct {
	SlotRef
	Period uint64
}

// Marking is a missing proof of another host that we marked and the contract accepted.
type Marking struct {
	Receipt Receipt
	Reward  Amount // tokens that came to this account
}

// Cursor is the last block whose logs were delivered.
type Cursor struct {
	Number uint64
	Hash   Hash
	// Time is that of the block; zero when not known. It tells a node that lags from a
	// chain that never had the block.
	Time time.Time
	// Recent are the hashes of some blocks before the cursor, by number, from
	// which the common ancestor is found after a reorganisation; it may be
	// empty.
	Recent map[uint64]Hash
}

// ChainUpdate is the next piece of the chain, with what the marketplace says.
type ChainUpdate = ChainUpdateOf[messages.MarketEvent]

// ChainUpdateOf is the next piece of the chain, with what a contract says.
type ChainUpdateOf[E any] struct {
	// Reorganized is set when blocks that were delivered are gone; Head is the last one that is
	// still there, and the rest of the update is empty.
	Reorganized *messages.ChainReorganized
	// Head is the newest block of this update. Logs holds all logs since the
	// last update up to and including Head.
	Head Head
	Logs []E
	// Live says that Head was the newest block of the chain when it was read.
	Live bool
}

// ProofJob says what to prove.
type ProofJob struct {
	Slot        SlotID
	SlotIndex   uint64
	DataSetRoot Root
	Challenge   Challenge
}

// StoredSlot describes a slot as it is stored on disk.
type StoredSlot struct {
	Slot     SlotID
	Complete bool
	// Data are the bytes of blocks, Overhead those of trees, manifest and
	// bookkeeping, both as allocated on disk.
	Data     Bytes
	Overhead Bytes
	Until    time.Time
	// Damage was found when the repo was opened and is not repaired yet; empty:
	// none.
	Damage string
}

// Scrubbed is the result of one step of the scrub, which reads everything that is stored.
type Scrubbed struct {
	Slot SlotID
	// Bytes were read and hashed in this step.
	Bytes Bytes
	// Damage is what this step found; nil: all is sound.
	Damage *DamageError
	// Ended says that this step completed a pass over all that is stored.
	Ended    bool
	Progress ScrubProgress
}

// Checked is the result of one step of a check of one slot.
type Checked struct {
	// Next is the block to go on with, of so many; all of them: the check is over.
	Next, Blocks uint64
	// Damage is what this step found; nil: all is sound.
	Damage *DamageError
}

// ScrubProgress is how far the scrub has come. Points in time are by the machine's
// clock.
type ScrubProgress struct {
	// Began is when the running pass began; zero: none runs. The pass has come to
	// Block of Slot; slots are checked in the order of their ids.
	Began time.Time
	Slot  SlotID
	Block uint64
	// LastBegan and LastEnded are those of the last complete pass; zero: there was none.
	LastBegan, LastEnded time.Time
}

// DownloadJob says what to fetch and for whom.
type DownloadJob struct {
	Request Request
	Slot    SlotID
	Index   uint64
	// Until is how long the data is kept at least.
	Until time.Time
	// Grant is called with the total of bytes that the slot will occupy once
	// the next batch is written, without padding. It returns when the ledger
	// allows that.
	Grant func(ctx context.Context, total Bytes) error
	// Arrived is called for each missing block that arrives, before it is written,
	// with the bytes that are still missing. It may be nil, and must not block.
	Arrived func(missing Bytes)
}

// SlotContent is a complete slot on disk.
type SlotContent struct {
	Root  Root
	Bytes Bytes // of blocks, without padding
}
