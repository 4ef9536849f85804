package tx

import (
	"crypto/ecdsa"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/chain/rpc"
)

// Config is the configuration for one account. Everything is set unless its comment says otherwise.
type Config struct {
	// Account is whose transactions they are. Its Key signs; nil: Signer signs for it.
	Account common.Address
	Key     *ecdsa.PrivateKey
	Signer  Signer
	// LongestPause is the longest pause before the signature of a transaction is asked for again.
	LongestPause time.Duration

	Chain rpc.Identity
	// Contracts are all contracts that the account calls.
	Contracts []Contract

	Confirmations uint64 // blocks, including the transaction's own
	StuckBlocks   uint64 // without being mined, before a higher fee is offered
	MaxFeeCapWei  uint64
	MinTipWei     uint64
	MaxTipWei     uint64 // of a first attempt
	MaxGas        uint64 // of an estimate
	MaxInFlight   int
	DutyHold      uint64         // blocks
	FeeLimited    func(FeeLimit) // may be nil

	Began         time.Time        // since when this host runs
	TakeOver      bool             // begin, and stay, although another process may use the account
	UsedElsewhere func(ForeignUse) // may be nil

	// RecordFirst is for an account that several processes own in turn: nothing is sent before the
	// account's stream has it, except duties while the event store is away. May be false.
	RecordFirst bool
	// UnknownNonceBlocks is for how many blocks, with RecordFirst, a transaction in the node's pool
	// that the record does not know is left alone. 0: 30.
	UnknownNonceBlocks uint64
	// DutiesOnly is for a process that sends duties of an account which another one owns. There is no
	// store: what it sends reaches the account's stream when this process owns the account. May be
	// false.
	DutiesOnly bool

	Epoch uint64
	Node  string
	Log   logrus.FieldLogger

	contract Contract // Contracts, combined
}
