package audit

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/messages"
)

// The members of a host: which process each epoch is, who had a term, and who may write what. A host of one
// process has no members, and none of this says anything of it.

// keptStarts is how many starts of a host, the newest, are known by their member: some 5 MB. What an older process
// writes is not held to its member.
const keptStarts = 1 << 16

// processes are the starts of a host.
type processes struct {
	Unsure  bool   // events of the host's stream are missing: nothing can be said of who writes
	Single  uint64 // the newest epoch in which the host was one process
	Of      map[uint64]process
	Members map[events.Member]*member
	// HostLedger is the member that has the host's own ledger; empty: none, or the host is one process.
	HostLedger events.Member
	// Term is the newest, Owner the epoch that took it; Ended says that it was given back.
	Term, Owner uint64
	Ended       bool
}

// process is one start of a member.
type process struct {
	Member events.Member
	Owned  bool // it has taken a term
}

// member is one of the processes of a host, under the name that stays.
type member struct {
	Epoch      uint64 // its newest
	HostLedger bool   // its ledger is the host's own
}

func newProcesses() processes {
	return processes{Of: map[uint64]process{}, Members: map[events.Member]*member{}}
}

// memberOf is the member that an epoch is of; empty: the host was one process, or it is not known.
func (h *host) memberOf(epoch uint64) events.Member {
	if h == nil {
		return ""
	}
	return h.Processes.Of[epoch].Member
}

// lives says whether an epoch has started, and was not replaced: a start replaces those of its member before it,
// and those of a host of one process; the start of such a host replaces all.
func (h *host) lives(epoch uint64) bool {
	m := h.Processes.Members[h.memberOf(epoch)]
	return epoch == h.Started || m != nil && m.Epoch == epoch && epoch > h.Processes.Single
}

// own is the name in the stream of a member's ledger.
func (h *host) own(name events.Member) events.Member {
	if m := h.Processes.Members[name]; m != nil && m.HostLedger {
		return ""
	}
	return name
}

// ledger is the ledger with a name in its stream.
func (h *host) ledger(name events.Member) *ledger {
	l := h.Ledgers[name]
	if l == nil {
		l = newLedger(name)
		h.Ledgers[name] = l
	}
	return l
}

// ledgerOf is the ledger of a member.
func (h *host) ledgerOf(name events.Member) *ledger { return h.ledger(h.own(name)) }

// foreign says whether a ledger is not that of a member.
func (h *host) foreign(in *ledger, name events.Member) bool {
	return !h.Processes.Unsure && in.Member != h.own(name)
}

// anyBroken says whether events of any ledger are missing.
func (h *host) anyBroken() bool {
	for _, l := range h.Ledgers {
		if l.Broken {
			return true
		}
	}
	return false
}

// reservation finds an open reservation; nil: no ledger has it.
func (h *host) reservation(id events.ReservationID) (r capacity.Reservation, in *ledger) {
	for _, l := range h.Ledgers {
		if r, open := l.State.Reservation(id); open {
			return r, l
		}
	}
	return r, nil
}

// heldBySector is what the ledgers hold for a sector.
func (h *host) heldBySector(number uint64) (held capacity.Sector) {
	for _, l := range h.Ledgers {
		if one, known := l.State.Sector(number); known {
			held = one
		}
	}
	return held
}

// inTurn are the streams that the members of a host write one after the other.
func (k kind) inTurn() bool {
	switch k {
	case kindQueue, kindTx, kindValidator, kindDisposable:
		return true
	case kindUnknown, kindHost, kindMarket, kindLedger, kindSale, kindSector, kindOwn:
	}
	return false
}

// checkEpoch checks the order of a host's processes. The market's events are
// written by whichever host comes first, with its own epochs, which cannot be
// compared with those of others.
func (a *auditor) checkEpoch(s *stream, r events.Recorded) {
	epoch := r.Meta.Epoch
	if newest := s.newest(epoch); s.kind != kindMarket && s.kind != kindUnknown && epoch < newest {
		a.find(EpochDecreased, placeOf(r), "written in epoch %d of the host, after an event of epoch %d", epoch, newest)
	}
	s.Epoch = max(s.Epoch, epoch)
	if by := s.host.memberOf(epoch); by != "" && s.kind.inTurn() {
		if s.Epochs == nil {
			s.Epochs = map[events.Member]uint64{}
		}
		s.Epochs[by] = max(s.Epochs[by], epoch)
	}
}

// newest is the newest epoch in which the stream was written by the same member as in this one, or by a host of one
// process.
func (s *stream) newest(epoch uint64) uint64 {
	by := s.host.memberOf(epoch)
	last := s.host.memberOf(s.Epoch)
	switch {
	case by == "" || last == "" || last == by:
		return s.Epoch
	case s.kind == kindHost:
		return s.host.Processes.Members[by].Epoch
	}
	return s.Epochs[by]
}

// judgeHost checks the numbers of a host's starts and terms.
func (a *auditor) judgeHost(h *host, p place, m messages.HostEvent) {
	var said string
	switch e := m.(type) {
	case *messages.HostStarted:
		a.followStarted(h, p, e)
		return
	case *messages.HostStopped:
		said = fmt.Sprintf("the host stopped epoch %d", e.GetEpoch())
	case *messages.HostHeartbeat:
		said = fmt.Sprintf("a process of epoch %d lives", e.GetEpoch())
	case *messages.SettingsChanged:
		said = fmt.Sprintf("a process of epoch %d has other settings", e.GetEpoch())
	case *messages.WorkQuarantined:
		said = fmt.Sprintf("a process of epoch %d leaves %s alone", e.GetEpoch(), e.GetKind())
	case *messages.QuarantineEnded:
		said = fmt.Sprintf("a process of epoch %d tries %s again", e.GetEpoch(), e.GetKind())
	case *messages.RecordWentBack:
		said = fmt.Sprintf("a process of epoch %d tells of a record that went back", e.GetEpoch())
		if e.GetTakenBack() {
			a.withdraw(RecordLost, p.Stream)
			break
		}
		a.find(RecordLost, p,
			"the event store went back before epoch %d: %d streams lack events, the last of them of %s",
			e.GetEpoch(), uint64(len(e.GetStreams()))+e.GetMore(), clock(e.GetSeen().AsTime()))
	case *messages.TermTaken:
		said = fmt.Sprintf("a process of epoch %d takes term %d", e.GetEpoch(), e.GetTerm())
		a.followTerm(h, p, e)
	case *messages.TermEnded:
		said = fmt.Sprintf("a process of epoch %d ends term %d", e.GetEpoch(), e.GetTerm())
		a.followTermEnd(h, p, e)
	}
	if epoch := m.(interface{ GetEpoch() uint64 }).GetEpoch(); !h.lives(epoch) {
		a.find(HostEpoch, p, "%s in epoch %d", said, h.replaced(epoch))
	}
}

// replaced is the epoch that came in the place of an older one.
func (h *host) replaced(epoch uint64) uint64 {
	if m := h.Processes.Members[h.memberOf(epoch)]; m != nil {
		return max(m.Epoch, h.Processes.Single)
	}
	return h.Started
}

func (a *auditor) followStarted(h *host, p place, e *messages.HostStarted) {
	epoch, name := e.GetEpoch(), events.Member(e.GetMember())
	if epoch != h.Started+1 {
		a.find(HostEpoch, p, "the host started epoch %d after epoch %d", epoch, h.Started)
	}
	h.Started = epoch
	h.ChainID, h.Contract = e.GetChainId(), events.Must(events.ParseAddress(e.GetContract()))
	h.Market = events.MarketStream(h.ChainID, h.Contract)
	a.trades(h)
	all := &h.Processes
	if name == "" {
		all.Single, all.HostLedger = epoch, ""
		return
	}
	m := all.Members[name]
	switch had := all.HostLedger; {
	case m != nil && m.HostLedger != e.GetHostLedger():
		a.find(LedgerMember, p, "that the host's own ledger is the one of member %s is %t, and was %t before",
			name, e.GetHostLedger(), m.HostLedger)
	case e.GetHostLedger() && had != "" && had != name:
		a.find(LedgerMember, p, "member %s has the host's own ledger, which is the one of member %s", name, had)
	}
	if e.GetHostLedger() {
		all.HostLedger = name
	}
	all.Members[name] = &member{epoch, e.GetHostLedger() || m != nil && m.HostLedger}
	all.Of[epoch] = process{Member: name}
	delete(all.Of, epoch-keptStarts) // Below 0 there is none.
}

// trades notes in which market a host is.
func (a *auditor) trades(h *host) {
	if only, known := a.markets[h.Market]; h.Market != "" && (!known || only == h) {
		a.markets[h.Market] = h
	} else {
		a.markets[h.Market] = nil
	}
}

func (a *auditor) followTerm(h *host, p place, e *messages.TermTaken) {
	all := &h.Processes
	by := h.memberOf(e.GetEpoch())
	switch {
	case e.GetTerm() != all.Term+1:
		a.find(TermOrder, p, "term %d was taken after term %d", e.GetTerm(), all.Term)
	case h.lives(e.GetEpoch()) && e.GetMember() != string(by):
		a.find(TermOrder, p, "member %s takes term %d with epoch %d, which is of member %q", clip(e.GetMember()),
			e.GetTerm(), e.GetEpoch(), by)
	}
	all.Term, all.Owner, all.Ended = e.GetTerm(), e.GetEpoch(), false
	if by != "" {
		all.Of[e.GetEpoch()] = process{by, true}
	}
}

func (a *auditor) followTermEnd(h *host, p place, e *messages.TermEnded) {
	all := &h.Processes
	if e.GetTerm() != all.Term || e.GetEpoch() != all.Owner || all.Ended {
		a.find(TermOrder, p,
			"term %d was ended by epoch %d; the newest is term %d of epoch %d, and was ended before: %t",
			e.GetTerm(), e.GetEpoch(), all.Term, all.Owner, all.Ended)
		return
	}
	all.Ended = true
}

// checkWriter holds an event to the member that may write it.
func (a *auditor) checkWriter(s *stream, r events.Recorded, m proto.Message) {
	h, p, epoch := s.host, placeOf(r), r.Meta.Epoch
	if s.kind == kindMarket {
		h = a.markets[s.Name] // Hosts of one market write its stream together, and nothing says which wrote what.
	}
	if h == nil || len(h.Processes.Members) == 0 || h.Processes.Unsure {
		return
	}
	if epoch > h.Started && s.kind != kindHost {
		a.cross(HostEpoch, p, "written in epoch %d, and the newest start is that of epoch %d", epoch, h.Started)
		return
	}
	by := h.memberOf(epoch)
	h.Queue.deposed = epoch != h.Processes.Owner
	switch s.kind {
	case kindLedger:
		if h.foreign(s.ledger, by) {
			a.cross(LedgerMember, p, "it was written in epoch %d, by member %q", epoch, by)
		}
	case kindSale:
		a.checkSeller(h, s.life, p, by, m)
	case kindQueue, kindTx, kindMarket, kindValidator:
		if by != "" && !h.Processes.Of[epoch].Owned && !byOperator(m) {
			a.cross(TermMissing, p, "it was written in epoch %d by member %s, which had taken no term in it", epoch, by)
		}
	case kindUnknown, kindHost, kindSector, kindOwn, kindDisposable:
	}
}

// byOperator says that the operator wants it. While no member runs, that is recorded in the epoch of the member in
// whose directory the command is given.
func byOperator(m proto.Message) bool {
	by, may := m.(interface{ GetByOperator() bool })
	return may && by.GetByOperator()
}

// checkSeller holds an event of a sale to the member that sells. A host of one process and the member that it became
// are the same.
func (a *auditor) checkSeller(h *host, l *life, p place, by events.Member, m proto.Message) {
	start, begins := m.(*messages.SaleStarted)
	switch {
	case begins && start.GetMember() != string(by):
		a.cross(SaleMember, p, "member %q begins the sale, and it names member %q", by, clip(start.GetMember()))
	case begins:
		a.checkHandedOut(h, l, p, start)
	case l.account != nil && h.own(by) != h.own(l.Member):
		a.cross(SaleMember, p, "member %q writes it, and the sale is of member %q", by, clip(string(l.Member)))
	}
}

// handedOut is what a member was given with a slot.
type handedOut struct {
	Member  events.Member
	Promise events.Amount // collateral
	// TakenBack: a deposed owner released the slot, and the new one may have read the queue before.
	TakenBack bool
}

// handOut notes that a slot was handed out; false: it was not to be had.
func (q *queue) handOut(k slotKey, e *messages.SlotHandedOut) bool {
	s, known := q.Slots[k]
	if given, before := q.HandedOut[k]; before && !given.TakenBack || !s.Taken && (known || !q.Part) {
		return false
	}
	q.HandedOut[k] = handedOut{Member: events.Member(e.GetMember()), Promise: amount(e.GetCollateral())}
	return true
}

// takeBack notes that a slot was released.
func (q *queue) takeBack(k slotKey) {
	given, known := q.HandedOut[k]
	delete(q.HandedOut, k)
	if known && q.deposed && !given.TakenBack {
		given.TakenBack = true
		q.HandedOut[k] = given
	}
}

// checkReceiver demands that a slot is handed out to a member that has started.
func (a *auditor) checkReceiver(h *host, p place, e slotqueue.Event) {
	given, ok := e.(*messages.SlotHandedOut)
	if ok && h.Processes.Members[events.Member(given.GetMember())] == nil && !h.Processes.Unsure {
		a.cross(SlotHandedOut, p, "member %s has never started", clip(given.GetMember()))
	}
}

// checkHandedOut demands that a sale which begins is of a slot that its member was handed.
func (a *auditor) checkHandedOut(h *host, l *life, p place, e *messages.SaleStarted) {
	if e.GetMember() == "" || e.GetAdopted() || l.Kept || h.Queue.Broken {
		return
	}
	given, known := h.Queue.HandedOut[slotKey{e.GetRequest().GetId(), e.GetSlotIndex()}]
	if !known && h.Queue.Part || string(given.Member) == e.GetMember() {
		return
	}
	if known && !given.TakenBack {
		a.cross(SlotHandedOut, p, "the slot was handed out to member %s", given.Member)
		return
	}
	a.cross(SlotHandedOut, p, "the slot is handed out to nobody")
}

// checkPromise compares what a member's ledger commits for a slot with what was promised.
func (a *auditor) checkPromise(h *host, l *life, p place, e *messages.ReservationCreated) {
	given, known := h.Queue.HandedOut[slotKey{e.GetRequestId(), e.GetSlotIndex()}]
	if known && given.Member == l.Member && !l.Adopted && given.Promise.Less(amount(e.GetCollateral())) {
		a.cross(CollateralPromised, p, "%s are committed, member %s was promised %s", e.GetCollateral(), l.Member,
			given.Promise)
	}
}
