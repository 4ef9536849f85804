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
	"github.com/hostnode/hostnode/internal/retry"
)

// Market is the part of the marketplace that may be used without a record; port.Market
// describes its methods.
type Market interface {
	Account() events.Address
	Config(ctx context.Context) (events.MarketConfig, error)
	Head(ctx context.Context) (events.Head, error)
	// HeadsBetween returns the blocks of the current chain from first to last, in their order.
	HeadsBetween(ctx context.Context, first, last uint64) ([]events.Head, error)
	// BlockTime is the usual time between blocks, if that is known.
	BlockTime() (usual time.Duration, known bool)
	MySlots(ctx context.Context) ([]events.OwnedSlot, error)
	Slot(ctx context.Context, request events.RequestID, index uint64) (events.SlotFacts, error)
	TakenProofs(ctx context.Context, slot events.SlotID, from uint64) ([]events.TakenProof, error)
	SubmitProof(ctx context.Context, call events.SlotCall, period uint64, proof events.Proof) (events.Receipt, error)
}

// Ports are the interfaces to the world.
type Ports struct {
	Market Market
	Feed   port.ChainFeed
	Prover port.Prover
}

// Config holds the settings. All of them are required.
type Config struct {
	// Margin is the time between a proof and its block. Without a BlockTime the market's is
	// used.
	Margin duty.Margin
	// Proofs is how many proofs are made at once.
	Proofs int
	// Tell is called whenever the facts may have changed, and Alert for alerts. They must not
	// block.
	Tell  func(health.OutageFacts)
	Alert func(health.Alert)
	Log   *logrus.Entry
}

const (
	// retryAfter is the pause before the node is asked again.
	retryAfter = 2 * time.Second
	// longestAnswer is how long a call on the chain may take, or two thirds of a period if that
	// is shorter: the next try must still be in time.
	longestAnswer = time.Minute
	// guessedBlockTime is the assumed block time until it is known: Ethereum's.
	guessedBlockTime = 12 * time.Second
)

// keeper proves. The fields after mu are shared with the tasks of the slots; all others,
// constants aside, belong to Run.
type keeper struct {
	Config
	Ports
	terms  events.ProofConfig
	places *shell.Pool
	tasks  sync.WaitGroup
	known  blocks
	asked  uint64 // the period in which the slots were last asked for

	mu     sync.Mutex
	waits  string // why it is not known what is owed; empty: it is
	head   events.Head
	pass   *duty.Pass
	slots  map[events.SlotID]*slot
	proofs int // submitted
}

// Run proves until ctx ends, and returns when all that it began has ended; transactions that
// were sent go on by themselves. It fails when the contract wants proofs of other keys, or when
// the node turns out to follow another chain. It waits for any other trouble of the node to
// pass.
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

// wait notes why it is not known what is owed, or that it is; that is logged once, however long
// it lasts.
func (k *keeper) wait(why error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	before := k.waits
	if k.waits = ""; why != nil {
		k.waits = why.Error()
	}
	if k.waits != "" && k.waits != before {
		k.Log.Warnf("without the event store: find out what is owed, will try again: %s", k.waits)
	}
	k.Tell(k.facts())
}

// begin reads the contract's terms and the newest block.
func (k *keeper) begin(ctx context.Context) (head events.Head, err error) {
	wrong := false
	err = retry.Until(ctx, retryAfter, func() error {
		market, err := k.Market.Config(ctx)
		if err != nil {
			return err
		}
		k.terms = market.Proofs
		if have, want := k.Prover.KeyHash(), k.terms.KeyHash; have != want {
			wrong = true
			return fmt.Errorf("the contract wants proofs of other keys: %s, the prover has %s", want, have)
		}
		head, err = k.Market.Head(ctx)
		return err
	}, func(error) bool { return wrong || ctx.Err() != nil }, k.wait)
	return head, err
}

// follow delivers the newest block, and drops an older one that was not looked at yet.
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
		heads <- u.Head // There is no other sender.
		return nil
	})
}

// patiently makes a call on the chain, and gives it up after a while.
func patiently[T any](ctx context.Context, k *keeper, call func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, min(longestAnswer, k.terms.Period*2/3))
	defer cancel()
	return call(ctx)
}

// onHead looks at all slots at a new block. After an error it must be called again.
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

// askSlots asks which slots are the account's now. The slots known before are kept until there
// is an answer: each is asked about before it is proven.
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

// look begins a task for each slot that owes a proof, and tells the facts.
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
