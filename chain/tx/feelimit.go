package tx

import (
	"fmt"
	"math/big"
	"time"

	"github.com/hostnode/hostnode/chain/rpc"
)

// FeeLimit says that transactions wait because of the configured limit on the price of gas, or because the node
// refuses one for another reason. Proofs may be among them, so an operator should know.
type FeeLimit struct {
	// Since is when it was noticed, by the machine's clock.
	Since time.Time
	// Refused is what the node says of a transaction that it refuses for at least a block; empty: it is the
	// price.
	Refused string
	// BaseFee is the price per gas that a block demands, with the tip that the node demands. Most is what a
	// transaction of ours can offer: less than Limit, so that an empty transaction can always replace it. All are in
	// wei.
	BaseFee, Most, Limit *big.Int
	// Waiting is the number of transactions that are sent and not mined.
	Waiting int
}

func (f FeeLimit) String() string {
	if f.Refused != "" {
		return fmt.Sprintf("the node has refused a transaction since %s, which is sent again with each block: %s; "+
			"%d wait", f.Since.UTC().Format("2006-01-02 15:04:05Z"), f.Refused, f.Waiting)
	}
	what := "no transaction goes through"
	if f.BaseFee.Cmp(f.Most) < 0 {
		what = "transactions are not mined although they offer the most that they may"
	}
	return fmt.Sprintf("%s since %s: gas costs %s gwei, and within the limit of %s gwei a transaction "+
		"can offer %s at most; %d wait", what, f.Since.UTC().Format("2006-01-02 15:04:05Z"),
		gwei(f.BaseFee), gwei(f.Limit), gwei(f.Most), f.Waiting)
}

func gwei(wei *big.Int) string {
	const digits, inGwei = 3, 1_000_000_000
	return new(big.Rat).SetFrac(wei, big.NewInt(inGwei)).FloatString(digits)
}

// mostFor is the highest price per gas that a transaction may offer. Only an empty transaction may
// use the whole limit, so that it can always replace another one that is too late.
func (f *fees) mostFor(noop bool) *big.Int {
	most := newBig(f.cfg.MaxFeeCapWei)
	if !noop {
		most.Div(most.Mul(most, big.NewInt(bumpDivisor)), big.NewInt(bumpFactor))
	}
	return most
}

// watchFees checks at each block whether the limit lets transactions through, and tells the
// operator when it no longer does: the base fee is above what we may offer, or a transaction offers
// all it may and is not mined. It does not matter whether a transaction waits now, because the next
// duty would be held up too.
func (f *fees) watchFees(head *rpc.Header, open []*intent) {
	most, base := f.mostFor(false), new(big.Int).Add(head.LeastPrice(), f.floorWei)
	now := FeeLimit{Since: time.Now(), BaseFee: base, Most: most, Limit: newBig(f.cfg.MaxFeeCapWei)}
	held := most.Cmp(maxBig(base, new(big.Int).Add(head.LeastPrice(), newBig(f.cfg.MinTipWei)))) < 0
	for _, in := range open {
		if in.sent() {
			now.Waiting++
		}
		held = held || in.warnedAt != 0
	}
	for _, in := range open {
		if r := in.refused; !held && r != nil && r.lasts {
			now.Refused, held = fmt.Sprintf("%v (%s)", r.why, in.key), true
		}
	}
	before := f.feeLimit.Load()
	switch {
	case !held:
		f.feeLimit.Store(nil)
	case before != nil:
		now.Since = before.Since
		f.feeLimit.Store(&now)
	default:
		f.feeLimit.Store(&now)
		f.log.Warnf("transactions: %s", now)
		if f.cfg.FeeLimited != nil {
			f.cfg.FeeLimited(now)
		}
	}
}

// FeeLimit says whether the limit on fees holds transactions up. It does not block.
func (m *Manager) FeeLimit() (FeeLimit, bool) {
	if now := m.fees.feeLimit.Load(); now != nil {
		return *now, true
	}
	return FeeLimit{}, false
}
