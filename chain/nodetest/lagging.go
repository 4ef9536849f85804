package nodetest

import (
	"encoding/json"
	"slices"

	"github.com/ethereum/go-ethereum/common/hexutil"
)

// Lagging is what is behind the one address of a load balancer: a call is answered by the node, or, if lags
// says so when it is asked, by another one that is so many blocks behind. That one answers a search for logs
// with what it has.
func Lagging(blocks uint64, lags func() bool) Fault {
	return func(r Request, node func(Request) Answer) Answer {
		if !lags() {
			return node(r)
		}
		var top hexutil.Uint64
		if a := node(Request{ID: r.ID, Method: "eth_blockNumber"}); json.Unmarshal(a.Result, &top) != nil {
			return a
		}
		return behind(r, node, top-min(top, hexutil.Uint64(blocks)))
	}
}

// behind answers as a node does whose newest block has that number.
func behind(r Request, node func(Request) Answer, newest hexutil.Uint64) Answer {
	switch r.Method {
	case "eth_blockNumber":
		return r.Returns(string(encoded(newest)))
	case "eth_getBlockByNumber", "eth_getTransactionCount", "eth_call", "eth_getBalance", "eth_getCode":
		at := 0
		if r.Method != "eth_getBlockByNumber" {
			at = 1
		}
		if r.Param(at) == `"latest"` {
			r.Params = slices.Clone(r.Params)
			r.Params[at] = encoded(newest)
		} else if numberOf(r.Param(at), node) > newest {
			if at == 0 {
				return r.Returns("null")
			}
			return r.Fails(-32000, "header not found")
		}
	case "eth_getBlockByHash", "eth_getTransactionReceipt", "eth_getTransactionByHash":
		a := node(r)
		var in struct{ Number, BlockNumber hexutil.Uint64 }
		if json.Unmarshal(a.Result, &in) == nil && max(in.Number, in.BlockNumber) > newest {
			return r.Returns("null")
		}
		return a
	case "eth_getLogs":
		return logsUpTo(r, node, newest)
	}
	return node(r)
}

// numberOf is the number of the block that a parameter names; 0: none.
func numberOf(param string, node func(Request) Answer) (number hexutil.Uint64) {
	var named struct {
		BlockHash json.RawMessage
		Number    hexutil.Uint64
	}
	if json.Unmarshal([]byte(param), &number) == nil || json.Unmarshal([]byte(param), &named) != nil {
		return number
	}
	a := node(Request{Method: "eth_getBlockByHash", Params: []json.RawMessage{named.BlockHash, encoded(false)}})
	_ = json.Unmarshal(a.Result, &named) // No block: then the node itself refuses the call.
	return named.Number
}

func logsUpTo(r Request, node func(Request) Answer, newest hexutil.Uint64) Answer {
	var filter map[string]json.RawMessage
	if json.Unmarshal(r.Params[0], &filter) != nil {
		return node(r)
	}
	if _, byHash := filter["blockHash"]; byHash {
		if numberOf(r.Param(0), node) > newest {
			return r.Fails(-32000, "unknown block")
		}
		return node(r)
	}
	var from, to hexutil.Uint64
	_ = json.Unmarshal(filter["fromBlock"], &from) // Our own client wrote them.
	_ = json.Unmarshal(filter["toBlock"], &to)
	if from > newest {
		return r.Returns("[]")
	}
	filter["toBlock"] = encoded(min(to, newest))
	r.Params = []json.RawMessage{encoded(filter)}
	return node(r)
}
