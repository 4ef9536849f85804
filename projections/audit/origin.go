package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/messages"
)

// timed is a message that says when it happened.
type timed interface{ GetAt() *timestamppb.Timestamp }

// Where an event comes from: its id, its cause and its correlation. All three
// can be computed from what is stored, so none of them has to be believed.

// checkOrigin looks at an event before its machine does, because a cause names
// what was so then.
func (a *auditor) checkOrigin(s *stream, r events.Recorded, m proto.Message) {
	a.checkID(s, r, m)
	if s.kind != kindHost && s.kind != kindTx { // These have no cause.
		a.checkCause(s, r, m)
	}
	a.checkCorrelation(s, r, m)
}

// checkID computes an event's id as its writer did. The events of one decision
// count on from its first revision, so the id says where the decision began:
// either here, or where that of the event before began.
func (a *auditor) checkID(s *stream, r events.Recorded, m proto.Message) {
	p := placeOf(r)
	switch s.kind {
	case kindHost:
		a.checkHostID(r, m)
		return
	case kindTx:
		if a.versions[r.Type] != max(r.Meta.Version, 1) {
			return // The id follows from what was written, not from what it reads as today.
		}
		content, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
		if err != nil || r.Revision > math.MaxInt {
			return // Neither can be of what was just read.
		}
		sum := sha256.Sum256(content)
		a.holdID(r, r.ID == events.NewEventID(r.Stream, hex.EncodeToString(sum[:]), int(r.Revision)))
		return
	case kindUnknown, kindDisposable, kindMarket, kindLedger, kindQueue, kindSale, kindValidator, kindSector,
		kindOwn:
	}
	begins := func(first uint64) bool {
		if r.Revision-first >= events.MaxAppendEvents {
			return false
		}
		unique := fmt.Sprintf("%s@%d", r.Meta.CauseKey(), first)
		is := func(unique string) bool { return r.ID == events.NewEventID(r.Stream, unique, int(r.Revision-first)) }
		epoch := fmt.Sprintf("%s/%d", unique, r.Meta.Epoch)
		return is(epoch+"/"+events.ContentOf(r.Type, r.Data)) || is(epoch) || is(unique)
	}
	switch {
	case begins(r.Revision):
		s.Decision = r.Revision
	case r.Revision > 0 && begins(s.Decision):
	case s.Partial:
		// The beginning of the decision was removed; from the next one on it is known.
	default:
		s.Decision = r.Revision
		a.find(EventIDUnderived, p, "the id %s does not follow from the cause %q", r.ID, clip(r.Meta.CauseKey()))
	}
	s.Partial = s.Partial && s.Decision != r.Revision
}

// checkHostID computes the id of a process's word. Older records
// have shorter ids, here and in the other streams: they did not tell apart what two
// processes wrote at the same place.
func (a *auditor) checkHostID(r events.Recorded, m proto.Message) {
	unique := fmt.Sprintf("epoch:%d@%d", r.Meta.Epoch, r.Revision)
	derived := r.ID == events.NewEventID(r.Stream, unique, 0)
	if m, ok := m.(timed); ok && !derived {
		unique = fmt.Sprintf("%s/%d/%s", unique, m.GetAt().AsTime().UnixNano(), r.Meta.Node)
		derived = r.ID == events.NewEventID(r.Stream, unique, 0)
	}
	a.holdID(r, derived)
}

func (a *auditor) holdID(r events.Recorded, derived bool) {
	if !derived {
		a.find(EventIDUnderived, placeOf(r),
			"the id %s does not follow from what the event says and where it stands", r.ID)
	}
}

// checkCause reads the cause and follows it to what it names.
func (a *auditor) checkCause(s *stream, r events.Recorded, m proto.Message) {
	key := r.Meta.CauseKey()
	c, err := events.ParseCause(key)
	if err != nil {
		a.find(CauseUnknown, placeOf(r), "the cause is %q, and no cause has that form", clip(key))
		return
	}
	a.checkCausation(s, r, c)
	why := ""
	switch s.kind {
	case kindMarket:
		why = causeOfMarket(key, m)
	case kindLedger:
		why = causeOfLedger(s.host, c, m, a)
	case kindQueue:
		why = a.causeOfQueue(s, r, c, m)
	case kindSale:
		why = causeOfSale(s.life, c, m)
	case kindValidator:
		why = causeOfMarking(c, m)
	case kindSector:
		why = causeOfSector(s, r, c, m)
	case kindUnknown, kindHost, kindTx, kindOwn, kindDisposable:
	}
	if why != "" {
		a.cross(CauseUnresolved, placeOf(r), "the cause is %q: %s", clip(key), why)
	}
}

const causeOfOthers = "that has no meaning in this stream"

func causeOfMarket(cause string, m proto.Message) string {
	want := "chain"
	if m, ok := m.(interface{ GetLog() *messages.ChainLog }); ok {
		want = fmt.Sprintf("log:%s:%d", m.GetLog().GetBlockHash(), m.GetLog().GetIndex())
	}
	return unless(cause == want, "the event itself says "+want)
}

// causesOfLedger are the commands that a ledger knows.
var causesOfLedger = []string{"operator", "start", "quota", "orphan", "withdrawn"}

func causeOfLedger(h *host, c events.Cause, m proto.Message, a *auditor) string {
	switch c.Kind {
	case events.CauseCommand:
		return unless(slices.Contains(causesOfLedger, c.What), causeOfOthers)
	case events.CauseSale:
	case events.CauseSector:
		if of, ok := m.(interface{ GetSector() uint64 }); !ok || of.GetSector() != c.Number {
			return "the event is about something else"
		}
		return h.sectors[c.Number].knows(c)
	case events.CauseBlock, events.CauseLog, events.CauseMarket, events.CauseWork, events.CauseEffect:
		return causeOfOthers
	}
	attempt, known := a.attemptOf(h, c.Slot)
	if !known || attempt < c.Attempt {
		return fmt.Sprintf("the record has no attempt %d at that slot", c.Attempt)
	}
	about, ok := m.(interface{ GetReservationId() string })
	if !ok {
		return ""
	}
	want := capacity.ReservationIDOf(c.Slot, c.Attempt).String()
	next := capacity.ReservationIDOf(c.Slot, c.Attempt+1).String()
	if c.What == "settle" { // Settling a slot that was lost reserves for filling it again, or gives that back.
		switch m.(type) {
		case *messages.ReservationCreated, *messages.BytesReleased:
			want = next
		default:
			if about.GetReservationId() == next {
				want = next
			}
		}
	}
	return unless(about.GetReservationId() == want, "that attempt's reservation is "+want)
}

// causesOfQueue are the commands that a queue knows.
var causesOfQueue = []string{"operator", "start", "take", "wake", "look back"}

func (a *auditor) causeOfQueue(s *stream, r events.Recorded, c events.Cause, m proto.Message) string {
	switch c.Kind {
	case events.CauseCommand:
		return unless(slices.Contains(causesOfQueue, c.What), causeOfOthers)
	case events.CauseMarket:
		return a.causeOfMarketNews(s.host, c, m)
	case events.CauseWork:
		e, about := m.(interface {
			GetRequestId() string
			GetSlotIndex() uint64
		})
		if !about || r.Revision != s.Decision {
			return "" // What else follows is about other slots.
		}
		same := e.GetRequestId() == c.Request.String() && e.GetSlotIndex() == c.Number
		return unless(same, "that is another slot's work")
	case events.CauseBlock, events.CauseLog, events.CauseSale, events.CauseEffect, events.CauseSector:
	}
	return causeOfOthers
}

// causeOfMarketNews finds the event of the market that the queue took notice of.
func (a *auditor) causeOfMarketNews(h *host, c events.Cause, m proto.Message) string {
	if h.Market == "" {
		return "" // Without a start nothing says which market it is.
	}
	market := a.streams[h.Market]
	if market == nil || c.Number == 0 || c.Number > market.Next {
		return fmt.Sprintf("%s has no such event", h.Market)
	}
	var request string
	var revision uint64
	switch e := m.(type) {
	case *messages.SlotsQueued:
		request, revision = e.GetRequestId(), e.GetMarketRevision()
	case *messages.SlotsRefused:
		request, revision = e.GetRequestId(), e.GetMarketRevision()
	default:
		return ""
	}
	if revision != c.Number {
		return fmt.Sprintf("the event itself names event %d of the market", revision)
	}
	said, known := market.Recent.at(c.Number - 1)
	return unless(!known || said == a.ids.hashOf(request), "that event is about another request")
}

func causeOfSale(l *life, c events.Cause, m proto.Message) string {
	switch c.Kind {
	case events.CauseCommand:
		if _, damaged := m.(*messages.SlotDamaged); damaged { // Nobody asked for it: it was found.
			return unless(c.What == "scrub" || c.What == "start", causeOfOthers)
		}
		return unless(c.What == "begin" || c.What == "worker" || c.What == "look", causeOfOthers)
	case events.CauseBlock:
		return ""
	case events.CauseEffect:
	case events.CauseLog, events.CauseMarket, events.CauseSale, events.CauseWork, events.CauseSector:
		return causeOfOthers
	}
	if c.What == "delete-data" { // Instead of deleting, a slot that was lost is filled again.
		_, start := m.(*messages.SaleStarted)
		_, reserved := m.(*messages.CapacityReserved)
		if start && l.Kept && l.Attempt == c.Attempt || reserved && l.Repair && l.Attempt == c.Attempt+1 {
			return ""
		}
	}
	switch {
	case l.account == nil:
		return "no attempt runs"
	case c.Attempt != 0:
		return unless(c.Attempt == l.Attempt, fmt.Sprintf("this is attempt %d", l.Attempt))
	case c.What == "submit-proof" && c.Period > l.Periods.LastPeriod:
		return "no proof of that period was ever due"
	case c.What == "read-collateral" && !l.Unchecked[c.Period]:
		return "that period was not missed, or was read before"
	}
	if m, ok := m.(interface{ GetPeriod() uint64 }); ok && m.GetPeriod() != c.Period {
		return fmt.Sprintf("the event is about period %d", m.GetPeriod())
	}
	return ""
}

// checkCorrelation holds an event to the request that it belongs to, if it
// belongs to one.
func (a *auditor) checkCorrelation(s *stream, r events.Recorded, m proto.Message) {
	want, must := "", true
	switch s.kind {
	case kindSale:
		if start, ok := m.(*messages.SaleStarted); ok {
			want = start.GetRequest().GetId()
		} else if s.life.account != nil {
			want = s.life.Request
		}
	case kindLedger:
		if _, created := m.(*messages.ReservationCreated); !created {
			must = false // These name the reservation, which names the request.
			if of, ok := m.(interface{ GetReservationId() string }); ok {
				if open, found := s.ledger.reservation(of.GetReservationId()); found {
					want = open.RequestID.String()
				}
			}
			break
		}
		fallthrough
	case kindMarket, kindQueue, kindValidator:
		if of, ok := m.(interface{ GetRequestId() string }); ok {
			want = of.GetRequestId()
		}
	case kindTx:
		if of, ok := m.(interface{ GetKey() string }); ok {
			want = s.host.Tx.Intents[of.GetKey()].Correlation
		}
	case kindUnknown, kindHost, kindDisposable, kindSector, kindOwn:
	}
	has := r.Meta.Correlation
	if want == "" || has == want || has == "" && !must {
		return
	}
	a.find(CorrelationMismatch, placeOf(r), "the correlation is %q, the event belongs to request %s", clip(has), want)
}

// recent remembers which requests the newest events of a market are about, so
// that a queue that took notice can be held to it.
type recent struct {
	From  uint64 // the revision of the oldest
	Said  []uint64
	Start int // of the oldest in said, once it is full
}

// keptNews is how far a queue may be behind its market and still be compared:
// hours of a busy market, half a megabyte.
const keptNews = 1 << 16

func (k *recent) note(revision uint64, request uint64) {
	if next := k.From + uint64(len(k.Said)); revision != next {
		*k = recent{From: revision} // Events between are missing.
	}
	if len(k.Said) < keptNews {
		k.Said = append(k.Said, request)
		return
	}
	k.Said[k.Start] = request
	k.Start = (k.Start + 1) % keptNews
	k.From++
}

func (k *recent) at(revision uint64) (request uint64, known bool) {
	if revision < k.From || revision >= k.From+uint64(len(k.Said)) {
		return 0, false
	}
	return k.Said[(k.Start+int(revision-k.From))%len(k.Said)], true
}

// clip keeps hostile input out of sentences.
func clip(s string) string {
	const most = 120
	return events.Clip(s, most)
}
