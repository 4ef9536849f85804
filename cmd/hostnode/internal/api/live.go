package api

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/quarantine"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/actors/validator"
	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/projections"
	"github.com/hostnode/hostnode/storage"
	pieces "github.com/hostnode/hostnode/storage/sectors"
)

// LiveConfig are the parts of a running host. All are required unless they say
// otherwise.
type LiveConfig struct {
	Host      *actors.Host
	Store     events.Store
	Projector *projections.Projector // it follows the store
	Source
	// Balance asks the chain for the account's balance; nil: not known.
	Balance func(context.Context, ...events.Head) (events.Balance, error)
	// Reach says whether a source of content can be reached, as storage.Fetcher does; nil: not known.
	Reach func(context.Context) error
	// Owed asks the contract of sectors what it owes the account; nil: the host seals none.
	Owed func(context.Context) (events.Amount, error)
	// Standing says which endpoint of the chain is in use; without one Endpoint is.
	Standing func() rpc.Reachability
	// Traffic and Requests count what was sent to the end points of the chain, as rpc.Conn does; nil: not known.
	Traffic  func() map[string]rpc.Traffic
	Requests func() map[string]uint64
	// Outage says what is proven while the event store is away from a host that has not read
	// its record yet.
	Outage func() health.OutageFacts
	// FeeLimit says whether the limit on fees delays transactions.
	FeeLimit func() (tx.FeeLimit, bool)
	// Signing says why the account's signer signs nothing; empty: it signs, or a key file does.
	Signing func() string
	// Development says that the tokens of the chain are worth nothing.
	Development bool
	// Pieces are the payloads of pieces; nil: the host seals no sectors.
	Pieces *pieces.Pieces
	// Proves is what the proofs of sectors show: possession, simulated or replication.
	Proves string
	// SectorSize is the padded size of a sector that begins without one.
	SectorSize events.Bytes
	// Alerts are the newest that were raised, the oldest first; nil: not known.
	Alerts func() []health.Alert
	// Answerers answer the orders of further machines.
	Answerers []any
	// Quota is what the host may use in all, as configured; 0: what the ledger says.
	Quota events.Bytes
}

// Live is the Backend of a running host.
type Live struct {
	reader
	changer
	cfg LiveConfig
	// pieceLock is locked to remove a piece, and shared by those who give one to a sector.
	pieceLock sync.RWMutex
	// importing are the CIDs of the pieces that are being imported, under that lock.
	importing map[string]bool
	// watchers counts those who watch, until ended is closed.
	watchers atomic.Int64
	ended    chan struct{}
}

// NewLive answers for a running host.
func NewLive(cfg LiveConfig) *Live {
	l := &Live{cfg: cfg, importing: map[string]bool{}, ended: make(chan struct{}), reader: reader{
		views: cfg.Projector, projector: cfg.Projector, store: cfg.Store, Source: cfg.Source, running: true,
	}}
	l.changer = changer{&l.reader, l}
	return l
}

// End sends all watchers away, who would keep a server from stopping. It is called once.
func (l *Live) End() { close(l.ended) }

// balancePatience is how long the chain may take to return the balance, and a source of content to be reached, so
// that there is a status even when none answers.
const balancePatience = 3 * time.Second

// Status implements Backend.
func (l *Live) Status(ctx context.Context) (Status, error) {
	now, err := l.cfg.Host.Troubled(ctx)
	if err != nil {
		return Status{}, err
	}
	s := l.status()
	s.Epoch = now.Epoch
	if m := now.Members; m.Owner != "" {
		s.Owner, s.OwnerSince = m.Owner, m.TermSince.UTC()
	}
	s.Chain.Development = l.cfg.Development
	s.Chain.Live, s.Chain.Stalled = now.Live, now.Stalled
	s.Chain.BlockTime, s.Chain.BlockTimeSet = now.BlockTime.Usual.Seconds(), now.BlockTime.Set
	s.Record = Record{now.Record.Away, now.Record.Since.UTC(), now.Record.Reason, now.Unanswered}
	if now.Head.Number != 0 || !now.Head.Time.IsZero() {
		s.Chain.Head, s.Chain.HeadHash, s.Chain.HeadTime = now.Head.Number, now.Head.Hash.String(), now.Head.Time
	}
	s.Validator = validates(s.Validator, now.Validator, s.Account)
	for _, one := range now.Sales {
		if t := troubleOf(one); t != nil {
			s.Trouble = append(s.Trouble, *t)
		}
	}
	for _, d := range now.Down {
		s.Down = append(s.Down, DownPart{d.Name, d.Since.UTC(), d.Reason})
	}
	s.Quarantined = quarantinedWork(now.Quarantined)
	for _, p := range now.Pools {
		s.Pools = append(s.Pools, Pool{p.Name, p.Running, p.Waiting, p.Size})
	}
	s.Scrub = scrubOf(now.Scrub)
	if p := now.SectorScrub; p != (events.SectorScrub{}) {
		s.SectorScrub = &SectorScrub{p.Began, p.Sector, p.Offset, p.LastBegan, p.LastEnded}
	}
	if d := now.Disk; d.Known || d.Full {
		s.Disk = &Disk{Full: d.Full, Reason: d.Reason, Free: d.Free, Keep: d.Keep}
		if d.Full {
			s.Disk.Since = d.Since.UTC()
		}
	}
	if now.Quota != 0 && now.Quota < s.Ledger.Quota-s.Ledger.Unallocated {
		s.Quota = now.Quota
	}
	var held *events.Balance
	var sources health.SourcesFacts
	var asked sync.WaitGroup
	asked.Go(func() { sources = l.sources(ctx) })
	s.Balance, held = l.balance(ctx)
	l.addOwed(ctx, s.Sectors)
	l.reach(&s)
	asked.Wait()
	f := l.facts(s, now, held)
	f.Sources = sources
	s.judge(f)
	return s, nil
}

// sources looks whether the data of slots can be fetched.
func (l *Live) sources(ctx context.Context) (f health.SourcesFacts) {
	if l.cfg.Reach == nil {
		return f
	}
	ctx, cancel := context.WithTimeout(ctx, balancePatience)
	defer cancel()
	switch err := l.cfg.Reach(ctx); {
	case errors.Is(err, storage.ErrNoneSet):
		f.None = true
	case err != nil:
		f.Away = strings.TrimPrefix(err.Error(), events.ErrNoSource.Error()+": ") // The cause begins with that.
	}
	return f
}

// validates adds what a validator is doing to what it has done.
func validates(did *Validator, now *validator.Status, account string) *Validator {
	if now == nil {
		return did
	}
	if did == nil { // Its first event is on its way.
		did = &Validator{Validator: projections.Validator{
			Account: account, MaxSlots: now.Settings.MaxSlots, Groups: now.Settings.Groups,
			GroupIndex: now.Settings.GroupIndex, Rewards: "0", FeesWei: "0", Newest: []projections.Marking{},
		}}
	}
	did.Enabled, did.Ready, did.Trouble = true, now.Ready, now.Trouble
	did.Watching, did.Skipped, did.Marking = now.Watching, now.Skipped, now.Marking
	return did
}

func (l *Live) balance(ctx context.Context) (*Balance, *events.Balance) {
	if l.cfg.Balance == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, balancePatience)
	defer cancel()
	b, err := l.cfg.Balance(ctx)
	if err != nil {
		return &Balance{Error: err.Error(), Limited: rpc.IsTooOften(err)}, nil
	}
	return &Balance{Tokens: b.Tokens.String(), Wei: b.Wei.String()}, &b
}

// addOwed adds what the contract owes, if it answers.
func (l *Live) addOwed(ctx context.Context, s *SectorSummary) {
	if l.cfg.Owed == nil || s == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, balancePatience)
	defer cancel()
	if owed, err := l.cfg.Owed(ctx); err == nil {
		s.Owed = owed.String()
	}
}

// reach says how the chain is reached. The balance was asked just before, so what is
// known of the endpoints is fresh, and a call without an answer is reported as it is.
func (l *Live) reach(s *Status) {
	c := &s.Chain
	c.Endpoint = rpc.Redact(l.cfg.Endpoint)
	now := l.cfg.Standing()
	if now.Endpoint != "" {
		c.Endpoint, c.EndpointSince = now.Endpoint, now.Since.UTC()
	}
	c.FirstEndpoint, c.WhyNotFirst = now.First, now.WhyNotFirst
	c.Away, c.AwaySince, c.AwayReason, c.Limited = !now.Away.IsZero(), now.Away.UTC(), now.AwayReason, now.Limited
	if limit, held := l.cfg.FeeLimit(); held {
		c.FeeLimit = limit.String()
	}
	c.Signer = l.cfg.Signing()
	if !c.Away && s.Balance != nil && s.Balance.Error != "" {
		c.Away, c.AwayReason, c.Limited = true, s.Balance.Error, s.Balance.Limited
	}
}

func troubleOf(s actors.SaleStatus) *Trouble {
	if s.Trouble.Error == "" && s.Quarantined == "" && !s.State.Damaged() {
		return nil
	}
	t := &Trouble{
		Slot: s.State.Slot.String(), Waiting: s.Waiting, Effect: s.Trouble.Effect, Error: s.Trouble.Error,
		Since: s.Trouble.Since, Tries: s.Trouble.Tries, Quarantined: s.Quarantined,
	}
	if d := s.State.Damage; s.State.Damaged() {
		t.DamagedSince = d.Since
		t.Damaged = sale.Sentence(&messages.SlotDamaged{Blocks: d.Blocks, Whole: d.Whole, FoundBy: d.FoundBy})
	}
	return t
}

func scrubOf(p events.ScrubProgress) *Scrub {
	s := &Scrub{Began: p.Began, Block: p.Block, LastBegan: p.LastBegan, LastEnded: p.LastEnded}
	if p.Slot != (events.SlotID{}) {
		s.Slot = p.Slot.String()
	}
	return s
}

// Sale implements Backend, with the sale's present problem.
func (l *Live) Sale(ctx context.Context, slot string) (Story, error) {
	story, err := l.reader.Sale(ctx, slot)
	if err != nil || len(story.Attempts) == 0 {
		return story, err
	}
	now, err := l.cfg.Host.Troubled(ctx)
	if err != nil {
		return Story{}, err
	}
	for _, s := range now.Sales {
		if s.State.Slot.String() == story.Attempts[0].Slot {
			story.Trouble = troubleOf(s)
		}
	}
	return story, nil
}

// parts implements here, with what runs.
func (l *Live) parts() []any { return slices.Concat(l.cfg.Answerers, l.reader.parts()) }

// Quarantine implements QuarantineReader.
func (l *Live) Quarantine(ctx context.Context) (Quarantine, error) {
	now, err := l.cfg.Host.Standing(ctx)
	if err != nil {
		return Quarantine{}, err
	}
	return Quarantine{AsOf: l.asOf(), Work: quarantinedWork(now.Quarantined)}, nil
}

// Alerts is what needs a person now, and what was told lately.
type Alerts struct {
	AsOf AsOf `json:"asOf"`
	// Now are the obstacles and warnings of the status.
	Now []Obstacle `json:"now"`
	// Raised are the newest alerts since the host was started, the newest first, at most 100.
	Raised []health.Alert `json:"raised"`
}

// ListAlerts tells what needs a person.
func (l *Live) ListAlerts(ctx context.Context, _ None) (Alerts, error) {
	s, err := l.Status(ctx)
	out := Alerts{AsOf: s.AsOf, Now: slices.Concat(s.Readiness, s.Warnings), Raised: []health.Alert{}}
	if l.cfg.Alerts != nil {
		out.Raised = append(out.Raised, l.cfg.Alerts()...)
		slices.Reverse(out.Raised)
	}
	return out, err
}

// TryAgain tries a piece of quarantined work again, by its name in the list.
func (l *Live) TryAgain(ctx context.Context, q Sent[OfWork]) (Quarantine, error) {
	subject, err := shell.ParseSubject(q.Body.Work)
	if err == nil {
		err = l.cfg.Host.TryAgain(ctx, subject)
	}
	if err != nil {
		return Quarantine{}, err
	}
	return l.Quarantine(ctx)
}

func quarantinedWork(all []quarantine.Work) []QuarantinedWork {
	out := make([]QuarantinedWork, 0, len(all))
	for _, q := range all {
		out = append(out, QuarantinedWork{q.Subject.String(), q.Since.UTC(), q.Reason})
	}
	return out
}

// ledgerCommand implements taker.
func (l *Live) ledgerCommand(ctx context.Context, of events.Member, cmd capacity.Command) error {
	return l.cfg.Host.LedgerOf(ctx, of, cmd)
}

// queueCommand implements taker.
func (l *Live) queueCommand(ctx context.Context, cmd slotqueue.Command) error {
	return l.cfg.Host.Queue(ctx, cmd)
}

// Ledger implements Past, by the chain's time.
func (l *Live) Ledger(ctx context.Context) (Ledger, error) {
	now, err := l.marketTime(ctx)
	return Ledger{l.asOf(), now.UTC(), l.ledger()}, err
}

// marketTime implements taker.
func (l *Live) marketTime(ctx context.Context) (time.Time, error) {
	now, err := l.cfg.Host.Standing(ctx)
	if now.Head.Time.IsZero() {
		return l.now(), err
	}
	return now.Head.Time, err
}

// room implements taker with what the running host saw last, if it has looked.
func (l *Live) room(ctx context.Context, of events.Member) (events.Bytes, bool, error) {
	d, err := l.cfg.Host.RoomOf(ctx, of)
	return d.Free - min(d.Free, d.Keep), d.Known, err
}
