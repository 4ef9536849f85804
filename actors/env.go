package actors

import (
	"context"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/hostnode/hostnode/actors/admission"
	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/ledger"
	"github.com/hostnode/hostnode/actors/members"
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/proofs"
	"github.com/hostnode/hostnode/actors/quarantine"
	"github.com/hostnode/hostnode/actors/queue"
	"github.com/hostnode/hostnode/actors/sectors"
	"github.com/hostnode/hostnode/actors/selling"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/actors/validator"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/events/validation"
)

// Ports are the interfaces through which a host acts on the world.
type Ports struct {
	Market  port.Market
	Feed    port.ChainFeed
	Prover  port.Prover
	Repo    port.Repo
	Content port.Content
	Clock   shell.Clock
	Store   events.Store
	// Validation marks missing proofs of other hosts; nil: this host is no validator.
	Validation port.Validation
	// Sectors seals and proves sectors; nil: this host has none.
	Sectors *SectorPorts
	// Rooms are those of further machines.
	Rooms []Room
	// Witness remembers what the store has acknowledged; nil: there is none.
	Witness port.Witness
	// Cluster joins this process with the other members of the host; nil: it is the host.
	Cluster port.Cluster
	// Account lets this member send the account's transactions while it has the term; nil: it
	// never does. A process that is the host sends them always.
	Account port.Account
}

// Config holds the settings of a host. Zero values stand for the defaults named here.
type Config struct {
	// Node names this process in events and logs.
	Node string
	// Version of the program, for the record.
	Version string
	// ChainID, Genesis and Contract say which market this record belongs to.
	ChainID  uint64
	Genesis  events.Hash
	Contract events.Address

	// ClusterName is the name of the cluster that this member joined; empty: it is the host.
	ClusterName string
	// TakeOver says that an operator starts this process although the members of the host seem to be in another
	// cluster.
	TakeOver bool
	// UsedDirectory says that the data directory was used by this host before.
	UsedDirectory bool
	// StoreAwaySince is since when the process has waited for the event store before this, by the machine's clock;
	// zero: it has not.
	StoreAwaySince time.Time
	// Quota is how many bytes the host may use; the ledger is told at the start.
	// 0 leaves it as it is.
	Quota events.Bytes

	// MaxWorkers is how many slots are worked on at once, each until it is filled or let
	// go; default 3.
	MaxWorkers int
	// MaxQueued is how many slots the queue holds; default 100,000.
	MaxQueued int
	// MaxSlotsPerRequest is how many slots of one request this host fills; 0 is
	// the request's own maxSlotLoss, so that our failure alone never fails it.
	MaxSlotsPerRequest int
	// Downloads, Proofs, Transactions, Reads and Disk bound the calls that run
	// at once. Defaults 2, 1, 16, 16, 4. A proof uses all cores.
	Downloads, Proofs, Transactions, Reads, Disk int
	// FinalBlocks is how many blocks make a fill final; default 12.
	FinalBlocks uint64
	// Margin is the time that a proof needs until it is on chain; default 6 blocks of one
	// second. If its BlockTime is zero, the measured one is used.
	Margin duty.Margin
	// MinFill is the chain time that must be left until the expiry for a slot to be taken;
	// default two periods.
	MinFill time.Duration
	// RetryAfter and RetryMost are the first and the longest pause between two tries of a call
	// with a temporary failure. Defaults 500 ms and 30 s.
	RetryAfter, RetryMost time.Duration
	// WorkerPatience is how long a worker stays with a slot that makes no
	// progress; default 10 minutes of the machine's time.
	WorkerPatience time.Duration
	// MinWei is the least that must be left for gas when a slot is taken.
	MinWei events.Amount
	// WalletDays is for how many days the account's coins must cover the proofs of all hosted
	// slots, at today's price, for a slot to be taken; 0: no such condition.
	WalletDays uint64
	// MaxCollateralAtRisk bounds the collateral of all sales together; nil: no bound.
	MaxCollateralAtRisk *events.Amount
	// ProofLoad is the highest load of the prover, in percent of the time, at which another
	// slot is taken; default 60.
	ProofLoad uint64
	// GiveUpDownload is how long a download may bring no new byte before it is given up, by the
	// machine's clock; default 10 minutes.
	GiveUpDownload time.Duration
	// JudgePace is the time over which the pace of a download is measured, at most a quarter of
	// the time available. A download too slow to end before the fill must begin is given up. 0:
	// the pace does not matter.
	JudgePace time.Duration
	// KeepFree is how much of the file system must stay free: with less, no slot is taken.
	KeepFree events.Bytes
	// ScrubEvery is how often all stored data is checked for damage, that of slots and that of sectors, by
	// the machine's clock; 0: never. ScrubBytesPerSecond bounds the pace of each; default 1 MiB.
	ScrubEvery          time.Duration
	ScrubBytesPerSecond events.Bytes
	// QuarantineRetry is the longest pause before a quarantined sale is tried again, by the
	// machine's clock; default an hour.
	QuarantineRetry time.Duration
	// AvoidClient is how long a client's requests are refused after its data could not be
	// fetched or was wrong, in chain time. 0: not at all.
	AvoidClient time.Duration
	// GiveWayAfter is how long the event store may not answer the owner, by the machine's clock, before another member
	// that it answers is let take the term; default 30 seconds.
	GiveWayAfter time.Duration
	// CertificateWarning is how long before its end a certificate of this member is warned of; 0: it never is.
	CertificateWarning time.Duration
	// Alert receives alerts for the operator. It must not block. Nil: nobody does.
	Alert func(health.Alert)
	// Heartbeat is how often this process records that it is alive; default 5 minutes;
	// negative: never.
	Heartbeat time.Duration
	// Validator selects the slots of other hosts to watch, if Ports.Validation is set.
	Validator validation.Settings
	// Sectors bounds what sectors do, if Ports.Sectors is set. Quota, FinalBlocks and
	// QuarantineRetry are those of the host where they are zero.
	Sectors sectors.Settings
	// SectorPolicy says when a failed step of a sector is tried again.
	SectorPolicy sector.Policy
	// SnapshotEvery is how many events lie between two snapshots of a state, and so how many a
	// start has to read. Default 10,000; negative: no snapshots are written.
	SnapshotEvery int
	// FailEveryNProofs makes every nth proof invalid; for development chains only.
	FailEveryNProofs uint32
	// Overhead is the most bytes that a slot's trees and manifest take on disk.
	Overhead func(slotSize events.Bytes) events.Bytes
	// MayReserve is the dispersal policy, which says from when on this host may reserve a slot:
	// ReserveAlways, the default, or ReserveInWindow.
	MayReserve func(admission.MayReserve) admission.Permission
	// Yield is called by every task when it begins, and when it goes on after a pause or a new
	// block. A simulation uses it to run one task at a time, so that a seed repeats its run;
	// nil otherwise.
	Yield func(ctx context.Context, task string)
	// Met is called by every actor before it handles a message, for tests that make one panic;
	// nil otherwise.
	Met func(actor string, msg any)
	// Cores replaces rules in tests that plant an error for the simulation to find. Nil fields
	// stand for the real rules.
	Cores Cores
}

// Cores are the rules that a host runs.
type Cores struct {
	DecideSale     func(sale.State, sale.Command) ([]sale.Event, error)
	NextSale       func(sale.State) []sale.Effect
	IsDuty         func(sale.Effect) bool
	DecideCapacity func(capacity.State, capacity.Command) ([]capacity.Event, error)
	DecideQueue    func(slotqueue.State, slotqueue.Command) ([]slotqueue.Event, error)
	DecideSector   func(sector.Info, sector.Command) ([]sector.Event, error)
	// Verdict says what a slot owes.
	Verdict func(*duty.Pass, *duty.Slot) duty.Verdict
}

func (c Config) withDefaults() Config {
	orDefaults(&c.Cores, Cores{
		sale.Decide, sale.Next, sale.IsDuty, capacity.Decide, slotqueue.Decide, sector.Decide, (*duty.Pass).Verdict,
	})
	orDefaults(&c, Config{
		MaxWorkers: 3, MaxQueued: 100_000, SnapshotEvery: shell.DefaultSnapshotEvery,
		Downloads: 2, Proofs: 1, Transactions: 16, Reads: 16, Disk: 4,
		RetryAfter: 500 * time.Millisecond, RetryMost: 30 * time.Second, WorkerPatience: 10 * time.Minute,
		GiveWayAfter:    30 * time.Second,
		QuarantineRetry: time.Hour, GiveUpDownload: 10 * time.Minute, Heartbeat: DefaultHeartbeat,
		ProofLoad: 60, ScrubBytesPerSecond: 1 << 20, FinalBlocks: 12,
		Margin:     duty.Margin{Blocks: 6, BlockTime: time.Second},
		Overhead:   func(events.Bytes) events.Bytes { return 0 },
		Yield:      func(context.Context, string) {},
		MayReserve: admission.ReserveAlways,
	})
	return c
}

// orDefaults gives each field that is zero its default.
func orDefaults[T any](c *T, defaults T) {
	fields, values := reflect.ValueOf(c).Elem(), reflect.ValueOf(defaults)
	for i := range fields.NumField() {
		if fields.Field(i).IsZero() {
			fields.Field(i).Set(values.Field(i))
		}
	}
}

// maxProofTxs is how many proofs may be in flight, until they are confirmed: the number of
// unconfirmed transactions that the market keeps for one account.
const maxProofTxs = 1024

// world is what a host is given. It is embedded one level deeper than the base, so that a name
// that both have, such as Clock, means the base's field.
type world struct{ given }

type given struct {
	Config
	Ports
}

// env is what all actors of a host share.
type env struct {
	*chainview.Chain
	*admission.Rules
	*health.Alerts
	world
	owner owner
	// namesChain: each scan of blocks must name the genesis; see samechain.go. Set before the
	// chain is followed.
	namesChain bool
	// quarantined is the work that is left alone; hostWrites are the events about it that wait
	// to be written.
	quarantined *quarantine.List
	hostWrites  hostWrites
	// ledger, queue, scheduler and sectors are started again when they fail; see part.go.
	ledger, queue, scheduler, sectors, validator *shell.Part
	root                                         *shell.Part // the supervisor, which is never started again

	downloads, transactions, reads, disk, repairs *shell.Pool
	// proofTxs is the pool of proofs in flight. Each waits for its confirmations, which may
	// take longer than a period, so no proof may wait for another's.
	proofTxs *shell.Pool
	provers  *proofs.Provers
	// unreadMarket says why the end of the market's stream cannot be read; nil: it can.
	unreadMarket atomic.Pointer[health.PartStatus]
	// recordAway: the start waits for the event store.
	recordAway atomic.Bool
	// lossRecorded: a loss of events is recorded, and the queue is paused in its own stream.
	lossRecorded atomic.Bool
	// followed is how far the record was followed, in a host of several members.
	followed moving[events.Position]
	// validating is the validator's status; nil: there is none.
	validating atomic.Pointer[validator.Status]
	// mirror is what this process knows of the other members, market how it reaches the contract through
	// them, and ready are the proofs that wait for the owner in the event store; nil: it is the host.
	mirror *members.Mirror
	market *members.Market
	ready  *members.ReadyProofs
	// selling is what all sales share.
	selling *selling.Deps
}

func newEnv(cfg Config, ports Ports, rt *shell.Runtime) *env {
	if cfg.Met != nil {
		rt.BeforeMessage = cfg.Met
	}
	ports.Clock = shell.GuardClock(ports.Clock, rt)
	e := &env{}
	var market port.Market = sparing{ports.Market, e}
	var ofMember *members.Market
	var member events.Member
	if ports.Cluster != nil {
		ofMember = members.NewMarket(market, members.Route{
			Cluster: ports.Cluster, Owner: e.ownerNow, Account: ports.Account, Clock: ports.Clock,
			Now: func() time.Time { return e.View.Now().Time },
			Before: func(ctx context.Context, t time.Time, cause error) (context.Context, context.CancelFunc) {
				return e.View.Before(ctx, t, cause)
			},
			HandOver: func(ctx context.Context, r members.Ready) error { return e.ready.HandOver(ctx, r) },
		})
		market = ofMember
		member = ports.Cluster.Member()
	}
	bell := new(shell.Bell)
	watch := shell.NewStoreWatch(ports.Clock, rt.Log, cfg.Yield)
	watch.Bell = bell
	*e = env{
		Chain: chainview.New(&shell.Base{
			RT: rt, Log: rt.Log, Clock: ports.Clock, Store: ports.Store, Codec: catalog.Codec(),
			Streams:    catalog.Streams(),
			StoreWatch: watch, Bell: bell, Me: ports.Market.Account(),
			Member: member, Node: cfg.Node,
			RetryAfter: cfg.RetryAfter, RetryMost: cfg.RetryMost, SnapshotEvery: cfg.SnapshotEvery, Yield: cfg.Yield,
			Savers: map[string]shell.Saver{},
		}, market, cfg.Margin),
		world:        world{given{cfg, ports}},
		owner:        owner{writing: shell.NewPool("writes to the host's stream", 1)},
		ledger:       shell.NewPart(ledger.Name),
		queue:        shell.NewPart(queue.Name),
		root:         shell.NewPart("Supervisor"),
		scheduler:    shell.NewPart(schedulerName),
		sectors:      shell.NewPart(sectors.Name),
		validator:    shell.NewPart(validatorName),
		downloads:    shell.NewPool("downloads", cfg.Downloads),
		transactions: shell.NewPool("transactions", cfg.Transactions),
		proofTxs:     shell.NewPool("proofs on their way", maxProofTxs),
		reads:        shell.NewPool("reads", cfg.Reads),
		disk:         shell.NewPool("disk", cfg.Disk),
		repairs:      shell.NewPool("repairs", selling.MaxRepairs),
	}
	if ports.Cluster != nil {
		e.mirror, e.market = members.NewMirror(e.Base, e.hostLedgerHolder), ofMember
		e.ready = members.NewReadyProofs(e.Base)
	}
	e.Rules = admission.New(e.Chain, admission.Limits{
		MaxSlotsPerRequest: cfg.MaxSlotsPerRequest, MinFill: cfg.MinFill, MinWei: cfg.MinWei,
		WalletDays: cfg.WalletDays, MaxCollateralAtRisk: cfg.MaxCollateralAtRisk, ProofLoad: cfg.ProofLoad,
		Proofs: cfg.Proofs, Quota: cfg.Quota, Overhead: cfg.Overhead, MayReserve: cfg.MayReserve,
	}, cfg.KeepFree)
	e.Alerts = health.NewAlerts(e.Base, cfg.Alert)
	e.quarantined = quarantine.New(e.Base, e.recordQuarantine)
	e.provers = proofs.NewProvers(e.Rules)
	e.selling = &selling.Deps{
		Rules: e.Rules, Prover: e.Prover, Repo: e.Repo, Content: e.Content, Provers: e.provers, Ledger: e.ledger,
		Downloads: e.downloads, Transactions: e.transactions, Reads: e.reads, Disk: e.disk, Repairs: e.repairs,
		ProofTxs: e.proofTxs, ChainID: e.ChainID, Contract: e.Contract, FinalBlocks: e.FinalBlocks,
		GiveUpDownload: e.GiveUpDownload, JudgePace: e.JudgePace,
		Decide: e.Cores.DecideSale, Next: e.Cores.NextSale, IsDuty: e.Cores.IsDuty,
	}
	return e
}

// match asks all ledgers of the host for an availability that fits a slot.
func (e *env) match(ctx context.Context, ask capacity.Ask) (*capacity.Refusal, error) {
	if e.mirror != nil {
		_, refusal := e.mirror.Fits(ask, nil)
		return refusal, nil
	}
	return shell.WhenUp(ctx, e.Base, "judge", func() shell.Question[*capacity.Refusal] {
		return shell.Ask[*capacity.Refusal](e.ledger, ledger.Match{Ask: ask})
	})
}
