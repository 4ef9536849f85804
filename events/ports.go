package events

import (
	"context"
	"time"

	"github.com/hostnode/hostnode/messages"
)

// This file holds the values that the ports of the host take and return. They
// stand here, not beside the ports, so that an adapter never has to import its
// consumer.

// SlotCall says which slot a transaction is about.
type SlotCall struct {
	Request RequestID
	Slot    SlotID
	Index   uint64
	// Attempt numbers our tries at this slot; it is part of the transaction's
	// idempotency key.
	Attempt uint32
	// Deadline is the chain time after which the call is worthless; zero: none.
	Deadline time.Time
	// Challenge is what the proof of a fill, or of a period, answers. With it a proof
	// that came too late is told from one that is wrong; zero: not known.
	Challenge Challenge
}

// Fill is a mined fill of ours.
type Fill struct {
	Receipt Receipt
	// FilledAt is the timestamp of the block: payment runs from here.
	FilledAt   time.Time
	Block      uint64
	Collateral Amount
	// RepairReward is how much less than that was taken, because the slot was in repair.
	RepairReward Amount
}

// OwnedSlot is a slot of ours on chain.
type OwnedSlot struct {
	Slot    SlotID
	Request Request
	Index   uint64
}

// Balance is what an account holds, and what the chain takes for its work now.
type Balance struct {
	Tokens Amount // base units of the market's token
	Wei    Amount // for gas
	// ProofWei and SaleWei are what one proof costs in gas at today's price, and what
	// reserving, filling and freeing one slot cost together.
	ProofWei, SaleWei Amount
}

// SlotRef names a slot in both ways that the contract does.
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

// Marking is a missing proof of another host that the contract took our word for.
type Marking struct {
	Receipt Receipt
	Reward  Amount // tokens that came to this account
}

// Cursor is the last block whose logs were delivered.
type Cursor struct {
	Number uint64
	Hash   Hash
	// Time is that of the block; zero when it is not known. It tells a node that lags from
	// a chain that never had the block.
	Time time.Time
	// Recent are hashes of blocks before the cursor by number, so that the
	// common ancestor can be found after a reorganisation; it may be empty.
	Recent map[uint64]Hash
}

// ChainUpdate is the next piece of the chain.
type ChainUpdate struct {
	// Reorganized is set when blocks that were delivered are gone; the rest of
	// the update is empty then.
	Reorganized *messages.ChainReorganized
	// Head is the newest block of this update, all of whose logs, and those of
	// the blocks since the last update, are in Logs.
	Head Head
	Logs []messages.MarketEvent
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

// StoredSlot is what the disk says of a slot.
type StoredSlot struct {
	Slot     SlotID
	Complete bool
	// Data are the bytes of blocks, Overhead those of trees, manifest and
	// bookkeeping, both as they lie on disk.
	Data     Bytes
	Overhead Bytes
	Until    time.Time
	// Damage is what was found when the repo was opened and was not repaired since;
	// empty: nothing.
	Damage string
}

// Scrubbed is a piece of the look at everything that is stored.
type Scrubbed struct {
	Slot SlotID
	// Bytes were read and hashed in this piece.
	Bytes Bytes
	// Damage is what was found in it; nil: all is sound.
	Damage *DamageError
	// Ended says that this was the end of a pass over all that is stored.
	Ended    bool
	Progress ScrubProgress
}

// ScrubProgress is how far the look at everything that is stored has come. Points in
// time are of the machine.
type ScrubProgress struct {
	// Began is when the pass that runs began; zero: none runs. It is at Block of Slot;
	// slots are passed in order of their ids.
	Began time.Time
	Slot  SlotID
	Block uint64
	// LastBegan and LastEnded are of the last whole pass; zero: there was none.
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
	// the next batch is written, padding not counted. It returns when the
	// ledger allows that.
	Grant func(ctx context.Context, total Bytes) error
	// Arrived is called whenever a block that was missing has come, before it is
	// written, with the bytes of those that are missing still; nil: nobody listens. It
	// must not block.
	Arrived func(missing Bytes)
}

// SlotContent is a complete slot on disk.
type SlotContent struct {
	Root  Root
	Bytes Bytes // of blocks, without padding
}
