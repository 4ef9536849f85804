package actors

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/quarantine"
	"github.com/hostnode/hostnode/actors/sales"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/actors/validator"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
)

// Status is what the host is doing.
type Status struct {
	Booted bool
	// WaitsFor says what the start waits for, if it waits.
	WaitsFor string
	Epoch    uint64
	Head     events.Head
	// Live: the host has seen the newest block. Stalled: no block came for longer than
	// expected.
	Live, Stalled bool
	// Proofs is when the contract demands proofs of slots; zero: it was not read yet.
	Proofs events.ProofConfig
	// LastNews is when the chain last said something, by the machine's clock.
	LastNews time.Time
	// BlockTime is the time between blocks. NoRoom says why that leaves no time for a proof in
	// a period; empty: there is time.
	BlockTime chainview.BlockTime
	NoRoom    string
	// Quota is how many bytes the host may use; 0: what its ledger says. The ledger's quota is
	// larger while availabilities and sales use more.
	Quota events.Bytes
	// Overhead is what the trees and the manifest of the smallest slot take beside its data.
	Overhead events.Bytes
	// Record says whether the event store answers.
	Record shell.StoreStatus
	// Members is what is known of the other members of the host.
	Members health.MembersFacts
	// Unanswered is how many calls on the event store have no answer yet.
	Unanswered int
	// Hosting is how many slots this process hosts, ProofsDue how many proofs they owe now.
	Hosting, ProofsDue int
	Sales              []SaleStatus
	// Disk is how much room the file system has.
	Disk health.DiskStatus
	// Scrub is the progress of the scrub.
	Scrub events.ScrubProgress
	// SectorScrub is that of the scrub of sectors.
	SectorScrub events.SectorScrub
	// Down are the parts of the host that do not run; Quarantined is the work that is left
	// alone.
	Down        []health.PartStatus
	Quarantined []quarantine.Work
	Pools       []PoolStatus
	// Needs is what the account must hold; what it does hold is not filled in.
	Needs  health.Funds
	Prover health.ProverFacts
	// MaxAtRisk bounds the collateral of all sales; nil: no bound.
	MaxAtRisk *events.Amount
	// Validator is what the validator does; nil: this host is no validator.
	Validator *validator.Status
}

// SaleStatus is a sale that is in work or hosted.
type SaleStatus struct {
	State       sale.State
	Waiting     string
	Trouble     sales.Trouble
	Quarantined string
}

// PoolStatus is how busy a kind of call is.
type PoolStatus struct {
	Name                   string
	Running, Waiting, Size int
}

// Status reads what the host is doing now.
func (h *Host) Status(ctx context.Context) (Status, error) {
	return ask(ctx, h, shell.AskActor[Status](h.supervisor, showStatus{allSales}))
}

// Troubled is Status with those sales only, of many thousand, that have a trouble, are quarantined, or have damaged
// data.
func (h *Host) Troubled(ctx context.Context) (Status, error) {
	return ask(ctx, h, shell.AskActor[Status](h.supervisor, showStatus{troubledSales}))
}

// Standing is Status without sales.
func (h *Host) Standing(ctx context.Context) (Status, error) {
	return ask(ctx, h, shell.AskActor[Status](h.supervisor, showStatus{noSales}))
}

// Room is how much room the disk had when it was measured last.
func (h *Host) Room() health.DiskStatus { return h.disk.room.Now() }

func (s *supervisor) status(with whichSales) Status {
	st := Status{
		Booted: s.rooms.booted, Epoch: s.Epoch, Head: s.View.Now(), Live: s.live, Proofs: s.Terms.Proofs,
		Stalled: s.stalled(), Record: s.recordStatus(),
		Validator: s.validating.status.Load(), Quota: s.Quota, LastNews: s.lastNews, MaxAtRisk: s.MaxCollateralAtRisk,
		Overhead: s.Overhead(events.BlockSize),
		Scrub:    s.repo.ScrubProgress(), Disk: s.Room.Now(), Down: s.rooms.down(),
		Quarantined: s.record.quarantined.All(), Unanswered: int(s.StoreWatch.Asked.Load()),
	}
	if why := s.bootWaits.Load(); why != nil && !s.rooms.booted {
		st.WaitsFor = *why
	}
	if market := s.market.unread.Load(); market != nil {
		st.Down = append(st.Down, *market)
	}
	if s.sectorFiles != nil {
		st.SectorScrub = s.sectorFiles.ScrubProgress()
	}
	st.Needs, st.Members = s.sales.needs(), s.watch.members()
	if s.rooms.booted {
		st.Prover = s.ProverFacts()
		st.BlockTime, st.NoRoom = s.KnownBlockTime(), s.NoRoom()
	}
	st.Hosting, st.ProofsDue = s.sales.tally.hosting, s.sales.tally.due
	shown := map[whichSales]map[events.SlotID]*agent{
		allSales: s.sales.agents, troubledSales: s.sales.tally.troubled,
	}[with]
	for _, slot := range slices.SortedFunc(maps.Keys(shown), events.SlotID.Compare) {
		if ag := shown[slot]; ag.remote == "" {
			st.Sales = append(st.Sales, SaleStatus{ag.state, sale.Waiting(ag.state), ag.trouble, ag.Left})
		}
	}
	for _, p := range slices.Concat(s.pools, s.sectorPools) {
		running, waiting := p.Busy()
		st.Pools = append(st.Pools, PoolStatus{p.Name, running, waiting, p.Size})
	}
	running, waiting, size := s.provers.Busy()
	st.Pools = slices.Insert(st.Pools, 1, PoolStatus{"proofs", running, waiting, size})
	return st
}

// recordStatus also covers the transactions, whose events the market copies into the record by
// itself.
func (s *supervisor) recordStatus() shell.StoreStatus {
	r := s.StoreWatch.Now()
	copying, ok := chainview.Optional[interface {
		RecordAway() (since time.Time, reason error)
	}](s.Market)
	if r.Away || !ok {
		return r
	}
	if since, reason := copying.RecordAway(); reason != nil {
		why := "events of transactions are not recorded yet: " + reason.Error()
		return shell.StoreStatus{Away: true, Since: since, Reason: why}
	}
	return r
}
