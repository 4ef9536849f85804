package audit

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/messages"
)

// stream is what is known of a stream of any kind.
type stream struct {
	Name  string
	kind  kind
	hash  uint64
	Next  uint64 // the revision that must come next
	Epoch uint64 // of its last event
	Told  bool   // that its machine is unknown
	// decision is the revision at which the decision with its last event began.
	Decision uint64
	// partial says that the beginning of the next decision may have been removed.
	Partial bool
	host    *host // nil: the stream belongs to none
	life    *life // of a sale
	sector  *sectorLife
	Recent  *recent
	Scanned uint64 // of a market: its newest block
	// judge checks an event; it returns false for one of another machine. It is
	// nil once only the form of the stream can be checked.
	judge func(place, proto.Message) bool
	// abandon tells the machine that events are missing.
	abandon func()
}

func (s *stream) giveUp() {
	if s.judge != nil {
		s.judge = nil
		s.abandon()
	}
}

// kind is a machine, as far as its streams are judged.
type kind uint8

const (
	kindUnknown kind = iota
	kindHost
	kindMarket
	kindLedger
	kindQueue
	kindSale
	kindTx
	kindValidator
	kindSector
	// kindDisposable are snapshots: they only make a start faster. Only their
	// form is checked.
	kindDisposable
)

// kinds are the categories of streams that this build knows.
var kinds = map[string]kind{
	events.CategoryHost: kindHost, events.CategoryMarket: kindMarket, events.CategoryCapacity: kindLedger,
	events.CategorySlotQueue: kindQueue, events.CategorySale: kindSale, events.CategoryTx: kindTx,
	events.CategoryValidator: kindValidator, events.CategorySector: kindSector,
}

func kindOf(name string) kind {
	if events.IsSnapshot(name) {
		return kindDisposable
	}
	return kinds[events.Category(name)]
}

// host is what is known of one address, from all its streams.
type host struct {
	Address string
	number  uint32 // in the order of appearance
	Started uint64 // the last epoch of its own stream
	// market is the stream of the host's market, account the contract and its
	// chain; empty before the first start.
	Market   string
	ChainID  uint64
	Contract events.Address
	Ledger   *ledger
	Queue    *queue
	sales    map[events.SlotID]*life // that are not at rest
	sectors  map[uint64]*sectorLife
	Tx       txAccount
	Money    money
	Marks    marks
}

func (a *auditor) host(address string) *host {
	h := a.hosts[address]
	if h == nil {
		h = &host{
			Address: address, number: uint32(len(a.hosts)), Ledger: newLedger(), Queue: newQueue(),
			sales: map[events.SlotID]*life{}, sectors: map[uint64]*sectorLife{},
			Tx: txAccount{Intents: map[string]intent{}},
		}
		a.hosts[address] = h
	}
	return h
}

// stream returns the stream of a name; a new one if it was not seen before, or a restored one.
func (a *auditor) stream(name string) *stream {
	if s := a.streams[name]; s != nil {
		return s
	}
	s := a.makeStream(name)
	a.streams[name] = s
	if !a.wake(s) {
		a.report.Streams++
	}
	return s
}

func (a *auditor) makeStream(name string) *stream {
	_, rest, _ := strings.Cut(name, "-")
	address, _, _ := strings.Cut(rest, "-")
	s := &stream{Name: name, kind: kindOf(name), hash: a.ids.hashOf(name), abandon: func() {}}
	switch s.kind {
	case kindHost, kindLedger, kindQueue, kindTx, kindValidator:
		s.host = a.host(address)
	case kindSale:
		owner, slot, err := events.ParseSaleStream(name)
		if err != nil {
			s.kind = kindUnknown
			return s
		}
		s.host, s.life = a.host(owner.String()), &life{Slot: slot, Phase: unknown}
		s.host.sales[slot] = s.life
	case kindSector:
		owner, number, err := events.ParseSectorStream(name)
		if err != nil {
			s.kind = kindUnknown
			return s
		}
		s.host, s.sector = a.host(owner.String()), &sectorLife{Number: number}
		s.host.sectors[number] = s.sector
	case kindMarket:
		s.Recent = &recent{}
	case kindUnknown, kindDisposable:
	}
	a.appoint(s)
	return s
}

// appoint gives a stream the judge of its machine.
func (a *auditor) appoint(s *stream) {
	h, l, one := s.host, s.life, s.sector
	switch s.kind {
	case kindHost:
		s.judge = func(p place, m proto.Message) bool { return a.judgeHost(h, p, m) }
	case kindLedger:
		s.judge = judgeAs(func(p place, e capacity.Event) { a.judgeLedger(h, p, e) })
		s.abandon = func() { h.Ledger.Broken = true }
	case kindQueue:
		s.judge = judgeAs(func(p place, e slotqueue.Event) { a.judgeQueue(h, p, e) })
		s.abandon = func() { h.Queue.Broken = true }
	case kindTx:
		h.Tx.Kept = true
		s.judge = judgeAs(func(p place, e messages.TxEvent) { a.judgeTx(s, p, e) })
	case kindValidator:
		s.judge = judgeAs(func(p place, e messages.ValidatorEvent) { a.judgeValidator(h, p, e) })
	case kindMarket:
		s.judge = judgeAs(func(p place, e messages.MarketEvent) { a.judgeMarket(s, p, e) })
	case kindSale:
		s.judge = judgeAs(func(p place, e sale.Event) { a.judgeSale(s, p, e) })
		s.abandon = func() { *l = life{Slot: l.Slot, Broken: true} }
	case kindSector:
		s.judge = judgeAs(func(p place, e sector.Event) { a.judgeSector(s, p, e) })
		s.abandon = func() { *one = sectorLife{Number: one.Number, Broken: true} }
	case kindUnknown, kindDisposable:
	}
}

func judgeAs[E proto.Message](judge func(place, E)) func(place, proto.Message) bool {
	return func(p place, m proto.Message) bool {
		e, ok := m.(E)
		if ok {
			judge(p, e)
		}
		return ok
	}
}

// checkOrder checks the position and revision of an event.
func (a *auditor) checkOrder(s *stream, r events.Recorded) {
	switch {
	case r.Revision > s.Next:
		a.gap(s, r)
	case r.Revision < s.Next:
		a.find(RevisionRepeated, placeOf(r), "the stream had this revision before")
		s.giveUp()
	}
	s.Next = max(s.Next, r.Revision+1)
}

// checkEpoch checks the order of a host's processes. The market's events are
// written by whichever host comes first, with its own epochs, which cannot be
// compared with those of others.
func (a *auditor) checkEpoch(s *stream, r events.Recorded) {
	if s.kind != kindMarket && s.kind != kindUnknown && r.Meta.Epoch < s.Epoch {
		a.find(EpochDecreased, placeOf(r), "written in epoch %d of the host, after an event of epoch %d",
			r.Meta.Epoch, s.Epoch)
	}
	s.Epoch = max(s.Epoch, r.Meta.Epoch)
}

func (a *auditor) decode(s *stream, r events.Recorded) (proto.Message, error) {
	switch {
	case s.kind == kindDisposable:
		return nil, events.ErrUnknownEvent
	case r.Stream == events.LossStream && r.Type == events.TypeRecordLost:
		a.lost(r)
		return nil, events.ErrUnknownEvent
	case s.kind == kindUnknown && !s.Told:
		s.Told = true
		a.find(StreamUnknown, placeOf(r), "this build knows no such streams; it was checked for its form only")
		fallthrough
	case s.kind == kindUnknown:
		return nil, events.ErrUnknownEvent
	}
	m, err := a.codec.Decode(r)
	switch {
	case err == nil:
		return m, nil
	case errors.Is(err, events.ErrUnknownEvent):
		a.find(EventUnknown, placeOf(r), "this build knows no event %q", r.Type)
	case errors.Is(err, events.ErrNewerEvent):
		a.find(EventNewer, placeOf(r), "%s has schema version %d, which is newer than this build",
			r.Type, r.Meta.Version)
	default:
		a.find(EventMalformed, placeOf(r), "%s cannot be read: %v", r.Type, err)
	}
	s.giveUp()
	return nil, err
}

// lost reports a loss that an operator has accepted.
func (a *auditor) lost(r events.Recorded) {
	l, err := events.ParseRecordLost(r.Data)
	if err != nil {
		a.find(EventMalformed, placeOf(r), "%v", err)
		return
	}
	a.find(RecordLost, placeOf(r), "%d events, %d to %d of the store that was then, are lost, "+
		"which was accepted at %s; "+
		"it is kept in %s: %s", l.Lost(), l.Kept+1, l.Last, l.At.Format(time.RFC3339), clip(l.Aside), clip(l.Problem))
}

// judgeHost checks the numbers of a host's starts.
func (a *auditor) judgeHost(h *host, p place, m proto.Message) bool {
	switch e := m.(type) {
	case *messages.HostStarted:
		if e.GetEpoch() != h.Started+1 {
			a.find(HostEpoch, p, "the host started epoch %d after epoch %d", e.GetEpoch(), h.Started)
		}
		h.Started = e.GetEpoch()
		h.ChainID, h.Contract = e.GetChainId(), events.Must(events.ParseAddress(e.GetContract()))
		h.Market = events.MarketStream(h.ChainID, h.Contract)
	case *messages.HostStopped:
		if e.GetEpoch() != h.Started {
			a.find(HostEpoch, p, "the host stopped epoch %d in epoch %d", e.GetEpoch(), h.Started)
		}
	case *messages.HostHeartbeat:
		if e.GetEpoch() != h.Started {
			a.find(HostEpoch, p, "a process of epoch %d lives in epoch %d", e.GetEpoch(), h.Started)
		}
	case *messages.WorkQuarantined:
		if e.GetEpoch() != h.Started {
			a.find(HostEpoch, p, "a process of epoch %d leaves %s alone in epoch %d",
				e.GetEpoch(), e.GetKind(), h.Started)
		}
	case *messages.QuarantineEnded:
		if e.GetEpoch() != h.Started {
			a.find(HostEpoch, p, "a process of epoch %d tries %s again in epoch %d",
				e.GetEpoch(), e.GetKind(), h.Started)
		}
	case *messages.RecordWentBack:
		if e.GetEpoch() != h.Started {
			a.find(HostEpoch, p, "a process of epoch %d tells of a record that went back in epoch %d",
				e.GetEpoch(), h.Started)
		}
		a.find(RecordLost, p,
			"the event store went back before epoch %d: %d streams lack events, the last of them of %s",
			e.GetEpoch(), uint64(len(e.GetStreams()))+e.GetMore(), e.GetSeen().AsTime().Format(time.RFC3339))
	default:
		return false
	}
	return true
}

func (a *auditor) judgeMarket(s *stream, p place, e messages.MarketEvent) {
	about := uint64(0)
	if of, ok := e.(interface{ GetRequestId() string }); ok {
		about = a.ids.hashOf(of.GetRequestId())
	}
	s.Recent.note(p.Revision, about)
	switch e := e.(type) {
	case *messages.BlocksScanned:
		s.Scanned = e.GetNumber()
		if e.GetNumber() > events.MaxBlock {
			a.find(BlockImpossible, p, "block %d was believed, and no chain is that long", e.GetNumber())
			return
		}
		if t := events.TimeFromMessage(e.GetTime()); t.After(a.now) {
			a.now = t
		}
	case *messages.ChainReorganized:
		if back := s.Scanned - min(s.Scanned, e.GetAncestor()); back > deepestReorg && s.Scanned <= events.MaxBlock {
			a.find(BlockImpossible, p, "block %d was believed, and taken back to block %d: either a node said what "+
				"was not so, or %d blocks were replaced", s.Scanned, e.GetAncestor(), back)
		}
		s.Scanned = min(s.Scanned, e.GetAncestor())
	}
}

// deepestReorg is how many blocks may be replaced without a finding: nodes keep the state
// of that many.
const deepestReorg = 128

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

func amount(s string) events.Amount { return events.Must(events.ParseAmount(s)) }
