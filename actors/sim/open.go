package sim

import (
	"context"
	"slices"
	"time"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// World is a simulated world without a simulator: every call is answered at
// once, and whoever has it says what else happens. It is safe for concurrent
// use.
type World struct{ w *world }

// NewWorld is a marketplace of 300 empty blocks, of a host with these tokens.
func NewWorld(tokens events.Amount) *World {
	w := newWorld(&bus{open: true}, me, market, 0)
	w.tip().state.tokens[me] = tokens
	return &World{w}
}

// Ports are the host's ports into this world, over a store.
func (w *World) Ports(store events.Store) actors.Ports {
	return actors.Ports{
		Market: fakeMarket{w.w}, Feed: fakeFeed{w.w}, Prover: fakeProver{w.w},
		Repo: fakeRepo{w.w}, Content: fakeContent{w.w}, Clock: wallClock{}, Store: store,
	}
}

// Offer is a request that a host with the defaults takes: slots of four blocks.
func Offer(number byte, slots uint64) events.Request {
	return events.Request{
		ID: events.RequestID{number, 0x51}, Client: events.Address{7},
		Ask: events.Ask{
			ProofProbability: events.NewAmount(1), PricePerBytePerSecond: events.NewAmount(1),
			CollateralPerByte: events.NewAmount(1), Slots: slots, SlotSize: 4 * events.BlockSize,
			Duration: 400 * time.Second, MaxSlotLoss: 1,
		},
		Content: events.Content{CID: "cid", MerkleRoot: events.Root{1}},
		Expiry:  150 * time.Second,
	}
}

// Post puts a request on the market.
func (w *World) Post(r events.Request) { w.w.post(r) }

// Mine seals empty blocks, each a second after the one before.
func (w *World) Mine(n int) {
	for range n {
		w.w.mine()
	}
}

// Warp seals blocks until the newest is not before a point of chain time.
func (w *World) Warp(to time.Time) {
	for w.Head().Time.Before(to) {
		w.w.mine()
	}
}

// Head is the newest block.
func (w *World) Head() events.Head {
	w.w.mu.Lock()
	defer w.w.mu.Unlock()
	return w.w.tip().head
}

// Reorganize drops the newest n blocks and grows a longer branch without their
// transactions.
func (w *World) Reorganize(n int) { w.w.reorganize(n) }

// Proof is the proof that the contract takes for a slot in the next block.
func (w *World) Proof(slot events.SlotID) events.Proof {
	w.w.mu.Lock()
	defer w.w.mu.Unlock()
	_, _, challenge := w.w.tip().state.challenge(w.w.next(), slot)
	return ProofFor(slot, challenge)
}

// ProofFor is the proof that this world takes for a slot and a challenge.
func ProofFor(slot events.SlotID, c events.Challenge) events.Proof { return proofFor(slot, c) }

// Rival lets another host reserve and fill a slot. It never proves it.
func (w *World) Rival(slot events.SlotID) error {
	w.w.mu.Lock()
	defer w.w.mu.Unlock()
	other := events.Address{1, 2, 3}
	return w.w.seal(func(c *contract, m moment) ([]messages.MarketEvent, error) {
		s := c.slots[slot]
		full, _ := s.request.Ask.CollateralPerSlot()
		c.tokens[other], s.reserved[other] = full, true
		_, _, challenge := c.challenge(m, slot)
		return c.fill(m, s, other, proofFor(slot, challenge))
	})
}

// Put stores a complete slot, as if it had been downloaded.
func (w *World) Put(slot events.SlotID, bytes events.Bytes, until time.Time) {
	w.w.mu.Lock()
	defer w.w.mu.Unlock()
	w.w.repo[slot] = &stored{bytes: bytes, until: until}
}

// Stored are the slots on disk.
func (w *World) Stored() []events.SlotID {
	w.w.mu.Lock()
	defer w.w.mu.Unlock()
	var ids []events.SlotID
	for id := range w.w.repo {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, compareSlots)
	return ids
}

// Drive runs a call and seals a block whenever it waits for one.
func (w *World) Drive(ctx context.Context, call func(context.Context) error) error {
	done := make(chan error, 1)
	go func() { done <- call(ctx) }()
	for {
		select {
		case err := <-done:
			return err
		case <-w.w.waits:
			w.w.mine()
		}
	}
}
