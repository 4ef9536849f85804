package sectors

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/quarantine"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/messages"
)

// Deps are what the sectors of a host need.
type Deps struct {
	*shell.Base
	Settings
	Sealer      port.Sealer
	Files       port.SectorStore
	Pieces      port.PieceSource
	Chain       port.ProviderChain
	Ledger      *shell.Part
	Quarantined *quarantine.List
	// Alert tells operators of a sector in trouble; nil: the log alone does.
	Alert func(health.SectorTrouble)
	// AlertOver is told that such trouble is over, whether it was told or not. Nil: nobody is.
	AlertOver func(health.SectorTrouble)
	// Space is what a sector of a padded size takes, as its sealer needs it.
	Space  func(size events.Bytes) capacity.Space
	Policy sector.Policy
	// Decide are the rules: sector.Decide.
	Decide func(sector.Info, sector.Command) ([]sector.Event, error)
	// Compared is shared by all lives of the room in one process: pieces were compared with the ledger. A later life
	// does not do that again, because others may just be writing a piece for which they hold bytes.
	Compared *atomic.Bool
}

// Settings bound what sectors do. A zero field stands for its default.
type Settings struct {
	// These bound the steps of a kind that run at once: fetching pieces, default 4; packing and
	// repairing 2; the halves of sealing 1 and 1; proofs of seals 1; challenges 4; messages
	// that are on their way 16, and as many with proofs of possession and declarations; questions to the chain 8;
	// work on files 4.
	Fetch, Pack, PreCommit1, PreCommit2, Commit, Challenges, Transactions, Reads, Disk int
	// Batch is how many sectors the chain is asked about at once, and how many begin at once
	// when the host starts, default 200.
	Batch int
	// WatchEvery is the number of blocks between two questions to the chain about all sectors,
	// default 2.
	WatchEvery uint64
	// FinalBlocks is the number of blocks after which an answer of the chain is final, default
	// 12.
	FinalBlocks uint64
	// Lifetime is how many blocks a sector is to live, default 1,000,000, within the
	// contract's bounds.
	Lifetime uint64
	// WithdrawEvery is how many blocks lie between two withdrawals of what the contract owes, default 1,000;
	// when a sector is over, the next block withdraws. WithdrawMin is the least that is withdrawn.
	WithdrawEvery uint64
	WithdrawMin   events.Amount
	// ProveMargin is how many blocks before the end of a window the proofs that are ready are
	// sent, default 3.
	ProveMargin uint64
	// StepLimit is how long one call on a sealer or on files may take before it is cancelled and counts as a
	// failure, default 24 h; StepLimits are those of single steps: zero is none. CancelWait is how long a call that is
	// cancelled keeps its slot if it does not end, default 30 s.
	StepLimit  time.Duration
	StepLimits map[sector.Step]time.Duration
	CancelWait time.Duration
	// ChallengeLimit is how long one try at a challenge may take before another sector's is tried, default 5 min.
	ChallengeLimit time.Duration
	// QuarantineRetry is how long a sector that cannot be run is left alone, default 1 h.
	QuarantineRetry time.Duration
	// ScrubEvery is how often the data of all sectors is read to find damage; 0: never. ScrubBytesPerSecond
	// bounds its pace, default 1 MiB.
	ScrubEvery          time.Duration
	ScrubBytesPerSecond events.Bytes
	// SealAfter is how long after its beginning a sector with pieces that waits for more is sealed as it is; 0: an
	// operator orders that.
	SealAfter time.Duration
	// FilesElsewhere: the sealer keeps the files of sectors, and none are expected here.
	FilesElsewhere bool
	// FilesLost: the operator knows that the files of all sectors are gone. Without it nothing is done then.
	FilesLost bool
	// Quota is what the host may use in all, and MaxDeposits bounds all deposits together;
	// nil: nothing does.
	Quota       events.Bytes
	MaxDeposits *events.Amount
}

func (s Settings) withDefaults() Settings {
	for at, def := range map[*int]int{
		&s.Fetch: 4, &s.Pack: 2, &s.PreCommit1: 1, &s.PreCommit2: 1, &s.Commit: 1, &s.Challenges: 4,
		&s.Transactions: 16, &s.Reads: 8, &s.Disk: 4, &s.Batch: 200,
	} {
		*at = cmp.Or(*at, def)
	}
	for at, def := range map[*uint64]uint64{
		&s.WatchEvery: 2, &s.FinalBlocks: 12, &s.Lifetime: 1_000_000, &s.ProveMargin: 3,
		&s.WithdrawEvery: 1000,
	} {
		*at = cmp.Or(*at, def)
	}
	for at, def := range map[*time.Duration]time.Duration{
		&s.StepLimit: 24 * time.Hour, &s.ChallengeLimit: 5 * time.Minute, &s.CancelWait: 30 * time.Second,
		&s.QuarantineRetry: time.Hour,
	} {
		*at = cmp.Or(*at, def)
	}
	s.ScrubBytesPerSecond = cmp.Or(s.ScrubBytesPerSecond, 1<<20)
	return s
}

// room is what all sectors of a host share.
type room struct {
	Deps
	pools map[sector.Step]*shell.Pool
	// challenges, transactions and reads are the pools for calls that are no step.
	challenges, transactions, proofs, reads *shell.Pool
	faults, recoveries                      *declarations
	// height is the number of the newest block.
	height atomic.Uint64
	// preCommit2Blocks is how many blocks the second half of sealing took the last time.
	preCommit2Blocks atomic.Uint64
	// ctx ends with Sectors, however that ends: its agents do not outlive it, nor may their
	// calls.
	ctx context.Context
	end context.CancelFunc
}

func newRoom(d Deps) *room {
	d.Settings = d.withDefaults()
	ctx, end := context.WithCancel(d.RT.Context())
	r := &room{
		ctx: ctx, end: end,
		Deps: d, challenges: shell.NewPool("sector challenges", d.Challenges),
		transactions: shell.NewPool("sector transactions", d.Transactions),
		// With the declarations, which few messages are enough for. Nothing is sent before them.
		proofs: shell.NewPool("sector proofs", d.Transactions),
		reads:  shell.NewPool("sector reads", d.Reads),
	}
	r.faults = &declarations{name: "declare faults", send: d.Chain.DeclareFaults}
	r.recoveries = &declarations{name: "declare recoveries", send: d.Chain.DeclareRecoveries}
	pack, disk := shell.NewPool("sector packing", d.Pack), shell.NewPool("sector files", d.Disk)
	r.pools = map[sector.Step]*shell.Pool{
		sector.StepAddPiece: shell.NewPool("sector pieces", d.Fetch), sector.StepPack: pack, sector.StepRestore: pack,
		sector.StepPreCommit1: shell.NewPool("sector PC1", d.PreCommit1),
		sector.StepPreCommit2: shell.NewPool("sector PC2", d.PreCommit2),
		sector.StepCommit:     shell.NewPool("sector commit", d.Commit),
		sector.StepFinalize:   disk, sector.StepReleaseScratch: disk, sector.StepRemove: disk,
		sector.StepReleaseSpace:  disk,
		sector.StepGetTicket:     r.reads,
		sector.StepSendPreCommit: r.transactions, sector.StepSendCommit: r.transactions,
		sector.StepTerminate: r.transactions, sector.StepSettle: r.transactions,
	}
	return r
}

// trouble tells operators of a sector.
func (r *room) trouble(t health.SectorTrouble) {
	if r.Alert != nil {
		r.Alert(t)
		return
	}
	r.Log.WithField("sector", t.Number).Error("the sector " + t.Reason)
}

// troubleOver tells them that there is no such trouble any more.
func (r *room) troubleOver(t health.SectorTrouble) {
	if r.AlertOver != nil {
		r.AlertOver(t)
	}
}

// onChainState is what the chain has of a sector at a block, and which proving period that is in.
type onChainState struct {
	events.SectorOnChain
	period uint64
}

func refOf(st sector.Info) events.SectorRef {
	return events.SectorRef{Provider: st.Provider, Number: st.Number, Size: st.Size}
}

func sealOf(st sector.Info) events.SealContext {
	return events.SealContext{
		Ticket: st.TicketValue, Seed: st.SeedValue, CommD: st.CommD, CommR: st.CommR, Pieces: st.Pieces,
	}
}

func pieceMessage(p events.SectorPiece) *messages.SectorPiece {
	return &messages.SectorPiece{Cid: p.CID, Size: uint64(p.Size), Payload: uint64(p.Payload)}
}
