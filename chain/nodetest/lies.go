package nodetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
)

// Lie is a way in which a node can lie. New makes a fault with a state of its own.
type Lie struct {
	Name string
	New  func() Fault
}

// Rare says that a host may not ask the question for a while: each look at the chain shows the
// newest block, so there are few that it asks for by their hashes.
func (l Lie) Rare() bool { return l.Name == aboutHashes }

const aboutHashes = "each block by its hash has another one"

// Lies are all of them. Each is found out by comparing answers with questions, with what is
// possible, and with each other.
func Lies() []Lie {
	const far, calendar = 1<<64 - 2, 1 << 63
	return []Lie{
		{"the newest block is number 2^64-2", blocks(newest, number(func(uint64) uint64 { return far }))},
		{"each block has a number that is 1000 more", blocks(every, number(func(n uint64) uint64 { return n + 1000 }))},
		{"the newest block is 1000 ahead", blocks(newest, number(func(n uint64) uint64 { return n + 1000 }))},
		{"each block by its number is the one before it", askedFor("eth_getBlockByNumber", before)},
		{"no block follows on another", blocks(byNumber, parent(common.Hash{7}))},
		{aboutHashes, blocks(byHash, hash(common.Hash{9}))},
		{"no block has a hash", blocks(every, hash(common.Hash{}))},
		{"blocks are of a time that no calendar has", blocks(every, second(calendar))},
		{"a number has 300 bits", blocks(newest, field("number", `"0x1`+strings.Repeat("0", 75)+`"`))},
		{"a number is a word", blocks(newest, field("timestamp", `"yesterday"`))},
		{"logs are of other contracts", logs(field("address", `"0x`+strings.Repeat("ab", 20)+`"`))},
		{"logs are of other blocks", logs(
			field("blockNumber", `"0x1"`), field("blockHash", `"0x`+strings.Repeat("cd", 32)+`"`),
		)},
		{"contracts answer with ones", views(strings.Repeat("ff", 32))},
		{"calls get the answer to the call before", shifted()},
		{"receipts are of other transactions", receipts(field("transactionHash", `"0x`+strings.Repeat("ee", 32)+`"`))},
		{"receipts name more gas than the limit", receipts(field("gasUsed", `"0xffffffffffffffff"`))},
		{"receipts are of blocks that are far ahead", receipts(field("blockNumber", `"0xfffffffffffffffe"`))},
		{"the account has sent 2^63 transactions", answers("eth_getTransactionCount", `"0x8000000000000000"`)},
	}
}

// block is a block, a log or a receipt as JSON.
type block map[string]json.RawMessage

// change alters a block.
type change func(block)

func field(name, value string) change {
	return func(b block) { b[name] = json.RawMessage(value) }
}

func number(of func(uint64) uint64) change {
	return func(b block) {
		var n hexutil.Uint64
		if json.Unmarshal(b["number"], &n) == nil {
			b["number"] = json.RawMessage(fmt.Sprintf(`"0x%x"`, of(uint64(n))))
		}
	}
}

func hash(h common.Hash) change   { return field("hash", `"`+h.Hex()+`"`) }
func parent(h common.Hash) change { return field("parentHash", `"`+h.Hex()+`"`) }
func second(s uint64) change      { return field("timestamp", fmt.Sprintf(`"0x%x"`, s)) }

// The requests that are lied about. The genesis block is left out: it belongs to the node's
// identity.
func every(r Request) bool  { return byNumber(r) || byHash(r) || newest(r) }
func byHash(r Request) bool { return r.Method == "eth_getBlockByHash" }

func newest(r Request) bool {
	return r.Method == "eth_getBlockByNumber" && r.Param(0) == `"latest"`
}

func byNumber(r Request) bool {
	return r.Method == "eth_getBlockByNumber" && !newest(r) && r.Param(0) != `"0x0"` && r.Param(0) != `"finalized"`
}

func blocks(meant func(Request) bool, changes ...change) func() Fault {
	return func() Fault {
		return func(r Request, node func(Request) Answer) Answer {
			a := node(r)
			if meant(r) {
				a.Result = altered(a.Result, changes)
			}
			return a
		}
	}
}

// altered changes an object, or each object of a list, and leaves anything else as it is.
func altered(raw json.RawMessage, changes []change) json.RawMessage {
	var one block
	if json.Unmarshal(raw, &one) == nil && one != nil {
		for _, c := range changes {
			c(one)
		}
		return encoded(one)
	}
	var many []block
	if json.Unmarshal(raw, &many) == nil && len(many) > 0 {
		for _, b := range many {
			for _, c := range changes {
				c(b)
			}
		}
		return encoded(many)
	}
	return raw
}

func encoded(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // It was parsed from JSON.
	}
	return raw
}

// before asks for the block before.
func before(r Request) Request {
	var n hexutil.Uint64
	if !byNumber(r) || json.Unmarshal(r.Params[0], &n) != nil || n == 0 {
		return r
	}
	r.Params = append([]json.RawMessage{encoded(n - 1)}, r.Params[1:]...)
	return r
}

// askedFor answers another question than the one that was asked.
func askedFor(method string, other func(Request) Request) func() Fault {
	return func() Fault {
		return func(r Request, node func(Request) Answer) Answer {
			if r.Method == method {
				r = other(r)
			}
			return node(r)
		}
	}
}

func logs(changes ...change) func() Fault {
	return blocks(func(r Request) bool { return r.Method == "eth_getLogs" }, changes...)
}

func receipts(changes ...change) func() Fault {
	return blocks(func(r Request) bool { return r.Method == "eth_getTransactionReceipt" }, changes...)
}

// views replaces the answers of contracts.
func views(data string) func() Fault { return answers("eth_call", `"0x`+data+`"`) }

func answers(method, result string) func() Fault {
	return func() Fault {
		return func(r Request, node func(Request) Answer) Answer {
			a := node(r)
			if r.Method == method && a.Error == nil {
				a.Result = json.RawMessage(result)
			}
			return a
		}
	}
}

// shifted gives each call of a contract the answer of the one before it.
func shifted() func() Fault {
	return func() Fault {
		var mu sync.Mutex
		last := json.RawMessage(`"0x` + strings.Repeat("ff", 32) + `"`)
		return func(r Request, node func(Request) Answer) Answer {
			a := node(r)
			if r.Method != "eth_call" || a.Error != nil {
				return a
			}
			mu.Lock()
			defer mu.Unlock()
			a.Result, last = last, a.Result
			return a
		}
	}
}
