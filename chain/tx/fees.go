package tx

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/params"
	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/events"
)

// fees is what is offered for gas. Only feeLimit is safe for concurrent use.
type fees struct {
	*node
	cfg      *Config
	log      logrus.FieldLogger
	tipWei   *big.Int                 // per gas; nil: not asked yet
	tipAt    common.Hash              // the block at which it was asked
	floorWei *big.Int                 // per gas, the least tip that the node takes
	feeLimit atomic.Pointer[FeeLimit] // nil: it holds nothing up
}

// askTip asks the node for a tip, once per block. If it suggests none, it is the configured minimum. What the node
// is known to demand counts in any case, and is followed from the first offer on.
func (f *fees) askTip(ctx context.Context, head *rpc.Header) (err error) {
	tip, known := f.tipWei, f.tipWei != nil && f.tipAt == head.Hash
	var floor *big.Int
	f.asking(func() {
		if !known {
			tip, err = f.conn.Tip(ctx, head)
		}
		floor = f.conn.Floor(ctx)
	})
	if err != nil {
		return err
	}
	if !known {
		f.tipAt, f.tipWei = head.Hash, f.cfg.clampTip(tip)
	}
	if most := newBig(f.cfg.MaxTipWei); floor.Cmp(most) > 0 && floor.Cmp(f.floorWei) > 0 {
		f.log.Warnf("transactions: the node takes none with a tip below %s gwei, so that is offered, although "+
			"fees.maxTipGwei is %s; raise it to that", gwei(floor), gwei(most))
	}
	f.floorWei = floor
	return nil
}

// clampTip keeps a node's suggestion within the limits: a node may suggest anything, and
// the producers of blocks profit from high tips.
func (cfg *Config) clampTip(suggested *big.Int) *big.Int {
	return maxBig(minBig(suggested, newBig(cfg.MaxTipWei)), newBig(cfg.MinTipWei))
}

// tellTip warns of a limit for tips that is below what the node suggests: a chain may take nothing less.
func (cfg *Config) tellTip(ctx context.Context, c *rpc.Conn) {
	head, err := c.Latest(ctx)
	if err != nil {
		return // Whatever sends the first transaction needs it, too, and says so.
	}
	tip, err := c.Tip(ctx, head)
	if most := newBig(cfg.MaxTipWei); err == nil && tip.Cmp(most) > 0 {
		cfg.Log.Warnf("transactions: the node suggests a tip of %s gwei, and fees.maxTipGwei allows %s in a first "+
			"offer; if the chain takes nothing less, each transaction is late: raise it", gwei(tip), gwei(most))
	}
}

// price sets the fees of a first attempt: the node's tip, and room for the base fee to double. Where there is no
// base fee, the tip is the price.
func (f *fees) price(head *rpc.Header, a *attempt) {
	a.legacy = a.legacy || head.BaseFee == nil
	a.tipCap = maxBig(f.tipWei, f.floorWei)
	a.feeCap = new(big.Int).Add(new(big.Int).Lsh(head.LeastPrice(), 1), a.tipCap)
	f.capFees(a)
}

// capFees keeps the fees within the configured limit, and within the one ether that nodes accept as
// the cost of a transaction.
func (f *fees) capFees(a *attempt) {
	most := minBig(f.mostFor(a.isNoop), new(big.Int).Div(big.NewInt(params.Ether), newBig(max(a.gas, 1))))
	a.feeCap = minBig(a.feeCap, most)
	a.tipCap = minBig(a.tipCap, a.feeCap)
	if a.legacy {
		a.tipCap = a.feeCap
	}
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
	a := attempt{nonce: old.nonce, gas: old.gas, isNoop: noop, legacy: old.legacy}
	switch {
	case noop:
		a.gas = m.gas.ofNothing(ctx, head)
	case in.starved:
		m.gas.needsMore(in)
		m.gas.estimate(ctx, head, []*intent{in})
		if in.gas <= old.gas { // The node does not estimate, or not now. What is not used costs nothing.
			in.gas = min(2*old.gas, m.cfg.MaxGas)
		}
		if in.gas <= old.gas {
			m.refuse(in, fmt.Errorf("%w: the node demands more gas than %d, which fees.maxGas allows at most",
				events.ErrReverted, old.gas))
			return nil
		}
		a.gas = in.gas
	}
	m.fees.price(head, &a)
	if urgent != in {
		a.tipCap = maxBig(a.tipCap, urgent.last().tipCap)
		a.feeCap = maxBig(a.feeCap, urgent.last().feeCap)
	}
	a.tipCap = maxBig(a.tipCap, bumped(old.tipCap))
	a.feeCap = maxBig(a.feeCap, bumped(old.feeCap))
	m.fees.capFees(&a)
	if a.tipCap.Cmp(bumped(old.tipCap)) < 0 || a.feeCap.Cmp(bumped(old.feeCap)) < 0 {
		m.fees.warnOfLimit(in, head)
		in.sentAt, in.outpriced = uint64(head.Number), false
		return nil
	}
	return m.attempt(ctx, in, head, a)
}

// warnEvery is the number of blocks between two warnings about one transaction.
const warnEvery = 50

func (f *fees) warnOfLimit(in *intent, head *rpc.Header) {
	if in.warnedAt != 0 && uint64(head.Number) < in.warnedAt+warnEvery {
		return
	}
	in.warnedAt = uint64(head.Number)
	a := in.last()
	f.log.WithField("tx", in.key).Warnf("transactions: nonce %d is not mined, and its price of %s wei per gas "+
		"cannot be raised any more (base fee %s wei, limit %d wei); it is sent again with each block. "+
		"If it must go through, raise fees.maxFeeGwei and restart",
		a.nonce, a.feeCap, head.LeastPrice(), f.cfg.MaxFeeCapWei)
}

// cheaper says that an attempt offers less than another one.
func cheaper(a, than attempt) bool {
	return a.tipCap.Cmp(than.tipCap) < 0 || a.feeCap.Cmp(than.feeCap) < 0
}

// wantsMore says that a transaction in flight must offer a higher fee: a node demanded it, no block
// can take it at today's base fee, it has waited too long, or it holds up a more urgent one that
// pays more. Only the lowest nonce can have waited too long; those behind it just keep up with its
// price.
func (f *fees) wantsMore(in, urgent, lowest *intent, head *rpc.Header) bool {
	a, waited := in.last(), uint64(head.Number)-min(in.sentAt, uint64(head.Number))
	switch {
	case in.leftAlone(head, f.cfg.UnknownNonceBlocks):
		return false
	case in.outpriced, in.starved:
		return true
	case waited == 0:
		return false
	case a.feeCap.Cmp(new(big.Int).Add(head.LeastPrice(), newBig(f.cfg.MinTipWei))) < 0:
		return true
	case urgent != in && cheaper(a, urgent.last()):
		return true
	case waited < f.patience(urgent.deadline, head):
		return false
	default:
		return in == lowest || cheaper(a, lowest.last())
	}
}

// patience is the number of blocks after which a fee is raised: a quarter of those until the
// deadline, but at most StuckBlocks and at least one.
func (f *fees) patience(deadline time.Time, head *rpc.Header) uint64 {
	const share = 4
	if deadline.IsZero() {
		return f.cfg.StuckBlocks
	}
	left := max(0, deadline.Sub(head.Head().Time)/f.blocks.Pace())
	return min(f.cfg.StuckBlocks, max(1, uint64(left)/share))
}

func newBig(n uint64) *big.Int { return new(big.Int).SetUint64(n) }

func maxBig(of ...*big.Int) *big.Int { return slices.MaxFunc(of, (*big.Int).Cmp) }

func minBig(of ...*big.Int) *big.Int { return slices.MinFunc(of, (*big.Int).Cmp) }
