package nodetest

import (
	"encoding/json"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
)

// This file has faults of endpoints behind which there are several nodes, or one that has not caught up.

// LoadBalancer is an endpoint in front of several nodes, for Messages. It hands each message to one of them. One in
// three is some blocks behind, at most so many: its answers are true as of its own newest block, and know nothing
// above that. Transactions reach all of them.
func LoadBalancer(seed, most uint64) func() Fault {
	const oneIn = 3
	var mu sync.Mutex
	chance := rand.New(rand.NewPCG(seed, most))
	return func() Fault {
		mu.Lock()
		defer mu.Unlock()
		if chance.Uint64N(oneIn) > 0 {
			return func(r Request, node func(Request) Answer) Answer { return node(r) }
		}
		behind := 1 + chance.Uint64N(most)
		var newest uint64 // when the message came
		return func(r Request, node func(Request) Answer) Answer {
			if newest == 0 {
				newest = newestOf(node)
			}
			return (&lagging{node, newest - min(newest, behind)}).answer(r)
		}
	}
}

// newestOf is the number of a node's newest block.
func newestOf(node func(Request) Answer) (n uint64) {
	return numberIn(node(Request{Method: "eth_getBlockByNumber", Params: params("latest", false)}), "number")
}

func params(values ...any) (all []json.RawMessage) {
	for _, v := range values {
		all = append(all, encoded(v))
	}
	return all
}

// numberIn is a number in an object; 0: there is no object, or no number in it.
func numberIn(a Answer, name string) uint64 {
	var o block
	var n hexutil.Uint64
	if json.Unmarshal(a.Result, &o) != nil || json.Unmarshal(o[name], &n) != nil {
		return 0
	}
	return uint64(n)
}

// lagging is a node as it was when head was its newest block.
type lagging struct {
	node func(Request) Answer
	head uint64
}

func (l *lagging) answer(r Request) Answer {
	switch r.Method {
	case "eth_blockNumber":
		return r.Returns(string(encoded(hexutil.Uint64(l.head))))
	case "eth_getBlockByNumber", "eth_getBlockReceipts":
		return l.at(r, 0, r.Returns("null"))
	case "eth_getTransactionCount", "eth_getBalance", "eth_getCode", "eth_call", "eth_estimateGas":
		return l.at(r, 1, r.Fails(-32000, "header not found"))
	case "eth_getBlockByHash":
		if a := l.node(r); numberIn(a, "number") <= l.head {
			return a
		}
		return r.Returns("null")
	case "eth_getTransactionReceipt":
		if a := l.node(r); numberIn(a, "blockNumber") <= l.head {
			return a
		}
		return r.Returns("null")
	case "eth_getTransactionByHash":
		a := l.node(r)
		if numberIn(a, "blockNumber") > l.head { // It waits in the pool still.
			a.Result = altered(a.Result, []change{
				field("blockNumber", "null"), field("blockHash", "null"), field("transactionIndex", "null"),
			})
		}
		return a
	case "eth_getLogs":
		return l.logs(r)
	}
	return l.node(r)
}

// at answers a question about the block that a parameter names; unknown is the answer when this node does not have
// it.
func (l *lagging) at(r Request, position int, unknown Answer) Answer {
	which, ok := l.names(r.Param(position))
	if !ok {
		return unknown
	}
	if which != r.Param(position) {
		left := r.Params[min(position+1, len(r.Params)):]
		r.Params = append(append(r.Params[:position:position], json.RawMessage(which)), left...)
	}
	return l.node(r)
}

// names is what the honest node calls the block that a parameter names; false: this one does not have it.
func (l *lagging) names(which string) (string, bool) {
	var number hexutil.Uint64
	var by struct {
		Hash string `json:"blockHash"`
	}
	switch {
	case which == "" || which == `"latest"`:
		return string(encoded(hexutil.Uint64(l.head))), true
	case json.Unmarshal([]byte(which), &number) == nil:
		return which, uint64(number) <= l.head
	case json.Unmarshal([]byte(which), &by) == nil && by.Hash != "":
		found := l.node(Request{Method: "eth_getBlockByHash", Params: params(by.Hash, false)})
		return which, numberIn(found, "number") <= l.head
	}
	return which, true // Such as pending, of the pool that all have.
}

// logs are those up to the newest block: nodes do not say that a range goes beyond it.
func (l *lagging) logs(r Request) Answer {
	var filter block
	if len(r.Params) == 0 || json.Unmarshal(r.Params[0], &filter) != nil {
		return l.node(r)
	}
	if hash, of := filter["blockHash"]; of && string(hash) != "null" {
		if _, known := l.names(`{"blockHash":` + string(hash) + `}`); !known {
			return r.Fails(-32000, "unknown block")
		}
		return l.node(r)
	}
	if _, known := l.names(string(filter["fromBlock"])); !known {
		return r.Returns("[]")
	}
	if to, known := l.names(string(filter["toBlock"])); known {
		filter["toBlock"] = json.RawMessage(to)
	} else {
		filter["toBlock"] = encoded(hexutil.Uint64(l.head))
	}
	r.Params = []json.RawMessage{encoded(filter)}
	return l.node(r)
}

// ReceiptsRefused is a node that indexes transactions: for a while after the first question it gives no receipts, and
// then none of its newest blocks, and says so instead of null, while all else works.
func ReceiptsRefused(lasts time.Duration, newest uint64) Fault {
	end := sync.OnceValue(func() time.Time { return time.Now().Add(lasts) })
	return func(r Request, node func(Request) Answer) Answer {
		end := end()
		if r.Method != "eth_getTransactionReceipt" {
			return node(r)
		}
		a := node(r)
		mined := numberIn(a, "blockNumber")
		if time.Now().Before(end) || a.Error == nil && (mined == 0 || mined+newest > newestOf(node)) {
			return r.Fails(-32000, "transaction indexing is in progress")
		}
		return a
	}
}
