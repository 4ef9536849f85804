package tx

import (
	"context"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/params"

	"github.com/hostnode/hostnode/chain/rpc"
)

// tipPrice is what a node wants as a tip for one gas at a block.
type tipPrice struct {
	at  common.Hash
	wei *big.Int
}

// tip asks for it once per block. A node that does not know the question is paid the
// least tip of the configuration; what is too little for the chain is bumped later.
func (m *Manager) tip(ctx context.Context, head *rpc.Header) (*big.Int, error) {
	if m.tipPrice.wei == nil || m.tipPrice.at != head.Hash {
		tip, err := m.conn.Tip(ctx)
		if err != nil {
			return nil, err
		}
		m.tipPrice = tipPrice{head.Hash, soberTip(tip, m.cfg.MinTipWei, m.cfg.MaxTipWei)}
	}
	return m.tipPrice.wei, nil
}

// soberTip is what a node suggests within the limits: a node may suggest what it likes, and
// whoever makes blocks likes much.
func soberTip(suggested *big.Int, least, most uint64) *big.Int {
	return maxBig(minBig(suggested, newBig(most)), newBig(least))
}

// price sets fees for a first attempt: the node's tip, and room for the base fee to
// double.
func (m *Manager) price(ctx context.Context, head *rpc.Header, a *attempt) error {
	tip, err := m.tip(ctx, head)
	if err != nil {
		return err
	}
	a.tipCap = tip
	a.feeCap = new(big.Int).Add(new(big.Int).Lsh(head.LeastPrice(), 1), tip)
	m.capFees(a)
	return nil
}

// capFees obeys the configured limit and the one ether that nodes accept as the most a
// transaction may cost.
func (m *Manager) capFees(a *attempt) {
	most := minBig(m.mostFor(a.isNoop), new(big.Int).Div(big.NewInt(params.Ether), newBig(max(a.gas, 1))))
	a.feeCap = minBig(a.feeCap, most)
	a.tipCap = minBig(a.tipCap, a.feeCap)
}

// A replacement costs an eighth more in both fees; nodes want a tenth.
const (
	bumpFactor  = 1125
	bumpDivisor = 1000
)

// bumped is rounded up.
func bumped(wei *big.Int) *big.Int {
	b := new(big.Int).Mul(wei, big.NewInt(bumpFactor))
	b.Add(b, big.NewInt(bumpDivisor-1))
	return b.Div(b, big.NewInt(bumpDivisor))
}

// replace offers the same nonce for more, at today's price at least and at that of whom
// it holds up: as it is, or as an empty transaction. When that would be more than the
// limit, it stays as it is and is sent again, until it is mined or the limit is raised.
func (m *Manager) replace(ctx context.Context, in, urgent *intent, head *rpc.Header, noop bool) error {
	old := in.last()
	a := attempt{nonce: old.nonce, gas: old.gas, isNoop: noop}
	if noop {
		a.gas = noopGas
	}
	if err := m.price(ctx, head, &a); err != nil {
		return err
	}
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

// warnEvery is how many blocks lie between two warnings about one transaction.
const warnEvery = 50

func (m *Manager) warnOfLimit(in *intent, head *rpc.Header) {
	if in.warnedAt != 0 && uint64(head.Number) < in.warnedAt+warnEvery {
		return
	}
	in.warnedAt = uint64(head.Number)
	a := in.last()
	m.log.WithField("tx", in.key).Warnf("transactions: nonce %d is not mined, and its fee of %s wei for one gas "+
		"cannot be raised any more (base fee %s wei, limit %d wei); it is sent again with each block. "+
		"If it must go through, raise fees.maxFeeGwei and start again",
		a.nonce, a.feeCap, head.LeastPrice(), m.cfg.MaxFeeCapWei)
}

// cheaper says that an attempt offers less than another one.
func cheaper(a, than attempt) bool {
	return a.tipCap.Cmp(than.tipCap) < 0 || a.feeCap.Cmp(than.feeCap) < 0
}

// wantsMore says that a transaction in flight must offer a higher fee: a node said so, no
// block can take it at today's base fee, it waits too long, or it holds up one that is
// more urgent and pays more. Behind the lowest nonce, waiting says nothing, so there one
// only keeps up with the lowest.
func (m *Manager) wantsMore(in, urgent, lowest *intent, head *rpc.Header) bool {
	a, waited := in.last(), uint64(head.Number)-min(in.sentAt, uint64(head.Number))
	switch {
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

// patience is after how many blocks a fee is raised: a quarter of those that are left
// until a deadline, at most what is configured, at least one.
func (m *Manager) patience(deadline time.Time, head *rpc.Header) uint64 {
	const share = 4
	if deadline.IsZero() {
		return m.cfg.StuckBlocks
	}
	left := max(0, deadline.Sub(head.Head().Time)/m.blocks.Pace())
	return min(m.cfg.StuckBlocks, max(1, uint64(left)/share))
}

func newBig(n uint64) *big.Int { return new(big.Int).SetUint64(n) }

func maxBig(a, b *big.Int) *big.Int {
	if a.Cmp(b) < 0 {
		return b
	}
	return a
}

func minBig(a, b *big.Int) *big.Int {
	if a.Cmp(b) < 0 {
		return a
	}
	return b
}
