package tx

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ethereum/go-ethereum/common"

	"github.com/hostnode/hostnode/chain/rpc"
)

// Contract is what the manager must know of a contract that its account calls. Every field may be
// left unset.
type Contract struct {
	// Kinds are the kinds of calls that need special treatment, by the word that their keys begin
	// with. No two contracts may have a kind in common. A kind that is not listed is treated as
	// Kind{}.
	Kinds map[string]Kind
	// Refusals says what a revert means. The first contract that knows a revert decides.
	Refusals rpc.Refusals
	// IsHostCall recognises calls that only a host makes.
	IsHostCall func(to common.Address, input []byte) bool
	// InUse says what an account has in the contract, such as slots, when the record is new and
	// knows of nothing; empty: nothing.
	InUse func(ctx context.Context, c *rpc.Conn, account common.Address) (string, error)
}

// joined combines contracts into one.
func joined(contracts []Contract) (Contract, error) {
	all := Contract{Kinds: map[string]Kind{}}
	for _, c := range contracts {
		for kind := range c.Kinds {
			if _, twice := all.Kinds[kind]; twice || kind == gapKind {
				return all, fmt.Errorf(
					"two contracts have calls of kind %q: one must begin its keys with another word", kind)
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
		return slices.ContainsFunc(contracts, func(c Contract) bool {
			return c.IsHostCall != nil && c.IsHostCall(to, input)
		})
	}
	all.InUse = func(ctx context.Context, conn *rpc.Conn, account common.Address) (string, error) {
		var has []string
		for _, c := range contracts {
			if c.InUse == nil {
				continue
			}
			what, err := c.InUse(ctx, conn, account)
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
