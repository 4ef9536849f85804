package chain

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/chain/feed"
	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/events"
)

// Account is the host's own address.
func (m *Market) Account() events.Address { return events.Address(m.account) }

// Config is the contract's configuration; it is read once.
func (m *Market) Config(ctx context.Context) (events.MarketConfig, error) {
	m.mu.Lock()
	known := m.config
	m.mu.Unlock()
	if known != nil {
		return *known, nil
	}
	var raw bindings.MarketplaceConfig
	v := viewOf(m.contract, m.abis.market.PackConfiguration(), m.abis.market.UnpackConfiguration, &raw).
		Must(func() error { return events.CheckConfig(configFrom(raw)) })
	if _, err := m.conn.ReadNewest(ctx, m.account, rpc.Reads(v)); err != nil {
		return events.MarketConfig{}, fmt.Errorf("read configuration: %w", err)
	}
	config := configFrom(raw)
	m.mu.Lock()
	m.config = &config
	m.mu.Unlock()
	return config, nil
}

func (m *Market) read(ctx context.Context, at common.Hash, views ...*rpc.View) error {
	return m.conn.Read(ctx, m.account, at, views...)
}

// Head is the newest block.
func (m *Market) Head(ctx context.Context) (events.Head, error) {
	return m.conn.Head(ctx)
}

// HeadAt is the block of that number on the current chain.
func (m *Market) HeadAt(ctx context.Context, number uint64) (events.Head, error) {
	h, err := m.conn.ByNumber(ctx, number)
	if err != nil {
		return events.Head{}, fmt.Errorf("read block %d: %w", number, err)
	}
	return h.Head(), nil
}

// Request is a request by its id, or ErrUnknownRequest.
func (m *Market) Request(ctx context.Context, id events.RequestID) (events.Request, error) {
	head, err := m.conn.Latest(ctx)
	if err != nil {
		return events.Request{}, fmt.Errorf("read request %s: %w", id, err)
	}
	return readRequest(ctx, m.conn, m.abis, m.contract, head.Hash, id)
}

// readRequest reads a request at a block, and checks that it belongs to its id.
func readRequest(
	ctx context.Context, c *rpc.Conn, a abis, contract common.Address, at common.Hash, id events.RequestID,
) (events.Request, error) {
	var raw bindings.Request
	if err := c.Read(ctx, common.Address{}, at, requestView(a, contract, id, &raw)); err != nil {
		return events.Request{}, fmt.Errorf("read request %s: %w", id, err)
	}
	return requestFrom(id, raw)
}

func requestView(a abis, contract common.Address, id events.RequestID, raw *bindings.Request) *rpc.View {
	return viewOf(contract, a.market.PackGetRequest(id), a.market.UnpackGetRequest, raw).Must(func() error {
		if found := requestID(a, *raw); found != id {
			return fmt.Errorf("it names request %s", found)
		}
		return nil
	})
}

// Slot reads what a sale needs to know about a slot, all at the newest block.
func (m *Market) Slot(
	ctx context.Context, request events.RequestID, index uint64,
) (events.SlotFacts, error) {
	_, facts, err := m.look(ctx, events.SlotCall{Request: request, Index: index})
	return facts, err
}

// look reads a slot, and more, at the newest block.
func (m *Market) look(
	ctx context.Context, call events.SlotCall, more ...*rpc.View,
) (head *rpc.Header, facts events.SlotFacts, err error) {
	var said func() (events.SlotFacts, error)
	head, _, err = m.conn.ViewsNewest(ctx, m.account, func(head *rpc.Header) (views []*rpc.View) {
		views, said = m.slotViews(head, call.Request, call.Index)
		return append(views, more...)
	})
	if err != nil {
		return nil, facts, fmt.Errorf("read slot %d of %s: %w", call.Index, call.Request.Short(), err)
	}
	facts, err = said()
	return head, facts, err
}

func (m *Market) slotAt(
	ctx context.Context, head *rpc.Header, request events.RequestID, index uint64,
) (events.SlotFacts, error) {
	views, said := m.slotViews(head, request, index)
	if err := m.conn.Views(ctx, m.account, head.Hash, views...); err != nil {
		return events.SlotFacts{}, fmt.Errorf("read slot %d of %s: %w", index, request.Short(), err)
	}
	return said()
}

// slotViews are the reads of a slot at a block, and what they say when they are made.
func (m *Market) slotViews(
	head *rpc.Header, request events.RequestID, index uint64,
) (views []*rpc.View, said func() (events.SlotFacts, error)) {
	var (
		requestState, slotState uint8
		expiry, end             uint64
		host                    common.Address
		collateral              *big.Int
		facts                   = events.SlotFacts{At: head.Head()}
		slot                    = events.SlotIDOf(request, index)
		a, to                   = m.abis.market, m.contract
	)
	state := viewOf(to, a.PackRequestState(request), a.UnpackRequestState, &requestState).
		Must(func() error {
			return events.CheckFacts(events.SlotFacts{At: facts.At, RequestState: events.RequestState(requestState)})
		})
	ends := viewOf(to, a.PackRequestEnd(request), a.UnpackRequestEnd, &end)
	hosts := viewOf(to, a.PackGetHost(slot), a.UnpackGetHost, &host)
	others := []*rpc.View{
		viewOf(to, a.PackSlotState(slot), a.UnpackSlotState, &slotState).
			Must(func() error {
				return events.CheckFacts(events.SlotFacts{At: facts.At, SlotState: events.SlotState(slotState)})
			}),
		viewOf(to, a.PackRequestExpiry(request), a.UnpackRequestExpiry, &expiry),
		hosts.Must(hosts.IsAddress),
		viewOf(to, a.PackCurrentCollateral(slot), a.UnpackCurrentCollateral, &collateral),
		viewOf(to, a.PackCanReserveSlot(request, index), a.UnpackCanReserveSlot, &facts.CanReserve),
	}
	return append(slices.Clip(others), state, ends), func() (events.SlotFacts, error) {
		err := rpc.FirstError(others...)
		// The view ends fails only for the same reason.
		facts.RequestKnown = !errors.Is(state.Err, events.ErrUnknownRequest)
		if err == nil && facts.RequestKnown {
			err = rpc.FirstError(state, ends)
		}
		if err == nil {
			facts.Collateral, err = events.AmountFromBig(collateral)
		}
		if err != nil {
			return events.SlotFacts{}, fmt.Errorf("read slot %d of %s: %w", index, request.Short(), err)
		}
		facts.SlotState, facts.Host = events.SlotState(slotState), events.Address(host)
		if facts.RequestKnown {
			facts.RequestState = events.RequestState(requestState)
			facts.RequestExpiry, facts.RequestEnd = events.Unix(expiry), events.Unix(end)
		}
		return facts, nil
	}
}

// MySlots are the slots that the contract counts as ours, all at one block.
func (m *Market) MySlots(ctx context.Context) ([]events.OwnedSlot, error) {
	head, err := m.conn.Latest(ctx)
	if err != nil {
		return nil, fmt.Errorf("read own slots: %w", err)
	}
	ids, err := m.mySlotsAt(ctx, head.Hash)
	if err != nil {
		return nil, err
	}
	raw := make([]bindings.ActiveSlot, len(ids))
	views := make([]*rpc.View, len(ids))
	for i, id := range ids {
		views[i] = viewOf(m.contract, m.abis.market.PackGetActiveSlot(id),
			m.abis.market.UnpackGetActiveSlot, &raw[i]).
			Must(func() error { return m.isSlot(id, raw[i]) })
	}
	if err := m.read(ctx, head.Hash, views...); err != nil {
		return nil, fmt.Errorf("read own slots: %w", err)
	}
	slots := make([]events.OwnedSlot, len(ids))
	for i, id := range ids {
		request, err := requestFrom(requestID(m.abis, raw[i].Request), raw[i].Request)
		if err != nil {
			return nil, fmt.Errorf("read own slots: %w", err)
		}
		slots[i] = events.OwnedSlot{Slot: id, Request: request, Index: raw[i].SlotIndex}
	}
	return slots, nil
}

// isSlot checks that an active slot belongs to its id.
func (m *Market) isSlot(id events.SlotID, said bindings.ActiveSlot) error {
	if found := events.SlotIDOf(requestID(m.abis, said.Request), said.SlotIndex); found != id {
		return fmt.Errorf("asked for slot %s, it names slot %s", id, found)
	}
	return nil
}

func (m *Market) mySlotsAt(ctx context.Context, at common.Hash) ([]events.SlotID, error) {
	var raw [][32]byte
	v := viewOf(m.contract, m.abis.market.PackMySlots(), m.abis.market.UnpackMySlots, &raw)
	if err := m.read(ctx, at, v); err != nil {
		return nil, fmt.Errorf("read own slots: %w", err)
	}
	ids := make([]events.SlotID, len(raw))
	for i, id := range raw {
		ids[i] = id
	}
	return ids, nil
}

// Balance is what the account holds at the newest block, and what its work costs there. ErrBeforePayment if the chain
// up to that block does not have all blocks in which slots were paid.
func (m *Market) Balance(ctx context.Context, paid ...events.Head) (events.Balance, error) {
	at, b, err := balanceOf(ctx, m.conn, m.abis, m.tokenAddress(), m.account)
	if err == nil {
		err = m.hasAll(ctx, at, paid)
	}
	if err != nil {
		return events.Balance{}, fmt.Errorf("read balance: %w", err)
	}
	if err := m.addPrices(ctx, &b); err != nil {
		return events.Balance{}, fmt.Errorf("read balance: %w", err)
	}
	return b, nil
}

// hasAll refuses a chain, up to a block, that does not have all of the blocks in which slots were paid.
func (m *Market) hasAll(ctx context.Context, until events.Head, paid []events.Head) error {
	if len(paid) == 0 {
		return nil
	}
	var numbers []uint64
	for _, p := range paid {
		if p.Number > until.Number {
			return fmt.Errorf("%w: it is at block %d, the payment in block %d",
				events.ErrBeforePayment, until.Number, p.Number)
		}
		numbers = append(numbers, p.Number)
	}
	now, err := m.conn.Blocks(ctx, append(numbers, until.Number)) // Last: it shows a branch that changed meanwhile.
	if err != nil {
		return err
	}
	for i, want := range append(slices.Clip(paid), until) {
		switch {
		case now[i] == nil:
			return fmt.Errorf("%w: block %d is not known", rpc.ErrUnavailable, want.Number)
		case want.Hash.Zero() || events.Hash(now[i].Hash) == want.Hash:
		case i == len(paid): // All answers must be of one chain.
			return fmt.Errorf("%w: a reorganisation replaced block %d", events.ErrBeforePayment, until.Number)
		default:
			return fmt.Errorf("%w: block %d is %s, the payment was in %s",
				events.ErrBeforePayment, want.Number, now[i].Hash, want.Hash)
		}
	}
	return nil
}

func balanceOf(
	ctx context.Context, c *rpc.Conn, a abis, token, account common.Address,
) (at events.Head, b events.Balance, err error) {
	var tokens *big.Int
	v := viewOf(token, a.token.PackBalanceOf(account), a.token.UnpackBalanceOf, &tokens)
	head, err := c.ReadNewest(ctx, account, rpc.Reads(v))
	if err != nil {
		return at, b, err
	}
	wei, err := c.CoinsOf(ctx, head.Hash, account)
	if err != nil {
		return at, b, err
	}
	if b.Tokens, err = events.AmountFromBig(tokens); err != nil {
		return at, b, err
	}
	b.Wei, err = events.AmountFromBig(wei)
	return head.Head(), b, err
}

// Traffic counts the messages to each endpoint, and Requests the calls in them.
func (m *Market) Traffic() map[string]rpc.Traffic { return m.conn.Traffic() }

// Reachability says which endpoint is in use, as of the last call. It does not block and asks no node.
func (m *Market) Reachability() rpc.Reachability { return m.conn.Reachability() }

// Requests counts the calls that were sent since Dial, by JSON-RPC method, and under
// RequestMessages the messages that they were sent in. Repeated calls count again; what a
// subscription delivers does not count.
func (m *Market) Requests() map[string]uint64 { return m.conn.Requests() }

// BlockTime is the usual time between blocks, in chain time, as configured or measured; known is
// false when it is neither. It asks no node.
func (m *Market) BlockTime() (usual time.Duration, known bool) { return m.blocks.Usual() }

// HeadsBetween are the blocks from first to last on the current chain, read in few calls. After a
// reorganisation in between, a block's parent is not the block before it.
func (m *Market) HeadsBetween(ctx context.Context, first, last uint64) ([]events.Head, error) {
	return m.conn.HeadsBetween(ctx, first, last)
}

// FeeLimit says whether the configured limit on fees, or a node's refusal, holds transactions up, by the newest block
// that was looked at: at least once a minute, and with each block while something waits. It asks no
// node and does not block. It is false while this process does not own the transactions.
func (m *Market) FeeLimit() (tx.FeeLimit, bool) {
	if manager := m.txs.manager(); manager != nil {
		return manager.FeeLimit()
	}
	return tx.FeeLimit{}, false
}

// Final says whether a block counts as permanent: it has the configured confirmations and, if that
// is demanded, the tag finalized has reached it. On a chain without that tag, confirmations are
// enough. The caller makes sure that the block is on the chain.
func (m *Market) Final(ctx context.Context, number uint64) (bool, error) {
	return m.finality.Final(ctx, number)
}

// searchBack hands a contract's logs to match, newest first, until match returns true.
func (m *Market) searchBack(
	ctx context.Context, contract common.Address, topics [][]common.Hash, match func(*types.Log) (bool, error),
) error {
	s := feed.Search{Contract: contract, Topics: topics, First: m.cfg.DeployedAt, Step: m.cfg.LogRange}
	return s.Back(ctx, m.conn, match)
}
