package tx

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/ethereum/go-ethereum/common"

	"github.com/hostnode/hostnode/chain/rpc"
)

// Contract is what the manager must know of a contract that its account calls. What is not set
// has nothing to say.
type Contract struct {
	// Kinds are those of its calls of which the manager must know something, by the word with
	// which their keys begin; no two contracts have one in common. Any other kind has no needs.
	Kinds map[string]Kind
	// Refusals says what a revert means. Of several contracts the first that knows it counts.
	Refusals rpc.Refusals
	// IsHostCall says that only a host makes a call.
	IsHostCall func(to common.Address, input []byte) bool
	// InUse says what the contract has of this account, of which a new record knows
	// nothing; empty: nothing.
	InUse func(context.Context) (string, error)
}

// joined is several contracts as one.
func joined(contracts []Contract) (Contract, error) {
	all := Contract{Kinds: map[string]Kind{}}
	for _, c := range contracts {
		for kind := range c.Kinds {
			if _, taken := all.Kinds[kind]; taken || kind == gapKind {
				return all, fmt.Errorf("two contracts have calls of kind %q: their keys must begin otherwise", kind)
			}
		}
		maps.Copy(all.Kinds, c.Kinds)
	}
	all.Refusals = func(to common.Address, data []byte) (known bool, refusal error) {
		for _, c := range contracts {
			if c.Refusals == nil {
				continue
			}
			if known, refusal = c.Refusals(to, data); known {
				return true, refusal
			}
		}
		return false, nil
	}
	all.IsHostCall = func(to common.Address, input []byte) bool {
		for _, c := range contracts {
			if c.IsHostCall != nil && c.IsHostCall(to, input) {
				return true
			}
		}
		return false
	}
	all.InUse = func(ctx context.Context) (string, error) {
		var has []string
		for _, c := range contracts {
			if c.InUse == nil {
				continue
			}
			what, err := c.InUse(ctx)
			if err != nil {
				return "", err
			}
			if what != "" {
				has = append(has, what)
			}
		}
		return strings.Join(has, "; "), nil
	}
	return all, nil
}
