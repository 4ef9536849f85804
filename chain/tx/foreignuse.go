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

// ErrUsedElsewhere: the chain shows that somebody else sends transactions for this
// account, or did, and by the record it was not us. Either the key is used by another
// host, or this record is older than what the account did.
var ErrUsedElsewhere = errors.New("the account was used elsewhere")

// newcomerFor is how long a process counts as new: three heartbeats of a host. Of two
// hosts with one account the new one gives way, because the other one has the duties.
const newcomerFor = 15 * time.Minute

// ForeignUse is a use of the account that is not this host's.
type ForeignUse struct {
	// Nonce is the first that somebody else used, Mined how many of the account's
	// transactions are.
	Nonce, Mined uint64
	// Transaction is the one that tells most, Block where it was mined; zero: it was not
	// found in the newest blocks.
	Transaction events.Hash
	Block       uint64
	// Host says that it is a call that only a host or a validator makes: another one
	// runs with this key. Ends says that therefore this one, the newer, ends.
	Host, Ends bool
}

func (u ForeignUse) String() string {
	what := "is not ours; which one it is was not found"
	switch {
	case u.Host:
		what = fmt.Sprintf("is a call of another host: %s in block %d", u.Transaction, u.Block)
	case !u.Transaction.Zero():
		what = fmt.Sprintf("is not ours: %s in block %d", u.Transaction, u.Block)
	}
	return fmt.Sprintf("the transaction of the account with nonce %d %s", u.Nonce, what)
}

// knownBy is how many of the account's transactions are known from an event, be they
// mined or only sent.
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

// notElsewhere finds out, before anything is sent, whether the account did what this
// record does not know of: then another host has the key, or the record is an older
// copy. It returns how many transactions are mined, and with TakeOver what is to be
// recorded, so that the next start need not be told again. What a wallet did with an
// account that never was a host's does not matter; what a contract has of it does. A count below
// what is known is a reorganisation, or not mined yet. away says that only the outbox
// was read, because the event store does not answer: then nothing is certain.
func (cfg *Config) notElsewhere(
	ctx context.Context, c *rpc.Conn, entries []entry, away error,
) (mined uint64, observed *messages.TxCountObserved, err error) {
	var known uint64
	for _, r := range entries {
		known = max(known, knownBy(r.Event))
	}
	if mined, err = c.MinedBy(ctx, cfg.account()); err != nil {
		return 0, nil, fmt.Errorf("count the account's transactions: %w", err)
	}
	why := ""
	switch {
	case known > 0 && mined > known:
		why = fmt.Sprintf("the chain has mined %d transactions of account %s, and the record of this data directory "+
			"knows of %d", mined, events.Address(cfg.account()), known)
	case known == 0 && mined > 0:
		if why, err = cfg.contract.InUse(ctx); err != nil {
			return 0, nil, err
		}
	}
	switch {
	case why == "":
		return mined, nil, nil
	case cfg.TakeOver:
		cfg.Log.Warnf("transactions: beginning all the same: %s", why)
		return mined, &messages.TxCountObserved{
			At: timestamppb.Now(), Count: mined, Reason: "begun with leave to take over: " + why,
		}, nil
	case away != nil:
		return 0, nil, fmt.Errorf("%s; the event store may know more: %w", why, away)
	default:
		return 0, nil, fmt.Errorf("%w: %s", ErrUsedElsewhere, why)
	}
}
