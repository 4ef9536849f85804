package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/alert"
)

// world is the chain as one host sees it, and the host's disk and network. It
// outlives the host's crashes.
type world struct {
	*blockchain
	bus *bus
	me  events.Address

	repo map[events.SlotID]*stored
	paid map[events.SlotID]events.PayoutReceipt
	// fills and proofs are our mined ones, as an outbox remembers them.
	fills map[fillKey]events.Fill
	// repairs says which fills were of a slot in repair, and so paid less.
	repairs map[fillKey]bool
	proofs  map[events.SlotID][]events.TakenProof
	// intended and marked are markings of the host's own validator, as an outbox
	// remembers them.
	intended []events.MissingProof
	marked   map[events.MissingProof]events.Marking
	// messages are our mined ones to the contract of sectors, by what they were for, likewise;
	// unasking and lenient are errors planted in its adapter: it sends without looking, and does not tell what
	// a deposit lost.
	messages          map[string]events.Receipt
	unasking, lenient bool
	// seals is what sectors are made with and of.
	seals seals
	// freight is what is aggregated, and aggregates the room that does, of the process that runs here.
	freight    *freight
	bells      *bells
	aggregates *shell.Part
	// account is that of the process that runs here, and owning says which of them owns it; nil: the
	// process is alone, and always sends.
	account *Account
	owning  *ownership
	// confirmations is how deep a payout must be before FreeSlot reports it.
	confirmations uint64

	actions    []action          // what the host did since the simulator last looked
	unanswered map[string]bool   // streams with events that are stored and not acknowledged to the host
	trying     map[string]bool   // streams with an append of the host that is not answered yet
	told       map[string]uint64 // how many events of its streams were acknowledged to the host
	seen       events.Head       // the last block that the host has taken from the feed
	fresh      bool              // the simulator has not looked at it yet
	hashes     map[uint64]bool   // hashes that the host knows, by block
	rot        bool              // half of the snapshots are spoilt
	again      bool              // the feed delivers its next update twice
	// storeAway: the event store answers nothing.
	storeAway bool
	scrubbing events.ScrubProgress
	// noRoom: nothing can be written to the disk.
	noRoom bool
	// limit is how much may be on disk; 0: no limit.
	limit events.Bytes
	// behind is how many blocks the node lags that answers the host's reads.
	behind uint64
	// purse is what the account holds for gas, and what a proof costs.
	purse events.Balance
	// skew is the error of the machine's clock.
	skew time.Duration
	// faithless and reckless are errors planted in the market's adapter: it sends after a
	// deadline, and it frees slots that run.
	faithless, reckless bool
	// altering is an error planted in the store: it stores something other than it was given.
	altering bool
	// dropping is another: of a batch of a sector it keeps all but the last event.
	dropping bool
	// lying is an error planted in the repair: it calls blocks sound and does nothing.
	lying bool
	// wrong is the first thing that the host did and must never do, whatever its record says.
	wrong error
}

type fillKey struct {
	slot    events.SlotID
	attempt uint32
}

// stored is what is on disk of a slot, which has size bytes when complete.
type stored struct {
	bytes, size events.Bytes
	until       time.Time
	// rotten are blocks whose bytes have changed; lost: the file of all blocks is gone.
	rotten map[uint64]bool
	lost   bool
}

// damage is the error of a read of these blocks; nil: they are sound.
func (s *stored) damage(blocks ...uint64) error {
	if s.lost {
		return &events.DamageError{Blocks: blocks[:1], Whole: true, Reason: "the file blocks is missing"}
	}
	blocks = slices.DeleteFunc(blocks, func(b uint64) bool { return !s.rotten[b] })
	if len(blocks) == 0 {
		return nil
	}
	return &events.DamageError{Blocks: blocks, Reason: fmt.Sprintf("block %d has other bytes", blocks[0])}
}

// newWorld returns a host's world, on a chain of its own.
func newWorld(b *bus, me events.Address, cfg events.MarketConfig, tokens events.Amount) *world {
	w := worldOn(newBlockchain(cfg, time.Second), b, me)
	w.tip().state.mint(me, tokens)
	return w
}

func worldOn(chain *blockchain, b *bus, me events.Address) *world {
	return &world{
		blockchain: chain, bus: b, me: me, confirmations: confirmations, owning: &ownership{},
		purse: events.Balance{Wei: events.NewAmount(1 << 60)},
		repo:  map[events.SlotID]*stored{}, paid: map[events.SlotID]events.PayoutReceipt{},
		fills: map[fillKey]events.Fill{}, marked: map[events.MissingProof]events.Marking{},
		messages: map[string]events.Receipt{},
		freight:  &freight{files: map[string]events.Bytes{}, offers: map[string]*dealOffer{}, bad: map[string]bool{}},
		bells:    &bells{is: map[string]alert.Raise{}, taken: map[string]taking{}},
		proofs:   map[events.SlotID][]events.TakenProof{}, repairs: map[fillKey]bool{},
		unanswered: map[string]bool{}, trying: map[string]bool{}, hashes: map[uint64]bool{}, told: map[string]uint64{},
	}
}

// forgetHost forgets what the host knew: the next one reads everything. The lock must be held.
func (w *world) forgetHost() {
	w.unanswered, w.trying, w.hashes = map[string]bool{}, map[string]bool{}, map[uint64]bool{}
}

// sight is the newest block that the host's node knows.
func (w *world) sight() block {
	return w.blocks[uint64(len(w.blocks))-1-min(w.behind, uint64(len(w.blocks))-1)]
}

// rival makes another host reserve a free slot, if there is one, and maybe fill it.
func (w *world) rival(pick int, fill bool) {
	w.mu.Lock()
	var free []events.SlotID
	tip := w.tip()
	for id, s := range tip.state.slots {
		over := tip.state.requestState(tip.state.requestOf(s), tip.head.Time) > events.RequestStarted
		if tip.state.slotState(s, tip.head.Time) == events.SlotFree && !over {
			free = append(free, id)
		}
	}
	w.mu.Unlock()
	if len(free) == 0 {
		return
	}
	slices.SortFunc(free, func(a, b events.SlotID) int { return strings.Compare(a.String(), b.String()) })
	_ = w.outbid(free[pick%len(free)], rivalAddress(pick/len(free)), fill)
}

// facts is a view evaluated at the newest block that the host's node knows.
func (w *world) facts(id events.RequestID, index uint64) events.SlotFacts {
	at := w.sight()
	f := events.SlotFacts{At: at.head}
	s := at.state.slots[events.SlotIDOf(id, index)]
	if s == nil {
		return f
	}
	m := blockContext{number: at.head.Number, time: at.head.Time}
	r := at.state.requestOf(s)
	f.RequestKnown = true
	f.RequestState, f.SlotState = at.state.requestState(r, m.time), at.state.slotState(s, m.time)
	f.RequestExpiry, f.RequestEnd = r.expiresAt, at.state.requestEnd(r, m.time)
	f.Host, f.Collateral = s.host, s.collateral
	f.CanReserve = at.state.canReserve(m, s, w.me)
	return f
}

// ours is what the account holds, and the full collateral of the slots that the contract counts
// as ours. The lock must be held.
func (w *world) ours() (here, full events.Amount) {
	c := w.tip().state
	for _, o := range c.owned(w.me) {
		collateral, _ := o.Request.Ask.CollateralPerSlot()
		full = full.Add(collateral)
	}
	return c.tokens[w.me], full
}

// hosted reports whether the contract counts a slot as ours and running.
func (w *world) hosted(id events.SlotID) bool {
	tip := w.tip()
	s := tip.state.slots[id]
	return s != nil && s.host == w.me && tip.state.slotState(s, tip.head.Time) == events.SlotFilled
}

func (w *world) String() string {
	return fmt.Sprintf("block %d, %d slots stored", w.tip().head.Number, len(w.repo))
}
