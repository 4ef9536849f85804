package chain_test

import (
	"context"
	"math/big"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ethereum/go-ethereum/core/types"

	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
)

func TestEveryBumpIsAnEighthOnBothFeesAndStopsAtTheLimitUntilThatIsRaised(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	p := newPool(w)
	dir, store := t.TempDir(), storetest.NewMemory()
	cfg := w.config("host")
	cfg.StuckBlocks, cfg.MaxFeeCapWei = 1, 6_000_000_000
	log := newLog()
	cfg.Log = log.logger
	var told atomic.Int64
	cfg.FeeLimited = func(tx.FeeLimit) { told.Add(1) }
	m, err := w.dial(cfg, store, dir)
	if err != nil {
		t.Fatal(err)
	}
	call := callFor(w.request(), 0)
	p.set(func(p *pool) { p.takes = nothing })
	done := later(w, func(ctx context.Context) (events.Receipt, error) { return m.ReserveSlot(ctx, call) })
	w.sealUntilHolds("the limit is reached", func() bool { return log.has("fees.maxFeeGwei") })
	w.sealUntilHolds("the limit is told", func() bool { return told.Load() == 1 })
	if f, held := m.FeeLimit(); !held || f.Waiting != 1 || f.Limit.Cmp(newBig(cfg.MaxFeeCapWei)) != 0 {
		t.Fatalf("what a person would see: %v %+v", held, f)
	}
	before, count := len(p.seen(0)), p.count()
	w.sealUntilHolds("it is sent again and again", func() bool { return p.count() > count+5 })
	if n := len(p.seen(0)); n != before {
		t.Fatalf("%d attempts after the limit was reached, %d before", n, before)
	}
	if n := log.count("fees.maxFeeGwei"); n != 1 {
		t.Fatalf("%d warnings", n)
	}
	if n := told.Load(); n != 1 {
		t.Fatalf("the operator was told %d times", n)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	<-done
	cfg.MaxFeeCapWei *= 3
	m, err = w.dial(cfg, store, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	w.sealUntilHolds("it is offered for more", func() bool { return len(p.seen(0)) > before+1 })
	p.set(func(p *pool) { p.takes = everything })
	w.seal(1) // With this block everything is sent again.
	w.reserve(m, "host", call)
	all := p.seen(0)
	for i, tx := range all[1:] {
		if !eighthMore(tx.GasFeeCap(), all[i].GasFeeCap()) || !eighthMore(tx.GasTipCap(), all[i].GasTipCap()) {
			t.Fatalf("attempt %d offers %s and %s after %s and %s", i+1,
				tx.GasFeeCap(), tx.GasTipCap(), all[i].GasFeeCap(), all[i].GasTipCap())
		}
	}
}

func eighthMore(fee, before *big.Int) bool {
	return new(big.Int).Mul(fee, big.NewInt(1000)).Cmp(new(big.Int).Mul(before, big.NewInt(1125))) >= 0
}

// A base fee above the limit holds up everything, even duties that come later.
func TestABaseFeeAboveTheLimitIsToldOnceAndItsEndSeen(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	p := newPool(w)
	cfg := w.config("host")
	cfg.MaxFeeCapWei = 9_000_000_000
	var told atomic.Int64
	cfg.FeeLimited = func(f tx.FeeLimit) {
		told.Add(1)
		if text := f.String(); !strings.Contains(text, "no transaction goes through") ||
			!strings.Contains(text, "8.000 at most") || !strings.Contains(text, "0 wait") {
			t.Error(text)
		}
	}
	p.set(func(p *pool) { p.baseFee = newBig(8_000_000_000) })
	m, err := w.dial(cfg, storetest.NewMemory(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	w.sealUntilHolds("it is told", func() bool { return told.Load() > 0 })
	w.seal(3)
	p.set(func(p *pool) { p.baseFee = newBig(7_000_000_000) })
	w.sealUntilHolds("it is over", func() bool { _, held := m.FeeLimit(); return !held })
	if n := told.Load(); n != 1 {
		t.Fatalf("the operator was told %d times", n)
	}
}

func TestBaseFeeThatRisesTenfoldIsFollowedWithTheNextBlock(t *testing.T) {
	w := newWorld(t)
	w.fund("host")
	p := newPool(w)
	cfg := w.config("host")
	cfg.StuckBlocks = 1000
	m, err := w.dial(cfg, storetest.NewMemory(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	base := big.NewInt(10_000_000_000)
	call := callFor(w.request(), 0)
	p.set(func(p *pool) { p.takes, p.baseFee = nothing, base })
	done := later(w, func(ctx context.Context) (events.Receipt, error) { return m.ReserveSlot(ctx, call) })
	w.await("the first attempt", func() bool { return len(p.seen(0)) == 1 })
	w.seal(3)
	tenfold := new(big.Int).Mul(base, big.NewInt(10))
	p.set(func(p *pool) {
		p.baseFee = tenfold
		p.takes = func(tx *types.Transaction) bool { return tx.GasFeeCap().Cmp(tenfold) > 0 }
	})
	w.seal(1)
	w.await("an attempt that a block can take", func() bool {
		all := p.seen(0)
		return len(all) == 2 && all[1].GasFeeCap().Cmp(tenfold) > 0
	})
	if err := w.sealUntilDone(done); err != nil {
		t.Fatal(err)
	}
}
