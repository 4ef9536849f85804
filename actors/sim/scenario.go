package sim

import (
	"context"
	"io"
	"time"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/events"
)

// Scenario says what a run is made of. The zero value is a quiet world.
type Scenario struct {
	Requests int    // posted over the first part of the run; default 2
	Slots    uint64 // of each request; default 2

	// Faults of single calls: chances in a thousand at each call.
	Fail  int // it does not happen
	Lose  int // it happens, and its answer is lost
	Delay int // it waits until up to 10 blocks have passed
	Twice int // it is made twice
	Die   int // the host is killed right before or right after it happens

	// The following are chances in a thousand at each step.
	Crash, Stop int // the host is killed, or stopped in good order
	CrashLoop   int // the host is killed again and again, every few blocks
	Reorganize  int // the chain drops blocks
	Depth       int // at most how many; default 6
	Rival       int // another host fills a slot
	Competitor  int // another host reserves a slot, and does not fill it
	Withdraw    int // the clients of requests that are over collect what is left
	Repeat      int // the feed delivers an update twice
	ChainDown   int // neither market nor feed answer for a while
	Lies        int // the market answers for a while what cannot be true; of a chance of its own
	Lag         int // the node that answers is some blocks behind for a while
	BitRot      int // stored data goes bad, or is lost; of a chance of its own
	Panic       int // an actor is about to panic, at a message; of a chance of its own
	Poison      int // a rule panics on one input until all is calm; of the same chance
	DiskFull    int // nothing can be written, neither record nor slots, for a while
	SlowProofs  int // proofs take many blocks for a while
	Clock       int // the machine's clock jumps, by up to a day either way
	StoreDown   int // the store takes no appends for a while
	StoreAway   int // the store answers nothing for a while, whether it wrote or not
	Cluster     int // the store's nodes are not of one mind for a while; of a chance of its own
	Pause       int // the operator pauses the queue, and resumes it later
	Older       int // the record goes back, once the host has a slot; of the chance of Cluster
	Forget      int // record and disk are lost once the host has a slot
	Block       int // a block is sealed instead of a call answered; default 60

	// Reads parks the reads of the store as well, so that they fail and are late
	// like every other call. They make a run longer.
	Reads bool
	// Period of the contract; default 20 s. A slot is slashed away after two misses:
	// when that can be within Depth blocks of its fill, nobody can tell it from a
	// fill that was reorganised away, so deep reorganisations want long periods.
	Period    time.Duration
	MaxQueued int // slots that the queue holds; default the host's
	// SnapshotEvery is how many events the host stores between two snapshots of a
	// state; default 6. Rot spoils the half of them.
	SnapshotEvery        int
	Rot                  bool
	Tokens               uint64
	BadContent, NoClient bool // every second request's data is wrong, or never served
	// BadClients says that the requests with such data are of clients of their own, so
	// that avoiding one spares the others.
	BadClients bool
	Policy     Policy
	// Validator lets the host mark missing proofs of others, as nobody else then does.
	Validator bool
	// Punctual says that no proof may be missed: nothing but the store is away,
	// and the world leaves the host time enough.
	Punctual bool
	// Chance is for how many blocks a host that runs must see a challenge to have its
	// chance to answer it; then it must not be slashed for it. 0: nobody looks. It wants
	// a chain without reorganisations, and blocks that come slowly.
	Chance uint64
	// FailEveryNProofs makes the host spoil every nth proof.
	FailEveryNProofs uint32
	// Cores are the host's rules, when an error is planted in them.
	Cores actors.Cores
	// Plant breaks something else than a rule.
	Plant Plant
	// aim is a kind of encounter at which a panic is wanted.
	aim *encounter
	// NewView makes a view of the record that is compared with a rebuilt one; nil:
	// there is none.
	NewView func() View
	// MaxSteps bounds a run; default 20,000.
	MaxSteps int
	// Log takes the host's log and the trace; nil: nowhere.
	Log io.Writer
}

// Policy is what an operator sets that a host refuses slots by. The zero value
// refuses nothing.
type Policy struct {
	// AvoidClient is how long a client with bad data is avoided, in chain time.
	AvoidClient time.Duration
	// MaxAtRisk bounds the collateral of all sales together; 0: no bound.
	MaxAtRisk uint64
	// WalletDays is for how many days the account's wei must last, with so many.
	WalletDays, Wei uint64
	// Dispersal says that the host waits for its window before it reserves.
	Dispersal bool
	// Quotas says that the host is given another quota at each start, often one that is
	// less than it has already.
	Quotas bool
}

// Plant is an error in what surrounds the rules, to see that it is found.
type Plant struct {
	// Faithless is a market that sends what its deadline forbids, Reckless one that
	// frees slots while they run.
	Faithless, Reckless bool
	// Altering is a store that keeps something else than it is given.
	Altering bool
	// Forgetful is a survey that loses its last sale.
	Forgetful bool
	// Leaky is a token that burns what is paid out.
	Leaky bool
	// Lying is a repair that says that blocks are sound, and mends nothing.
	Lying bool
	// Brittle is a supervisor that falls with every child that panics.
	Brittle bool
	// Credulous is an adapter of the store that takes a refusal with the code of success for
	// one; Growing one that repeats an append with more in it; Follower one that reads from
	// any node.
	Credulous, Growing, Follower bool
	// Vague is a witness that does not name all that is lost; Eager one that names nothing.
	Vague, Eager bool
}

// View is a fold of the record that people look at.
type View interface {
	// Apply folds the next event.
	Apply(events.Recorded)
	// Compare says how the view differs from one that is built from zero.
	Compare(ctx context.Context, store events.Store) error
}

func (sc Scenario) withDefaults() Scenario {
	for field, value := range map[*int]int{
		&sc.Requests: 2, &sc.Block: 60, &sc.MaxSteps: 20_000, &sc.SnapshotEvery: 6, &sc.Depth: 6,
	} {
		if *field == 0 {
			*field = value
		}
	}
	if sc.Slots == 0 {
		sc.Slots = 2
	}
	if sc.Period == 0 {
		sc.Period = 20 * time.Second
	}
	if sc.Tokens == 0 {
		sc.Tokens = 1 << 40
	}
	return sc
}

// market is the contract's configuration in this scenario.
func (sc Scenario) market() events.MarketConfig {
	cfg := market
	cfg.Proofs.Period = sc.Period
	return cfg
}

// finality is after how many blocks nothing is taken back in this scenario.
func (sc Scenario) finality() uint64 { return uint64(max(confirmations, sc.Depth+2)) }

// Fault is something that went wrong in a run: what, and at which method of a
// port, or in which part of the world.
type Fault struct{ Kind, Where string }

// Outcome is what a run was.
type Outcome struct {
	Trace   uint64 // hash of everything that happened, in order
	Steps   int
	Crashes int
	Blocks  uint64
	// Record is what the host left behind, in the order of the log, and Events
	// counts it by stored name.
	Record []events.Recorded
	Events map[string]int
	// Faults counts what went wrong.
	Faults map[Fault]int
	// met is which kinds of messages the actors met, and how often.
	met map[encounter]int
	// Problem is a broken invariant (a *Broken), or a run that did not end.
	Problem error
}
