package audit

import (
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/projections"
)

// memory is the whole state of an audit, as a checkpoint holds it. Fields of
// the audit's own types that belong to it have exported names, because gob sees
// no others.
type memory struct {
	Report  Report
	Streams []savedStream
	Resting map[restKey]rest
	Hosts   []savedHost // in the order of their numbers
	IDs     *idFilter
	Txs     receipts
	Damage  map[events.Position]bool
	Now     time.Time
	Newest  time.Time
	Views   []byte
}

type savedStream struct {
	Stream *stream
	Form   bool // it is checked for its form only
}

type savedHost struct {
	Host    *host
	Ledgers map[events.Member][][]byte
	Queue   [][]byte
	Sales   []savedLife
	Sectors []*sectorLife
}

type savedLife struct {
	Life    *life
	Account *account
}

// remember returns the state of this audit for a checkpoint.
func (a *auditor) remember() (m memory, err error) {
	m = memory{
		Report: a.report, Resting: a.resting, IDs: a.ids, Txs: a.txs, Damage: a.damage, Now: a.now,
		Newest: a.newest,
		Hosts:  make([]savedHost, len(a.hosts)),
	}
	for _, s := range a.streams {
		m.Streams = append(m.Streams, savedStream{s, s.judge == nil})
	}
	for _, h := range a.hosts {
		saved := savedHost{Host: h, Ledgers: map[events.Member][][]byte{}, Queue: h.Queue.state.Pieces()}
		for name, l := range h.Ledgers {
			saved.Ledgers[name] = l.state.Unsettled().Pieces()
		}
		for _, l := range h.sales {
			saved.Sales = append(saved.Sales, savedLife{l, l.account})
		}
		for _, l := range h.sectors {
			saved.Sectors = append(saved.Sectors, l)
		}
		m.Hosts[h.number] = saved
	}
	if a.views != nil {
		m.Views, err = a.views.Save()
	}
	return m, err
}

// errForm: the checkpoint has a part that no audit writes.
var errForm = errors.New("not the form of a checkpoint")

// recall restores the state of a checkpoint.
func (a *auditor) recall(m memory) (err error) {
	if m.IDs == nil || len(m.IDs.Bits) != len(a.ids.Bits) {
		return fmt.Errorf("%w: its filter has another size", errForm)
	}
	a.report, a.now, a.newest, a.damage = m.Report, m.Now.UTC(), m.Newest.UTC(), orEmpty(m.Damage)
	if a.report.Findings == nil {
		a.report.Findings = []Finding{}
	}
	a.resting = orEmpty(m.Resting)
	for _, r := range m.Resting {
		if int(r.Phase) >= len(phases) {
			return fmt.Errorf("%w: a sale that ended in phase %d", errForm, r.Phase)
		}
	}
	m.IDs.Suspects, m.IDs.most = orEmpty(m.IDs.Suspects), a.ids.most
	a.ids = m.IDs
	m.Txs.Mined, m.Txs.Awaited = orEmpty(m.Txs.Mined), orEmpty(m.Txs.Awaited)
	m.Txs.kept, m.Txs.most = a.txs.kept, a.txs.most
	a.txs = m.Txs
	for _, s := range m.Hosts {
		if s.Host == nil || s.Host.Ledgers[""] == nil || s.Host.Queue == nil {
			return fmt.Errorf("%w: a host without a ledger or a queue", errForm)
		}
		if err := a.host(s.Host.Address).recall(s); err != nil {
			return fmt.Errorf("host %s: %w", s.Host.Address, err)
		}
		a.claims += len(s.Host.Money.Claims) + len(s.Host.Denials)
		a.trades(a.hosts[s.Host.Address])
	}
	if len(a.hosts) != len(m.Hosts) {
		return fmt.Errorf("%w: a host is there twice", errForm)
	}
	if err := a.recallStreams(m); err != nil {
		return err
	}
	if a.views != nil {
		a.views, err = projections.LoadViews(m.Views, a.last.position)
	}
	return err
}

// recallStreams restores the streams from what their hosts have.
func (a *auditor) recallStreams(m memory) error {
	sales := map[*host]map[events.SlotID]*life{}
	sectors := map[*host]map[uint64]*sectorLife{}
	for _, h := range a.hosts {
		sales[h], sectors[h] = maps.Clone(h.sales), maps.Clone(h.sectors)
	}
	for _, saved := range m.Streams {
		was := saved.Stream
		if was == nil {
			return fmt.Errorf("%w: a stream without a name", errForm)
		}
		s := a.makeStream(was.Name)
		s.Next, s.Epoch, s.Decision, s.Told, s.Partial = was.Next, was.Epoch, was.Decision, was.Told, was.Partial
		s.Epochs = was.Epochs
		if s.Recent != nil && was.Recent != nil {
			*s.Recent, s.Scanned = *was.Recent, was.Scanned
			if s.Recent.Start < 0 || s.Recent.Start > len(s.Recent.Said) {
				return fmt.Errorf("%w: the news of %s begin nowhere", errForm, clip(was.Name))
			}
		}
		if s.life != nil {
			known := sales[s.host][s.life.Slot]
			if known == nil {
				return fmt.Errorf("%w: the stream %s has no sale", errForm, clip(was.Name))
			}
			*s.life = *known
		}
		if s.sector != nil {
			known := sectors[s.host][s.sector.Number]
			if known == nil {
				return fmt.Errorf("%w: the stream %s has no sector", errForm, clip(was.Name))
			}
			*s.sector = *known
		}
		if saved.Form {
			s.judge = nil
		}
		a.streams[was.Name] = s
	}
	return nil
}

func (h *host) recall(s savedHost) (err error) {
	was := s.Host
	was.number, was.sales, was.sectors = h.number, h.sales, h.sectors
	was.Tx.Intents, was.Queue.Slots = orEmpty(was.Tx.Intents), orEmpty(was.Queue.Slots)
	was.Queue.HandedOut, was.Queue.state = orEmpty(was.Queue.HandedOut), h.Queue.state
	*h = *was
	if err := h.Processes.recall(); err != nil {
		return err
	}
	for name, l := range h.Ledgers {
		if l == nil {
			return fmt.Errorf("%w: a member without a ledger", errForm)
		}
		if l.state = capacity.New(); l.Broken {
			continue
		}
		if l.state, err = capacity.RestorePieces(capacity.Limits{}, s.Ledgers[name]); err != nil {
			return err
		}
	}
	if !h.Queue.Broken {
		if h.Queue.state, err = slotqueue.RestorePieces(queueLimits, s.Queue); err != nil {
			return err
		}
	}
	for _, l := range s.Sales {
		if l.Life == nil {
			return fmt.Errorf("%w: a sale without a life", errForm)
		}
		l.Life.account = l.Account
		h.sales[l.Life.Slot] = l.Life
	}
	for _, l := range s.Sectors {
		if l == nil {
			return fmt.Errorf("%w: a sector without a life", errForm)
		}
		l.Until = l.Until.UTC()
		h.sectors[l.Number] = l
	}
	return nil
}

func orEmpty[K comparable, V any](m map[K]V) map[K]V {
	if m == nil {
		return map[K]V{}
	}
	return m
}
