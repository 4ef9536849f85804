package outage

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
)

// Market is what may be done with the marketplace without a record: port.Market has the
// rules of its methods.
type Market interface {
	Account() events.Address
	Config(ctx context.Context) (events.MarketConfig, error)
	Head(ctx context.Context) (events.Head, error)
	// HeadsBetween are the blocks from first to last on the current chain, in their order.
	HeadsBetween(ctx context.Context, first, last uint64) ([]events.Head, error)
	// BlockTime is how far apart blocks usually are, if that is known.
	BlockTime() (usual time.Duration, known bool)
	MySlots(ctx context.Context) ([]events.OwnedSlot, error)
	Slot(ctx context.Context, request events.RequestID, index uint64) (events.SlotFacts, error)
	TakenProofs(ctx context.Context, slot events.SlotID, from uint64) ([]events.TakenProof, error)
	SubmitProof(ctx context.Context, call events.SlotCall, period uint64, proof events.Proof) (events.Receipt, error)
}

// Ports are what the world gives.
type Ports struct {
	Market Market
	Feed   port.ChainFeed
	Prover port.Prover
}

// Config says how it is proven. All of it is required.
type Config struct {
	// Margin is what a proof needs before it is on chain. With no BlockTime the market's counts.
	Margin duty.Margin
	// Proofs is how many proofs are made at once.
	Proofs int
	// Tell is told how it stands, each time that this may have changed, and Alert what a
	// person should know at once. They must not block.
	Tell  func(health.OutageFacts)
	Alert func(health.Alert)
	Log   *logrus.Entry
}

const (
	// retryAfter is the pause before the node is asked again.
	retryAfter = 2 * time.Second
	// longestAnswer is how long a reading of the chain is waited for, or two thirds of a
	// period if that is shorter: the next try must still be in time.
	longestAnswer = time.Minute
	// guessedBlockTime is what blocks are taken to be apart until it is known: Ethereum's.
	guessedBlockTime = 12 * time.Second
)

// keeper proves. The fields behind mu are shared with the tasks of the slots; everything
// else but constants belongs to Run.
type keeper struct {
	Config
	Ports
	terms  events.ProofConfig
	places *shell.Pool
	tasks  sync.WaitGroup
	known  blocks
	asked  uint64 // the period in which the slots were asked for

	mu     sync.Mutex
	waits  string // why what is owed is not known; empty: it is
	head   events.Head
	pass   *duty.Pass
	slots  map[events.SlotID]*slot
	proofs int // handed in
}

// Run proves until ctx ends, and returns when all that it began has ended. What was sent
// goes on by itself. It fails when the contract wants proofs of other keys, and when the
// node turns out to follow another chain; what else a node does is waited for.
func Run(ctx context.Context, cfg Config, ports Ports) error {
	k := &keeper{
		Config: cfg, Ports: ports, places: shell.NewPool("proofs", max(1, cfg.Proofs)),
		slots: map[events.SlotID]*slot{},
	}
	ctx, cancel := context.WithCancel(ctx)
	defer k.tasks.Wait()
	defer cancel()
	begun, err := k.begin(ctx)
	if err != nil {
		return err
	}
	heads, ended := make(chan events.Head, 1), make(chan error, 1)
	heads <- begun
	k.tasks.Go(func() { ended <- k.follow(ctx, begun, heads) })
	head := begun
	var again <-chan time.Time
	for {
		select {
		case head = <-heads:
		case <-again:
		case err := <-ended:
			return err
		}
		again = nil
		err := shell.Caught(func() error { return k.onHead(ctx, head) })
		if k.wait(err); err != nil {
			again = time.After(retryAfter)
		}
	}
}

// wait says why what is owed is not known, or that it is; the log hears of it once,
// however long it lasts.
func (k *keeper) wait(why error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	before := k.waits
	if k.waits = ""; why != nil {
		k.waits = why.Error()
	}
	if k.waits != "" && k.waits != before {
		k.Log.Warnf("without the event store: what is owed is not known, and asked again: %s", k.waits)
	}
	k.Tell(k.facts())
}

// begin reads the contract's terms and the newest block.
func (k *keeper) begin(ctx context.Context) (head events.Head, err error) {
	for {
		var market events.MarketConfig
		if market, err = k.Market.Config(ctx); err == nil {
			k.terms = market.Proofs
			if have, want := k.Prover.KeyHash(), k.terms.KeyHash; have != want {
				return head, fmt.Errorf("the contract wants proofs of other keys: %s, at hand is %s", want, have)
			}
			head, err = k.Market.Head(ctx)
		}
		if err == nil {
			return head, nil
		}
		if ctx.Err() != nil {
			return head, ctx.Err()
		}
		k.wait(err)
		select {
		case <-time.After(retryAfter):
		case <-ctx.Done():
		}
	}
}

// follow brings the newest block, and drops those that nobody has looked at yet.
func (k *keeper) follow(ctx context.Context, from events.Head, heads chan events.Head) error {
	at := events.Cursor{Number: from.Number, Hash: from.Hash, Time: from.Time}
	return k.Feed.Follow(ctx, at, func(_ context.Context, u events.ChainUpdate) error {
		if u.Reorganized != nil || !u.Live {
			return nil
		}
		select {
		case <-heads:
		default:
		}
		heads <- u.Head // Nobody else sends.
		return nil
	})
}

// patiently makes a call that reads the chain, and gives it up after a while.
func patiently[T any](ctx context.Context, k *keeper, call func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, min(longestAnswer, k.terms.Period*2/3))
	defer cancel()
	return call(ctx)
}

// onHead looks at all slots at a new block. When something could not be read it is to be
// called again.
func (k *keeper) onHead(ctx context.Context, head events.Head) error {
	_, err := patiently(ctx, k, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, k.known.learn(ctx, k.Market, head)
	})
	if err != nil {
		return err
	}
	margin := k.margin()
	k.mu.Lock()
	k.head = head
	k.pass = duty.NewPass(k.terms, head, duty.Pace{
		Shortest: k.known.shortest(margin.BlockTime), Lead: time.Duration(margin.Blocks) * margin.BlockTime,
	}, k.known.hash)
	period := k.pass.Period()
	k.mu.Unlock()
	if period != k.asked {
		if err = k.askSlots(ctx); err == nil {
			k.asked = period
		}
	}
	k.look(ctx)
	return err
}

func (k *keeper) margin() duty.Margin {
	m := k.Margin
	if m.BlockTime == 0 {
		usual, known := k.Market.BlockTime()
		if m.BlockTime = usual; !known {
			m.BlockTime = guessedBlockTime
		}
	}
	return m
}

// askSlots asks which slots are the account's now. Those that were known before stay until
// there is an answer: each is asked about before it is proven.
func (k *keeper) askSlots(ctx context.Context) error {
	owned, err := patiently(ctx, k, k.Market.MySlots)
	if err == nil {
		err = events.CheckOwned(owned)
	}
	if err != nil {
		return fmt.Errorf("ask which slots are ours: %w", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	before := k.slots
	k.slots = make(map[events.SlotID]*slot, len(owned))
	for _, o := range owned {
		s := before[o.Slot]
		if s == nil {
			s = newSlot(k.terms, o)
		}
		s.over = false
		k.slots[o.Slot] = s
	}
	return nil
}

// look begins with each slot that owes a proof, and says how it stands.
func (k *keeper) look(ctx context.Context) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, s := range k.slots {
		v := k.pass.Verdict(&s.Slot)
		if ctx.Err() != nil || !s.begins(v, k.head) {
			continue
		}
		s.busy, s.tried, s.triedAt = true, v.Challenge, k.head.Number
		k.tasks.Go(func() { k.task(ctx, s, v) })
	}
}
