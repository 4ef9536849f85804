package audit

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/messages"
)

// stream is what is known of a stream, whatever it is about.
type stream struct {
	hash  uint64
	next  uint64 // the revision that must come next
	epoch uint64 // of its last event
	known bool   // its machine is one of ours
	told  bool   // that it is not
	// judge looks at an event; false says that it is of another machine. It is
	// nil once the stream can only be checked for its form.
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

// host is what is known of one address, over all its streams.
type host struct {
	address string
	started uint64 // the last epoch of its own stream
	ledger  *ledger
	queue   *queue
	sales   map[events.SlotID]*life
	hasTxs  bool
	intents map[string]place // open, by key
}

func (a *auditor) host(address string) *host {
	h := a.hosts[address]
	if h == nil {
		h = &host{
			address: address, ledger: newLedger(), queue: newQueue(),
			sales: map[events.SlotID]*life{}, intents: map[string]place{},
		}
		a.hosts[address] = h
	}
	return h
}

func (a *auditor) stream(name string) *stream {
	if s := a.streams[name]; s != nil {
		return s
	}
	s := &stream{hash: a.ids.hashOf(name), known: true, abandon: func() {}}
	a.streams[name] = s
	a.report.Streams++
	category, rest, _ := strings.Cut(name, "-")
	address, _, _ := strings.Cut(rest, "-")
	switch category {
	case events.CategoryHost:
		h := a.host(address)
		s.judge = func(p place, m proto.Message) bool { return a.judgeHost(h, p, m) }
	case events.CategoryCapacity:
		h := a.host(address)
		s.judge = judgeAs(func(p place, e capacity.Event) { a.judgeLedger(h, p, e) })
		s.abandon = func() { h.ledger.broken = true }
	case events.CategorySlotQueue:
		h := a.host(address)
		s.judge = judgeAs(func(p place, e slotqueue.Event) { a.judgeQueue(h, p, e) })
		s.abandon = func() { h.queue.broken = true }
	case events.CategoryTx:
		h := a.host(address)
		h.hasTxs = true
		s.judge = judgeAs(func(p place, e messages.TxEvent) { a.judgeTx(h, p, e) })
	case events.CategoryMarket:
		s.judge = judgeAs(func(_ place, e messages.MarketEvent) { a.judgeMarket(e) })
	case events.CategorySale:
		a.saleStream(s, name)
	default:
		s.known = false
	}
	return s
}

func (a *auditor) saleStream(s *stream, name string) {
	address, slot, err := events.ParseSaleStream(name)
	if err != nil {
		s.known = false
		return
	}
	h := a.host(address.String())
	l := &life{slot: slot, phase: unknown}
	h.sales[slot] = l
	s.judge = judgeAs(func(p place, e sale.Event) { a.judgeSale(h, l, p, e) })
	s.abandon = func() { *l = life{slot: slot, broken: true} }
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

// checkOrder holds an event to its place in the whole and in its stream.
func (a *auditor) checkOrder(s *stream, r events.Recorded) {
	if r.Position <= a.report.AsOf {
		a.find(PositionOrder, placeOf(r), "it follows position %d", a.report.AsOf)
	}
	a.report.AsOf = max(a.report.AsOf, r.Position)
	switch {
	case r.Revision > s.next:
		a.find(RevisionGap, placeOf(r), "revisions %d to %d of the stream are missing", s.next, r.Revision-1)
		s.giveUp()
	case r.Revision < s.next:
		a.find(RevisionRepeated, placeOf(r), "the stream had this revision before")
		s.giveUp()
	}
	s.next = max(s.next, r.Revision+1)
}

func (a *auditor) checkEpoch(s *stream, r events.Recorded) {
	if r.Meta.Epoch < s.epoch {
		a.find(EpochDecreased, placeOf(r), "written in epoch %d of the host, after an event of epoch %d",
			r.Meta.Epoch, s.epoch)
	}
	s.epoch = max(s.epoch, r.Meta.Epoch)
}

func (a *auditor) decode(s *stream, r events.Recorded) (proto.Message, error) {
	if !s.known {
		if !s.told {
			s.told = true
			a.find(StreamUnknown, placeOf(r), "this build knows no such streams; it was checked for its form only")
		}
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

// judgeHost holds the starts of a host to their numbers.
func (a *auditor) judgeHost(h *host, p place, m proto.Message) bool {
	switch e := m.(type) {
	case *messages.HostStarted:
		if e.GetEpoch() != h.started+1 {
			a.find(HostEpoch, p, "the host started epoch %d after epoch %d", e.GetEpoch(), h.started)
		}
		h.started = e.GetEpoch()
	case *messages.HostStopped:
		if e.GetEpoch() != h.started {
			a.find(HostEpoch, p, "the host stopped epoch %d in epoch %d", e.GetEpoch(), h.started)
		}
	default:
		return false
	}
	return true
}

func (a *auditor) judgeMarket(e messages.MarketEvent) {
	if e, ok := e.(*messages.BlocksScanned); ok {
		if t := events.TimeFromMessage(e.GetTime()); t.After(a.now) {
			a.now = t
		}
	}
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// sum is a+b, or the largest amount: an auditor must not fall over a forged one.
func sum(a, b events.Amount) events.Amount {
	if events.MaxAmount().Sub(a).Less(b) {
		return events.MaxAmount()
	}
	return a.Add(b)
}

func amount(s string) events.Amount { return events.Must(events.ParseAmount(s)) }
