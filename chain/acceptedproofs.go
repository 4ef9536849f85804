package chain

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/events"
)

// TakenProofs are our proofs that the contract accepted for a slot, from period from on, as far
// back as the outbox goes: it outlives a crash, and an outage of the event store. Proofs under way
// are waited for until ctx ends.
func (m *Market) TakenProofs(ctx context.Context, slot events.SlotID, from uint64) ([]events.TakenProof, error) {
	taken, err := perform(ctx, m, m.txs.During, "look for proofs of slot "+slot.Short(),
		func(ctx context.Context, m sending) ([]events.TakenProof, error) {
			return m.takenProofs(ctx, slot, from)
		})
	slices.SortStableFunc(taken, func(x, y events.TakenProof) int { return cmp.Compare(x.Period, y.Period) })
	return taken, err
}

func (m sending) takenProofs(ctx context.Context, slot events.SlotID, from uint64) ([]events.TakenProof, error) {
	hashes, err := m.tx.Succeeded(ctx, func(base string) bool {
		period, ok := periodOf(base, slot)
		return ok && period >= from
	})
	if err != nil || len(hashes) == 0 {
		return nil, err
	}
	config, err := m.Config(ctx)
	if err != nil {
		return nil, err
	}
	seconds := uint64(config.Proofs.Period / time.Second)
	receipts, err := m.conn.Receipts(ctx, hashes)
	if err != nil {
		return nil, err
	}
	var taken []events.TakenProof
	for _, r := range receipts {
		if !rpc.Succeeded(r) { // A reorganisation undid it.
			continue
		}
		receipt, err := m.conn.InBlock(ctx, r)
		if err != nil {
			return nil, err
		}
		// The period that it counts for follows from its block, not from what it was sent for.
		taken = append(taken, events.TakenProof{
			Period: uint64(receipt.Block.Time.Unix()) / seconds, Receipt: receipt,
		})
	}
	return taken, nil
}

// periodOf reads the period from the key of a proof of the slot.
func periodOf(base string, slot events.SlotID) (uint64, bool) {
	rest, ok := strings.CutPrefix(base, fmt.Sprintf("proof:%s:", slot))
	if !ok {
		return 0, false
	}
	number, _, _ := strings.Cut(rest, ":")
	period, err := strconv.ParseUint(number, 10, 64)
	return period, err == nil
}
