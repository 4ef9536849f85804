package audit

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// Chain is what an audit asks of the chain about one contract: the tokens that
// moved, and what the contract holds. The chain is believed; the record is held
// to it. Not safe for concurrent use.
type Chain interface {
	// Moves says what transactions moved of the market's token between an account
	// and the contract, one answer for each hash, in their order.
	Moves(ctx context.Context, account events.Address, txs []events.Hash) ([]events.TokenMove, error)
	// Held says what the contract holds for slots in the newest block, one answer
	// for each slot, in their order.
	Held(ctx context.Context, slots []events.SlotID) ([]events.SlotHolding, error)
	// Moved adds up all tokens that moved between an account and the contract in
	// blocks from first to last.
	Moved(ctx context.Context, account events.Address, first, last uint64) (in, out events.Amount, err error)
}

// Market names a contract.
type Market struct {
	ChainID  uint64
	Contract events.Address
}

// chainBatch is how many transactions or slots the chain is asked about at once.
const chainBatch = 100

// money is what a host's events say of tokens, to be compared with the chain.
type money struct {
	claims []claim
	// in and out are all payouts and fills that were claimed.
	in, out events.Amount
	// first and last are the lowest and the highest block with a transaction of ours.
	first, last uint64
	seen        bool
}

// claim is what an event says that a transaction moved.
type claim struct {
	at      place
	tx      events.Hash
	in, out events.Amount
	// atMost says that less may have gone out: the contract asks less for a slot
	// in repair.
	atMost bool
	// who it was moved to, when it was not the host's account.
	who events.Address
	// block has the transaction; 0: unknown. Another program's is in no stream of ours.
	block uint64
}

// pledge is what the events of an attempt say of tokens until it is settled.
// Only then is a fill sure not to be taken back.
type pledge struct {
	fill, payout claim
	filled, paid bool
	// gift is the reward, when somebody else got it.
	gift  claim
	given bool
}

func (m *money) sawBlock(n uint64) {
	if !m.seen {
		m.first, m.seen = n, true
	}
	m.first, m.last = min(m.first, n), max(m.last, n)
}

// noteMoney takes down what an event says of tokens.
func (l *account) noteMoney(p place, e any) {
	switch e := e.(type) {
	case *messages.SlotFilled:
		if l.pledge.filled && e.GetReceipt() == nil { // The fill of before, found once more.
			break
		}
		l.pledge.filled = true
		l.pledge.fill = claim{at: p, out: amount(e.GetCollateral()), atMost: l.repair}
		if e.RepairReward != nil { // What was taken is known.
			l.pledge.fill.out = l.pledge.fill.out.SubFloor(amount(e.GetRepairReward()))
			l.pledge.fill.atMost = false
		}
		if r := e.GetReceipt(); r != nil {
			l.pledge.fill.tx = events.Must(events.ParseHash(r.GetTxHash()))
		}
	case *messages.FillReverted:
		l.pledge = pledge{}
	case *messages.PayoutReceived:
		l.pledge.paid = true
		l.pledge.payout = claim{at: p, in: sum(amount(e.GetReward()), amount(e.GetCollateral()))}
		if e.RewardRecipient != nil {
			l.pledge.given = true
			l.pledge.payout.in = amount(e.GetCollateral())
			l.pledge.gift = claim{
				at: p, in: amount(e.GetReward()), who: events.Must(events.ParseAddress(e.GetRewardRecipient())),
			}
		}
		if r := e.GetReceipt(); r != nil {
			l.pledge.payout.tx = events.Must(events.ParseHash(r.GetTxHash()))
			l.pledge.payout.block = r.GetBlock()
			l.pledge.gift.tx = l.pledge.payout.tx
		}
	case *messages.SlotDropped:
		if r := e.GetReceipt(); r != nil { // It moves nothing, and that is the claim.
			l.pledge.paid = true
			l.pledge.payout = claim{at: p, tx: events.Must(events.ParseHash(r.GetTxHash()))}
		}
	}
}

// claim hands in what an attempt says of tokens.
func (a *auditor) claim(h *host, l *life) {
	if a.options.Chain == nil || l.account == nil {
		return
	}
	for _, c := range []struct {
		made bool
		claim
	}{
		{l.pledge.filled && !l.adopted, l.pledge.fill},
		{l.pledge.paid, l.pledge.payout},
		{l.pledge.given, l.pledge.gift},
	} {
		if !c.made {
			continue
		}
		if c.who.Zero() { // What somebody else got is not in the account's sums.
			h.money.in, h.money.out = sum(h.money.in, c.in), sum(h.money.out, c.out)
		}
		if c.block > 0 {
			h.money.sawBlock(c.block)
		}
		if !c.tx.Zero() {
			h.money.claims = append(h.money.claims, c.claim)
			a.claims++
		}
	}
}

// compare asks the chain about the claims that have piled up, once they are
// worth a call, or all of them.
func (a *auditor) compare(ctx context.Context, all bool) error {
	if a.claims == 0 || a.claims < chainBatch && !all {
		return nil
	}
	a.claims = 0
	for _, name := range sortedKeys(a.hosts) {
		h := a.hosts[name]
		byWho := map[events.Address][]claim{}
		for _, c := range h.money.claims {
			byWho[c.who] = append(byWho[c.who], c)
		}
		for _, who := range slices.SortedFunc(maps.Keys(byWho), func(x, y events.Address) int {
			return bytes.Compare(x[:], y[:])
		}) {
			for claims := range slices.Chunk(byWho[who], chainBatch) {
				if err := a.compareSome(ctx, h, who, claims); err != nil {
					return err
				}
			}
		}
		h.money.claims = nil
	}
	return nil
}

// compareSome compares claims about what moved to or from somebody; the zero address
// is the host's own account.
func (a *auditor) compareSome(ctx context.Context, h *host, who events.Address, claims []claim) error {
	chain, address, err := a.chainOf(ctx, h)
	if chain == nil || err != nil {
		return err
	}
	if who.Zero() {
		who = address
	}
	txs := make([]events.Hash, len(claims))
	for i, c := range claims {
		txs[i] = c.tx
	}
	moves, err := chain.Moves(ctx, who, txs)
	if err != nil || len(moves) != len(claims) {
		return fmt.Errorf("ask the chain about %d transactions: %w", len(claims), cmp.Or(err, errShort))
	}
	for i, c := range claims {
		m := moves[i]
		switch {
		case !m.Found:
			a.find(MoneyMismatch, c.at, "the chain knows no transaction %s", c.tx)
		case !m.Succeeded:
			a.find(MoneyMismatch, c.at, "the transaction %s failed on chain", c.tx)
		case m.In != c.in || m.Out != c.out && (!c.atMost || c.out.Less(m.Out)):
			a.find(MoneyMismatch, c.at, "by the record %s came to %s and %s went out; the transaction %s moved "+
				"%s in and %s out",
				c.in, who, c.out, c.tx, m.In, m.Out)
		}
	}
	return nil
}

// errShort: the chain answered for less than was asked.
var errShort = fmt.Errorf("%w: an answer is missing", events.ErrMalformed)

// chainOf is the chain on which a host's contract is; nil when no start says which.
func (a *auditor) chainOf(ctx context.Context, h *host) (Chain, events.Address, error) {
	if h.market == "" {
		return nil, events.Address{}, nil
	}
	address, err := events.ParseAddress(h.address)
	if err != nil {
		return nil, events.Address{}, nil // A stream with such a name was found before.
	}
	m := Market{h.chainID, h.contract}
	if chain, known := a.chains[m]; known {
		return chain, address, nil
	}
	chain, err := a.options.Chain(ctx, m)
	if err != nil {
		return nil, address, fmt.Errorf("reach contract %s on chain %d: %w", m.Contract, m.ChainID, err)
	}
	a.chains[m] = chain
	return chain, address, nil
}

// endOfMoney compares what is open, and the sums.
func (a *auditor) endOfMoney(ctx context.Context) error {
	if a.options.Chain == nil {
		return nil
	}
	for _, name := range sortedKeys(a.hosts) {
		h := a.hosts[name]
		open := a.openPledges(h)
		if err := a.compare(ctx, true); err != nil {
			return err
		}
		chain, address, err := a.chainOf(ctx, h)
		if err != nil {
			return err
		}
		if chain == nil {
			continue
		}
		for some := range slices.Chunk(open, chainBatch) {
			if err := a.compareHeld(ctx, chain, h, some); err != nil {
				return err
			}
		}
		if err := a.compareSums(ctx, chain, h, address); err != nil {
			return err
		}
		a.report.ChainCompared = true
	}
	return nil
}

// openPledges hands in the claims of sales that are not settled, and returns
// those for which the contract holds something.
func (a *auditor) openPledges(h *host) []*life {
	var held []*life
	for _, l := range h.sales {
		if l.account == nil {
			continue
		}
		a.claim(h, l)
		if l.onChain {
			held = append(held, l)
		}
	}
	slices.SortFunc(held, func(x, y *life) int {
		return cmp.Compare(x.pledge.fill.at.position, y.pledge.fill.at.position)
	})
	return held
}

func (a *auditor) compareHeld(ctx context.Context, chain Chain, h *host, some []*life) error {
	slots := make([]events.SlotID, len(some))
	for i, l := range some {
		slots[i] = l.slot
	}
	holdings, err := chain.Held(ctx, slots)
	if err != nil || len(holdings) != len(some) {
		return fmt.Errorf("ask the contract what it holds for %d slots: %w", len(some), cmp.Or(err, errShort))
	}
	for i, l := range some {
		c, at := holdings[i], l.pledge.fill.at
		switch {
		case c.Host.String() != h.address || c.State == events.SlotPaid:
			a.find(ChainAhead, at, "by the record slot %s is ours; the contract says it is %s, its host %s",
				l.slot.Short(), c.State, c.Host)
		case l.held.Less(c.Collateral):
			a.find(CollateralHeld, at, "the contract holds %s for slot %s, the record says %s",
				c.Collateral, l.slot.Short(), l.held)
		case c.Collateral.Less(l.held) && len(l.duties)+len(l.unchecked) == 0:
			a.find(SlashUnseen, at, "the contract holds %s for slot %s, the record says %s",
				c.Collateral, l.slot.Short(), l.held)
		}
	}
	return nil
}

// compareSums holds all that moved to all that is in the record, between the
// first and the last transaction of the account.
func (a *auditor) compareSums(ctx context.Context, chain Chain, h *host, address events.Address) error {
	if !h.money.seen {
		return nil
	}
	in, out, err := chain.Moved(ctx, address, h.money.first, h.money.last)
	if err != nil {
		return fmt.Errorf("ask the chain what moved in blocks %d to %d: %w", h.money.first, h.money.last, err)
	}
	if in != h.money.in || h.money.out.Less(out) {
		a.find(MoneyUnrecorded, place{position: a.report.AsOf},
			"in blocks %d to %d the contract paid %s to %s and took %s; by the record it was %s and %s",
			h.money.first, h.money.last, in, h.address, out, h.money.in, h.money.out)
	}
	return nil
}
