package chain

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"

	"github.com/hostnode/hostnode/events"
)

// Confirm asks a second endpoint about a slot at the same block, before something follows
// that cannot be taken back. It is nil when the two agree, and when there is no second
// endpoint, or none that answers now: one node alone has to be believed. When they differ
// the error is temporary, and NotBelieved is told: nobody knows which of them is right.
func (m *Market) Confirm(ctx context.Context, request events.RequestID, index uint64, facts events.SlotFacts) error {
	first := m.Standing().Endpoint
	for _, e := range m.conn.endpoints {
		if e.name == first {
			continue
		}
		said, err := m.askedAt(ctx, e.url, request, index, facts.At)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errBehind):
			return fmt.Errorf("a second endpoint, %s: %w", e.name, err)
		case err != nil && !errors.Is(err, ethereum.NotFound):
			m.cfg.Log.WithField("endpoint", e.name).Warnf("slot %d of %s: a second endpoint cannot be asked: %v",
				index, request.Short(), e.hide(err))
			continue
		}
		if err == nil && said == facts {
			return nil
		}
		return m.disagree(first, e.name, fmt.Sprintf("for slot %d of %s at block %d", index, request, facts.At.Number),
			difference(facts, said, err))
	}
	return nil
}

// farBehind is how many blocks a second endpoint may be behind and still be waited for.
const farBehind = 64

// errBehind: a second endpoint has not got as far as a block, and soon will.
var errBehind = fmt.Errorf("%w: it has not got as far yet", ErrUnavailable)

// askedAt is what another endpoint says of a slot at a block. It is ethereum.NotFound when
// that one is as far and does not know the block, and errBehind when it is almost as far.
func (m *Market) askedAt(
	ctx context.Context, url string, request events.RequestID, index uint64, at events.Head,
) (events.SlotFacts, error) {
	cfg := m.cfg
	cfg.Endpoint, cfg.Fallbacks, cfg.NotBelieved = url, nil, nil
	cfg.ChainID, cfg.Genesis = m.identity.ChainID, m.identity.Genesis
	other := &Market{
		cfg: cfg, abis: m.abis, contract: m.contract, token: m.token, account: m.account, identity: m.identity,
		conn: newConn(cfg, m.contract),
	}
	defer other.conn.close()
	head, err := other.conn.byHash(ctx, common.Hash(at.Hash))
	if errors.Is(err, ethereum.NotFound) {
		err = other.lacks(ctx, at.Number)
	}
	if err != nil {
		return events.SlotFacts{}, err
	}
	return other.slotAt(ctx, head, request, index)
}

// lacks says what it means that an endpoint does not know a block of that number.
func (m *Market) lacks(ctx context.Context, number uint64) error {
	newest, err := m.conn.latest(ctx)
	if err != nil {
		return err
	}
	switch at := uint64(newest.Number); {
	case at >= number:
		return ethereum.NotFound
	case at+farBehind >= number:
		return errBehind
	default:
		return fmt.Errorf("%w: it is at block %d, and block %d is known", ErrUnavailable, at, number)
	}
}

func difference(here, there events.SlotFacts, err error) error {
	if err != nil {
		return errors.New("it does not know that block")
	}
	word := func(f events.SlotFacts) string {
		if !f.RequestKnown {
			return "the request does not exist"
		}
		return fmt.Sprintf("the request is %s, the slot is %s, its host %s, its collateral %s",
			f.RequestState, f.SlotState, f.Host, f.Collateral)
	}
	return fmt.Errorf("the one says: %s; the other: %s", word(here), word(there))
}

// disagree tells that two endpoints say different things, at most once in firstDoubt.
func (m *Market) disagree(first, second, question string, why error) error {
	found := &AnswerError{Endpoint: first + " or " + second, Question: question, Reason: why.Error()}
	m.mu.Lock()
	due := time.Since(m.disagreed) >= firstDoubt
	if due {
		m.disagreed = time.Now()
	}
	m.mu.Unlock()
	if due {
		m.cfg.Log.Errorf("two endpoints say different things, and nothing is settled until they agree: %v", found)
		m.conn.tellDoubt(found)
	}
	return found
}
