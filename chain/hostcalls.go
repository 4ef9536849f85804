package chain

import (
	"context"
	"fmt"

	"github.com/ethereum/go-ethereum/common"

	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/events"
)

// slotsOfOthers says which slots the contract counts as ours when the record has none.
func (m *Market) slotsOfOthers(ctx context.Context, _ *rpc.Conn, _ common.Address) (string, error) {
	head, err := m.conn.Latest(ctx)
	if err != nil {
		return "", fmt.Errorf("read own slots: %w", err)
	}
	slots, err := m.mySlotsAt(ctx, head.Hash)
	if err != nil || len(slots) == 0 {
		return "", err
	}
	return fmt.Sprintf("account %s hosts %d slots, and the record of this data directory, which is new, knows of none "+
		"of its transactions", m.Account(), len(slots)), nil
}

// hostCalls are the selectors of calls that only hosts and validators make.
func hostCalls(a abis) map[string]bool {
	calls := map[string]bool{}
	var none [32]byte
	var nobody common.Address
	for _, call := range [][]byte{
		a.market.PackReserveSlot(none, 0), a.market.PackFillSlot(none, 0, proofTo(events.Proof{})),
		a.market.PackSubmitProof(none, proofTo(events.Proof{})), a.market.PackFreeSlot(none),
		a.market.PackFreeSlotTo(none, nobody, nobody), a.market.PackMarkProofAsMissing(none, 0),
	} {
		calls[string(call[:selectorBytes])] = true
	}
	return calls
}

const selectorBytes = 4

// isHostCall says that only a host or a validator makes a call.
func (m *Market) isHostCall() func(to common.Address, input []byte) bool {
	calls := hostCalls(m.abis)
	return func(to common.Address, input []byte) bool {
		return to == m.contract && len(input) >= selectorBytes && calls[string(input[:selectorBytes])]
	}
}
