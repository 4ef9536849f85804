package tx

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// noopGas is the gas of a transfer without data, as the empty transaction that replaces one that is too late.
// On chains that count data in gas it takes more. No call of a contract needs as little, so it marks the empty
// ones in old records.
const noopGas = 21_000

// intent is one transaction that we want, with all its attempts. The fields before "not recorded"
// are a fold of the account's events. A signature by our key follows from key and content, so such an
// attempt is not stored but signed again (signing.go).
type intent struct {
	key         string // base and try: fill:<slot>:1:0badcafe#2
	base        string
	kind        Kind
	try         int
	to          common.Address
	data        []byte
	value       *big.Int // wei
	deadline    time.Time
	correlation string
	entries     []entry // the events it was folded from, for compaction

	attempts  []attempt
	done      bool
	succeeded bool
	receipt   *messages.Receipt // when mined

	// What follows is not recorded.
	gas           uint64
	estimatedAt   uint64 // the newest block when gas was estimated; 0: it was not
	starved       bool   // a node demands more gas than the last attempt has
	waiters       []chan result
	lastBlock     uint64 // the last block in which it may be mined; zero: any
	sentAt        uint64 // the newest block when the attempt was made or sent last
	warnedAt      uint64 // the newest block at the last warning about its fee
	outgoing      bool   // the last attempt is still to be sent
	published     bool   // a node took the last attempt
	outpriced     bool   // a node demands a higher price
	refused       *refused
	toldRefused   bool        // it was logged
	unchecked     bool        // the contract must be asked whether the call is still right before it is sent
	permanent     error       // why the call can no longer succeed
	usedElsewhere int         // blocks in which the nonce counted as used, without a receipt of ours
	missedAt      common.Hash // the newest of them
	lost          bool        // it is known that another transaction used the nonce
	again         bool        // it is to be sent with another nonce
	gap           bool        // it only fills a nonce gap
	taken         bool        // a node took an attempt
	contested     uint64      // the newest block when a node had another transaction with the nonce; 0: it has none
	toldWaits     bool        // it was logged that it waits for the event store
	signing       signingTries
}

// attempt is one signed version of an intent.
type attempt struct {
	nonce  uint64
	hash   common.Hash
	gas    uint64
	feeCap *big.Int // wei
	tipCap *big.Int // wei
	isNoop bool
	legacy bool // of the type for chains without a base fee: feeCap and tipCap are the one price
	// signature is that of a signer outside of the process; nil: it is not known, or the key's.
	signature []byte
	// revision is that of its event.
	revision uint64
}

func (in *intent) sent() bool { return len(in.attempts) > 0 }

func (in *intent) last() attempt { return in.attempts[len(in.attempts)-1] }

// add adds an attempt. The last one stays the one that offers the most with its nonce: two owners
// of the account may have raised the fees of one transaction without knowing of each other.
func (in *intent) add(a attempt) {
	at := len(in.attempts)
	if at > 0 && in.last().nonce == a.nonce && cheaper(a, in.last()) {
		at--
	}
	in.attempts = slices.Insert(in.attempts, at, a)
}

// gasLimit is that of the next attempt.
func (in *intent) gasLimit() uint64 {
	if in.sent() {
		return in.last().gas
	}
	return in.gas
}

// trial is the call as a trial.
func (in *intent) trial(gas uint64) rpc.Trial {
	return rpc.Trial{To: in.to, Data: in.data, Value: in.value, Gas: gas}
}

// hashes are those of all attempts: each may be the one that is mined.
func (in *intent) hashes() []common.Hash {
	hashes := make([]common.Hash, len(in.attempts))
	for i, a := range in.attempts {
		hashes[i] = a.hash
	}
	return hashes
}

// book is the fold of an account's events.
type book struct {
	kinds   map[string]Kind
	intents map[string]*intent // by key
	latest  map[string]*intent // the newest try, by base
	open    []*intent          // not done, oldest first
	doneLog []*intent          // done, oldest first
	// newestReceipt is the highest block in which an intent succeeded.
	newestReceipt uint64
	// known is the number of the account's transactions, mined or only sent, and knownFrom the
	// entry that it follows from.
	known     uint64
	knownFrom entry
}

func newBook(kinds map[string]Kind) *book {
	return &book{kinds: kinds, intents: map[string]*intent{}, latest: map[string]*intent{}}
}

// apply folds one entry. Events about forgotten keys are ignored.
func (b *book) apply(r entry) {
	if known := knownBy(r.Event); known > b.known {
		b.known, b.knownFrom = known, r
	}
	switch e := r.Event.(type) {
	case *messages.TxIntended:
		in := intentOf(e)
		in.kind = b.kinds[kindOf(in.base)]
		in.correlation, in.entries = r.Correlation, []entry{r}
		b.intents[in.key], b.latest[in.base] = in, in
		b.open = append(b.open, in)
	case *messages.TxSent:
		if in := b.note(e.GetKey(), r); in != nil {
			in.add(attemptOf(e, r.Revision))
		}
	case *messages.TxMined:
		if in := b.note(e.GetKey(), r); in != nil {
			in.succeeded, in.receipt = e.GetSucceeded(), e.GetReceipt()
			if in.succeeded {
				b.newestReceipt = max(b.newestReceipt, e.GetReceipt().GetBlock())
			}
			b.finish(in)
		}
	case *messages.TxAbandoned:
		if in := b.note(e.GetKey(), r); in != nil {
			in.succeeded, in.receipt = false, nil // A reorganisation may have undone a success.
			b.finish(in)
		}
	case *messages.TxCountObserved: // It only sets known, above.
	case proto.Message, nil:
	}
}

func (b *book) note(key string, r entry) *intent {
	in := b.intents[key]
	if in != nil {
		in.entries = append(in.entries, r)
	}
	return in
}

func (b *book) finish(in *intent) {
	if in.done {
		return
	}
	in.done = true
	b.open = slices.DeleteFunc(b.open, func(o *intent) bool { return o == in })
	b.doneLog = append(b.doneLog, in)
}

// reopen makes a done intent open again: a reorganisation dropped its block.
func (b *book) reopen(in *intent) {
	in.done, in.succeeded, in.receipt = false, false, nil
	b.doneLog = slices.DeleteFunc(b.doneLog, func(o *intent) bool { return o == in })
	b.open = append(b.open, in)
}

// has says that a transaction is an attempt of a known intent.
func (b *book) has(hash common.Hash) bool {
	for _, in := range b.intents {
		if slices.Contains(in.hashes(), hash) {
			return true
		}
	}
	return false
}

// watched are the successes in blocks that may still be dropped.
func (b *book) watched(head uint64) []*intent {
	var all []*intent
	for _, in := range b.doneLog {
		if in.succeeded && in.receipt.GetBlock()+watchedBlocks > head {
			all = append(all, in)
		}
	}
	return all
}

// forget keeps only the newest of the done intents.
func (b *book) forget(most int) {
	for len(b.doneLog) > most {
		old := b.doneLog[0]
		b.doneLog = b.doneLog[1:]
		delete(b.intents, old.key)
		if b.latest[old.base] == old {
			delete(b.latest, old.base)
		}
	}
}

// needed are the entries of all intents that are still known and the one that known follows from,
// by revision.
func (b *book) needed() []entry {
	var all []entry
	for _, in := range b.intents {
		all = append(all, in.entries...)
	}
	same := func(r entry) bool { return r.Event == b.knownFrom.Event }
	if b.known > 0 && !slices.ContainsFunc(all, same) {
		all = append(all, b.knownFrom)
	}
	slices.SortFunc(all, func(x, y entry) int { return cmp.Compare(x.Revision, y.Revision) })
	return all
}

func intentOf(e *messages.TxIntended) *intent {
	base, try := splitKey(e.GetKey())
	data, err := hex.DecodeString(strings.TrimPrefix(e.GetData(), "0x"))
	value := new(big.Int)
	if e.ValueWei != nil {
		value = events.Must(events.ParseAmount(e.GetValueWei())).Big()
	}
	return &intent{
		value: value,
		key:   e.GetKey(), base: base, try: try,
		to:       common.Address(events.Must(events.ParseAddress(e.GetTo()))),
		data:     events.Must(data, err),
		deadline: events.TimeFromMessage(e.GetDeadline()),
		gap:      strings.HasPrefix(base, gapPrefix),
	}
}

func attemptOf(e *messages.TxSent, revision uint64) attempt {
	return attempt{
		revision:  revision,
		nonce:     e.GetNonce(),
		hash:      common.Hash(events.Must(events.ParseHash(e.GetTxHash()))),
		gas:       e.GetGasLimit(),
		feeCap:    events.Must(events.ParseAmount(e.GetFeeCapWei())).Big(),
		tipCap:    events.Must(events.ParseAmount(e.GetTipCapWei())).Big(),
		isNoop:    e.GetEmpty() || e.GetGasLimit() == noopGas,
		legacy:    e.Type != nil && e.GetType() == types.LegacyTxType,
		signature: common.FromHex(e.GetSignature()),
	}
}

// joinKey and splitKey add the number of the try to a key, and cut it off: after a transaction that
// was mined and reverted, the same call needs another one.
func joinKey(base string, try int) string { return fmt.Sprintf("%s#%d", base, try) }

func splitKey(key string) (base string, try int) {
	base, number, found := strings.Cut(key, "#")
	try, err := strconv.Atoi(number)
	if !found || err != nil {
		return key, 1
	}
	return base, try
}
