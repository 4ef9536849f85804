package chain

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/hostnode/hostnode/chain/feed"
	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/events"
)

// TakenProofs are our proofs that the contract accepted for a slot, from period from on, as far
// back as the outbox goes: it outlives a crash, and an outage of the event store. Proofs under way
// are waited for until ctx ends. What became of those that the outbox does not know to be mined, the
// contract's log says: a missing receipt does not.
func (m *Market) TakenProofs(ctx context.Context, slot events.SlotID, from uint64) ([]events.TakenProof, error) {
	taken, err := do(ctx, m, m.txs.WithManager, "look for proofs of slot "+slot.Short(),
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
	if err != nil {
		return nil, err
	}
	sent, err := m.tx.Intents(fmt.Sprintf("proof:%s:", slot))
	if err != nil || len(sent) == 0 {
		return nil, err
	}
	config, err := m.Config(ctx)
	if err != nil {
		return nil, err
	}
	receipts, err := m.conn.MinedReceipts(ctx, hashes)
	if err != nil {
		return nil, err
	}
	t := takenProofs{slot: slot, from: from, seconds: uint64(config.Proofs.Period / time.Second)}
	for _, r := range receipts {
		if !rpc.Succeeded(r) { // Not there, or a reorganisation undid it.
			continue
		}
		if err := t.add(ctx, m.conn, r); err != nil {
			return nil, err
		}
	}
	var unknown []uint64 // periods
	for _, in := range sent {
		if period, ok := periodOf(in.Key, slot); ok && period >= from && !t.has(period) {
			unknown = append(unknown, period)
		}
	}
	if len(unknown) > 0 {
		err = m.addLogged(ctx, &t, slices.Min(unknown))
	}
	return t.taken, err
}

// takenProofs are proofs that the contract accepted for a slot, from a period on.
type takenProofs struct {
	slot          events.SlotID
	from, seconds uint64 // the first period, and how long one is
	taken         []events.TakenProof
}

func (t *takenProofs) has(period uint64) bool {
	return slices.ContainsFunc(t.taken, func(p events.TakenProof) bool { return p.Period == period })
}

// add adds one that was mined. The period that it counts for follows from its block, not from what it was sent for.
func (t *takenProofs) add(ctx context.Context, c *rpc.Conn, r *types.Receipt) error {
	receipt, err := c.InBlock(ctx, r)
	if err != nil {
		return err
	}
	if period := uint64(receipt.Block.Time.Unix()) / t.seconds; period >= t.from && !t.has(period) {
		t.taken = append(t.taken, events.TakenProof{Period: period, Receipt: receipt})
	}
	return nil
}

// addLogged adds what the contract's log has from a period on, and nobody else knew of.
func (m sending) addLogged(ctx context.Context, t *takenProofs, from uint64) error {
	head, err := m.conn.Latest(ctx)
	if err != nil {
		return err
	}
	s := feed.Search{
		Contract: m.contract, First: m.cfg.DeployedAt, Step: m.cfg.LogRange,
		Topics: [][]common.Hash{{m.abis.market.GetABI().Events["ProofSubmitted"].ID}},
		Since:  latest(events.Unix(from*t.seconds), head.Head().Time.Add(-receiptsKept)),
	}
	var in []common.Hash
	err = s.Back(ctx, m.conn, func(l *types.Log) (bool, error) {
		if e, err := m.abis.market.UnpackProofSubmittedEvent(l); err == nil && e.Id == t.slot {
			in = append(in, l.TxHash)
		}
		return false, nil
	})
	if err != nil {
		return err
	}
	for _, hash := range in {
		r, err := m.conn.MinedReceipt(ctx, hash)
		if err == nil {
			err = t.add(ctx, m.conn, r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
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
