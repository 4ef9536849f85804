package chain

import (
	"context"
	"fmt"

	"github.com/ethereum/go-ethereum/common"

	"github.com/hostnode/hostnode/chain/contracts"
	"github.com/hostnode/hostnode/chain/rpc"
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

// isHostCall says that only a host or a validator makes a call.
func (m *Market) isHostCall() func(to common.Address, input []byte) bool {
	return contracts.CallsOf(m.contract, m.abis.market.GetABI(),
		"reserveSlot", "fillSlot", "submitProof", "freeSlot", "freeSlot0", "markProofAsMissing")
}
