package audit

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/messages"
	judges "github.com/hostnode/hostnode/projections/catalog"
	"github.com/hostnode/hostnode/projections/machine"
)

// stream is what is known of a stream of any kind.
type stream struct {
	Name  string
	kind  kind
	hash  uint64
	Next  uint64 // the revision that must come next
	Epoch uint64 // the newest in which it was written
	// Epochs are the newest of each member, of a stream that several members write in turn.
	Epochs map[events.Member]uint64
	Told   bool // that its machine is unknown
	// decision is the revision at which the decision with its last event began.
	Decision uint64
	// partial says that the beginning of the next decision may have been removed.
	Partial bool
	host    *host // nil: the stream belongs to none
	ledger  *ledger
	life    *life // of a sale
	sector  *sectorLife
	own     machine.Judge // of a machine that has its own
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
	// kindOwn is a machine with a judge of its own.
	kindOwn
	// kindDisposable is no part of the record, such as snapshots. Only its form
	// is checked.
	kindDisposable
)

// kinds are the categories of streams that this build knows.
var kinds = map[string]kind{
	events.CategoryHost: kindHost, events.CategoryMarket: kindMarket, events.CategoryCapacity: kindLedger,
	events.CategorySlotQueue: kindQueue, events.CategorySale: kindSale, events.CategoryTx: kindTx,
	events.CategoryValidator: kindValidator, events.CategorySector: kindSector,
}

func kindOf(name string) kind {
	_, ours := catalog.Streams().Owner(name)
	switch {
	case !ours:
		return kindUnknown // Whatever its name begins with.
	case !catalog.Streams().InRecord(name):
		return kindDisposable
	}
	category := events.Category(name)
	if _, own := judges.Of(category); own {
		return kindOwn
	}
	return kinds[category]
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
	// Ledgers are by the names in their streams. The host's own has none, and is always there.
	Ledgers   map[events.Member]*ledger
	Processes processes
	Queue     *queue
	sales     map[events.SlotID]*life // that are not at rest
	sectors   map[uint64]*sectorLife
	Tx        txAccount
	Money     money
	Denials   []denial // that wait for the chain
	Marks     marks
}

func (a *auditor) host(address string) *host {
	h := a.hosts[address]
	if h == nil {
		h = &host{
			Address: address, number: uint32(len(a.hosts)), Queue: newQueue(), Processes: newProcesses(),
			Ledgers: map[events.Member]*ledger{"": newLedger("")},
			sales:   map[events.SlotID]*life{}, sectors: map[uint64]*sectorLife{},
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
	if !a.restore(s) {
		a.report.Streams++
	}
	return s
}

// makeStream gives a stream the judge of its machine.
func (a *auditor) makeStream(name string) *stream {
	owner, _ := catalog.Streams().Owner(name)
	address := owner.String()
	s := &stream{Name: name, kind: kindOf(name), hash: a.ids.hashOf(name), abandon: func() {}}
	switch s.kind {
	case kindHost:
		s.host = a.host(address)
		s.judge = judgeAs(func(p place, e messages.HostEvent) { a.judgeHost(s.host, p, e) })
		s.abandon = func() { s.host.Processes.Unsure = true }
	case kindLedger:
		_, member, _ := events.ParseLedgerStream(name) // Of this kind are only names that can be parsed.
		s.host = a.host(address)
		s.ledger = s.host.ledger(member)
		s.judge = judgeAs(func(p place, e capacity.Event) { a.judgeLedger(s.host, s.ledger, p, e) })
		s.abandon = func() { s.ledger.Broken = true }
	case kindQueue:
		s.host = a.host(address)
		s.judge = judgeAs(func(p place, e slotqueue.Event) { a.judgeQueue(s.host, p, e) })
		s.abandon = func() { s.host.Queue.Broken = true }
	case kindTx:
		s.host = a.host(address)
		s.host.Tx.Kept = true
		s.judge = judgeAs(func(p place, e messages.TxEvent) { a.judgeTx(s, p, e) })
	case kindValidator:
		s.host = a.host(address)
		s.judge = judgeAs(func(p place, e messages.ValidatorEvent) { a.judgeValidator(s.host, p, e) })
	case kindMarket:
		s.Recent = &recent{}
		s.judge = judgeAs(func(p place, e messages.MarketEvent) { a.judgeMarket(s, p, e) })
	case kindSale:
		_, slot, _ := events.ParseSaleStream(name)
		s.host, s.life = a.host(address), &life{Slot: slot, Phase: unknown}
		s.host.sales[slot] = s.life
		s.judge = judgeAs(func(p place, e sale.Event) { a.judgeSale(s, p, e) })
		s.abandon = func() { *s.life = life{Slot: slot, Broken: true} }
	case kindSector:
		_, number, _ := events.ParseSectorStream(name)
		s.host, s.sector = a.host(address), &sectorLife{Number: number}
		s.host.sectors[number] = s.sector
		s.judge = judgeAs(func(p place, e sector.Event) { a.judgeSector(s, p, e) })
		s.abandon = func() { *s.sector = sectorLife{Number: number, Broken: true} }
	case kindOwn:
		of, _ := judges.Of(events.Category(name))
		s.host, s.own = a.host(address), of.Judge()
		s.judge = func(p place, m proto.Message) bool {
			ours := s.own.Judge(m, func(rule, format string, args ...any) { a.find(Rule(rule), p, format, args...) })
			if ours && of.Join != nil {
				of.Join(s.own.State(), m, a.others(s.host, p))
			}
			return ours
		}
	case kindDisposable:
		s.host = a.hosts[address]
	case kindUnknown:
	}
	return s
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

func (a *auditor) decode(s *stream, r events.Recorded) (proto.Message, error) {
	switch {
	case s.kind == kindDisposable:
		return nil, events.ErrUnknownEvent
	case r.Stream == events.LossStream && r.Type == events.TypeRecordLost:
		a.lost(r)
		return nil, events.ErrUnknownEvent
	case s.kind == kindUnknown && !s.Told:
		s.Told = true
		a.find(StreamUnknown, placeOf(r), "this build gives no stream such a name; it was checked for its form only")
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
