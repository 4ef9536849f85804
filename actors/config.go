package actors

import (
	"context"
	"reflect"
	"time"

	"github.com/hostnode/hostnode/actors/admission"
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/sectors"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/membership"
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

// SectorPorts are the interfaces through which a host seals and proves sectors.
type SectorPorts struct {
	Sealer port.Sealer
	Files  port.SectorStore
	Pieces port.PieceSource
	// Chain is the contract of sectors for the market's account, on the market's chain.
	Chain port.ProviderChain
	// Space is what a sector of a padded size takes, as the sealer needs it.
	Space func(size events.Bytes) capacity.Space
}

// Config holds the settings of a host. Zero values stand for the defaults named here.
type Config struct {
	// Node names this process in events and logs.
	Node string
	// Version of the program, for the record.
	Version string
	// Settings are all settings of the process, for the record, without their secrets; none: they are not recorded.
	Settings []membership.Given
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
	// AlertOver is told that an alert is over, whether it was raised or not. It must not block. Nil: nobody is.
	AlertOver func(health.Alert)
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
	// BeforeMessage is called by every actor before it handles a message, for tests that make one panic;
	// nil otherwise.
	BeforeMessage func(actor string, msg any)
	// Cores replaces rules in tests that plant an error for the simulation to find. Nil fields
	// stand for the real rules.
	Cores Cores
}

// DefaultHeartbeat is how often a process records that it is alive.
const DefaultHeartbeat = 5 * time.Minute

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
