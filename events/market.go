package events

import (
	"errors"
	"time"
)

// Bytes counts bytes on disk or on offer.
type Bytes uint64

// BlockSize is the size of a content block in bytes (spec/proofs.md §1).
const BlockSize Bytes = 65536

// Request is a storage request as the contract stores it (spec/marketplace.md §1.1).
type Request struct {
	ID      RequestID
	Client  Address
	Ask     Ask
	Content Content
	// Expiry is how long after its submission the request becomes void unless
	// all its slots are filled. A duration, never a point in time.
	Expiry time.Duration
	Nonce  [32]byte
}

// Ask is what a client wants and pays.
type Ask struct {
	// ProofProbability: a proof is wanted on average once per this many periods.
	ProofProbability Amount
	// PricePerBytePerSecond and CollateralPerByte are token base units.
	PricePerBytePerSecond Amount
	CollateralPerByte     Amount
	// Slots is the number of slots, SlotSize the bytes of each.
	Slots    uint64
	SlotSize Bytes
	Duration time.Duration
	// MaxSlotLoss is how many slots may be empty before the request fails.
	MaxSlotLoss uint64
}

// Content names the data: the binary CID of its verifiable manifest and the
// dataset root.
type Content struct {
	CID        string // binary CID bytes; a string so that requests compare
	MerkleRoot Root
}

// PricePerSecond is what one slot earns each second; false when it does not
// fit in 256 bits.
func (a Ask) PricePerSecond() (Amount, bool) {
	return a.PricePerBytePerSecond.Mul(uint64(a.SlotSize))
}

// CollateralPerSlot is the full collateral of one slot; false when it does not
// fit in 256 bits.
func (a Ask) CollateralPerSlot() (Amount, bool) {
	return a.CollateralPerByte.Mul(uint64(a.SlotSize))
}

// RequestState is the contract's derived state of a request (spec/marketplace.md §4.1).
type RequestState uint8

// The states of a request, in the contract's order.
const (
	RequestNew RequestState = iota
	RequestStarted
	RequestCancelled
	RequestFinished
	RequestFailed
)

// Over says that the request has ended, in whatever way.
func (s RequestState) Over() bool {
	return s == RequestCancelled || s == RequestFinished || s == RequestFailed
}

func (s RequestState) String() string {
	return NameOf(s, "RequestState(%d)", "New", "Started", "Cancelled", "Finished", "Failed")
}

// SlotState is the contract's derived state of a slot (spec/marketplace.md §4.2).
type SlotState uint8

// The states of a slot, in the contract's order.
const (
	SlotFree SlotState = iota
	SlotFilled
	SlotFinished
	SlotFailed
	SlotPaid
	SlotCancelled
	SlotRepair
)

func (s SlotState) String() string {
	return NameOf(s, "SlotState(%d)", "Free", "Filled", "Finished", "Failed", "Paid", "Cancelled", "Repair")
}

// ProofConfig is the contract's timing of proofs (spec/marketplace.md §7).
type ProofConfig struct {
	Period  time.Duration // whole seconds
	Timeout time.Duration // how long after a period a miss may be marked
	// Downtime is the number of pointer values in which no proof is owed.
	Downtime uint8
	// DowntimeProduct is how far the pointer moves extra from period to period.
	DowntimeProduct uint8
	// KeyHash names the proving key that the verifier contract belongs to.
	KeyHash string
}

// MarketConfig is the contract's configuration. It never changes.
type MarketConfig struct {
	RepairRewardPercentage    uint8
	MaxNumberOfSlashes        uint8
	SlashPercentage           uint8
	ValidatorRewardPercentage uint8
	Proofs                    ProofConfig
	MaxReservations           uint8
	RequestDurationLimit      time.Duration
}

// Head is a block of the chain as the market sees it.
type Head struct {
	Number uint64
	Hash   Hash
	Parent Hash
	// Time is the block's timestamp: the market's only clock.
	Time time.Time
}

// Displaces reports whether h, named as the newest block of the chain, takes the place of a
// block that was named before: it is not lower, or it is later. When the newest block of a
// chain is later and lower, the higher block is no longer on that chain, whichever node named it.
// A block that is both lower and older may only be the answer of a node that lags.
func (h Head) Displaces(before Head) bool {
	return h.Number >= before.Number || h.Time.After(before.Time)
}

// SlotFacts is everything a sale asks the chain about one slot, read at a
// single block, so that no decision mixes two states of the chain.
type SlotFacts struct {
	At           Head
	RequestKnown bool
	RequestState RequestState
	SlotState    SlotState
	// RequestExpiry and RequestEnd are points in chain time; zero when the
	// request is unknown.
	RequestExpiry time.Time
	RequestEnd    time.Time
	// Host is the host that fills the slot, zero when nobody does.
	Host Address
	// Collateral is what the contract holds for the slot now.
	Collateral Amount
	// CanReserve is the contract's answer for our own address. It is false when
	// we hold a reservation already.
	CanReserve bool
}

// Receipt is the result of a mined transaction of ours.
type Receipt struct {
	TxHash Hash
	Block  Head
	// Fee is gas used times effective gas price, in wei.
	Fee     Amount
	GasUsed uint64
}

// TakenProof is a proof of ours that the contract accepted in a period.
type TakenProof struct {
	Period  uint64
	Receipt Receipt
}

// MarkedMiss is a proof that was marked as missing.
type MarkedMiss struct {
	Slot   SlotID
	Period uint64
}

// AcceptedProof is a proof of any host's that the contract accepted, and the block of its log.
type AcceptedProof struct {
	Slot      SlotID
	Block     uint64
	BlockHash Hash
}

// PayoutReceipt is the receipt of a freeSlot with the tokens it moved to us.
type PayoutReceipt struct {
	Receipt
	// Paid is everything that the token contract transferred for the slot:
	// reward and collateral.
	Paid Amount
	// Collateral is the part of Paid that was our collateral; it came to us.
	Collateral Amount
	// RewardRecipient is who received the rest of Paid; zero: we did.
	RewardRecipient Address
	// AlreadyFree says that the slot was paid or freed before this call.
	AlreadyFree bool
}

// The errors of a market. Adapters wrap these; any other error of a market is
// temporary, and the call is tried again.
var (
	// ErrUnknownRequest: the contract knows no such request.
	ErrUnknownRequest = errors.New("request unknown to the contract")
	// ErrReservationNotAllowed: the slot takes no further reservation from us.
	ErrReservationNotAllowed = errors.New("slot reservation not allowed")
	// ErrSlotNotFree: another host has filled the slot, or it is over.
	ErrSlotNotFree = errors.New("slot not free")
	// ErrInvalidProof: the contract refused the proof. Challenge, period and gas
	// must be ruled out before the data is blamed (spec/ethereum.md §3).
	ErrInvalidProof = errors.New("proof refused by the contract")
	// ErrProofAlreadySubmitted: the contract has a proof for the period.
	ErrProofAlreadySubmitted = errors.New("proof already submitted in this period")
	// ErrNotMissing: the proof was handed in, was not owed, or can no longer be marked.
	ErrNotMissing = errors.New("no missing proof can be marked")
	// ErrSlotIsFree: there is nothing to free.
	ErrSlotIsFree = errors.New("slot is free")
	// ErrNotOurSlot: another host, or nobody, holds the slot.
	ErrNotOurSlot = errors.New("slot is not ours")
	// ErrInsufficientFunds: not enough tokens for the collateral, or not enough
	// of the chain's own coin for gas.
	ErrInsufficientFunds = errors.New("insufficient funds")
	// ErrBeforePayment: the chain, as the node knows it, does not have a block in which a slot was paid, because the
	// node is behind, or because of a reorganisation. What the account holds there was promised to that slot.
	ErrBeforePayment = errors.New("the node's chain does not have the block in which another slot was paid")
	// ErrDeadlinePassed: the transaction was not sent, or was withdrawn,
	// because it could no longer be mined in time.
	ErrDeadlinePassed = errors.New("deadline passed before the transaction could be mined")
	// ErrTooEarly: the same call will succeed after some more blocks.
	ErrTooEarly = errors.New("too early")
	// ErrNotOwner: another process of the host sends the account's transactions, or none does now.
	// The same call may succeed there, or later here.
	ErrNotOwner = errors.New("this process does not send the account's transactions now")
	// ErrReverted: the transaction was mined and failed for another reason.
	ErrReverted = errors.New("transaction reverted")
)
