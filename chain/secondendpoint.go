package chain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"

	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/events"
)

// Confirm asks a second endpoint about a slot at the same block, before something irreversible
// follows. It returns nil when both agree, and when there is no second endpoint or none answers
// now: then the one node has to be believed. When they differ, the error is temporary and
// NotBelieved is told, because nobody knows which of them is right.
func (m *Market) Confirm(ctx context.Context, request events.RequestID, index uint64, facts events.SlotFacts) error {
	question := fmt.Sprintf("for slot %d of %s at block %d", index, request, facts.At.Number)
	return m.askOthers(ctx, question, func(other *Market) (different, err error) {
		head, err := other.conn.ByHash(ctx, common.Hash(facts.At.Hash))
		switch {
		case errors.Is(err, ethereum.NotFound):
			return other.missingBlock(ctx, facts.At)
		case err != nil:
			return nil, err
		}
		said, err := other.slotAt(ctx, head, request, index)
		if err != nil || said == facts {
			return nil, err
		}
		return difference(facts, said), nil
	})
}

// ConfirmNotOurs is Confirm for a slot that is not among ours, and of which only the id is known.
func (m *Market) ConfirmNotOurs(ctx context.Context, slot events.SlotID) error {
	return m.askOthers(ctx, fmt.Sprintf("whether slot %s is ours", slot), func(other *Market) (different, err error) {
		owned, err := other.MySlots(ctx)
		if slices.ContainsFunc(owned, func(o events.OwnedSlot) bool { return o.Slot == slot }) {
			different = errors.New("one says no, the other yes")
		}
		return different, err
	})
}

// askOthers asks the other endpoints; the first that answers decides. A difference is reported.
func (m *Market) askOthers(ctx context.Context, question string, ask func(*Market) (different, err error)) error {
	first := m.Reachability().Endpoint
	for other := range m.conn.Others(m.identity) {
		different, err := ask(m.via(other))
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errBehind):
			return fmt.Errorf("a second endpoint, %s: %w", other.Name(), err)
		case err != nil:
			m.cfg.Log.WithField("endpoint", other.Name()).
				Warnf("a second endpoint cannot be asked %s: %v", question, other.Hide(err))
			continue
		case different != nil:
			return m.disagree(first+" or "+other.Name(), question, different)
		}
		return nil
	}
	return nil
}

// via is the market over another connection to the same chain, for reading only.
func (m *Market) via(other *rpc.Conn) *Market {
	return &Market{
		cfg: m.cfg, abis: m.abis, contract: m.contract, account: m.account, identity: m.identity, conn: other,
	}
}

// farBehind is how many blocks a second endpoint may lag and still be waited for.
const farBehind = 64

// errBehind: a second endpoint does not have the block yet, and soon will.
var errBehind = fmt.Errorf("%w: it lags behind", rpc.ErrUnavailable)

// missingBlock says what it means that an endpoint does not have a block: it is on another branch only if it has
// another block with that number.
func (m *Market) missingBlock(ctx context.Context, missing events.Head) (different, err error) {
	there, err := m.conn.ByNumber(ctx, missing.Number)
	switch {
	case err == nil && there.Hash != common.Hash(missing.Hash):
		return fmt.Errorf("the other has block %s there, and not %s", there.Hash, missing.Hash), nil
	case err == nil:
		return nil, errBehind
	case !errors.Is(err, ethereum.NotFound):
		return nil, err
	}
	newest, err := m.conn.Latest(ctx)
	if err == nil && uint64(newest.Number)+farBehind < missing.Number {
		err = fmt.Errorf("%w: it is at block %d, and block %d is known", rpc.ErrUnavailable,
			uint64(newest.Number), missing.Number)
	}
	return nil, cmp.Or(err, errBehind)
}

func difference(here, there events.SlotFacts) error {
	told := func(f events.SlotFacts) string {
		if !f.RequestKnown {
			return fmt.Sprintf("in block %d the request does not exist", f.At.Number)
		}
		return fmt.Sprintf("in block %d the request is %s, the slot is %s, its host %s, its collateral %s",
			f.At.Number, f.RequestState, f.SlotState, f.Host, f.Collateral)
	}
	return fmt.Errorf("one says: %s; the other: %s", told(here), told(there))
}

// disagreePause is the least time between two reports that endpoints disagree.
const disagreePause = time.Minute

// disagree reports that two endpoints disagree, at most once in disagreePause.
func (m *Market) disagree(endpoints, question string, why error) error {
	found := &rpc.AnswerError{Endpoint: endpoints, Question: question, Reason: why.Error()}
	m.mu.Lock()
	due := time.Since(m.disagreed) >= disagreePause
	if due {
		m.disagreed = time.Now()
	}
	m.mu.Unlock()
	if due {
		m.cfg.Log.Errorf("two endpoints disagree, and nothing is settled until they agree: %v", found)
		if m.cfg.NotBelieved != nil {
			m.cfg.NotBelieved(*found)
		}
	}
	return found
}
