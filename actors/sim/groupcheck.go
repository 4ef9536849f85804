package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/membership"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/messages"
)

// This file says what must hold in a host of several members.

// check checks what must hold after every step, as simulator.check does for a single process.
func (g *group) check(ctx context.Context) error {
	var wrong []error
	for _, m := range g.members {
		wrong = append(wrong, g.checkMember(m))
	}
	g.world.mu.Lock()
	conserved := g.world.tip().state.conserved()
	g.world.mu.Unlock()
	if !conserved {
		wrong = append(wrong, broken(TokensConserved, "the accounts do not add up to what was minted"))
	}
	if err := errors.Join(append(wrong, g.rules.broken())...); err != nil {
		return err
	}
	before := g.audit.after
	g.audit.bounds = g.possible()
	if err := g.audit.readOn(ctx, g.view); err != nil {
		return err
	}
	if g.audit.after != before {
		if err := as(StartFindsSales, g.checkLivingSales(ctx)); err != nil {
			return err
		}
	}
	if err := g.checkMemberChances(); err != nil {
		return err
	}
	if g.steps%64 == 0 {
		if err := g.compareView(ctx); err != nil {
			return err
		}
	}
	for _, m := range g.members {
		if err := g.checkDiskOf(m); err != nil {
			return as(DiskIsLedger, err)
		}
		if g.audit.after != before || g.steps%8 == 0 {
			if err := g.checkLiveMember(ctx, m); err != nil {
				return as(ReplayIsLive, fmt.Errorf("member %s: %w", m.name, err))
			}
		}
	}
	return nil
}

// checkMember checks what a member did in this step: the record is still as it was before.
func (g *group) checkMember(m *process) error {
	m.world.mu.Lock()
	actions, wrong := m.world.actions, m.world.wrong
	m.world.actions = nil
	m.world.mu.Unlock()
	if wrong != nil {
		return wrong
	}
	for _, d := range actions {
		st := g.audit.sales[d.slot]
		// What a reorganisation took back is sent once more by a question that comes late; so is a reservation that
		// the contract did not allow before. That one costs gas.
		before := made{attempts{d.slot, m.name}, st.Attempt, d.kind}
		again := g.Reorganize > 0 && (g.made[before] || d.kind == "reserve")
		g.made[before] = true
		if seller := g.named(st.Member); seller != nil && g.writes(seller, events.SaleStream(me, d.slot)) {
			continue
		}
		// A question may come late, also one of its own that another member passes on.
		late := d.kind == "proof" && (g.FailEveryNProofs > 0 || g.wasOwed(duePast{d.slot, d.period, d.proof}))
		if !d.permitted(st) && !late && !again {
			return broken(StoredBeforeSent, "%s of slot %s by %s while its sale is %s, attempt %d, of %s",
				d.kind, d.slot.Short(), m.name, st.Phase, st.Attempt, st.Member)
		}
		if d.kind == "fill" && st.Refills > 0 {
			g.refills[d.slot] = st.Attempt
			if err := g.canPay("slot %s is filled again by %s", d.slot.Short(), m.name); err != nil {
				return err
			}
		}
	}
	if h := m.running(); h != nil && h.Err() != nil {
		return broken(HostLives, "member %s ended: %w", m.name, h.Err())
	}
	return nil
}

// wasOwed reports whether a proof was due at some time, or asked for before that could be recorded.
func (g *group) wasOwed(p duePast) bool {
	g.world.mu.Lock()
	defer g.world.mu.Unlock()
	return g.due[p] || g.asked[p]
}

// writes reports whether a member does not know yet all that a stream holds, or will hold.
func (g *group) writes(m *process, stream string) bool {
	m.world.mu.Lock()
	defer m.world.mu.Unlock()
	return m.world.unanswered[stream] || m.world.trying[stream]
}

// named is the member with a name; nil: there is none.
func (g *group) named(name events.Member) *process {
	for _, m := range g.members {
		if m.name == name {
			return m
		}
	}
	return nil
}

// judge checks an event of the record before it is folded.
func (g *group) judge(e events.Recorded, m proto.Message) error {
	if ofOwner(e.Stream) {
		term := g.terms[e.Meta.Epoch]
		if term == 0 || term < g.wrote[e.Stream] {
			return broken(OneWriter, "%s of %s was written by epoch %d, of %s, with term %d; the newest that wrote there was %d",
				e.Type, e.Stream, e.Meta.Epoch, g.names[e.Meta.Epoch], term, g.wrote[e.Stream])
		}
		g.wrote[e.Stream] = term
	}
	switch m := m.(type) {
	case messages.HostEvent:
		return g.judgeHost(m)
	case *messages.SlotHandedOut:
		slot := events.SlotIDOf(events.Must(events.ParseRequestID(m.GetRequestId())), m.GetSlotIndex())
		g.handed[attempts{slot, events.Member(m.GetMember())}]++
		return g.withinRequest(slot, events.Must(events.ParseRequestID(m.GetRequestId())))
	case *messages.SlotReleased:
		slot := events.SlotIDOf(events.Must(events.ParseRequestID(m.GetRequestId())), m.GetSlotIndex())
		for _, p := range g.members {
			of := attempts{slot, p.name}
			g.takenBack[of] = g.hasNow(of) && g.terms[e.Meta.Epoch] < g.hosts.Term.Number
		}
	case *messages.SaleStarted:
		return g.judgeStart(e, m)
	case *messages.ProofDue:
		if _, slot, err := events.ParseSaleStream(e.Stream); err == nil {
			challenge := events.Must(events.ParseChallenge(m.GetChallenge()))
			g.due[duePast{slot, m.GetPeriod(), proofFor(slot, challenge)}] = true
		}
	case sale.Event:
		_, slot, err := events.ParseSaleStream(e.Stream)
		if _, filled := m.(*messages.SlotFilled); filled {
			g.filled[slot] = g.height()
		}
		if by, of := g.names[e.Meta.Epoch], g.audit.sales[slot].Member; err == nil && by != of {
			return broken(OneWriter, "%s of slot %s was written by %s; the sale is of %s", e.Type, slot.Short(), by, of)
		}
		return err
	case capacity.Event:
		if _, of, _ := events.ParseLedgerStream(e.Stream); of != g.names[e.Meta.Epoch] {
			return broken(OneWriter, "%s of the ledger of %q was written by %s", e.Type, of, g.names[e.Meta.Epoch])
		}
	}
	return nil
}

// withinRequest: of one request the host sells no more slots than it may, those that are handed out included.
func (g *group) withinRequest(slot events.SlotID, request events.RequestID) error {
	sold := map[events.SlotID]bool{slot: true}
	for _, work := range slotqueue.Next(g.audit.queue) {
		if of := (attempts{events.SlotIDOf(request, work.SlotIndex), work.Member}); work.Member != "" &&
			work.RequestID == request && !g.hasEnded(of) {
			sold[of.slot] = true
		}
	}
	for id, st := range g.audit.sales {
		if st.Request.ID == request && !st.Ended() && !st.Adopted {
			sold[id] = true
		}
	}
	posted := g.posted[slices.IndexFunc(g.posted, func(r events.Request) bool { return r.ID == request })]
	if most := posted.Ask.MaxSlotLoss; uint64(len(sold)) > most {
		return broken(PolicyIsKept, "slot %s is handed out as the %d. of its request, of which the host may sell %d",
			slot.Short(), len(sold), most)
	}
	return nil
}

// hasEnded reports whether all sales that a member began of a slot have ended, one for each time that it was handed
// out. The queue may not know yet.
func (g *group) hasEnded(of attempts) bool {
	st := g.audit.sales[of.slot]
	return st.Ended() && st.Member == of.member && g.began[of] == g.handed[of]
}

// hasNow reports whether the queue has handed a slot out to a member.
func (g *group) hasNow(of attempts) bool {
	return slices.ContainsFunc(slotqueue.Next(g.audit.queue), func(work slotqueue.Work) bool {
		return work.Member == of.member && events.SlotIDOf(work.RequestID, work.SlotIndex) == of.slot
	})
}

// judgeStart: a sale is begun by the member that it names, once for each time that the slot was
// handed out to it.
func (g *group) judgeStart(e events.Recorded, m *messages.SaleStarted) error {
	of := attempts{events.Must(events.ParseSlotID(m.GetSlotId())), events.Member(m.GetMember())}
	if by := g.names[e.Meta.Epoch]; by != of.member {
		return broken(OneWriter, "%s began a sale of slot %s for %s", by, of.slot.Short(), of.member)
	}
	before := g.audit.sales[of.slot]
	if again := before.Settled && !before.Deleted && before.Member == of.member; m.GetAdopted() || again {
		return nil // The slot is ours already; or it was, and the data is here still.
	}
	if (g.hasNow(of) || g.takenBack[of]) && g.began[of] == g.handed[of] {
		return nil // Nobody has taken note of the end of its last attempt; or a deposed owner has, which the new one missed.
	}
	if g.began[of]++; g.began[of] > g.handed[of] {
		return broken(HandedOutOnce, "%s began %d sales of slot %s, which was handed out to it %d times",
			of.member, g.began[of], of.slot.Short(), g.handed[of])
	}
	return nil
}

// judgeHost: epochs and terms grow by one, and each term is taken by the newest process of a member.
func (g *group) judgeHost(m messages.HostEvent) error {
	before := g.hosts
	g.hosts = membership.Evolve(before, m)
	switch m := m.(type) {
	case *messages.HostStarted:
		if m.GetEpoch() != before.Epoch+1 {
			return broken(OneWriter, "epoch %d follows %d", m.GetEpoch(), before.Epoch)
		}
		g.names[m.GetEpoch()] = events.Member(m.GetMember())
	case *messages.TermTaken:
		p, known := before.Process(events.Member(m.GetMember()))
		if m.GetTerm() != before.Term.Number+1 || !known || p.Epoch != m.GetEpoch() {
			return broken(OneWriter, "term %d of epoch %d, of %s, follows term %d; the newest epoch of the member is %d",
				m.GetTerm(), m.GetEpoch(), m.GetMember(), before.Term.Number, p.Epoch)
		}
		g.terms[m.GetEpoch()] = m.GetTerm()
	}
	if before.Term != g.hosts.Term {
		g.termsAt = g.height()
	}
	return nil
}

// holds: when a slot is handed out, the account can pay for all that is promised and not paid.
func (g *group) holds(e slotqueue.Event) error {
	m, ok := e.(*messages.SlotHandedOut)
	if !ok {
		return nil
	}
	return g.canPay("slot %d of %s is handed out to %s", m.GetSlotIndex(), m.GetRequestId(), m.GetMember())
}

// canPay: the account can pay for all that is promised and not paid. What fills a lost slot again counts once it
// was sent.
func (g *group) canPay(what string, args ...any) error {
	g.world.mu.Lock()
	defer g.world.mu.Unlock()
	state := g.world.tip().state
	unpaid := map[events.SlotID]bool{}
	for _, work := range slotqueue.Next(g.audit.queue) {
		if work.Member != "" {
			unpaid[events.SlotIDOf(work.RequestID, work.SlotIndex)] = true
		}
	}
	for id, st := range g.audit.sales {
		if st.BeforeFill() && !st.Adopted && (st.Refills == 0 || g.refills[id] == st.Attempt) {
			unpaid[id] = true
		}
	}
	var sum events.Amount
	var of []string
	for id := range unpaid {
		if s := state.slots[id]; s != nil && s.host != me {
			sum, of = sum.Add(state.pays(s)), append(of, id.Short())
		}
	}
	if state.tokens[me].Less(sum) {
		return broken(PromisedOnce, "%s: %s are promised and not paid, for %s, and the account holds %s",
			fmt.Sprintf(what, args...), sum, of, state.tokens[me])
	}
	return nil
}

// checkDiskOf: what is on the disk of a member belongs to a sale of its own, and its ledger was
// debited before it was written.
func (g *group) checkDiskOf(m *process) error {
	ledger := g.audit.ledgerOf(m.name)
	m.world.mu.Lock()
	defer m.world.mu.Unlock()
	for _, slot := range sortedSlots(m.world.repo) {
		st := g.audit.sales[slot]
		r, open := ledger.Reservation(capacity.ReservationIDOf(slot, st.Attempt))
		if !open { // The slot was lost, and is to be filled again with the data on disk.
			r, open = ledger.Reservation(capacity.ReservationIDOf(slot, st.Attempt+1))
		}
		onDisk := m.world.repo[slot].bytes
		if st.Member != m.name {
			return broken(DiskIsLedger, "slot %s is on the disk of %s, its sale is %s, of %s", slot.Short(), m.name, st.Phase, st.Member)
		}
		if st.Settled || !open || r.Stored < onDisk {
			return fmt.Errorf("slot %s has %d bytes on the disk of %s, its ledger knows of %d; its sale is %s",
				slot.Short(), onDisk, m.name, r.Stored, st.Phase)
		}
	}
	return nil
}

// checkLiveMember: the replay of the record equals the state of a running member, of what it writes.
func (g *group) checkLiveMember(ctx context.Context, m *process) error {
	h := m.running()
	if h == nil || h.Err() != nil {
		return nil
	}
	now, err := g.look(ctx, h)
	m.booted = now != nil && err == nil
	if now == nil || err != nil {
		return err
	}
	if stream := events.LedgerStream(me, m.name); now.ledger != nil && !g.writes(m, stream) {
		if diff := difference(g.audit.ledgerOf(m.name).Snapshot(), *now.ledger); diff != "" {
			return fmt.Errorf("the ledger lives (+) otherwise than it replays (-):\n%s", diff)
		}
	}
	for _, live := range now.status.Sales {
		slot := live.State.Slot
		if live.Quarantined != "" {
			return broken(NothingQuarantined, "slot %s: %s", slot.Short(), live.Quarantined)
		}
		replayed := g.audit.sales[slot]
		if live.State.Phase == sale.Unknown || live.State.Member != m.name || replayed.Member != m.name ||
			g.writes(m, events.SaleStream(me, slot)) {
			continue
		}
		if diff := difference(replayed, live.State); diff != "" {
			return fmt.Errorf("slot %s lives (+) otherwise than it replays (-):\n%s", slot.Short(), diff)
		}
	}
	return nil
}

// checkMemberChances: no slot was slashed for a proof that the host could have sent, see canProve.
func (g *group) checkMemberChances() error {
	if g.chances == nil {
		return nil
	}
	for _, m := range g.members {
		if !g.works(m) {
			m.well = g.height()
		}
	}
	g.world.mu.Lock()
	defer g.world.mu.Unlock()
	if tip := g.world.tip().head.Number; tip != g.noted {
		g.noted = tip
		g.chances.noteSince(g.world.blockchain, me, g.Chance, g.canProve)
	}
	return g.chances.first(g.spoils)
}

// works reports whether a member runs and has read the record, and the event store answers it.
func (g *group) works(m *process) bool {
	h := m.running()
	return h != nil && h.Err() == nil && m.booted && m.apart == 0 && m.behind == 0 && !g.in(storeAway) && !g.in(chainDown)
}

// canProve is the block since which nothing was in the way of a proof: the member that has the data
// runs, so does the one that has the term and owns the account, both seem alive to each other, reach the chain
// and the event store, and read what is recorded. They need not reach each other once it is recorded that the
// slot is ours. The lock must be held.
func (g *group) canProve(slot events.SlotID) uint64 {
	never := g.world.tip().head.Number
	term, lasts := membership.Owner(g.hosts)
	seller, owner := g.named(g.audit.sales[slot].Member), g.named(term.Member)
	if !lasts || seller == nil || owner == nil || owner.account == nil || !owner.account.owns {
		return never
	}
	if s := seller.world.repo[slot]; s == nil || s.bytes < s.size {
		return never
	}
	since := max(seller.well, owner.well, g.termsAt)
	if filled := g.filled[slot]; g.audit.sales[slot].Hosting() {
		return max(since, filled)
	}
	return max(since, seller.linked, owner.linked)
}

// over reports whether all is over, and then checks what must hold at the end.
func (g *group) over() (bool, error) {
	for _, m := range g.members {
		if g.audit.ledgerOf(m.name).Book().Quota == 0 {
			g.waits = "no space is on offer at " + string(m.name)
			return false, nil
		}
	}
	return g.simulator.over()
}

// membersAtTheEnd checks the disks and the ledgers of all members.
func (g *group) membersAtTheEnd() error {
	var errs []error
	for _, m := range g.members {
		if n := len(m.world.repo); n > 0 {
			errs = append(errs, broken(ReleasedOnce, "%d slots are still on the disk of %s", n, m.name))
		}
		errs = append(errs, emptied(g.audit.ledgerOf(m.name)))
	}
	return errors.Join(errs...)
}
