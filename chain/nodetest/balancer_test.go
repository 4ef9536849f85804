package nodetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
)

// newestBlock is the newest one of a node whose blocks have their number as hash, and one receipt each.
const newestBlock = 100

func scripted(r Request) Answer {
	var n hexutil.Uint64
	named := strings.Contains(strings.Join([]string{r.Param(0), r.Param(1)}, " "), "0x")
	for _, p := range r.Params {
		_ = json.Unmarshal(p, &n)
	}
	if r.Param(0) == `"latest"` || r.Param(1) == `"latest"` || !named {
		n = newestBlock
	}
	switch r.Method {
	case "eth_getTransactionReceipt":
		return r.Returns(fmt.Sprintf(`{"blockNumber":"%v"}`, n))
	case "eth_getTransactionCount", "eth_getLogs":
		return r.Returns(fmt.Sprintf(`["%v",%s]`, n, encoded(r.Params)))
	}
	return r.Returns(fmt.Sprintf(`{"number":"%v"}`, n))
}

// Each message is answered by a node that is 0 to 3 blocks behind, and all of them occur.
func TestAnswersBehindALoadBalancerAreOfNodesThatLag(t *testing.T) {
	balancer := LoadBalancer(7, 3)
	for _, asked := range []struct {
		method string
		params []any
		want   []string
	}{
		{"eth_getBlockByNumber", []any{"latest", false}, []string{"0x64", "0x63", "0x62", "0x61"}},
		{"eth_getBlockByNumber", []any{"0x63", false}, []string{"0x63", "null"}},
		{"eth_getBlockByHash", []any{"0x62", false}, []string{"0x62", "null"}},
		{"eth_getTransactionCount", []any{"a", "latest"}, []string{`["0x64"`, `["0x63"`, `["0x62"`, `["0x61"`}},
		{"eth_getTransactionCount", []any{"a", "0x62"}, []string{`["0x62"`, "header not found"}},
		{"eth_getTransactionReceipt", []any{"0x64"}, []string{"0x64", "null"}},
		{"eth_call", []any{"a", map[string]string{"blockHash": "0x64"}}, []string{"number", "header not found"}},
		{
			"eth_getLogs",
			[]any{map[string]string{"fromBlock": "0x1", "toBlock": "0x64"}},
			[]string{`"toBlock":"0x64"`, `"toBlock":"0x63"`, `"toBlock":"0x62"`, `"toBlock":"0x61"`},
		},
		{"eth_getLogs", []any{map[string]string{"fromBlock": "0x64", "toBlock": "0x64"}}, []string{`"toBlock":"0x64"`, "[]"}},
	} {
		seen := map[string]bool{}
		for range 100 {
			a := balancer()(Request{Method: asked.method, Params: params(asked.params...)}, scripted)
			text, found := string(encoded(a)), false
			for _, want := range asked.want {
				if strings.Contains(text, want) && !found {
					seen[want], found = true, true
				}
			}
			if !found {
				t.Errorf("%s %v: %s", asked.method, asked.params, text)
			}
		}
		if len(seen) != len(asked.want) {
			t.Errorf("%s %v: only %v", asked.method, asked.params, seen)
		}
	}
}

func TestReceiptsAreRefusedForAWhileAndThenOfTheNewestBlocks(t *testing.T) {
	receipt := func(f Fault, block string) Answer {
		return f(Request{Method: "eth_getTransactionReceipt", Params: params(block)}, scripted)
	}
	later := ReceiptsRefused(0, 3)
	if a := receipt(later, "0x61"); a.Error != nil {
		t.Errorf("an old one is refused: %v", a.Error)
	}
	if a := receipt(later, "0x62"); a.Error == nil {
		t.Error("a new one is not refused")
	}
	if a := receipt(ReceiptsRefused(time.Hour, 0), "0x61"); a.Error == nil {
		t.Error("at first an old one is not refused")
	}
}
