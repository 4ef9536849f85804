package chain

import (
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/hostnode/hostnode/events"
)

// transfer is a transfer of tokens.
type transfer struct {
	to     common.Address
	amount events.Amount
}

// anyRecipient stands for any recipient in transfers.
var anyRecipient common.Address

// transfers are the transfers of tokens between two addresses that are among the logs, in their
// order, and their sum.
func (m *Market) transfers(logs []*types.Log, from, to common.Address) (
	all []transfer, total events.Amount, err error,
) {
	for _, l := range logs {
		if l.Address != m.tokenAddress() {
			continue
		}
		e, err := m.abis.token.UnpackTransferEvent(l)
		if err != nil || e.From != from || to != anyRecipient && e.To != to {
			continue // Another event of the token, or of other addresses.
		}
		amount, err := events.AmountFromBig(e.Value)
		if err == nil {
			total, err = allMoved(total, amount)
		}
		if err != nil {
			return nil, events.Amount{}, err
		}
		all = append(all, transfer{e.To, amount})
	}
	return all, total, nil
}

// allMoved adds two amounts that a token claims to have moved.
func allMoved(a, b events.Amount) (events.Amount, error) {
	if events.MaxAmount().Sub(a).Less(b) {
		return a, fmt.Errorf("%w: token says it moved more than exists", events.ErrMalformed)
	}
	return a.Add(b), nil
}
