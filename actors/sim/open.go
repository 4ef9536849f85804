package sim

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// World is a simulated world without a simulator: every call is answered at once, and its owner
// decides what else happens. Safe for concurrent use.
type World struct{ w *world }

// NewWorld returns a marketplace after 300 empty blocks, with a host that has these tokens.
func NewWorld(tokens events.Amount) *World { return NewWorldOf(market.Proofs.Period, tokens) }

// NewWorldOf returns a marketplace with another proof period.
func NewWorldOf(period time.Duration, tokens events.Amount) *World {
	cfg := market
	cfg.Proofs.Period = period
	return &World{newWorld(&bus{open: true}, me, cfg, tokens)}
}

// Ports returns the host's ports into this world, over a store.
func (w *World) Ports(store events.Store) actors.Ports {
	return actors.Ports{
		Market: fakeMarket{w.w}, Feed: fakeFeed{w.w}, Prover: fakeProver{w.w},
		Repo: fakeRepo{w.w}, Content: fakeContent{w.w}, Clock: wallClock{w.w}, Store: store,
	}
}

// Offer returns a request that a host with default settings takes: slots of four blocks.
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

// Post puts a request on the market, from a client who can pay for it. It panics if the
// contract refuses the request, which is a mistake of the caller.
func (w *World) Post(r events.Request) {
	if err := w.w.post(r); err != nil {
		panic(err)
	}
}

// TryPost is Post for a request that the contract may refuse.
func (w *World) TryPost(r events.Request) error { return w.w.post(r) }

// Withdraw makes the client of a request collect what it did not spend.
func (w *World) Withdraw(r events.Request) error { return w.w.withdraw(r) }

// PostAll puts many requests on the market, all in one block, like Post.
func (w *World) PostAll(requests []events.Request) {
	if err := w.w.post(requests...); err != nil {
		panic(err)
	}
}

// Mine seals empty blocks, each a second after the one before.
func (w *World) Mine(n int) {
	for range n {
		w.w.mine()
	}
}

// Warp seals blocks until the newest is not before a time of the chain.
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
func (w *World) Reorganize(n int) { w.w.reorganize(n, false) }

// Proof returns the proof that the contract takes for a slot in the next block.
func (w *World) Proof(slot events.SlotID) events.Proof {
	w.w.mu.Lock()
	defer w.w.mu.Unlock()
	_, challenge := w.w.tip().state.challenge(w.w.next(), slot)
	return ProofFor(slot, challenge)
}

// ProofFor returns the proof that this world takes for a slot and a challenge.
func ProofFor(slot events.SlotID, c events.Challenge) events.Proof { return proofFor(slot, c) }

// Rival makes another host reserve and fill a slot, which it never proves.
func (w *World) Rival(slot events.SlotID) error { return w.w.outbid(slot, rivalAddress(0), true) }

// Compete makes one of several other hosts, by number, reserve a slot.
func (w *World) Compete(slot events.SlotID, n int) error {
	return w.w.outbid(slot, rivalAddress(n), false)
}

// TakeBack makes the contract take a slot from its host, as after too many missed proofs.
func (w *World) TakeBack(slot events.SlotID) error {
	return w.w.submit(func(c *contract, m blockContext) ([]messages.MarketEvent, error) { return c.forfeit(m, slot), nil })
}

// Put stores a complete slot, as if it had been downloaded.
func (w *World) Put(slot events.SlotID, bytes events.Bytes, until time.Time) {
	w.w.mu.Lock()
	defer w.w.mu.Unlock()
	w.w.repo[slot] = &stored{bytes: bytes, size: bytes, until: until}
}

// Rot damages a block of a stored slot.
func (w *World) Rot(slot events.SlotID, block uint64) {
	w.w.mu.Lock()
	defer w.w.mu.Unlock()
	w.w.repo[slot].rotten = map[uint64]bool{block: true}
}

// Fill makes the disk full, or no longer full.
func (w *World) Fill(full bool) {
	w.w.mu.Lock()
	defer w.w.mu.Unlock()
	w.w.noRoom = full
}

// Taken returns the periods for which the contract took a proof of the host, the oldest first.
func (w *World) Taken(slot events.SlotID) (periods []uint64) {
	w.w.mu.Lock()
	defer w.w.mu.Unlock()
	for _, p := range w.w.proofs[slot] {
		periods = append(periods, p.Period)
	}
	return periods
}

// Sent is how many proof transactions the host sent, taken or not.
func (w *World) Sent() (n int) {
	w.w.mu.Lock()
	defer w.w.mu.Unlock()
	for _, d := range w.w.actions {
		if d.kind == "proof" {
			n++
		}
	}
	return n
}

// Slashed is for how many missed proofs the contract slashed a slot.
func (w *World) Slashed(slot events.SlotID) int {
	w.w.mu.Lock()
	defer w.w.mu.Unlock()
	return len(w.w.tip().state.slots[slot].missing)
}

// Stored returns the slots on disk.
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

// Drive runs a call and seals a block whenever the call waits for one.
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

// State is the state of a slot on the contract.
func (w *World) State(slot events.SlotID) events.SlotState {
	w.w.mu.Lock()
	defer w.w.mu.Unlock()
	tip := w.w.tip()
	return tip.state.slotState(tip.state.slots[slot], tip.head.Time)
}

// MissedPeriods returns the periods for which the contract marked a slot as missing a proof,
// the oldest first.
func (w *World) MissedPeriods(slot events.SlotID) []uint64 {
	w.w.mu.Lock()
	defer w.w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.w.tip().state.slots[slot].missing))
}

// Beside returns the world of another member of the same host: the same chain and account, and
// another disk and way to the chain.
func (w *World) Beside() *World {
	return &World{w.w.beside(&bus{open: true})}
}

// Skew sets the error of the machine's clock of this world.
func (w *World) Skew(by time.Duration) {
	w.w.mu.Lock()
	defer w.w.mu.Unlock()
	w.w.skew = by
}

// Unplug takes the way to the chain from this world, or gives it back. What was sent before is mined all the same.
func (w *World) Unplug(unplugged bool) {
	w.w.bus.mu.Lock()
	defer w.w.bus.mu.Unlock()
	w.w.bus.unplugged = unplugged
}

// beside is Beside with calls that park on a bus of their own.
func (w *world) beside(b *bus) *world {
	other := worldOn(w.blockchain, b, w.me)
	// What the account sent is known to all processes that send for it.
	other.fills, other.proofs, other.repairs = w.fills, w.proofs, w.repairs
	other.freight = w.freight
	other.paid, other.marked, other.owning = w.paid, w.marked, w.owning
	other.confirmations = w.confirmations
	return other
}
