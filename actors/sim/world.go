package sim

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// world is the chain, the disk and the network of a simulation. It outlives
// the host's crashes.
type world struct {
	bus *bus
	me  events.Address

	mu     sync.Mutex
	blocks []block
	salt   uint64 // makes the hashes of a new branch differ
	moved  chan struct{}
	waits  chan struct{} // told, if anybody listens, when a call waits for a block
	repo   map[events.SlotID]*stored
	paid   map[events.SlotID]events.PayoutReceipt
	fills  map[fillKey]events.Fill // mined fills of ours, as an outbox remembers them

	deeds   []deed          // what the host did since the simulator looked
	unheard map[string]bool // streams with events that the host was not told are stored
	seen    events.Head     // the last block that the host has taken from the feed
	fresh   bool            // the simulator has not looked at it yet
	hashes  map[uint64]bool // of blocks that the host knows
	reorgs  int
	again   bool // the feed delivers its next update twice
}

type block struct {
	head events.Head
	logs []messages.MarketEvent
	// state is the contract after the block.
	state *contract
}

type fillKey struct {
	slot    events.SlotID
	attempt uint32
}

type stored struct {
	bytes events.Bytes
	until time.Time
}

func newWorld(b *bus, me events.Address, cfg events.MarketConfig, tokens uint64) *world {
	w := &world{
		bus: b, me: me, moved: make(chan struct{}), waits: make(chan struct{}),
		repo: map[events.SlotID]*stored{}, paid: map[events.SlotID]events.PayoutReceipt{},
		fills: map[fillKey]events.Fill{}, unheard: map[string]bool{}, hashes: map[uint64]bool{},
	}
	c := &contract{
		cfg: cfg, requests: map[events.RequestID]*request{}, slots: map[events.SlotID]*slot{},
		tokens: map[events.Address]events.Amount{me: events.NewAmount(tokens)},
	}
	w.blocks = []block{{head: events.Head{Hash: w.hashOf(0, events.Hash{}), Time: events.Unix(1_000_000)}, state: c}}
	for range 300 {
		w.mine()
	}
	return w
}

func (w *world) hashOf(number uint64, parent events.Hash) events.Hash {
	var buf [48]byte
	copy(buf[:], parent[:])
	binary.BigEndian.PutUint64(buf[32:], number)
	binary.BigEndian.PutUint64(buf[40:], w.salt)
	return sha256.Sum256(buf[:])
}

func (w *world) tip() block { return w.blocks[len(w.blocks)-1] }

// next is the moment of the block that would be sealed now.
func (w *world) next() moment {
	tip := w.tip().head
	return moment{tip.Number + 1, tip.Time.Add(time.Second), func(n uint64) events.Hash { return w.blocks[n].head.Hash }}
}

// seal adds a block with one transaction, or none. A transaction that fails
// leaves no trace but its error.
func (w *world) seal(tx func(*contract, moment) ([]messages.MarketEvent, error)) error {
	tip, m := w.tip(), w.next()
	state := tip.state.clone()
	var logs []messages.MarketEvent
	var err error
	if tx != nil {
		if logs, err = tx(state, m); err != nil {
			state, logs = tip.state.clone(), nil
		}
	}
	logs = append(logs, state.mark(m)...)
	head := events.Head{Number: m.number, Parent: tip.head.Hash, Hash: w.hashOf(m.number, tip.head.Hash), Time: m.time}
	for i, l := range logs {
		setLog(l, &messages.ChainLog{
			Block: head.Number, BlockHash: head.Hash.String(), Index: uint32(i),
			TxHash: head.Hash.String(), Time: events.TimeToMessage(head.Time),
		})
	}
	w.blocks = append(w.blocks, block{head, logs, state})
	close(w.moved)
	w.moved = make(chan struct{})
	return err
}

func setLog(e messages.MarketEvent, l *messages.ChainLog) {
	m := e.ProtoReflect()
	m.Set(m.Descriptor().Fields().ByName("log"), valueOf(l))
}

// mine seals an empty block.
func (w *world) mine() {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.seal(nil)
}

// reorganize drops the newest n blocks; another branch grows in their place,
// as long and one more, without their transactions.
func (w *world) reorganize(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.salt++
	w.reorgs++
	w.blocks = slices.Clip(w.blocks[:len(w.blocks)-n])
	for range n + 1 {
		_ = w.seal(nil)
	}
}

func (w *world) post(r events.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.seal(func(c *contract, m moment) ([]messages.MarketEvent, error) {
		return []messages.MarketEvent{c.post(m, r)}, nil
	})
}

// rival lets another host fill a free slot, if there is one.
func (w *world) rival(pick int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var free []events.SlotID
	for id, s := range w.tip().state.slots {
		if st := w.tip().state.slotState(s, w.tip().head.Time); st == events.SlotFree {
			free = append(free, id)
		}
	}
	if len(free) == 0 {
		return
	}
	slices.SortFunc(free, func(a, b events.SlotID) int { return strings.Compare(a.String(), b.String()) })
	other := events.Address{1, 2, 3}
	_ = w.seal(func(c *contract, m moment) ([]messages.MarketEvent, error) {
		s := c.slots[free[pick%len(free)]]
		full, _ := s.request.Ask.CollateralPerSlot()
		c.tokens[other], s.reserved[other] = full, true
		_, _, ch := c.challenge(m, s.id)
		// The rival proves nothing later: its slots are slashed and need repair.
		return c.fill(m, s, other, proofFor(s.id, ch))
	})
}

// facts is a view evaluated at the newest block.
func (w *world) facts(id events.RequestID, index uint64) events.SlotFacts {
	tip := w.tip()
	f := events.SlotFacts{At: tip.head}
	s := tip.state.slots[events.SlotIDOf(id, index)]
	if s == nil {
		return f
	}
	m := moment{number: tip.head.Number, time: tip.head.Time}
	f.RequestKnown = true
	f.RequestState, f.SlotState = tip.state.requestState(s.request, m.time), tip.state.slotState(s, m.time)
	f.RequestExpiry, f.RequestEnd = s.request.expiresAt, s.request.endsAt
	f.Host, f.Collateral = s.host, s.collateral
	f.CanReserve = tip.state.canReserve(m, s, w.me)
	return f
}

// ours is what the account holds, and the full collateral of the slots that
// the contract counts as ours. The lock is held.
func (w *world) ours() (here, full events.Amount) {
	c := w.tip().state
	for _, s := range c.slots {
		if s.host == w.me && s.state == events.SlotFilled && !s.dropped {
			collateral, _ := s.request.Ask.CollateralPerSlot()
			full = full.Add(collateral)
		}
	}
	return c.tokens[w.me], full
}

// wait returns when the chain has moved past a block, or differs from it.
func (w *world) wait(ctx context.Context, past events.Head) error {
	for {
		w.mu.Lock()
		tip, moved := w.tip().head, w.moved
		w.mu.Unlock()
		if tip.Number > past.Number || tip.Hash != past.Hash {
			return nil
		}
		select {
		case w.waits <- struct{}{}:
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (w *world) String() string {
	return fmt.Sprintf("block %d, %d slots stored", w.tip().head.Number, len(w.repo))
}
