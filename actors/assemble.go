package actors

import (
	"cmp"
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

// This file puts a host together: it makes what several of its parts share, and gives each what it declares.

// maxProofTxs is how many proofs may be in flight, until they are confirmed: the number of
// unconfirmed transactions that the market keeps for one account.
const maxProofTxs = 1024

// addresses are where the parts of a host are reached over all their lives.
type addresses struct{ root, ledger, queue, scheduler, sectors, validator *shell.Part }

// assemble makes a host, and the supervisor that runs it.
func assemble(cfg Config, ports Ports, rt *shell.Runtime) (*Host, *supervisor) {
	if cfg.BeforeMessage != nil {
		rt.BeforeMessage = cfg.BeforeMessage
	}
	ports.Clock = shell.GuardClock(ports.Clock, rt)
	base := newBase(cfg, ports, rt)
	at := addresses{
		root: shell.NewPart("Supervisor"), ledger: shell.NewPart(ledger.Name), queue: shell.NewPart(queue.Name),
		scheduler: shell.NewPart(schedulerName), sectors: shell.NewPart(sectors.Name),
		validator: shell.NewPart(validatorName),
	}
	alerts := health.NewAlerts(base, cfg.Alert).Ending(cfg.AlertOver)
	record := newHostRecord(base)
	record.quarantined = quarantine.New(base, recordQuarantine(record, alerts))
	ready := members.NewReadyProofs(base)
	chain, market := newChain(cfg, ports, record, ready, at)
	rules := admission.New(chain, admission.Limits{
		MaxSlotsPerRequest: cfg.MaxSlotsPerRequest, MinFill: cfg.MinFill, MinWei: cfg.MinWei,
		WalletDays: cfg.WalletDays, MaxCollateralAtRisk: cfg.MaxCollateralAtRisk, ProofLoad: cfg.ProofLoad,
		Proofs: cfg.Proofs, Quota: cfg.Quota, Overhead: cfg.Overhead, MayReserve: cfg.MayReserve,
	}, cfg.KeepFree)
	s := &supervisor{
		Rules: rules, record: record, root: at.root, queue: at.queue, sectors: at.sectors,
		repo: ports.Repo, prover: ports.Prover, storeAwaySince: cfg.StoreAwaySince,
		panics: &panics{alerts, record.quarantined, map[shell.Subject]int{}},
		market: &marketRecord{
			Chain: chain, Alerts: alerts, chainFeed: ports.Feed, root: at.root,
			stream: events.MarketStream(cfg.ChainID, cfg.Contract), genesis: cfg.Genesis,
			finalBlocks: cfg.FinalBlocks, scanEvery: scanEvery, unreadRetry: cfg.QuarantineRetry,
		},
		loss: &recordLoss{Base: base, Alerts: alerts, record: record, witness: ports.Witness, queue: at.queue},
		watch: &watch{
			Chain: chain, Alerts: alerts, record: record, cluster: ports.Cluster,
			certificateWarning: cfg.CertificateWarning,
		},
		disk: &diskWatch{
			Base: base, Alerts: alerts, room: rules.Room, repo: ports.Repo, root: at.root, queue: at.queue,
		},
		scrub:      &scrub{base, ports.Repo, cfg.ScrubEvery, cfg.ScrubBytesPerSecond, at.root},
		validating: &validating{part: at.validator, settings: cfg.Validator},
		provers:    proofs.NewProvers(rules),
	}
	if p := ports.Sectors; p != nil {
		s.sectorFiles = p.Files
		if !cfg.Sectors.FilesElsewhere {
			s.disk.sectors = p.Files
		}
	}
	proofTxs := assembleSales(cfg, ports, s, at, alerts)
	if ports.Cluster != nil {
		assembleMember(cfg, ports, s, ready, proofTxs, at)
	}
	s.rooms = &rooms{Chain: chain, Alerts: alerts, panics: s.panics}
	s.rooms.keep(quarantinePause(cfg.QuarantineRetry), hostRooms(cfg, ports, s, at, alerts))
	return &Host{
		rt: rt, base: base, alerts: alerts, record: record, ledger: at.ledger, queue: at.queue, sectors: at.sectors,
		sectorPorts: ports.Sectors, disk: s.disk, cluster: ports.Cluster, market: market, handout: s.handout,
		terms: s.terms, rooms: ports.Rooms,
	}, s
}

func newBase(cfg Config, ports Ports, rt *shell.Runtime) *shell.Base {
	bell := new(shell.Bell)
	watch := shell.NewStoreWatch(ports.Clock, rt.Log, cfg.Yield)
	watch.Bell = bell
	b := &shell.Base{
		RT: rt, Log: rt.Log, Clock: ports.Clock, Store: ports.Store, Codec: catalog.Codec(), Streams: catalog.Streams(),
		StoreWatch: watch, Bell: bell, Me: ports.Market.Account(), Node: cfg.Node,
		RetryAfter: cfg.RetryAfter, RetryMost: cfg.RetryMost, SnapshotEvery: cfg.SnapshotEvery, Yield: cfg.Yield,
		Savers: map[string]shell.Saver{},
	}
	if ports.Cluster != nil {
		b.Member = ports.Cluster.Member()
	}
	return b
}

// newChain returns what the host knows of the chain, and how a member reaches the contract through the others; nil: the
// host is one process.
func newChain(
	cfg Config, ports Ports, record *hostRecord, ready *members.ReadyProofs, at addresses,
) (chain *chainview.Chain, toOwner *members.Market) {
	var market port.Market = budgeted{ports.Market, record.Base, at.root, at.queue}
	if ports.Cluster != nil {
		toOwner = members.NewMarket(market, members.Route{
			Cluster: ports.Cluster, Owner: record.ownerNow, Account: ports.Account, Clock: ports.Clock,
			Now: func() time.Time { return chain.View.Now().Time },
			Before: func(ctx context.Context, t time.Time, cause error) (context.Context, context.CancelFunc) {
				return chain.View.Before(ctx, t, cause)
			},
			HandOver: ready.HandOver,
		})
		market = toOwner
	}
	chain = chainview.New(record.Base, market, cfg.Margin)
	return chain, toOwner
}

// assembleSales makes what begins sales, runs them, and hands them out. It returns the pool of the proofs in flight.
func assembleSales(
	cfg Config, ports Ports, s *supervisor, at addresses, alerts *health.Alerts,
) (proofTxs *shell.Pool) {
	downloads := shell.NewPool("downloads", cfg.Downloads)
	transactions := shell.NewPool("transactions", cfg.Transactions)
	reads := shell.NewPool("reads", cfg.Reads)
	disk := shell.NewPool("disk", cfg.Disk)
	repairs := shell.NewPool("repairs", selling.MaxRepairs)
	// Each proof in flight waits for its confirmations, which may take longer than a period, so no proof may wait for
	// another's.
	proofTxs = shell.NewPool("proofs on their way", maxProofTxs)
	s.pools = []*shell.Pool{downloads, transactions, proofTxs, reads, disk, repairs}
	s.sales = &roster{
		Rules: s.Rules, Alerts: alerts, quarantined: s.record.quarantined,
		scheduler: at.scheduler, validator: at.validator, finalBlocks: cfg.FinalBlocks,
		agents: map[events.SlotID]*agent{}, tally: newTally(), beginning: map[events.SlotID]*candidate{},
	}
	s.sales.keep(&selling.Deps{
		Rules: s.Rules, Prover: ports.Prover, Repo: ports.Repo, Content: ports.Content, Provers: s.provers,
		Ledger: at.ledger, Downloads: downloads, Transactions: transactions, Reads: reads, Disk: disk, Repairs: repairs,
		ProofTxs: proofTxs, ChainID: cfg.ChainID, Contract: cfg.Contract, FinalBlocks: cfg.FinalBlocks,
		GiveUpDownload: cfg.GiveUpDownload, JudgePace: cfg.JudgePace,
		Decide: cfg.Cores.DecideSale, Next: cfg.Cores.NextSale, IsDuty: cfg.Cores.IsDuty,
	}, quarantinePause(cfg.QuarantineRetry))
	s.handout = &handout{
		roster: s.sales, cluster: ports.Cluster, record: s.record, repo: ports.Repo, witness: ports.Witness,
		rooms: ports.Rooms, root: at.root, queue: at.queue,
	}
	s.begin = &beginnings{
		roster: s.sales, handout: s.handout, panics: s.panics, root: at.root, queue: at.queue, reads: reads,
		failEvery: cfg.FailEveryNProofs,
	}
	s.adoption = &adoption{beginnings: s.begin}
	s.orphans = &orphans{
		Chain: s.Chain, repo: ports.Repo, root: at.root, ledger: at.ledger, finalBlocks: cfg.FinalBlocks,
	}
	return proofTxs
}

// assembleMember makes what a host has of several members.
func assembleMember(
	cfg Config, ports Ports, s *supervisor, ready *members.ReadyProofs, proofTxs *shell.Pool, at addresses,
) {
	s.handout.mirror = members.NewMirror(s.Base, s.record.hostLedgerHolder)
	s.market.scanEvery = scanEveryOfMembers
	s.others = &otherMembers{
		Chain: s.Chain, record: s.record, mirror: s.handout.mirror, ready: ready,
		market: s.market.stream, contract: ports.Market, proofTxs: proofTxs, root: at.root, queue: at.queue,
		followed: new(watched[events.Position]),
	}
	if ports.Account != nil {
		s.terms = &terms{
			hostRecord: s.record, cluster: ports.Cluster, account: ports.Account, giveWayAfter: cfg.GiveWayAfter,
			root: at.root, queue: at.queue, followed: s.others.followed,
		}
	}
}

// hostRooms are the rooms of a host, in the order in which they start.
func hostRooms(cfg Config, ports Ports, s *supervisor, at addresses, alerts *health.Alerts) []*supervisedRoom {
	const sold = "nothing is sold while it is down, and hosted slots are proven"
	quarantined, reads := s.record.quarantined, s.begin.reads
	set := quota{s.Base, alerts, at.ledger, cfg.Quota, ports.Sectors != nil}.set
	tellNow := func(room shell.Ref) { room.Tell(chainview.HeadMoved{Head: s.View.Now(), Live: s.live}) }
	all := []*supervisedRoom{{
		Room: Room{
			Part: at.ledger, Lost: sold,
			Start: func(c *chainview.Chain, _ int, broken func(error)) shell.Behavior {
				return ledger.New(ledger.Deps{
					Base: c.Base, Repo: ports.Repo, Quota: cfg.Quota, Quarantined: quarantined, Queue: at.queue,
					Decide: cfg.Cores.DecideCapacity, Broken: broken,
				})
			},
		},
		began: func(shell.Ref) { set() },
	}, {
		Room: Room{
			Part: at.queue, Runs: Owner, Lost: sold, Heads: true,
			Start: func(_ *chainview.Chain, life int, broken func(error)) shell.Behavior {
				return queue.New(queue.Deps{
					Rules: s.Rules, Alerts: alerts, Quarantined: quarantined, Part: at.queue,
					Match: match(s, at.ledger), Supervisor: s.self, Reads: reads, ChainID: cfg.ChainID,
					Contract: cfg.Contract, MaxQueued: cfg.MaxQueued, MaxWorkers: cfg.MaxWorkers,
					WorkerPatience: cfg.WorkerPatience, AvoidClient: cfg.AvoidClient,
					Decide: cfg.Cores.DecideQueue, Held: s.loss.unrecorded, Life: life, Broken: broken,
				})
			},
		},
		began: func(shell.Ref) { s.loss.pauseQueue() }, ended: func(error) { s.sales.forgetWorkers() },
	}, {
		Room: Room{
			Part: at.scheduler, Lost: "no new proof begins while it is down", Heads: true,
			Start: func(*chainview.Chain, int, func(error)) shell.Behavior {
				return proofs.New(proofs.Deps{
					Rules: s.Rules, Alerts: alerts, Quarantined: quarantined, Provers: s.provers,
					Verdict: cfg.Cores.Verdict, Since: s.since, Recent: s.heads,
				})
			},
		},
		began: s.sales.tellScheduler,
	}}
	if ports.Sectors != nil {
		all = append(all, sectorsRoom(cfg, *ports.Sectors, s, at, alerts, tellNow))
	}
	if ports.Validation != nil {
		all = append(all, validatorRoom(ports, s, reads))
	}
	for _, r := range ports.Rooms {
		all = append(all, &supervisedRoom{Room: r, late: true, began: tellNow})
	}
	return all
}

// match asks all ledgers of the host for an availability that fits a slot.
func match(s *supervisor, here *shell.Part) func(context.Context, capacity.Ask) (*capacity.Refusal, error) {
	return func(ctx context.Context, ask capacity.Ask) (*capacity.Refusal, error) {
		if s.others != nil {
			_, refusal := s.others.mirror.Fits(ask, nil)
			return refusal, nil
		}
		return shell.WhenUp(ctx, s.Base, "judge", func() shell.Question[*capacity.Refusal] {
			return shell.Ask[*capacity.Refusal](here, ledger.Match{Ask: ask})
		})
	}
}

func sectorsRoom(
	cfg Config, p SectorPorts, s *supervisor, at addresses, alerts *health.Alerts, tellNow func(shell.Ref),
) *supervisedRoom {
	settings := cfg.Sectors
	settings.Quota = cmp.Or(settings.Quota, cfg.Quota)
	settings.QuarantineRetry = cmp.Or(settings.QuarantineRetry, cfg.QuarantineRetry)
	settings.ScrubEvery = cmp.Or(settings.ScrubEvery, cfg.ScrubEvery)
	settings.ScrubBytesPerSecond = cmp.Or(settings.ScrubBytesPerSecond, cfg.ScrubBytesPerSecond)
	settings.FinalBlocks = cmp.Or(settings.FinalBlocks, cfg.FinalBlocks)
	compared := new(atomic.Bool)
	return &supervisedRoom{
		Room: Room{
			Part: at.sectors, Heads: true, Lost: "no sector is sealed or proven while it is down, and slots are",
			Start: func(c *chainview.Chain, _ int, _ func(error)) shell.Behavior {
				room := sectors.New(sectors.Deps{
					Base: c.Base, Settings: settings, Sealer: p.Sealer, Files: p.Files, Pieces: p.Pieces,
					Chain: s.Checked(p.Chain), Ledger: at.ledger, Quarantined: s.record.quarantined, Space: p.Space,
					Compared: compared, Policy: cfg.SectorPolicy, Decide: cfg.Cores.DecideSector,
					Alert: func(t health.SectorTrouble) {
						facts := health.Facts{Sectors: []health.SectorTrouble{t}}
						c, _ := health.CauseOf("sectors-stuck", facts)
						alerts.RaiseAbout(c.Alert, t.Subject(), c.Reason, c.Hint)
					},
					AlertOver: func(t health.SectorTrouble) {
						alerts.ClearAbout(health.AlertSector, t.Subject(), "it is proven, or over")
					},
				})
				s.sectorPools = room.Pools()
				return room
			},
		},
		began: tellNow,
	}
}

func validatorRoom(ports Ports, s *supervisor, reads *shell.Pool) *supervisedRoom {
	v := s.validating
	return &supervisedRoom{
		Room: Room{
			Part: v.part, Runs: Owner, Lost: "missing proofs of other hosts are not marked while it is down",
			Start: func(_ *chainview.Chain, _ int, broken func(error)) shell.Behavior {
				return validator.New(validator.Deps{
					Chain: s.Chain, Validation: ports.Validation, Settings: v.settings,
					Stream: s.market.stream, Reads: reads, Ours: s.sales.slots(),
					Publish: func(now validator.Status) { v.status.Store(&now) },
					Broken:  broken,
				})
			},
		},
		late: true, ownStatus: true, ended: v.showDown,
	}
}
