package tx

import (
	"context"
	"math/big"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/params"

	"github.com/hostnode/hostnode/chain/rpc"
)

// askTip asks the node for a tip, once per block. If the node does not offer the method it is the
// configured minimum; if that is too little for the chain, the fee is raised later.
func (m *Manager) askTip(ctx context.Context, head *rpc.Header) (err error) {
	if m.tipWei != nil && m.tipAt == head.Hash {
		return nil
	}
	var tip *big.Int
	m.asking(func() { tip, err = m.conn.Tip(ctx) })
	if err == nil {
		m.tipAt, m.tipWei = head.Hash, clampTip(tip, m.cfg.MinTipWei, m.cfg.MaxTipWei)
	}
	return err
}

// clampTip keeps a node's suggestion within the limits: a node may suggest anything, and whoever
// makes blocks profits from high tips.
func clampTip(suggested *big.Int, least, most uint64) *big.Int {
	return maxBig(minBig(suggested, newBig(most)), newBig(least))
}

// price sets the fees of a first attempt: the node's tip, and room for the base fee to double.
func (m *Manager) price(head *rpc.Header, a *attempt) {
	a.tipCap = m.tipWei
	a.feeCap = new(big.Int).Add(new(big.Int).Lsh(head.LeastPrice(), 1), m.tipWei)
	m.capFees(a)
}

// capFees keeps the fees within the configured limit, and within the one ether that nodes accept as
// the cost of a transaction.
func (m *Manager) capFees(a *attempt) {
	most := minBig(m.mostFor(a.isNoop), new(big.Int).Div(big.NewInt(params.Ether), newBig(max(a.gas, 1))))
	a.feeCap = minBig(a.feeCap, most)
	a.tipCap = minBig(a.tipCap, a.feeCap)
}

// A replacement offers an eighth more in both fees; nodes demand a tenth.
const (
	bumpFactor  = 1125
	bumpDivisor = 1000
)

// bumped is the fee of a replacement, rounded up.
func bumped(wei *big.Int) *big.Int {
	b := new(big.Int).Mul(wei, big.NewInt(bumpFactor))
	b.Add(b, big.NewInt(bumpDivisor-1))
	return b.Div(b, big.NewInt(bumpDivisor))
}

// replace sends another attempt with the same nonce and higher fees: at least today's, and at least
// those of the most urgent transaction that it holds up. With noop, it is an empty transaction.
// When the limit does not allow that, the old attempt is sent again, until it is mined or the limit
// is raised.
func (m *Manager) replace(ctx context.Context, in, urgent *intent, head *rpc.Header, noop bool) error {
	old := in.last()
	a := attempt{nonce: old.nonce, gas: old.gas, isNoop: noop}
	if noop {
		a.gas = noopGas
	}
	m.price(head, &a)
	if urgent != in {
		a.tipCap = maxBig(a.tipCap, urgent.last().tipCap)
		a.feeCap = maxBig(a.feeCap, urgent.last().feeCap)
	}
	a.tipCap = maxBig(a.tipCap, bumped(old.tipCap))
	a.feeCap = maxBig(a.feeCap, bumped(old.feeCap))
	m.capFees(&a)
	if a.tipCap.Cmp(bumped(old.tipCap)) < 0 || a.feeCap.Cmp(bumped(old.feeCap)) < 0 {
		m.warnOfLimit(in, head)
		in.sentAt, in.outpriced = uint64(head.Number), false
		return nil
	}
	return m.attempt(ctx, in, head, a)
}

// warnEvery is the number of blocks between two warnings about one transaction.
const warnEvery = 50

func (m *Manager) warnOfLimit(in *intent, head *rpc.Header) {
	if in.warnedAt != 0 && uint64(head.Number) < in.warnedAt+warnEvery {
		return
	}
	in.warnedAt = uint64(head.Number)
	a := in.last()
	m.log.WithField("tx", in.key).Warnf("transactions: nonce %d is not mined, and its price of %s wei per gas "+
		"cannot be raised any more (base fee %s wei, limit %d wei); it is sent again with each block. "+
		"If it must go through, raise fees.maxFeeGwei and restart",
		a.nonce, a.feeCap, head.LeastPrice(), m.cfg.MaxFeeCapWei)
}

// cheaper says that an attempt offers less than another one.
func cheaper(a, than attempt) bool {
	return a.tipCap.Cmp(than.tipCap) < 0 || a.feeCap.Cmp(than.feeCap) < 0
}

// wantsMore says that a transaction in flight must offer a higher fee: a node demanded it, no block
// can take it at today's base fee, it has waited too long, or it holds up a more urgent one that
// pays more. Only the lowest nonce can have waited too long; those behind it just keep up with its
// price.
func (m *Manager) wantsMore(in, urgent, lowest *intent, head *rpc.Header) bool {
	a, waited := in.last(), uint64(head.Number)-min(in.sentAt, uint64(head.Number))
	switch {
	case m.leftAlone(in, head):
		return false
	case in.outpriced:
		return true
	case waited == 0:
		return false
	case a.feeCap.Cmp(new(big.Int).Add(head.LeastPrice(), newBig(m.cfg.MinTipWei))) < 0:
		return true
	case urgent != in && cheaper(a, urgent.last()):
		return true
	case waited < m.patience(urgent.deadline, head):
		return false
	default:
		return in == lowest || cheaper(a, lowest.last())
	}
}

// patience is the number of blocks after which a fee is raised: a quarter of those until the
// deadline, but at most StuckBlocks and at least one.
func (m *Manager) patience(deadline time.Time, head *rpc.Header) uint64 {
	const share = 4
	if deadline.IsZero() {
		return m.cfg.StuckBlocks
	}
	left := max(0, deadline.Sub(head.Head().Time)/m.blocks.Pace())
	return min(m.cfg.StuckBlocks, max(1, uint64(left)/share))
}

func newBig(n uint64) *big.Int { return new(big.Int).SetUint64(n) }

func maxBig(of ...*big.Int) *big.Int { return slices.MaxFunc(of, (*big.Int).Cmp) }

func minBig(of ...*big.Int) *big.Int { return slices.MinFunc(of, (*big.Int).Cmp) }
