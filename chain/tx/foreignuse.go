package tx

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// ErrUsedElsewhere: the chain has transactions of this account that its record does not know.
// Either another host uses the key, or the record is an older copy.
var ErrUsedElsewhere = errors.New("the account was used elsewhere")

// newcomerFor is how long a process counts as new: three heartbeats of a host. Of two hosts with
// one account the new one ends, because the other one has the duties.
const newcomerFor = 15 * time.Minute

// ForeignUse is a use of the account by another process.
type ForeignUse struct {
	// Nonce is the first one that another process used, and Mined the number of the account's mined
	// transactions.
	Nonce, Mined uint64
	// Transaction is the most telling one, and Block where it was mined; zero: it was not found in
	// the newest blocks.
	Transaction events.Hash
	Block       uint64
	// Host says that the call is one that only a host or a validator makes: another one runs with
	// this key. Ends says that this host, being the newer one, therefore ends.
	Host, Ends bool
	// FormerOwner says that another owner of the account may have sent it, in a host whose processes own
	// the account in turn (Config.RecordFirst).
	FormerOwner bool
}

func (u ForeignUse) String() string {
	what := "is not ours, and was not found"
	switch {
	case u.Host:
		what = fmt.Sprintf("is a call of another host: %s in block %d", u.Transaction, u.Block)
	case !u.Transaction.Zero():
		what = fmt.Sprintf("is not ours: %s in block %d", u.Transaction, u.Block)
	}
	if u.FormerOwner {
		what += "; another member may have sent it while the event store, or the owner, was away"
	}
	return fmt.Sprintf("the transaction of the account with nonce %d %s", u.Nonce, what)
}

// knownBy is the number of the account's transactions, mined or only sent, that follows from an
// event.
func knownBy(e any) uint64 {
	switch e := e.(type) {
	case *messages.TxSent:
		return e.GetNonce() + 1
	case *messages.TxCountObserved:
		return e.GetCount()
	default:
		return 0
	}
}

// observed tells the number of the account's transactions.
func observed(count uint64, reason string) *messages.TxCountObserved {
	return &messages.TxCountObserved{At: timestamppb.Now(), Count: count, Reason: reason}
}

// notElsewhere checks, before anything is sent, whether the account has transactions that this
// record does not know: then another host has the key, or the record is an older copy. It returns
// the number of mined transactions and, with TakeOver, the event to be recorded, so that the next
// start needs no TakeOver. With RecordFirst a former owner may have sent them, so they are told and
// recorded. What a wallet did with an account that was never a host's does not matter; what the
// account has in a contract does. A count below the known one means a reorganisation, or
// transactions that are not mined yet. away says that only the outbox was read, because the event
// store does not answer: then nothing is certain.
func (cfg *Config) notElsewhere(
	ctx context.Context, c *rpc.Conn, entries []entry, away error,
) (mined uint64, told *messages.TxCountObserved, err error) {
	var known uint64
	for _, r := range entries {
		known = max(known, knownBy(r.Event))
	}
	if mined, err = c.MinedBy(ctx, cfg.Account); err != nil {
		return 0, nil, fmt.Errorf("count the account's transactions: %w", err)
	}
	why := ""
	switch {
	case cfg.DutiesOnly: // The owner's are expected.
	case known > 0 && mined > known:
		why = fmt.Sprintf("the chain has mined %d transactions of account %s, and the record of this data directory "+
			"knows of %d", mined, events.Address(cfg.Account), known)
	case known == 0 && mined > 0:
		if why, err = cfg.contract.InUse(ctx, c, cfg.Account); err != nil {
			return 0, nil, err
		}
	}
	switch {
	case why == "":
		return mined, nil, nil
	case cfg.TakeOver:
		cfg.Log.Warnf("transactions: starting all the same: %s", why)
		return mined, observed(mined, "the take-over was confirmed at the start: "+why), nil
	case away != nil:
		return 0, nil, fmt.Errorf("%s; the event store may know more: %w", why, away)
	case cfg.RecordFirst && known > 0:
		u := ForeignUse{Nonce: known, Mined: mined, FormerOwner: true}
		cfg.Log.Warnf("transactions: %s", u)
		if cfg.UsedElsewhere != nil {
			cfg.UsedElsewhere(u)
		}
		return mined, observed(mined, "a new owner of the account began: "+u.String()), nil
	default:
		return 0, nil, fmt.Errorf("%w: %s", ErrUsedElsewhere, why)
	}
}
