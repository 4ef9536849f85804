package audit

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/projections"
)

// memory is all that an audit knows, as a checkpoint holds it: plain values
// with exported names, because gob sees no others.
type memory struct {
	Report   Report
	Streams  []savedStream
	Resting  map[restKey]rest
	Hosts    []savedHost // in the order of their numbers
	Key      [2]uint64
	Bits     []uint64
	Suspects map[suspect]bool
	Over     uint64
	Receipts savedReceipts
	Damage   map[events.Position]bool
	Now      time.Time
	Views    []byte
}

type savedPlace struct {
	Stream   string
	Revision uint64
	Position events.Position
}

func (p place) saved() savedPlace { return savedPlace{p.stream, p.revision, p.position} }
func (p savedPlace) place() place { return place{p.Stream, p.Revision, p.Position} }

type savedNews struct {
	From  uint64
	Said  []uint64
	Start int
}

type savedStream struct {
	Name                  string
	Next, Epoch, Decision uint64
	Told, Partial, Form   bool // Form: it is checked for its form only
	News                  savedNews
	Scanned               uint64
}

type savedHost struct {
	Address         string
	Started         uint64
	Market          string
	ChainID         uint64
	Contract        events.Address
	Ledger          [][]byte
	LedgerEntries   int
	LedgerBroken    bool
	LedgerSince     int
	LedgerLast      savedPlace
	Queue           [][]byte
	QueueSlots      map[slotKey]savedSlot
	QueueBroken     bool
	QueuePart       bool
	QueueSince      int
	QueueLast       savedPlace
	Sales           []savedLife
	TxKept, TxMined bool
	TxLast          events.Position
	TxPassed        uint64
	Intents         map[string]savedIntent
	Claims          []savedClaim
	In, Out         events.Amount
	First, Last     uint64
	Seen            bool
	Marks           marks
}

type savedSlot struct{ Taken, Gone, Again bool }

type savedIntent struct {
	At          savedPlace
	Correlation string
	Nonce       uint64
	Sent        bool
}

type savedClaim struct {
	At      savedPlace
	Tx      events.Hash
	In, Out events.Amount
	AtMost  bool
	Who     events.Address
	Block   uint64
}

func (c claim) saved() savedClaim {
	return savedClaim{c.at.saved(), c.tx, c.in, c.out, c.atMost, c.who, c.block}
}

func (c savedClaim) claim() claim {
	return claim{c.At.place(), c.Tx, c.In, c.Out, c.AtMost, c.Who, c.Block}
}

type savedReceipts struct {
	Mined                map[txKey]string
	Order                []txKey
	Forgotten, Unchecked uint64
	Awaited              map[txKey][]savedAwaited
}

type savedAwaited struct {
	At      savedPlace
	Proof   bool
	Marking bool
	Request string
}

// remember is what a checkpoint holds of this audit.
func (a *auditor) remember() (memory, error) {
	m := memory{
		Report: a.report, Resting: a.resting, Key: a.ids.key, Bits: a.ids.bits,
		Suspects: a.ids.suspects, Over: a.ids.over, Damage: a.damage, Now: a.now,
		Receipts: savedReceipts{
			Mined: a.txs.mined, Order: a.txs.order, Forgotten: a.txs.forgotten, Unchecked: a.txs.unchecked,
			Awaited: map[txKey][]savedAwaited{},
		},
	}
	for _, s := range a.streams {
		saved := savedStream{
			Name: s.name, Next: s.next, Epoch: s.epoch, Decision: s.decision,
			Told: s.told, Partial: s.partial, Form: s.judge == nil,
		}
		if s.recent != nil {
			saved.News = savedNews{s.recent.from, s.recent.said, s.recent.start}
			saved.Scanned = s.scanned
		}
		m.Streams = append(m.Streams, saved)
	}
	m.Hosts = make([]savedHost, len(a.hosts))
	for _, h := range a.hosts {
		m.Hosts[h.number] = h.saved()
	}
	for k, list := range a.txs.awaited {
		for _, w := range list {
			saved := savedAwaited{w.at.saved(), w.proof, w.marking, w.request}
			m.Receipts.Awaited[k] = append(m.Receipts.Awaited[k], saved)
		}
	}
	if a.views == nil {
		return m, nil
	}
	var err error
	m.Views, err = a.views.Save()
	return m, err
}

func (h *host) saved() savedHost {
	s := savedHost{
		Address: h.address, Started: h.started, Market: h.market, ChainID: h.chainID, Contract: h.contract,
		Ledger: h.ledger.state.Unsettled().Pieces(), LedgerEntries: h.ledger.entries,
		LedgerBroken: h.ledger.broken, LedgerSince: h.ledger.since, LedgerLast: h.ledger.last.saved(),
		Queue: h.queue.state.Pieces(), QueueSlots: map[slotKey]savedSlot{}, QueueBroken: h.queue.broken,
		QueuePart: h.queue.part, QueueSince: h.queue.since, QueueLast: h.queue.last.saved(),
		TxKept: h.tx.kept, TxMined: h.tx.mined, TxLast: h.tx.last, TxPassed: h.tx.passed,
		Intents: map[string]savedIntent{}, In: h.money.in, Out: h.money.out,
		First: h.money.first, Last: h.money.last, Seen: h.money.seen, Marks: h.marks,
	}
	for k, p := range h.queue.slots {
		s.QueueSlots[k] = savedSlot{p.taken, p.gone, p.again}
	}
	for _, l := range h.sales {
		s.Sales = append(s.Sales, l.saved())
	}
	for key, in := range h.tx.intents {
		s.Intents[key] = savedIntent{in.at.saved(), in.correlation, in.nonce, in.sent}
	}
	for _, c := range h.money.claims {
		s.Claims = append(s.Claims, c.saved())
	}
	return s
}

// recall makes the audit know what a checkpoint holds.
func (a *auditor) recall(m memory) error {
	if len(m.Bits) != len(a.ids.bits) {
		return fmt.Errorf("a filter of %d words, want %d", len(m.Bits), len(a.ids.bits))
	}
	a.report, a.now, a.damage = m.Report, m.Now.UTC(), orEmpty(m.Damage)
	if a.report.Findings == nil {
		a.report.Findings = []Finding{}
	}
	a.resting = orEmpty(m.Resting)
	for _, r := range m.Resting {
		if int(r.Phase) >= len(phases) {
			return fmt.Errorf("a sale that ended in phase %d", r.Phase)
		}
	}
	a.ids.key, a.ids.bits, a.ids.suspects, a.ids.over = m.Key, m.Bits, orEmpty(m.Suspects), m.Over
	a.txs.mined, a.txs.order = orEmpty(m.Receipts.Mined), m.Receipts.Order
	a.txs.forgotten, a.txs.unchecked = m.Receipts.Forgotten, m.Receipts.Unchecked
	for k, list := range m.Receipts.Awaited {
		for _, w := range list {
			a.txs.awaited[k] = append(a.txs.awaited[k], awaited{w.At.place(), w.Proof, w.Marking, w.Request})
			a.txs.count++
		}
	}
	for _, s := range m.Hosts {
		if err := a.host(s.Address).recall(s); err != nil {
			return fmt.Errorf("host %s: %w", s.Address, err)
		}
		a.claims += len(s.Claims)
	}
	if len(a.hosts) != len(m.Hosts) {
		return errors.New("a host is there twice")
	}
	if err := a.recallStreams(m); err != nil {
		return err
	}
	if a.views == nil {
		return nil
	}
	var err error
	a.views, err = projections.LoadViews(m.Views, a.last.position)
	return err
}

// recallStreams makes the streams of what their hosts know already.
func (a *auditor) recallStreams(m memory) error {
	sales := map[*host]map[events.SlotID]*life{}
	for _, h := range a.hosts {
		sales[h] = maps.Clone(h.sales)
	}
	for _, saved := range m.Streams {
		s := a.makeStream(saved.Name)
		s.next, s.epoch, s.decision = saved.Next, saved.Epoch, saved.Decision
		s.told, s.partial = saved.Told, saved.Partial
		if s.recent != nil {
			*s.recent = recent{saved.News.From, saved.News.Said, saved.News.Start}
			s.scanned = saved.Scanned
			if s.recent.start < 0 || s.recent.start > len(s.recent.said) {
				return fmt.Errorf("the news of %s begin nowhere", clip(saved.Name))
			}
		}
		if s.life != nil {
			known := sales[s.host][s.life.slot]
			if known == nil {
				return fmt.Errorf("the stream %s has no sale", clip(saved.Name))
			}
			*s.life = *known
		}
		if saved.Form {
			s.judge = nil
		}
		a.streams[saved.Name] = s
	}
	return nil
}

func (h *host) recall(s savedHost) (err error) {
	h.started, h.market, h.chainID, h.contract = s.Started, s.Market, s.ChainID, s.Contract
	h.ledger.broken, h.ledger.since, h.ledger.last = s.LedgerBroken, s.LedgerSince, s.LedgerLast.place()
	h.ledger.entries = s.LedgerEntries
	if !s.LedgerBroken {
		if h.ledger.state, err = capacity.RestorePieces(capacity.Limits{}, s.Ledger); err != nil {
			return err
		}
	}
	q := h.queue
	q.broken, q.part, q.since, q.last = s.QueueBroken, s.QueuePart, s.QueueSince, s.QueueLast.place()
	if !s.QueueBroken {
		if q.state, err = slotqueue.RestorePieces(queueLimits, s.Queue); err != nil {
			return err
		}
	}
	for k, p := range s.QueueSlots {
		q.slots[k] = slotPlace{p.Taken, p.Gone, p.Again}
	}
	for _, l := range s.Sales {
		h.sales[l.Slot] = l.life()
	}
	h.tx.kept, h.tx.mined, h.tx.last, h.tx.passed = s.TxKept, s.TxMined, s.TxLast, s.TxPassed
	for key, in := range s.Intents {
		h.tx.intents[key] = intent{in.At.place(), in.Correlation, in.Nonce, in.Sent}
	}
	h.marks = s.Marks
	h.money = money{in: s.In, out: s.Out, first: s.First, last: s.Last, seen: s.Seen}
	for _, c := range s.Claims {
		h.money.claims = append(h.money.claims, c.claim())
	}
	return nil
}

func orEmpty[K comparable, V any](m map[K]V) map[K]V {
	if m == nil {
		return map[K]V{}
	}
	return m
}

// savedLife is a life and its account.
type savedLife struct {
	Slot             events.SlotID
	Broken           bool
	Phase            string
	Attempt          uint32
	Settled          bool
	Began, SettledAt events.Position
	Runs             bool // there is an account
	Request          string
	Index, SlotSize  uint64
	Demanded         events.Amount
	Adopted, Repair, Simulated, HasCapacity,
	Stored, Proved, OnChain, Filled, Paid, Deleted, Doubt, Released, Forfeited, Kept bool
	Committed, Held, Lost, LedgerReturn, LedgerLoss events.Amount
	Duties                                          map[uint64]savedDuty
	LastPeriod, Excused                             uint64
	Opened, Unchecked                               []uint64
	Fill, Payout, Gift                              savedClaim
	HasFill, HasPayout, HasGift                     bool
}

type savedDuty struct {
	Deadline time.Time
	At       savedPlace
}

func (l *life) saved() savedLife {
	s := savedLife{
		Slot: l.slot, Broken: l.broken, Phase: string(l.phase), Attempt: l.attempt, Settled: l.settled,
		Began: l.began, SettledAt: l.settledAt, Runs: l.account != nil, Kept: l.kept,
	}
	if l.account == nil {
		return s
	}
	s.Request, s.Index, s.SlotSize, s.Demanded = l.request, l.index, l.slotSize, l.demanded
	s.Adopted, s.Repair, s.Simulated, s.HasCapacity = l.adopted, l.repair, l.simulated, l.hasCapacity
	s.Stored, s.Proved, s.OnChain, s.Filled = l.stored, l.proved, l.onChain, l.filled
	s.Paid, s.Deleted, s.Doubt, s.Released = l.paid, l.deleted, l.doubt, l.released
	s.Forfeited = l.forfeited
	s.Committed, s.Held, s.Lost = l.committed, l.held, l.lost
	s.LedgerReturn, s.LedgerLoss, s.LastPeriod = l.ledgerReturn, l.ledgerLoss, l.lastPeriod
	s.Duties = map[uint64]savedDuty{}
	for period, d := range l.duties {
		s.Duties[period] = savedDuty{d.deadline, d.at.saved()}
	}
	s.Unchecked = slices.Sorted(maps.Keys(l.unchecked))
	s.Opened, s.Excused = slices.Sorted(maps.Keys(l.opened)), l.excused
	s.Fill, s.HasFill = l.pledge.fill.saved(), l.pledge.filled
	s.Payout, s.HasPayout = l.pledge.payout.saved(), l.pledge.paid
	s.Gift, s.HasGift = l.pledge.gift.saved(), l.pledge.given
	return s
}

func (s savedLife) life() *life {
	l := &life{
		slot: s.Slot, broken: s.Broken, phase: phase(s.Phase), attempt: s.Attempt, settled: s.Settled,
		began: s.Began, settledAt: s.SettledAt, kept: s.Kept,
	}
	if !s.Runs {
		return l
	}
	l.account = &account{
		request: s.Request, index: s.Index, slotSize: s.SlotSize, demanded: s.Demanded,
		adopted: s.Adopted, repair: s.Repair, simulated: s.Simulated, hasCapacity: s.HasCapacity,
		stored: s.Stored, proved: s.Proved, onChain: s.OnChain, filled: s.Filled,
		paid: s.Paid, deleted: s.Deleted, doubt: s.Doubt, released: s.Released, forfeited: s.Forfeited,
		committed: s.Committed, held: s.Held, lost: s.Lost,
		ledgerReturn: s.LedgerReturn, ledgerLoss: s.LedgerLoss, lastPeriod: s.LastPeriod, excused: s.Excused,
		pledge: pledge{
			s.Fill.claim(), s.Payout.claim(), s.HasFill, s.HasPayout, s.Gift.claim(), s.HasGift,
		},
	}
	for period, d := range s.Duties {
		if l.duties == nil {
			l.duties = map[uint64]duty{}
		}
		l.duties[period] = duty{d.Deadline.UTC(), d.At.place()}
	}
	for _, period := range s.Opened {
		if l.opened == nil {
			l.opened = map[uint64]bool{}
		}
		l.opened[period] = true
	}
	for _, period := range s.Unchecked {
		if l.unchecked == nil {
			l.unchecked = map[uint64]bool{}
		}
		l.unchecked[period] = true
	}
	return l
}
