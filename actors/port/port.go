// Package port holds the ports of a host: the interfaces through which its actors act on the
// world.
//
// An adapter shows in its external test that it fits, and runs the suite of its port (package
// porttest). Every method is safe for concurrent use, may be called again after a crash or a
// lost answer, and asks before it acts: a call whose work is done already returns the result of
// the first call, or an error that says so.
//
// Errors named in the comments are outcomes. Every other error is temporary: the call is tried
// again.
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
	// HoldsReservation says whether one of the contract's reservations for a slot is ours, and
	// as of which block; false if the contract does not know the request.
	HoldsReservation(ctx context.Context, request events.RequestID, index uint64) (bool, events.Head, error)
	// MySlots returns the slots that the contract counts as ours.
	MySlots(ctx context.Context) ([]events.OwnedSlot, error)
	// Balance is what the account holds now, and what work costs. ErrBeforePayment if the chain does not have one of
	// these blocks, in which slots were paid; of a zero hash, only the number is compared.
	Balance(ctx context.Context, paid ...events.Head) (events.Balance, error)

	// ReserveSlot makes us one of the hosts that may fill the slot. The receipt is zero when we
	// hold the reservation already. ErrReservationNotAllowed.
	ReserveSlot(ctx context.Context, call events.SlotCall) (events.Receipt, error)
	// FillSlot submits the initial proof and the collateral; it approves the tokens when that
	// is needed. ErrSlotNotFree when another host was faster, ErrInvalidProof when the
	// challenge has moved, ErrInsufficientFunds (also if less than call.Keep would be left),
	// ErrBeforePayment, ErrDeadlinePassed, ErrReservationNotAllowed when we no longer hold one. When the slot is ours
	// already, or a fill of this attempt was mined and the contract has taken the slot back since, it
	// reports that fill.
	FillSlot(ctx context.Context, call events.SlotCall, proof events.Proof) (events.Fill, error)
	// SubmitProof submits the proof of a period. ErrProofAlreadySubmitted, ErrInvalidProof,
	// ErrNotOurSlot, ErrDeadlinePassed (nothing is sent or mined after call.Deadline).
	SubmitProof(ctx context.Context, call events.SlotCall, period uint64, proof events.Proof) (events.Receipt, error)
	// TakenProofs returns our proofs that the contract took for a slot, in the given period and
	// all later ones, the oldest first. It knows what was sent before a crash, even if no event
	// tells of it, and waits for transactions in flight.
	TakenProofs(ctx context.Context, slot events.SlotID, from uint64) ([]events.TakenProof, error)
	// FreeSlot collects the payout of a finished or cancelled slot, or drops a failed one.
	// ErrReverted for a slot that still runs: to free it would burn the collateral. ErrTooEarly
	// until the end of the request is as certain as the payout must be. It returns when the
	// transaction has the configured number of confirmations.
	FreeSlot(ctx context.Context, call events.SlotCall) (events.PayoutReceipt, error)
}

// Validation is the marketplace contract as a validator sees it. Markings are sent from the
// market's account.
type Validation interface {
	// Missing returns those of the slots, in the given order, that the contract would let us
	// mark in the next block as missing the proof of a period. Slots that this account hosts
	// are never among them.
	Missing(ctx context.Context, slots []events.SlotRef, period uint64) ([]events.SlotRef, error)
	// MarkMissing marks a missing proof. ErrNotMissing when there is nothing to mark, or
	// nothing any more, or the slot is our own; ErrTooEarly until the next block is after the
	// period's end, and while its pointer is in the downtime; ErrDeadlinePassed (nothing is sent
	// or mined after the deadline, nor after the contract's window); ErrInsufficientFunds for
	// gas. A second call reports the first marking. A marking never delays the host's own proofs.
	MarkMissing(ctx context.Context, slot events.SlotRef, period uint64, deadline time.Time) (events.Marking, error)
	// Sent returns the proofs that this account began to mark, the oldest first, as far as its
	// record of transactions goes back, even if no event tells of them because of a crash.
	// MarkMissing says what became of each.
	Sent(ctx context.Context) ([]events.MissingProof, error)
}

// ChainFeed delivers the contract's logs, block by block.
type ChainFeed interface {
	// Follow delivers updates after the cursor, oldest first, until ctx ends or deliver fails.
	// A zero cursor starts at the contract's deployment. Each log is delivered exactly once per
	// block that holds it; a reorganisation is delivered before the blocks that replace the
	// dropped ones. A cursor at the newest block is delivered once more, without logs, so that
	// the caller knows that it is the newest. Follow reconnects by itself for as long as ctx
	// lives.
	Follow(ctx context.Context, from events.Cursor, deliver func(context.Context, events.ChainUpdate) error) error
	// FollowHeads is Follow without the logs, and the chain is never asked for any: the members of a host
	// read them in its record, where one of them writes what Follow delivers.
	FollowHeads(ctx context.Context, from events.Cursor, deliver func(context.Context, events.ChainUpdate) error) error
}

// Prover makes Groth16 proofs of stored slots. It verifies each proof itself
// before it returns it.
type Prover interface {
	// Prove proves the slot for a challenge. ErrNoSuchSlot, a *DamageError,
	// ErrProofDoesNotVerify.
	Prove(ctx context.Context, job events.ProofJob) (events.ProofResult, error)
	// KeyHash is the hash that the contract's configuration must name as its key.
	KeyHash() string
}

// Repo keeps slots on disk: their blocks, trees and manifest. Every call that returns an error, those
// of Prover and Content among them, may return ErrDiskAway: the disk with the slots is not there.
// Nothing is known of any slot then, and nothing is written.
type Repo interface {
	// Stored returns the slots of which anything is on disk.
	Stored(ctx context.Context) ([]events.StoredSlot, error)
	// Delete removes everything of a slot; it succeeds if there is nothing.
	Delete(ctx context.Context, slot events.SlotID) error
	// Extend keeps a slot at least until a time of the chain. A lifetime is a lower bound: when
	// it is over, nothing is deleted by itself. ErrNoSuchSlot.
	Extend(ctx context.Context, slot events.SlotID, until time.Time) error
	// Limit sets how many bytes all slots together may occupy; 0: as many as there is room for.
	// Stored data stays, even beyond the limit; storing more beyond it is ErrQuotaExceeded. It
	// does not wait.
	Limit(total events.Bytes)
	// Room is how many bytes the disk has left. It finds out when the disk is back. ErrDiskFull when
	// nothing can be written, whatever is left.
	Room() (events.Bytes, error)
	// Scrub checks up to most bytes of the blocks of all complete slots. It goes on where the
	// last call stopped, even after a restart. now is the machine's time. It changes no data.
	Scrub(ctx context.Context, now time.Time, most events.Bytes) (events.Scrubbed, error)
	// Check checks the blocks of one complete slot from one on, up to most bytes of them and at least one, as Scrub
	// does, and does not touch the position of that. ErrNoSuchSlot: it is not here, or not complete.
	Check(ctx context.Context, slot events.SlotID, from uint64, most events.Bytes) (events.Checked, error)
	// ScrubProgress is how far the scrub has come. It does not wait.
	ScrubProgress() events.ScrubProgress
}

// Content fetches slots.
type Content interface {
	// Inspect fetches the description of a slot, without its data, and compares it with the
	// request. ErrContentMismatch; ErrContentUnavailable is temporary.
	Inspect(ctx context.Context, job events.DownloadJob) error
	// Download fetches what is missing of a slot, verifies it, stores it, and
	// returns when the slot is complete and has the root that its manifest
	// names. Before each batch is written, grant is asked; it debits the sale's
	// reservation. A restart continues with what is missing.
	// ErrContentMismatch, ErrQuotaExceeded, ErrDiskFull; ErrContentUnavailable is temporary, and
	// ErrNoSource comes with it when nobody could be asked.
	Download(ctx context.Context, job events.DownloadJob) (events.SlotContent, error)
	// Repair fetches damaged blocks of a complete slot again: the named ones or, if none are
	// named, all that are damaged. Sound blocks are left alone. mended are the named blocks
	// that are sound now, even if others could not be fetched. The errors are those of
	// Download.
	Repair(ctx context.Context, job events.DownloadJob, blocks []uint64) (mended []uint64, err error)
}

// Witness remembers what the event store has acknowledged to this host.
type Witness interface {
	// Lost is what of it the store lacked when this process began, and at each look since.
	Lost() events.WentBack
	// LookAgain looks whether that is there after all; then Lost is nothing.
	LookAgain(ctx context.Context) error
	// Settle accepts the store as it is, because the loss is recorded.
	Settle() error
}
