package sim

import (
	"context"
	"io"
	"time"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/alert"
	"github.com/hostnode/hostnode/events/cargo"
	"github.com/hostnode/hostnode/events/downtime"
)

// Scenario describes a run. The zero value is a quiet world.
type Scenario struct {
	Requests int    // posted in the first part of the run; default 2
	Slots    uint64 // of each request; default 2

	// Faults of single calls: chances in a thousand at each call.
	Fail  int // it does not happen
	Lose  int // it happens, and its answer is lost
	Delay int // it is delayed by up to 10 blocks
	Twice int // it is made twice
	Die   int // the host is killed right before or right after it happens

	// The following are chances in a thousand at each step.
	Crash, Stop int // the host is killed, or stopped in good order
	CrashLoop   int // the host is killed again and again, every few blocks
	Reorganize  int // the chain drops blocks
	Depth       int // at most how many; default 6
	Rival       int // another host fills a slot
	Competitor  int // another host reserves a slot, and does not fill it
	Withdraw    int // the clients of ended requests collect what is left
	Repeat      int // the feed delivers an update twice
	ChainDown   int // neither market nor feed answers for a while
	Lies        int // the market gives impossible answers for a while; has random numbers of its own
	Lag         int // the node that answers is some blocks behind for a while
	BitRot      int // stored data is damaged or lost; has random numbers of its own
	Panic       int // an actor panics at a message; has random numbers of its own
	Poison      int // a rule panics on one input until all is calm; shares the random numbers of Panic
	DiskFull    int // nothing can be written, neither record nor slots, for a while
	SlowProofs  int // proofs take many blocks for a while
	Clock       int // the machine's clock jumps, by up to a day either way
	StoreDown   int // the store takes no appends for a while
	StoreAway   int // the store does not answer for a while, whether or not it wrote
	Cluster     int // the store's nodes disagree for a while; has random numbers of its own
	Pause       int // the operator pauses the queue, and resumes it later
	Older       int // the record loses its newest events once the host has a slot; shares the random numbers of Cluster
	Forget      int // record and disk are lost once the host has a slot
	Block       int // a block is sealed instead of answering a call; default 60

	// Reads parks reads of the store too, so that they fail or are late like other calls. It makes
	// a run longer.
	Reads bool
	// Period of the contract; default 20 s. A slot is lost after two misses. If that happens within
	// Depth blocks of its fill, it looks as if the fill had been reorganised away, so deep
	// reorganisations need long periods.
	Period    time.Duration
	MaxQueued int // slots that the queue holds; default the host's
	// SnapshotEvery is how many events the host stores between two snapshots of a state;
	// default 6. BitRot spoils half of them.
	SnapshotEvery        int
	Rot                  bool
	Tokens               uint64
	BadContent, NoClient bool // every second request's data is wrong, or never served
	// BadClients: each request with such data has a client of its own, so that avoiding one does
	// not affect the others.
	BadClients  bool
	Policy      Policy
	Sectors     Sectors
	Nodes       bool // the host watches nodes
	Alerts      bool // the host tells alerts
	Aggregation Aggregation
	Members     Members
	// Validator: the host, and nobody else, marks the missing proofs of others.
	Validator bool
	// Punctual: no proof may be missed. It needs a world in which only the store is ever away, and
	// that leaves the host enough time.
	Punctual bool
	// Chance: a running host that sees a challenge for so many blocks must answer it in time and not
	// be slashed. 0: not checked. It needs a chain without reorganisations, and slow blocks.
	Chance uint64
	// SlotLoss is how many slots every second request may lose before it fails, and so how many of them the host fills;
	// 0: all, as of the other requests.
	SlotLoss uint64
	// FailEveryNProofs makes every nth proof of the host invalid.
	FailEveryNProofs uint32
	// Cores are the host's rules, if an error is planted in them.
	Cores actors.Cores
	// Plant breaks something other than a rule.
	Plant Plant
	// aim is the kind of message at which an actor is to panic.
	aim *encounter
	// NewView makes a view of the record that is compared with a rebuilt one; nil: none.
	NewView func() View
	// MaxSteps bounds a run; default 20,000.
	MaxSteps int
	// Log receives the host's log and the trace; nil: they are discarded.
	Log io.Writer
}

// Members describes a host of several members. The zero value is a host of one process.
type Members struct {
	Count int
	// Chances in a thousand at each step; they have random numbers of their own.
	Kill    int // a member is killed, and started again later
	Stop    int // a member is stopped in good order, and started again later
	KillAll int // all members are killed at once, and started again
	Cut     int // a member is cut off for a while from what says who is alive
	Expire  int // the lease of a member ends while it goes on, which it may notice late
	Part    int // what one member sends to another one is lost for a while
	Behind  int // a member reads what others record late for a while
	// WithoutKey: the last member has no key of the account.
	WithoutKey bool
	// Again is the chance in a thousand that a question is heard twice at once.
	Again int
}

// Policy holds an operator's settings by which a host refuses slots. The zero value refuses
// nothing.
type Policy struct {
	// AvoidClient is how long a client with bad data is avoided, in chain time.
	AvoidClient time.Duration
	// MaxAtRisk bounds the collateral of all sales together; 0: no bound.
	MaxAtRisk uint64
	// WalletDays is for how many days the account's coins must last; Wei is how many it has.
	WalletDays, Wei uint64
	// Dispersal: the host waits for its window before it reserves.
	Dispersal bool
	// Quotas: the host is given another quota at each start, often less than it uses already.
	Quotas bool
}

// Plant is an error planted in what surrounds the rules; a run must find it.
type Plant struct {
	// Faithless is a market that sends after the deadline; Reckless, one that frees slots while
	// they run.
	Faithless, Reckless bool
	// Altering is a store that stores something other than it was given.
	Altering bool
	// Forgetful is a list of living sales that loses its last sale.
	Forgetful bool
	// Leaky is a token that burns payouts.
	Leaky bool
	// Lying is a repair that calls blocks sound and repairs nothing.
	Lying bool
	// Brittle is a supervisor that panics with every child.
	Brittle bool
	// Credulous is an adapter of the store that takes a refusal with the code of success for a
	// success; Growing, one that repeats an append with more events in it; Follower, one that
	// reads from any node.
	Credulous, Growing, Follower bool
	// Unasking is an adapter of the contract of sectors that sends without asking first; Lenient, one
	// that does not tell what a deposit lost; Hasty, a sealer that does the next step, too.
	Unasking, Lenient, Hasty bool
	// Dropping is a store that keeps all but the last event of a batch of a sector; Late, a host that
	// finds every window too short for a proof.
	Dropping, Late bool
	// Deaf are members that hear of no term of others, and an account that does not tell either;
	// Headlong, members that begin a sale when they are asked whether they would.
	Deaf, Headlong bool
	// Nameless is an owner that does not know by their names which transactions it has sent.
	Nameless bool
	// Gullible is an owner that hands out slots by a balance from before a payment, or from a chain without it.
	Gullible bool
	// Unheard is an event store that loses the proofs that members leave there for the owner.
	Unheard bool
	// Node are other rules for nodes that are watched; nil: those of events/downtime.
	Node func(downtime.State, downtime.Command) ([]downtime.Event, error)
	// Alert are other rules for alerts; nil: those of events/alert.
	Alert func(alert.State, alert.Command) ([]alert.Event, error)
	// Cargo are other rules for pieces that are aggregated; nil: those of events/cargo.
	Cargo func(cargo.State, cargo.Command) ([]cargo.Event, error)
	// Perjured is a broker that rejects what it has approved.
	Perjured bool
	// Vague is a witness that does not name all that is lost; Eager, one that names nothing.
	Vague, Eager bool
}

// View is a fold of the record that people look at.
type View interface {
	// Apply folds the next event.
	Apply(events.Recorded)
	// Compare returns how the view differs from one built from zero.
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

// finality is the depth in blocks from which nothing is reorganised in this scenario.
func (sc Scenario) finality() uint64 { return uint64(max(confirmations, sc.Depth+2)) }

// Fault is something that went wrong in a run: what it was, and at which method of a port or in
// which part of the world it occurred.
type Fault struct{ Kind, Where string }

// Outcome is the result of a run.
type Outcome struct {
	Trace   uint64 // hash of everything that happened, in order
	Steps   int
	Crashes int
	Blocks  uint64
	// Record is what the host recorded, in the order of the log; Events counts it by stored
	// name.
	Record []events.Recorded
	Events map[string]int
	// Faults counts what went wrong.
	Faults map[Fault]int
	// met counts the messages that the actors received, by kind.
	met map[encounter]int
	// Problem is a broken invariant (a *Broken), or that the run did not end.
	Problem error
}

var (
	me     = events.Address{0xaa, 0xbb}
	offer  = events.AvailabilityID{0x0f, 0xfe}
	market = events.MarketConfig{
		RepairRewardPercentage: 10, MaxNumberOfSlashes: 2, SlashPercentage: 20, ValidatorRewardPercentage: 20,
		MaxReservations: 3, RequestDurationLimit: 30 * 24 * time.Hour,
		Proofs: events.ProofConfig{
			Period: 20 * time.Second, Timeout: 10 * time.Second, Downtime: 64, DowntimeProduct: 67, KeyHash: "simulated",
		},
	}
)

const (
	quota     = 64 * events.BlockSize
	offerSize = 32 * events.BlockSize
	minFill   = 30 * time.Second
)

// overhead is what a slot's trees and manifest take on disk.
func overhead(slotSize events.Bytes) events.Bytes { return slotSize / 1024 }
