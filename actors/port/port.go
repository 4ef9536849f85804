// Package port holds every port of a host: what its actors ask of the world.
//
// An adapter proves in its external test that it fits, and runs the suite of
// its port. Every method is safe for concurrent use, may be called again after
// a crash or a lost answer, and asks before it acts: a call whose work is done
// already returns what the first call brought, or an error that says so.
//
// Errors that a port's comments name are outcomes. Every other error is
// temporary and leads to another try.
package port

import (
	"context"
	"time"

	"github.com/hostnode/hostnode/events"
)

// Market is the marketplace contract as one host sees it.
type Market interface {
	// Account is the host's own address.
	Account() events.Address
	// Config is the contract's configuration; it never changes.
	Config(ctx context.Context) (events.MarketConfig, error)
	// Head is the newest block.
	Head(ctx context.Context) (events.Head, error)
	// HeadAt is the block of that number on the current chain.
	HeadAt(ctx context.Context, number uint64) (events.Head, error)
	// Request is a request by its id, or ErrUnknownRequest.
	Request(ctx context.Context, id events.RequestID) (events.Request, error)
	// Slot reads what a sale needs to know about a slot, all at one block.
	Slot(ctx context.Context, request events.RequestID, index uint64) (events.SlotFacts, error)
	// HoldsReservation says whether one of the contract's reservations for a slot is
	// ours, and at which block; of a request that the contract does not know, none is.
	HoldsReservation(ctx context.Context, request events.RequestID, index uint64) (bool, events.Head, error)
	// MySlots are the slots that the contract counts as ours.
	MySlots(ctx context.Context) ([]events.OwnedSlot, error)
	// Balance is what the account holds now.
	Balance(ctx context.Context) (events.Balance, error)

	// ReserveSlot makes us one of the hosts that may fill the slot. The receipt
	// is zero when we hold the reservation already. ErrReservationNotAllowed.
	ReserveSlot(ctx context.Context, call events.SlotCall) (events.Receipt, error)
	// FillSlot hands in the initial proof and the collateral; it approves the
	// tokens when that is needed. ErrSlotNotFree when another host was faster,
	// ErrInvalidProof when the challenge has moved, ErrInsufficientFunds,
	// ErrDeadlinePassed, ErrReservationNotAllowed when we hold none any more. When
	// the slot is ours already, or a fill of this attempt was mined and the
	// contract has taken the slot back since, it reports that fill.
	FillSlot(ctx context.Context, call events.SlotCall, proof events.Proof) (events.Fill, error)
	// SubmitProof hands in the proof of a period. ErrProofAlreadySubmitted,
	// ErrInvalidProof, ErrNotOurSlot, ErrDeadlinePassed (nothing is sent or
	// mined after call.Deadline).
	SubmitProof(ctx context.Context, call events.SlotCall, period uint64, proof events.Proof) (events.Receipt, error)
	// TakenProofs are the proofs of ours that the contract took for a slot in a
	// period and all later ones, the oldest first. It knows what was sent before
	// a crash, also what no event tells of, and waits for what is on its way.
	TakenProofs(ctx context.Context, slot events.SlotID, from uint64) ([]events.TakenProof, error)
	// FreeSlot collects what a finished or cancelled slot is owed, or drops a
	// failed one. It refuses with ErrReverted a slot that still runs: freeing
	// that one would burn the collateral. ErrTooEarly until the end of the
	// request is as certain as the payout must be. It reports when the
	// transaction has the configured number of confirmations.
	FreeSlot(ctx context.Context, call events.SlotCall) (events.PayoutReceipt, error)
}

// Validation is the marketplace contract as one that watches other hosts sees it.
// Whoever marks is the market's account.
type Validation interface {
	// Missing says which of these slots the contract would let us mark as missing
	// the proof of a period, if it were marked in the next block, in the order of
	// the question. Slots that this account hosts are never among them.
	Missing(ctx context.Context, slots []events.SlotRef, period uint64) ([]events.SlotRef, error)
	// MarkMissing marks a missing proof. ErrNotMissing when there is nothing to mark
	// (any more), or the slot is our own; ErrTooEarly until a block behind the
	// period's end is next; ErrDeadlinePassed (nothing is sent or mined after the
	// deadline, nor after the contract's window); ErrInsufficientFunds for gas.
	// Marking twice reports the first. A marking never delays the host's own proofs.
	MarkMissing(ctx context.Context, slot events.SlotRef, period uint64, deadline time.Time) (events.Marking, error)
	// Sent are the proofs that this account began to mark, the oldest first, as far
	// as its record of transactions goes back: also those of before a crash that no
	// event tells of. MarkMissing says what became of each.
	Sent(ctx context.Context) ([]events.MissingProof, error)
}

// ChainFeed delivers what the contract says, block after block.
type ChainFeed interface {
	// Follow delivers updates after the cursor, oldest first, until ctx ends or
	// deliver fails. A zero cursor starts at the contract's deployment. Each
	// log is delivered exactly once per block that holds it; a reorganisation
	// is delivered before the blocks that replace the dropped ones. A cursor at
	// the newest block is delivered once more, without logs, so that whoever
	// begins there knows that it is the newest. Follow reconnects by itself for as
	// long as ctx lives.
	Follow(ctx context.Context, from events.Cursor, deliver func(context.Context, events.ChainUpdate) error) error
}

// Prover makes Groth16 proofs of stored slots. It verifies each proof itself
// before it returns it.
type Prover interface {
	// Prove proves the slot for a challenge. ErrNoSuchSlot, a *DamageError,
	// ErrProofDoesNotVerify.
	Prove(ctx context.Context, job events.ProofJob) (events.ProofResult, error)
	// KeyHash is what the contract's configuration must name as its key.
	KeyHash() string
}

// Repo keeps slots on disk: their blocks, trees and manifest.
type Repo interface {
	// Stored are the slots that have anything on disk.
	Stored(ctx context.Context) ([]events.StoredSlot, error)
	// Delete removes everything of a slot; nothing there is success.
	Delete(ctx context.Context, slot events.SlotID) error
	// Extend keeps a slot at least until a point of chain time. A lifetime is a
	// lower bound: it never deletes by itself. ErrNoSuchSlot.
	Extend(ctx context.Context, slot events.SlotID, until time.Time) error
	// Limit says how many bytes all slots may occupy together from now on; 0: as many
	// as there is room for. What is there stays, also beyond it; what would be beyond it
	// and is not there yet is ErrQuotaExceeded. It does not wait.
	Limit(total events.Bytes)
	// Room is how many bytes the disk has left. ErrDiskFull when it takes nothing, whatever
	// it has left.
	Room() (events.Bytes, error)
	// Scrub goes on looking through the blocks of all complete slots, where the last call
	// stopped, also one of before a restart: at most so many bytes. Now is the
	// machine's time. It changes nothing.
	Scrub(ctx context.Context, now time.Time, most events.Bytes) (events.Scrubbed, error)
	// ScrubProgress is how far that has come. It does not wait.
	ScrubProgress() events.ScrubProgress
}

// Content fetches slots.
type Content interface {
	// Inspect fetches what describes a slot, without its data, and compares it with
	// the request. ErrContentMismatch; ErrContentUnavailable is temporary.
	Inspect(ctx context.Context, job events.DownloadJob) error
	// Download fetches what is missing of a slot, verifies it, stores it, and
	// returns when the slot is complete and has the root that its manifest
	// names. Before each batch is written, grant is asked; it debits the sale's
	// reservation. A restart continues with what is missing.
	// ErrContentMismatch, ErrQuotaExceeded, ErrDiskFull; ErrContentUnavailable is temporary, and
	// ErrNoSource comes with it when nobody could be asked.
	Download(ctx context.Context, job events.DownloadJob) (events.SlotContent, error)
	// Repair mends damaged blocks of a slot that was complete: those named, or, when
	// none are, whatever is damaged of all of it. What is sound is left alone. Mended
	// are those of the named that are sound now, also when others could not be had.
	// It answers what Download does.
	Repair(ctx context.Context, job events.DownloadJob, blocks []uint64) (mended []uint64, err error)
}

// Witness knows what the event store has acknowledged to this host.
type Witness interface {
	// Lost is what the store lacked of it when this process began.
	Lost() events.WentBack
	// Settle takes what is there for all there is, because the loss is in the record.
	Settle() error
}
