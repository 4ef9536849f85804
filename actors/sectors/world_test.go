package sectors_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hostnode/hostnode/events"
)

// world is what outlives a host: a chain, a sealer with its files, and what both were asked. Each
// call is a point at which a test may end the host.
type world struct {
	mu      sync.Mutex
	head    uint64
	cfg     events.SectorConfig
	onchain map[uint64]*events.SectorOnChain
	mined   map[string]events.Receipt
	effects map[string]int             // what changed the chain, by kind and sector
	keys    map[string]map[string]bool // under which they were asked for
	stale   uint64                     // nodes know nothing, and are at this block
	missed  int                        // windows that a sector owed and nobody proved
	// owed is what the contract owes the account, paid what it has paid.
	owed, paid events.Amount
	payments   map[string]events.Amount // by the key of the message
	// tooEarly counts proofs that came before the first block of their window.
	tooEarly int
	asked    []int  // sizes of the batches that the chain was asked for
	forked   uint64 // changes the hashes of blocks
	// tellsPast: of a sector that is over the contract says what it was, too.
	tellsPast bool
	due       []time.Time // by when a proof was announced
	// verifies is how the contract judges a proof; nil: by proofOf.
	verifies func(domain string, on events.SectorOnChain, n uint64, about events.Hash, proof []byte) bool
	settled  map[uint64]events.SectorSettlement // the newest
	loses    bool                               // declarations of faults are mined, and then taken back for good
	refuses  map[uint64]bool                    // sectors whose proofs of possession the contract refuses

	files   map[uint64]map[string][]byte // by sector: what each step left
	made    map[string]int               // work of the sealer, by step and sector
	damaged map[uint64]bool
	pieces  []events.SectorPiece // files of pieces
	scrub   events.SectorScrub
	lies    map[string]bool // steps that answer wrongly
	hang    map[string]chan struct{}
	deaf    bool             // a hanging call ignores its cancellation
	gone    map[string]error // what is away: "chain", or a step of the sealer

	// point is called before and after the effect of each call; an error ends the call.
	point func(name string) error
	calls []string
}

func newWorld() *world {
	return &world{
		head: 100,
		cfg: events.SectorConfig{
			TicketLookback: 1, TicketValid: 60, ChallengeDelay: 3, SeedValid: 50, CommitDue: 80, MinLife: 10,
			MaxLife: 2_000_000, PeriodBlocks: 40, Deadlines: 2, FaultCutoff: 2, PartitionSize: 1000,
			SealLeaves: 4, DailyLeaves: 2, MaxFaultPeriods: 10, DepositPerByte: events.NewAmount(1),
		},
		onchain: map[uint64]*events.SectorOnChain{}, mined: map[string]events.Receipt{}, effects: map[string]int{},
		keys: map[string]map[string]bool{}, payments: map[string]events.Amount{},
		files: map[uint64]map[string][]byte{}, made: map[string]int{}, damaged: map[uint64]bool{},
		settled: map[uint64]events.SectorSettlement{}, refuses: map[uint64]bool{}, lies: map[string]bool{}, hang: map[string]chan struct{}{}, gone: map[string]error{},
		point: func(string) error { return nil },
	}
}

func (w *world) block(n uint64) events.Head {
	return events.Head{Number: n, Hash: hashOf("block", n, w.forked), Time: time.Unix(int64(n*12), 0)}
}

func hashOf(parts ...any) (h events.Hash) {
	copy(h[:], fmt.Appendf(nil, "%032x", fnv64(fmt.Sprint(parts...))))
	return h
}

func fnv64(s string) (h uint64) {
	h = 14695981039346656037
	for _, b := range []byte(s) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return h
}

// mine makes a block, and marks what was owed in a window that ends with it.
func (w *world) mine() events.Head {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.window()
	w.head++
	for _, on := range w.onchain {
		if on.PreCommitted && w.head > on.PreCommitEpoch+w.cfg.CommitDue {
			on.PreCommitted, on.Void = false, true
		}
	}
	if after := w.window(); after.Deadline != before.Deadline {
		for _, on := range w.onchain {
			if on.Active && !on.Terminated && on.Deadline == before.Deadline && on.NextPeriod <= before.Period {
				if !on.Faulty {
					w.missed++
					on.Faulty, on.FaultyFrom = true, before.Period
				}
				on.NextPeriod = before.Period + 1
			}
		}
	}
	return w.block(w.head)
}

func (w *world) window() events.SectorWindow {
	next, length := w.head+1, w.cfg.PeriodBlocks/w.cfg.Deadlines
	opens := next / length * length
	return events.SectorWindow{
		Period: next / w.cfg.PeriodBlocks, Deadline: next % w.cfg.PeriodBlocks / length,
		Opens: opens, Closes: opens + length, Randomness: hashOf("window", opens, w.forked),
	}
}

// call is one call: it may be held, refused, or end the host, before and after its effect.
func (w *world) call(ctx context.Context, name string, effect func() error) error {
	w.mu.Lock()
	w.calls = append(w.calls, name)
	hang, gone, point, done := w.hang[name], w.gone[name], w.point, ctx.Done()
	if w.deaf {
		done = nil
	}
	w.mu.Unlock()
	if err := point("before " + name); err != nil {
		return err
	}
	if hang != nil {
		select {
		case <-hang:
		case <-done:
			return context.Cause(ctx)
		}
	}
	if gone != nil {
		return gone
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	w.mu.Lock()
	err := effect()
	w.mu.Unlock()
	return errors.Join(err, point("after "+name))
}

// chain is the provider's contract.
type chain struct{ *world }

var errNoNode = errors.New("no node answers")

func (c chain) ask(ctx context.Context, name string, effect func() error) error {
	c.mu.Lock()
	gone := c.gone["chain"]
	c.mu.Unlock()
	if gone != nil {
		return gone
	}
	return c.call(ctx, name, effect)
}

func (c chain) Account() events.Address { return me }

func (c chain) Config(ctx context.Context) (events.SectorConfig, error) {
	return c.cfg, c.ask(ctx, "Config", func() error { return nil })
}

func (c chain) Head(ctx context.Context) (h events.Head, err error) {
	return h, c.ask(ctx, "Head", func() error { h = c.block(c.head); return nil })
}

func (c chain) Final(ctx context.Context, number uint64) (bool, error) {
	h, err := c.Head(ctx)
	return err == nil && h.Number >= number+4, err
}

func (c chain) Ticket(ctx context.Context, n uint64) (v events.Hash, epoch uint64, err error) {
	err = c.ask(ctx, "Ticket", func() error {
		epoch = c.head - c.cfg.TicketLookback
		v = hashOf("ticket", epoch, n)
		return nil
	})
	return v, epoch, err
}

func (c chain) Sector(ctx context.Context, n uint64) (events.SectorOnChain, error) {
	var on events.SectorOnChain
	err := c.ask(ctx, "Sector", func() error { on = c.see(n); return nil })
	return on, err
}

func (c chain) see(n uint64) (on events.SectorOnChain) {
	if known := c.onchain[n]; known != nil {
		on = *known
	}
	on.Block = c.block(c.head)
	return on
}

func (c chain) Sectors(ctx context.Context, numbers []uint64) (all []events.SectorOnChain, err error) {
	return all, c.ask(ctx, "Sectors", func() error {
		c.world.asked = append(c.world.asked, len(numbers))
		for _, n := range numbers {
			on := c.see(n)
			if c.stale > 0 {
				on = events.SectorOnChain{Block: c.block(c.stale)}
			}
			all = append(all, on)
		}
		return nil
	})
}

func (c chain) Window(ctx context.Context) (win events.SectorWindow, err error) {
	return win, c.ask(ctx, "Window", func() error { win = c.window(); return nil })
}

func (w *world) note(what, key string) {
	if w.keys[what] == nil {
		w.keys[what] = map[string]bool{}
	}
	w.keys[what][key] = true
}

// send has the effect of a message once for each key.
func (c chain) send(ctx context.Context, kind, key string, n uint64, effect func() error) (r events.Receipt, err error) {
	return r, c.ask(ctx, kind, func() error {
		what := fmt.Sprintf("%s %d", kind, n)
		c.note(what, key)
		if known, ok := c.mined[key]; ok {
			r = known
			return nil
		}
		if err := effect(); err != nil {
			return err
		}
		c.effects[what]++
		r = events.Receipt{TxHash: hashOf(key), Block: c.block(c.head)}
		c.mined[key] = r
		return nil
	})
}

func (c chain) PreCommit(ctx context.Context, call events.PreCommitCall) (events.Receipt, error) {
	c.mu.Lock()
	c.note(fmt.Sprintf("PreCommit %d", call.Number), call.Key)
	on, sent := c.onchain[call.Number], !c.mined[call.Key].TxHash.Zero()
	c.mu.Unlock()
	if !sent && on != nil && on.PreCommitted && on.CommR == call.CommR {
		return events.Receipt{}, nil
	}
	return c.send(ctx, "PreCommit", call.Key, call.Number, func() error {
		switch {
		case c.head > call.TicketEpoch+c.cfg.TicketValid:
			return events.ErrTicketExpired
		case on != nil && on.Void:
			return events.ErrSeedLost
		case on != nil:
			return events.ErrNumberUsed
		}
		c.onchain[call.Number] = &events.SectorOnChain{
			SectorFacts: events.SectorFacts{PreCommitted: true}, Size: call.Size, CommD: call.CommD, CommR: call.CommR,
			Ticket: call.Ticket, PreCommitEpoch: c.head, Expiration: call.Expiration, Deposit: call.Deposit,
			Deadline: call.Number % c.cfg.Deadlines, Partition: call.Number / c.cfg.Deadlines / c.cfg.PartitionSize,
		}
		return nil
	})
}

func (c chain) seed(n uint64) (v events.Hash, epoch uint64, err error) {
	on := c.onchain[n]
	if on == nil || !on.PreCommitted {
		return v, 0, events.ErrNotPreCommitted
	}
	if epoch = on.PreCommitEpoch + c.cfg.ChallengeDelay; epoch > c.head {
		return v, 0, events.ErrTooEarly
	}
	return hashOf("seed", epoch, c.forked), epoch, nil
}

func (c chain) Seed(ctx context.Context, n uint64) (v events.Hash, epoch uint64, err error) {
	err = c.ask(ctx, "Seed", func() (err error) { v, epoch, err = c.seed(n); return err })
	return v, epoch, err
}

func (c chain) PinSeed(ctx context.Context, key string, n uint64) (events.Receipt, error) {
	return c.send(ctx, "PinSeed", key, n, func() (err error) {
		on := c.onchain[n]
		v, epoch, err := c.seed(n)
		if err == nil {
			on.Seed, on.SeedEpoch = v, epoch
		}
		return err
	})
}

func (c chain) Commit(ctx context.Context, key string, n uint64, proof []byte) (events.Receipt, error) {
	return c.send(ctx, "Commit", key, n, func() error {
		on := c.onchain[n]
		v, _, err := c.seed(n)
		if err != nil {
			return err
		}
		if !c.valid("seal", n, v, proof) {
			return events.ErrInvalidProof
		}
		on.PreCommitted, on.Active, on.Activation = false, true, c.head
		win := c.window()
		on.NextPeriod = win.Period
		if win.Deadline >= on.Deadline {
			on.NextPeriod++
		}
		return nil
	})
}

func (c chain) ProvePossession(ctx context.Context, call events.PossessionCall) (events.Receipt, error) {
	return c.send(ctx, "Possession", call.Key, call.Period, func() error {
		win := c.window()
		if win.Period != call.Period || win.Deadline != call.Deadline {
			return events.ErrDeadlinePassed
		}
		if c.head < win.Opens {
			c.tooEarly++
			return events.ErrTooEarly
		}
		for i, n := range call.Numbers {
			on := c.onchain[n]
			if on == nil || !on.Active || on.NextPeriod > win.Period {
				return events.ErrSectorNotDue
			}
			if !c.valid("possession", n, win.Randomness, call.Proofs[i]) || c.refuses[n] {
				return fmt.Errorf("sector %d: %w", n, events.ErrInvalidProof)
			}
		}
		for _, n := range call.Numbers {
			on := c.onchain[n]
			on.NextPeriod = win.Period + 1
			if on.Faulty && on.RecoverAt == win.Period {
				on.Faulty, on.FaultyFrom, on.RecoverAt = false, 0, 0
			}
			c.effects[fmt.Sprintf("proven %d", n)]++
		}
		return nil
	})
}

func (w *world) valid(domain string, n uint64, about events.Hash, proof []byte) bool {
	if w.verifies != nil {
		return w.verifies(domain, *w.onchain[n], n, about, proof)
	}
	return string(proof) == proofOf(n, about)
}

func proofOf(n uint64, about events.Hash) string {
	return fmt.Sprintf("proof of %d about %s", n, about)
}
