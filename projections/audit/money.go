package audit

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// Chain is what an audit asks the chain about one contract: which tokens moved,
// and what the contract holds. The chain is believed, and the events are
// compared with it. Not safe for concurrent use.
type Chain interface {
	// Moves returns how much of the market's token each transaction moved between
	// an account and the contract, in the order of the hashes.
	Moves(ctx context.Context, account events.Address, txs []events.Hash) ([]events.TokenMove, error)
	// Held returns what the contract holds for each slot in the newest block, in
	// the order of the slots.
	Held(ctx context.Context, slots []events.SlotID) ([]events.SlotHolding, error)
	// Moved adds up all tokens that moved between an account and the contract in
	// blocks from first to last.
	Moved(ctx context.Context, account events.Address, first, last uint64) (in, out events.Amount, err error)
	// Proven says of each of these proofs, of which Slot and Period are set, whether the contract's log has it.
	Proven(ctx context.Context, missed []events.MissingProof) ([]bool, error)
}

// Market names a contract.
type Market struct {
	ChainID  uint64
	Contract events.Address
}

// chainBatch is for how many transactions or slots the chain is asked at once.
const chainBatch = 100

// money is what a host's events say of tokens, for comparison with the chain.
type money struct {
	Claims []claim
	// in and out are all payouts and fills that were claimed.
	In, Out events.Amount
	// first and last are the lowest and the highest block with a transaction of ours.
	First, Last uint64
	Seen        bool
}

// claim is what an event says that a transaction has moved.
type claim struct {
	At      place
	Tx      events.Hash
	In, Out events.Amount
	// atMost says that less may have been paid: the contract takes less for a
	// slot in repair.
	AtMost bool
	// who it was moved to, if not to the host's account.
	Who events.Address
	// block is that of the transaction; 0: not known. The transaction of another program is in no
	// stream of ours.
	Block uint64
}

// pledge is what the events of an attempt say of tokens until it is settled.
// Only then a fill can no longer be taken back.
type pledge struct {
	Fill, Payout claim
	Filled, Paid bool
	// gift is the reward, when another account got it.
	Gift  claim
	Given bool
}

func (m *money) sawBlock(n uint64) {
	if !m.Seen {
		m.First, m.Seen = n, true
	}
	m.First, m.Last = min(m.First, n), max(m.Last, n)
}

// noteMoney notes what an event says of tokens.
func (l *account) noteMoney(p place, e any) {
	switch e := e.(type) {
	case *messages.SlotFilled:
		if l.Pledge.Filled && e.GetReceipt() == nil { // The earlier fill, found again.
			break
		}
		l.Pledge.Filled = true
		l.Pledge.Fill = claim{At: p, Out: amount(e.GetCollateral()), AtMost: l.Repair}
		if e.RepairReward != nil { // What was taken is known.
			l.Pledge.Fill.Out = l.Pledge.Fill.Out.SubFloor(amount(e.GetRepairReward()))
			l.Pledge.Fill.AtMost = false
		}
		if r := e.GetReceipt(); r != nil {
			l.Pledge.Fill.Tx = events.Must(events.ParseHash(r.GetTxHash()))
		}
	case *messages.FillReverted:
		l.Pledge = pledge{}
	case *messages.PayoutReceived:
		l.Pledge.Paid = true
		l.Pledge.Payout = claim{At: p, In: amount(e.GetReward()).AddSaturating(amount(e.GetCollateral()))}
		if e.RewardRecipient != nil {
			l.Pledge.Given = true
			l.Pledge.Payout.In = amount(e.GetCollateral())
			l.Pledge.Gift = claim{
				At: p, In: amount(e.GetReward()), Who: events.Must(events.ParseAddress(e.GetRewardRecipient())),
			}
		}
		if r := e.GetReceipt(); r != nil {
			l.Pledge.Payout.Tx = events.Must(events.ParseHash(r.GetTxHash()))
			l.Pledge.Payout.Block = r.GetBlock()
			l.Pledge.Gift.Tx = l.Pledge.Payout.Tx
		}
	case *messages.SlotDropped:
		if r := e.GetReceipt(); r != nil { // It moves nothing, and that is what is claimed.
			l.Pledge.Paid = true
			l.Pledge.Payout = claim{At: p, Tx: events.Must(events.ParseHash(r.GetTxHash()))}
		}
	}
}

// claim adds the claims of an attempt.
func (a *auditor) claim(h *host, l *life) {
	if a.options.Chain == nil || l.account == nil {
		return
	}
	for _, c := range []struct {
		made bool
		claim
	}{
		{l.Pledge.Filled && !l.Adopted, l.Pledge.Fill},
		{l.Pledge.Paid, l.Pledge.Payout},
		{l.Pledge.Given, l.Pledge.Gift},
	} {
		if !c.made {
			continue
		}
		if c.Who.Zero() { // What another account got is not in the account's sums.
			h.Money.In, h.Money.Out = h.Money.In.AddSaturating(c.In), h.Money.Out.AddSaturating(c.Out)
		}
		if c.Block > 0 {
			h.Money.sawBlock(c.Block)
		}
		if !c.Tx.Zero() {
			h.Money.Claims = append(h.Money.Claims, c.claim)
			a.claims++
		}
	}
}

// compare asks the chain about the collected claims, when there are enough for
// a call, or about all.
func (a *auditor) compare(ctx context.Context, all bool) error {
	if a.claims == 0 || a.claims < chainBatch && !all {
		return nil
	}
	a.claims = 0
	for _, name := range sortedKeys(a.hosts) {
		h := a.hosts[name]
		byWho := map[events.Address][]claim{}
		for _, c := range h.Money.Claims {
			byWho[c.Who] = append(byWho[c.Who], c)
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
		h.Money.Claims = nil
		if err := a.compareDenied(ctx, h); err != nil {
			return err
		}
	}
	return nil
}

// compareSome compares the claims about one recipient; the zero address is the
// host's own account.
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
		txs[i] = c.Tx
	}
	moves, err := moved(ctx, chain, who, txs)
	if err != nil {
		return err
	}
	for i, c := range claims {
		m := moves[i]
		switch {
		case !m.Found:
			a.find(MoneyMismatch, c.At, "the chain knows no transaction %s", c.Tx)
		case !m.Succeeded:
			a.find(MoneyMismatch, c.At, "the transaction %s failed on chain", c.Tx)
		case m.In != c.In || m.Out != c.Out && (!c.AtMost || c.Out.Less(m.Out)):
			a.find(MoneyMismatch, c.At, "by the record %s came to %s and %s went out; the transaction %s moved "+
				"%s in and %s out",
				c.In, who, c.Out, c.Tx, m.In, m.Out)
		}
	}
	return nil
}

// moved asks what transactions moved.
func moved(ctx context.Context, chain Chain, who events.Address, txs []events.Hash) ([]events.TokenMove, error) {
	moves, err := chain.Moves(ctx, who, txs)
	if err != nil || len(moves) != len(txs) {
		return nil, fmt.Errorf("ask the chain about %d transactions: %w", len(txs), cmp.Or(err, errShort))
	}
	return moves, nil
}

// errShort: the chain's answer lacks some of what was asked.
var errShort = fmt.Errorf("%w: an answer is missing", events.ErrMalformed)

// ErrNotHere is what Options.Chain returns for a contract that the chain does not have: the record has
// hosts of several chains.
var ErrNotHere = errors.New("the contract is not on this chain")

// chainOf returns the chain of a host's contract; nil when no start names one, or it is not on this chain.
func (a *auditor) chainOf(ctx context.Context, h *host) (Chain, events.Address, error) {
	if h.Market == "" {
		return nil, events.Address{}, nil
	}
	address := events.Must(events.ParseAddress(h.Address))
	m := Market{h.ChainID, h.Contract}
	if chain, known := a.chains[m]; known {
		return chain, address, nil
	}
	chain, err := a.options.Chain(ctx, m)
	if err != nil {
		err = fmt.Errorf("reach contract %s on chain %d: %w", m.Contract, m.ChainID, err)
	}
	if errors.Is(err, ErrNotHere) {
		a.notHere, chain, err = cmp.Or(a.notHere, err), nil, nil
	}
	if err != nil {
		return nil, address, err
	}
	a.chains[m] = chain
	return chain, address, nil
}

// endOfMoney compares what is open, and the totals.
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
			if h.Market != "" {
				a.find(MarketElsewhere, place{Stream: events.HostStream(address)}, "the host is of contract %s on "+
					"chain %d, which the chain that was asked does not have: its tokens were not compared",
					h.Contract, h.ChainID)
			}
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
	if a.report.ChainCompared {
		return nil
	}
	return a.notHere // It is the wrong chain for all.
}

// openPledges adds the claims of sales that are not settled, and returns those
// for which the contract holds something.
func (a *auditor) openPledges(h *host) []*life {
	var held []*life
	for _, l := range h.sales {
		if l.account == nil {
			continue
		}
		a.claim(h, l)
		if l.OnChain {
			held = append(held, l)
		}
	}
	slices.SortFunc(held, func(x, y *life) int {
		return cmp.Compare(x.Pledge.Fill.At.Position, y.Pledge.Fill.At.Position)
	})
	return held
}

func (a *auditor) compareHeld(ctx context.Context, chain Chain, h *host, some []*life) error {
	slots := make([]events.SlotID, len(some))
	for i, l := range some {
		slots[i] = l.Slot
	}
	holdings, err := chain.Held(ctx, slots)
	if err != nil || len(holdings) != len(some) {
		return fmt.Errorf("ask the contract what it holds for %d slots: %w", len(some), cmp.Or(err, errShort))
	}
	for i, l := range some {
		c, at := holdings[i], l.Pledge.Fill.At
		switch {
		case c.Host.String() != h.Address || c.State == events.SlotPaid:
			a.find(ChainAhead, at, "by the record slot %s is ours; the contract says it is %s, its host %s",
				l.Slot.Short(), c.State, c.Host)
		case l.Held.Less(c.Collateral):
			a.find(CollateralHeld, at, "the contract holds %s for slot %s, the record says %s",
				c.Collateral, l.Slot.Short(), l.Held)
		case c.Collateral.Less(l.Held) && len(l.Duties)+len(l.Unchecked) == 0:
			a.find(SlashUnseen, at, "the contract holds %s for slot %s, the record says %s",
				c.Collateral, l.Slot.Short(), l.Held)
		}
	}
	return nil
}

// compareSums compares the total of what moved with the total of the events,
// between the first and the last transaction of the account.
func (a *auditor) compareSums(ctx context.Context, chain Chain, h *host, address events.Address) error {
	if !h.Money.Seen {
		return nil
	}
	in, out, err := chain.Moved(ctx, address, h.Money.First, h.Money.Last)
	if err != nil {
		return fmt.Errorf("ask the chain what moved in blocks %d to %d: %w", h.Money.First, h.Money.Last, err)
	}
	if in != h.Money.In || h.Money.Out.Less(out) {
		a.find(MoneyUnrecorded, place{Position: a.report.AsOf},
			"in blocks %d to %d the contract paid %s to %s and took %s; by the record it was %s and %s",
			h.Money.First, h.Money.Last, in, h.Address, out, h.Money.In, h.Money.Out)
	}
	return nil
}
