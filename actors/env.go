package actors

import (
	"context"
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
)

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
	followed watched[events.Position]
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
		rt.Met = cfg.Met
	}
	ports.Clock = shell.GuardClock(ports.Clock, rt)
	e := &env{}
	var market port.Market = budgeted{ports.Market, e}
	var ofMember *members.Market
	var member events.Member
	if ports.Cluster != nil {
		ofMember = members.NewMarket(market, members.Way{
			Cluster: ports.Cluster, Owner: e.ownerNow, Account: ports.Account, Clock: ports.Clock,
			Now: func() time.Time { return e.View.Now().Time },
			Before: func(ctx context.Context, t time.Time, cause error) (context.Context, context.CancelFunc) {
				return e.View.Before(ctx, t, cause)
			},
			Leave: func(ctx context.Context, r members.Ready) error { return e.ready.Leave(ctx, r) },
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
