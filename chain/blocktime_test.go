package chain_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/hostnode/hostnode/chain/nodetest"
	"github.com/hostnode/hostnode/events/storetest"
)

// timesOf gives blocks the timestamps that a function of their number returns, in seconds.
func timesOf(at func(number uint64) uint64) nodetest.Fault {
	return func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
		a := node(r)
		var block map[string]any
		if r.Method != "eth_getBlockByNumber" || json.Unmarshal(a.Result, &block) != nil || block == nil {
			return a
		}
		number := hexutil.MustDecodeUint64(block["number"].(string))
		block["timestamp"] = hexutil.EncodeUint64(at(number))
		a.Result, _ = json.Marshal(block)
		return a
	}
}

func everySeconds(n uint64) func(uint64) uint64 {
	return func(number uint64) uint64 { return 1_900_000_000 + number*n }
}

func TestBlockTimeIsMeasuredAtTheStartAndWhileTheHostRuns(t *testing.T) {
	w := newWorld(t)
	w.seal(130)
	head := w.chain.Head().Number
	for name, tc := range map[string]struct {
		at   func(uint64) uint64
		want time.Duration // 0: not known
	}{
		"a block a second":        {everySeconds(1), time.Second},
		"as on Ethereum":          {everySeconds(12), 12 * time.Second},
		"four a second":           {func(n uint64) uint64 { return 1_900_000_000 + n/4 }, 250 * time.Millisecond},
		"twenty a second":         {func(n uint64) uint64 { return 1_900_000_000 + (n+2010-head)/20 }, 46875 * time.Microsecond},
		"and four new seconds":    {func(n uint64) uint64 { return 1_900_000_000 + (n+2000-head)/20 }, 62500 * time.Microsecond},
		"after a pause of a day":  {func(n uint64) uint64 { return 1_900_000_000 + n*2 + 86_400*min(1, n/(head-20)) }, 2 * time.Second},
		"all of the same second":  {everySeconds(0), 0},
		"time goes back":          {func(n uint64) uint64 { return 1_900_000_000 - n }, 0},
		"longer than is believed": {everySeconds(7200), time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			w.t = t
			w.gate.has(timesOf(tc.at))
			defer w.gate.has(nil)
			said := &logLines{}
			cfg := w.config("host")
			cfg.Log = said.log()
			m, err := w.dial(cfg, storetest.NewMemory(), t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = m.Close() }()
			if got, known := m.BlockTime(); got != tc.want || known != (tc.want > 0) {
				t.Fatalf("blocks are %s apart, known: %v; want %s", got, known, tc.want)
			}
			if told := said.says("the block time is", "measured"); told != (tc.want > 0) {
				t.Fatalf("the log says what is used: %v", told)
			}
		})
	}
	w.t, w.markets = t, nil
	w.fund("host")
	m := w.host("host", t.TempDir(), storetest.NewMemory())
	if got, _ := m.BlockTime(); got != time.Second {
		t.Fatalf("blocks are %s apart", got)
	}
	w.gate.has(timesOf(everySeconds(7)))
	w.seal(64)
	w.await("the new pace is measured", func() bool { got, _ := m.BlockTime(); return got == 7*time.Second })
}

func TestBlockTimeThatIsSetIsNotMeasured(t *testing.T) {
	w := newWorld(t)
	said := &logLines{}
	cfg := w.config("host")
	cfg.Log, cfg.BlockTime = said.log(), 3*time.Second
	w.gate.has(timesOf(everySeconds(12)))
	m, err := w.dial(cfg, storetest.NewMemory(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.Close() }()
	if got, known := m.BlockTime(); got != 3*time.Second || !known || !said.says("is 3s", "chain.blockTime") {
		t.Fatalf("blocks are %s apart, known: %v; or nobody was told that it was set", got, known)
	}
}
