package provider

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/hostnode/hostnode/chain/contracts"
	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/events"
)

// DutiesDue says by when the earliest proof of possession that is owed and not handed in must be mined, in
// chain time; zero: none is. It does not block; the last word counts, until its time has passed.
func (c *Chain) DutiesDue(next time.Time) { c.txs.DutiesDue(kindPossession, next) }

// ProvePossession proves sectors of one partition in its window. ErrInvalidProof, ErrSectorNotDue,
// ErrSectorNotLive, ErrTooEarly; ErrDeadlinePassed (nothing is sent or mined after the window). Those
// that are proven in that period already are left out.
func (c *Chain) ProvePossession(ctx context.Context, call events.PossessionCall) (events.Receipt, error) {
	subject := fmt.Sprintf("%d.%d.%d", call.Period, call.Deadline, call.Partition)
	doing := fmt.Sprintf("prove sectors %s in deadline %d of period %d", list(call.Numbers), call.Deadline, call.Period)
	p := purpose{kind: kindPossession, subject: subject, key: call.Key}
	return c.act(ctx, doing, p, c.ofSectors(call.Numbers,
		func(ctx context.Context, head *rpc.Header, all []events.SectorOnChain) (*message, events.Receipt, error) {
			return c.possession(ctx, head, all, call)
		}))
}

func (c *Chain) possession(
	ctx context.Context, head *rpc.Header, sectors []events.SectorOnChain, call events.PossessionCall,
) (*message, events.Receipt, error) {
	none := events.Receipt{}
	if len(call.Numbers) != len(call.Proofs) || len(call.Numbers) == 0 || call.Deadline >= c.config.Deadlines {
		return nil, none, fmt.Errorf("%w: %d proofs of %d sectors in deadline %d of %d",
			events.ErrMalformed, len(call.Proofs), len(call.Numbers), call.Deadline, c.config.Deadlines)
	}
	var numbers []uint64
	var proofs [][]byte
	var depths []int
	for i, s := range sectors {
		if s.Active && s.NextPeriod > call.Period {
			continue // Proven, or the window is over.
		}
		numbers, proofs = append(numbers, call.Numbers[i]), append(proofs, call.Proofs[i])
		depths = append(depths, depthOf(max(s.Size, 64)))
	}
	w := c.window(call.Period, call.Deadline)
	switch {
	case len(numbers) == 0:
		r, err := c.proven(ctx, call, w)
		return nil, r, err
	case uint64(head.Number) < w.Opens:
		return nil, none, fmt.Errorf("%w: the window opens with block %d", events.ErrTooEarly, w.Opens)
	}
	return &message{
		data: c.abi.PackProvePossession(call.Deadline, call.Partition, numbers, proofs),
		gas:  c.cfg.Gas.possession(depths, c.config.DailyLeaves), parts: len(numbers),
		lastBlock: w.Closes - 1,
	}, none, nil
}

// proven is the receipt of the newest message that proved some of these sectors in a window.
// ErrDeadlinePassed when one of them was missed.
func (c *Chain) proven(ctx context.Context, call events.PossessionCall, w events.SectorWindow) (events.Receipt, error) {
	missed := slices.Clone(call.Numbers)
	var in common.Hash
	err := c.search(ctx, w.Period, w.Opens, func(e contracts.SectorEvent, l *types.Log) bool {
		p, ok := e.(*bindings.SectorProviderProven)
		if !ok || p.Deadline != call.Deadline {
			return false
		}
		before := len(missed)
		missed = slices.DeleteFunc(missed, func(n uint64) bool { return slices.Contains(p.Numbers, n) })
		if in == (common.Hash{}) && len(missed) < before {
			in = l.TxHash
		}
		return len(missed) == 0
	}, "Proven")
	if err == nil && len(missed) > 0 {
		err = fmt.Errorf("%w: sectors %s were not proven in it", events.ErrDeadlinePassed, list(missed))
	}
	if err != nil {
		return events.Receipt{}, err
	}
	return c.receipt(ctx, in)
}

// DeclareFaults says that sectors cannot be proven, and takes back promises to recover. What is told too
// late counts from the next window on. ErrSectorNotLive.
func (c *Chain) DeclareFaults(ctx context.Context, key string, numbers []uint64) (events.Receipt, error) {
	return c.declare(ctx, key, numbers, declaration{
		kind: kindFaults, doing: "declare faults",
		needed: func(s events.SectorOnChain) bool { return !s.Faulty || promised(s) },
		names:  []string{"FaultDeclared", "Missed"}, pack: c.abi.PackDeclareFaults,
		// A miss that nobody settled yet has no log; the message settles it.
		orSend: true,
	})
}

// DeclareRecoveries says that faulty sectors will be proven in their next window. ErrSectorNotLive.
func (c *Chain) DeclareRecoveries(ctx context.Context, key string, numbers []uint64) (events.Receipt, error) {
	return c.declare(ctx, key, numbers, declaration{
		kind: kindRecoveries, doing: "declare recoveries",
		needed: func(s events.SectorOnChain) bool { return s.Faulty && !promised(s) },
		names:  []string{"RecoveryDeclared", "Recovered"}, pack: c.abi.PackDeclareRecoveries,
	})
}

// promised says that a faulty sector's recovery is declared, and its window to come.
func promised(s events.SectorOnChain) bool { return s.RecoverAt > 0 && s.RecoverAt >= s.NextPeriod }

// declaration is what DeclareFaults and DeclareRecoveries differ in.
type declaration struct {
	kind, doing string
	needed      func(events.SectorOnChain) bool
	names       []string // of what the contract says when it was told
	pack        func([]uint64) []byte
	orSend      bool // also when it knows, and has not said so
}

// declare tells the contract of sectors. What several of them want, in whatever composition, is one purpose: so nothing
// is declared twice while it is under way, also after a crash.
func (c *Chain) declare(ctx context.Context, key string, numbers []uint64, d declaration) (events.Receipt, error) {
	if len(numbers) == 0 {
		return events.Receipt{}, nil
	}
	doing, p := d.doing+" of sectors "+list(numbers), purpose{kind: d.kind, subject: "all", key: key}
	return c.act(ctx, doing, p, c.ofSectors(numbers,
		func(ctx context.Context, head *rpc.Header, all []events.SectorOnChain) (*message, events.Receipt, error) {
			var tell []uint64
			for i, s := range all {
				if !s.Active {
					return nil, events.Receipt{}, fmt.Errorf("sector %d: %w", numbers[i], events.ErrSectorNotLive)
				}
				if d.needed(s) {
					tell = append(tell, numbers[i])
				}
			}
			if len(tell) == 0 {
				e, r, err := c.said(ctx, numbers[0], all[0].Activation, d.names...)
				if err != nil || e != nil || !d.orSend {
					return nil, r, err
				}
				tell = numbers
			}
			return &message{
				data: d.pack(tell), gas: c.cfg.Gas.declare(len(tell)), parts: len(tell),
				lastBlock: uint64(head.Number) + c.config.PeriodBlocks, // It is about their next window.
			}, events.Receipt{}, nil
		}))
}
