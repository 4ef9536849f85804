package sim

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"sync"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// keptStates is for how many blocks the contract's state is kept: more than any reorganisation
// drops or any node lags behind.
const keptStates = 100

// blockchain is a chain with one marketplace on it. Its lock also guards each host's world.
type blockchain struct {
	mu     sync.Mutex
	every  time.Duration // between two blocks
	blocks []block
	salt   uint64 // makes the hashes of a new branch differ
	moved  chan struct{}
	waits  chan struct{} // receives, if a test listens, when a call waits for a block
	reorgs int
	// marked is called for each miss that the attentive validator marks; may be nil.
	marked func(p period, host events.Address, demands events.Challenge)
	// unwatched: only the host's own validator marks missing proofs.
	unwatched bool
	// pool holds the transactions that wait for a block, by what they do; nil: each transaction
	// gets a block of its own at once.
	pool map[string]*sent
}

type block struct {
	head events.Head
	logs []messages.MarketEvent
	txs  []*transaction
	// state is the contract after the block; nil for old blocks. Blocks in which
	// nothing happened share it.
	state *contract
}

// transaction is something that happens in a block. It can be mined again, in
// another branch.
type transaction struct {
	apply func(*contract, blockContext) ([]messages.MarketEvent, error)
	// mined is called for each block that includes it; may be nil.
	mined func(events.Head, *contract)
	err   error // from the last block that included it
	// ofSectors: it is for the contract of sectors.
	ofSectors bool
}

func newBlockchain(cfg events.MarketConfig, every time.Duration) *blockchain {
	b := &blockchain{every: every, moved: make(chan struct{}), waits: make(chan struct{})}
	b.blocks = []block{{
		head:  events.Head{Hash: b.hashOf(0, events.Hash{}), Time: events.Unix(1_000_000)},
		state: newContract(cfg),
	}}
	for range 300 {
		_ = b.seal() // An empty block has no transaction that could fail.
	}
	return b
}

func (b *blockchain) hashOf(number uint64, parent events.Hash) events.Hash {
	var buf [48]byte
	copy(buf[:], parent[:])
	binary.BigEndian.PutUint64(buf[32:], number)
	binary.BigEndian.PutUint64(buf[40:], b.salt)
	return sha256.Sum256(buf[:])
}

func (b *blockchain) tip() block { return b.blocks[len(b.blocks)-1] }

// next is the context of the block that would be sealed now.
func (b *blockchain) next() blockContext {
	tip := b.tip().head
	return blockContext{tip.Number + 1, tip.Time.Add(b.every), func(n uint64) events.Hash { return b.blocks[n].head.Hash }}
}

// canonical reports whether a block is of the current chain.
func (b *blockchain) canonical(head events.Head) bool {
	return head.Number <= b.tip().head.Number && b.blocks[head.Number].head.Hash == head.Hash
}

// hasAll reports whether all of the blocks are on the chain that ends with a block.
func (b *blockchain) hasAll(until events.Head, blocks []events.Head) bool {
	for _, p := range blocks {
		if p.Number > until.Number || !p.Hash.Zero() && b.blocks[p.Number].head.Hash != p.Hash {
			return false
		}
	}
	return true
}

// seal adds a block with these transactions and the validator's. A failed transaction leaves no
// trace but its error; seal returns that of the last one. The lock must be held.
func (b *blockchain) seal(txs ...*transaction) (err error) { return b.sealAfter(b.every, txs...) }

// sealAfter is seal with a block some time after the newest one.
func (b *blockchain) sealAfter(pause time.Duration, txs ...*transaction) (err error) {
	m, tip := b.next(), b.tip()
	m.time = tip.head.Time.Add(pause)
	state := tip.state
	var logs []messages.MarketEvent
	for _, tx := range txs {
		trial := state.clone()
		out, failed := tx.apply(trial, m)
		tx.err, err = failed, failed
		if failed == nil {
			state, logs = trial, append(logs, out...)
		}
	}
	if number, slots := state.markable(m); len(slots) > 0 && !b.unwatched {
		state = state.clone()
		for _, id := range slots {
			host := state.slots[id].host
			_, out, err := state.mark(m, id, number, validator) // An earlier marking may have ended the request.
			logs = append(logs, out...)
			if err == nil && b.marked != nil {
				b.marked(period{id, number}, host, state.challengeFor(m, id, number))
			}
		}
	}
	if c := state.provider; c != nil && c.due(m.number) {
		state = state.clone()
		state.provider.pass(m.number)
	}
	head := events.Head{Number: m.number, Parent: tip.head.Hash, Hash: b.hashOf(m.number, tip.head.Hash), Time: m.time}
	for i, l := range logs {
		setLog(l, &messages.ChainLog{
			Block: head.Number, BlockHash: head.Hash.String(), Index: uint32(i),
			TxHash: head.Hash.String(), Time: events.TimeToMessage(head.Time),
		})
	}
	b.blocks = append(b.blocks, block{head, logs, txs, state})
	if n := len(b.blocks) - keptStates; n >= 0 {
		b.blocks[n].state, b.blocks[n].txs = nil, nil
	}
	for _, tx := range txs {
		if tx.err == nil && tx.mined != nil {
			tx.mined(head, state)
		}
	}
	close(b.moved)
	b.moved = make(chan struct{})
	return err
}

func setLog(e messages.MarketEvent, l *messages.ChainLog) {
	m := e.ProtoReflect()
	m.Set(m.Descriptor().Fields().ByName("log"), valueOf(l))
}

// mine seals an empty block.
func (b *blockchain) mine() {
	b.mu.Lock()
	defer b.mu.Unlock()
	_ = b.seal()
}

// reorganize drops the newest n blocks, and grows a branch of one block more in their place.
// The transactions of the dropped blocks are lost, or mined again one block later, where they
// may fail.
func (b *blockchain) reorganize(n int, again bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.salt++
	b.reorgs++
	dropped := slices.Clone(b.blocks[len(b.blocks)-n:])
	b.blocks = slices.Clip(b.blocks[:len(b.blocks)-n])
	_ = b.seal()
	for _, old := range dropped {
		if !again {
			old.txs = nil
		}
		_ = b.seal(old.txs...)
	}
}

// depthOf is how many blocks must be dropped, at most most, to lose the newest one with a
// transaction; 0 when there is none.
func (b *blockchain) depthOf(most int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	for n := 1; n <= most; n++ {
		if len(b.blocks[len(b.blocks)-n].txs) > 0 {
			return n
		}
	}
	return 0
}

// submit seals a block with one transaction.
func (b *blockchain) submit(apply func(*contract, blockContext) ([]messages.MarketEvent, error)) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.seal(&transaction{apply: apply})
}

// post puts requests on the market, all in one block, by clients who can pay.
func (b *blockchain) post(requests ...events.Request) error {
	return b.submit(func(c *contract, m blockContext) (logs []messages.MarketEvent, err error) {
		for _, r := range requests {
			price, _ := r.Ask.PricePerSecond()
			c.mint(r.Client, price.MulSaturating(r.Ask.Slots).MulSaturating(uint64(r.Ask.Duration/time.Second)))
			out, err := c.post(m, r)
			if err != nil {
				return nil, err
			}
			logs = append(logs, out...)
		}
		return logs, nil
	})
}

// withdraw makes the client collect what a request did not spend.
func (b *blockchain) withdraw(r events.Request) error {
	return b.submit(func(c *contract, m blockContext) ([]messages.MarketEvent, error) {
		return c.withdraw(m, r.ID, r.Client)
	})
}

// rivalAddress is a host that is not simulated. It never proves what it fills, so its slots are
// slashed and need repair.
func rivalAddress(n int) events.Address { return events.Address{1, 2, 3, byte(n)} }

// outbid makes a rival reserve a slot, and fill it if fill is set.
func (b *blockchain) outbid(id events.SlotID, rival events.Address, fill bool) error {
	return b.submit(func(c *contract, m blockContext) ([]messages.MarketEvent, error) {
		s := c.slots[id]
		if s == nil {
			return nil, events.ErrUnknownRequest
		}
		full, _ := c.requestOf(s).Ask.CollateralPerSlot()
		c.mint(rival, full)
		var out []messages.MarketEvent
		if !s.reserved[rival] {
			var err error
			if out, err = c.reserve(m, id, rival); err != nil {
				return nil, err
			}
		}
		if !fill {
			return out, nil
		}
		_, challenge := c.challenge(m, id)
		filled, err := c.fill(m, id, rival, proofFor(id, challenge))
		return append(out, filled...), err
	})
}

// wait returns when the chain has moved past a block, or no longer has it.
func (b *blockchain) wait(ctx context.Context, past events.Head) error {
	for {
		b.mu.Lock()
		tip, moved := b.tip().head, b.moved
		b.mu.Unlock()
		if tip.Number > past.Number || tip.Hash != past.Hash {
			return nil
		}
		select {
		case b.waits <- struct{}{}:
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
