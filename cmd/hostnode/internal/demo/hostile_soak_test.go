//go:build soak && !race

package demo

import (
	"flag"
	"runtime"
	"testing"
	"time"

	"github.com/hostnode/hostnode/chain/nodetest"
)

var (
	hostileBeat = flag.Duration("beat", 150*time.Millisecond, "the time from block to block, by the machine's clock")
	manySealed  = flag.Int("many", 300, "how many sectors are proven beside slots")
)

// TestHostileChain is `make hostile-chain`: a sale and 20 sectors over each hostility alone.
func TestHostileChain(t *testing.T) {
	modes := []hostile{
		{name: "an honest node"},
		{name: "a load balancer whose nodes lag", each: nodetest.LoadBalancer(1, blocksLate)},
		{name: "no receipts at first, and none of the newest blocks", each: is(
			nodetest.ReceiptsRefused(100**hostileBeat, 8),
		)},
		{name: "a chain without a base fee", each: is(nodetest.WithoutBaseFee())},
		{name: "a chain that counts data in gas", each: is(nodetest.DataInGas(func() uint64 { return 500 }))},
		// A quarter of a block's time away, as a node on another continent is where blocks are a second apart.
		{name: "250 ms away", away: 250 * time.Millisecond, beat: time.Second},
	}
	for _, c := range nodetest.Clients() {
		modes = append(modes, hostile{
			name: "a floor for tips in the words of " + c.Name, each: is(nodetest.Stack(c.Speaks(), nodetest.Floor(tipFloor))),
		})
	}
	for _, h := range modes {
		t.Run(h.name, func(t *testing.T) {
			h.beat = max(h.beat, *hostileBeat)
			h.period, h.periods, h.sectors, h.windows = time.Minute, 1, 20, 3
			h.run(t)
		})
	}
}

// TestManySectors is `make many-sectors`: on two processors, and with a block each second whatever they compute, no
// sector is faulty in ten periods, and no slot's proof is missed.
func TestManySectors(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	hostile{
		name: "many sectors", beat: time.Second, busy: true, period: 2 * time.Minute, periods: 5, slots: 20, sectors: *manySealed, windows: 10,
	}.run(t)
}
