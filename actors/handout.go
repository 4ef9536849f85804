package actors

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/actors/admission"
	"github.com/hostnode/hostnode/actors/members"
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/queue"
	"github.com/hostnode/hostnode/actors/sales"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/messages"
)

// This file hands slots out: the owner chooses the member that sells a slot, and that member begins
// the sale.
//
// A member is asked first whether it would. Then SlotHandedOut is recorded, with the collateral that
// is promised, and only then the member is told to begin. Whose answer is lost may have begun all
// the same; the record tells. If two members begin a sale of one slot, because the question to one of
// them came very late, both append at the same revision of the sale's stream, and one of them finds
// that the sale is not its own.
//
// A slot is adopted by the member whose disk has its data. The record lacks the sale,
// because the event store is older than the host, or empty; so all members are asked. One that is away may have the
// data, and is waited for, until another one could just still fetch it before the next proof. Of two copies a sound
// one counts more, then the lesser name. Nobody's is fetched where there is room.
//
// Only the record says that a member has begun: until then it is told again, because it may have died meanwhile. If
// two begin, one of them finds that the sale is not its own, as with slots that are handed out.

// handout hands slots out to the members of a host.
type handout struct {
	*roster
	cluster     port.Cluster // nil: the host is one process, which sells all by itself
	mirror      *members.Mirror
	record      *hostRecord
	repo        port.Repo
	witness     port.Witness
	rooms       []Room // some may bar a member
	root, queue *shell.Part
	handedOut   uint64 // how many slots were, by this process
}

// Messages about slots that are handed out.
type (
	// sellHere asks this member to sell a slot; the answer is a *members.Refusal. With kept, it must not be refused
	// for want of room: the data is here, or there is room nowhere.
	sellHere struct {
		start     sale.Start
		by        events.EventID
		try, kept bool
	}
	// handedOut says who sells a slot, or why nobody does.
	handedOut struct {
		slot    events.SlotID
		member  events.Member
		refused *admission.Refusal
	}
	// remoteSale is the state of another member's sale.
	remoteSale struct{ sales.Changed }
	// giveUpHere asks this member to let go of a slot.
	giveUpHere struct{ sales.GiveUp }
	// giveUpFailed: the member that should let go of a slot does not answer, or does not sell it.
	giveUpFailed struct {
		slot events.SlotID
		err  error
	}
)

// handOut looks for a member that sells a slot, beside the actor.
func (s *handout) handOut(a *shell.Turn, m saleReady, c *candidate) {
	s.beginning[m.slot] = c
	ask := s.AskOf(m.start.Request, m.start.EndsAt)
	selling := map[events.Member]int{}
	for _, ag := range s.agents {
		if ag.request == c.request && (ag.starting || !ag.state.Ended()) {
			selling[ag.seller(s.Member)]++
		}
	}
	for _, other := range s.onTheirWay() {
		if other.request == c.request {
			selling[cmp.Or(other.asked, other.member)]++
		}
	}
	var fit []events.Member
	if c.member != "" { // It was handed out before this member had the term, or before a restart.
		fit = []events.Member{c.member}
	} else {
		refusal := s.beyondRisk(m.start.Request)
		if refusal == nil {
			fit, refusal = s.fitting(ask, selling)
		}
		if refusal != nil {
			a.Self.Tell(handedOut{slot: m.slot, refused: refusal})
			return
		}
	}
	c.asked = fit[0]
	cmd := slotqueue.HandOut{At: s.ChainTime(), RequestID: c.request, SlotIndex: c.index}
	cmd.Collateral, _ = m.start.Request.Ask.CollateralPerSlot()
	a.Do(func(ctx context.Context) {
		s.Yield(ctx, "hand out "+m.slot.Short())
		out := handedOut{slot: m.slot}
		err := s.RT.Guarded("hand out a slot", func() (err error) {
			out.member, out.refused, err = s.handOutTo(ctx, m.start, c, fit, cmd)
			return err
		})
		if err != nil {
			out.refused = s.noMember(err.Error())
		}
		if ctx.Err() == nil {
			s.root.Tell(out)
		}
	})
}

// noMember refuses a slot until it is considered again, because no member answers for it.
func (s *handout) noMember(why string) *admission.Refusal {
	return &admission.Refusal{
		Criterion: slotqueue.CriterionMember, Reason: why, Requeue: true,
		RetryAt: s.ChainTime().Add(queue.LookAgainAfter),
	}
}

// beyondRisk refuses a slot with which the collateral of all members' sales would exceed what the host may have
// at stake. A ledger knows its own member's sales only.
func (s *handout) beyondRisk(r events.Request) *admission.Refusal {
	needed, _ := r.Ask.CollateralPerSlot()
	if s.MaxCollateralAtRisk == nil || needed.IsZero() {
		return nil
	}
	var atRisk events.Amount
	for _, ag := range s.agents {
		atRisk = atRisk.AddSaturating(ag.collateral())
	}
	for _, other := range s.onTheirWay() {
		collateral, _ := other.start.Request.Ask.CollateralPerSlot()
		atRisk = atRisk.AddSaturating(collateral)
	}
	if !s.MaxCollateralAtRisk.SubFloor(atRisk).Less(needed) {
		return nil
	}
	return &admission.Refusal{
		Criterion: string(capacity.AtRisk), Requeue: true,
		Reason: fmt.Sprintf("the slot needs %s base units of collateral, the sales of all members have %s base units "+
			"at stake, the most is %s base units", needed, atRisk, s.MaxCollateralAtRisk),
	}
}

// fitting are the members that seem to be alive and have an availability for a slot.
func (s *handout) fitting(ask capacity.Ask, selling map[events.Member]int) ([]events.Member, *admission.Refusal) {
	fit, refusal := s.mirror.Fits(ask, selling)
	if refusal != nil {
		return nil, &admission.Refusal{Criterion: string(refusal.Criterion), Reason: refusal.Reason, Requeue: true}
	}
	seen := s.cluster.Seen()
	alive := slices.DeleteFunc(slices.Clone(fit), func(m events.Member) bool { return !slices.Contains(seen, m) })
	if len(alive) == 0 {
		return nil, s.noMember(fmt.Sprintf("the members that have room for it do not answer: %v", fit))
	}
	trusted := slices.DeleteFunc(slices.Clone(alive), s.barred)
	if len(trusted) == 0 {
		return nil, s.noMember(fmt.Sprintf("the members that have room for it are suspended or disqualified: %v; "+
			"see hostnode nodes list", alive))
	}
	return trusted, nil
}

func (s *handout) barred(m events.Member) bool {
	return slices.ContainsFunc(s.rooms, func(r Room) bool { return r.Barred != nil && r.Barred(m) })
}

// handOutTo asks the members in their order, records who gets the slot, and has the sale begun.
func (s *handout) handOutTo(ctx context.Context, start sale.Start, c *candidate,
	fit []events.Member, cmd slotqueue.HandOut,
) (events.Member, *admission.Refusal, error) {
	var last *admission.Refusal
	for _, member := range fit {
		start.Member = member
		if c.member == "" {
			if answer, err := s.sell(ctx, sellHere{start: start, try: true}); err != nil {
				last = s.noMember(err.Error())
				continue
			} else if answer.Refused != nil {
				last = s.refusedBy(member, answer.Refused)
				continue
			}
			var older *admission.Refusal
			var err error
			if cmd.Balance, cmd.Unpaid, older, err = s.availableBalance(ctx); err != nil || older != nil {
				return "", older, err
			}
			cmd.Member = member
			work := slotqueue.Work{RequestID: cmd.RequestID, SlotIndex: cmd.SlotIndex}
			_, err = shell.Ask[struct{}](s.queue, queue.Command{Cmd: cmd, Cause: work.Key()}).Wait(ctx)
			if errors.Is(err, slotqueue.ErrPromised) {
				no := admission.Refusal{Criterion: slotqueue.CriterionTokens, Reason: err.Error(), Requeue: true}
				return "", &no, nil
			}
			if err != nil {
				return "", nil, err
			}
		}
		answer, err := s.sell(ctx, sellHere{start: start, by: c.by})
		switch {
		case err != nil: // It may have begun: the record tells, or the worker loses its patience.
			s.Log.WithField("slot", start.Slot.String()).Warnf(
				"it is not known whether member %s sells the slot: %v", member, err)
			return member, nil, nil
		case answer.Refused != nil:
			return "", s.refusedBy(member, answer.Refused), nil
		}
		return member, nil, nil
	}
	return "", last, nil
}

// memberAgain is how long, in chain time, a slot is left alone after a member refused it because of its own state:
// nothing tells that it has started, or that its chain end point answers again.
const memberAgain = time.Minute

func (s *handout) refusedBy(m events.Member, r *members.Refusal) *admission.Refusal {
	retry := r.RetryAt
	if r.Criterion == slotqueue.CriterionMember && retry.IsZero() {
		retry = s.ChainTime().Add(memberAgain)
	}
	return &admission.Refusal{
		Criterion: r.Criterion, Reason: fmt.Sprintf("member %s: %s", m, r.Reason), Requeue: true, RetryAt: retry,
	}
}

// listOutstanding asks for the sales in work, which have not paid yet; the answer is outstanding.
type (
	listOutstanding struct{}
	outstanding     struct {
		sales     []slotqueue.Unpaid
		paid      []events.Head
		handedOut uint64 // how many slots were, by this process
	}
)

func (s *handout) onListOutstanding(a *shell.Turn) {
	a.Asker()(outstanding{s.outstandingSales(), s.paid(), s.handedOut}, nil)
}

// availableBalance returns what the account holds, and the sales that have yet to pay. They are listed only now,
// because other slots were handed out while members were asked; and the balance is read after that: what was paid in
// between is then missing in both, and not counted as free. A slot that was handed out in between may be paid
// already, so then both are read again. It refuses while the node's chain does not have what was paid.
func (s *handout) availableBalance(ctx context.Context) (
	events.Amount, []slotqueue.Unpaid, *admission.Refusal, error,
) {
	before, err := shell.Ask[outstanding](s.root, listOutstanding{}).Wait(ctx)
	for {
		if err != nil {
			return events.Amount{}, nil, nil, err
		}
		balance, failed := s.Market.Balance(ctx, before.paid...)
		if errors.Is(failed, events.ErrBeforePayment) {
			return events.Amount{}, nil, s.beforePayment(failed), nil
		}
		if failed != nil {
			return events.Amount{}, nil, nil, fmt.Errorf("read the balance: %w", failed)
		}
		var after outstanding
		after, err = shell.Ask[outstanding](s.root, listOutstanding{}).Wait(ctx)
		if err == nil && after.handedOut == before.handedOut {
			return balance.Tokens, before.sales, nil, nil
		}
		before = after
	}
}

// sell asks the member that a start names to sell a slot.
func (s *handout) sell(ctx context.Context, m sellHere) (answer members.Sells, err error) {
	if m.start.Member == s.Member {
		return s.sells(ctx, m, func(m sellHere) (*members.Refusal, error) {
			return shell.Ask[*members.Refusal](s.root, m).Wait(ctx)
		})
	}
	started, err := startMessage(m.start)
	if err != nil {
		return answer, err
	}
	return askMember(ctx, s.cluster, m.start.Member, members.Sell{Started: started, By: m.by, Try: m.try})
}

// sells answers whether this member sells a slot, or begins to, as ask of its supervisor.
func (s *handout) sells(
	ctx context.Context, m sellHere, ask func(sellHere) (*members.Refusal, error),
) (answer members.Sells, err error) {
	if m.start.Adopted {
		if answer.Copy, err = s.copyOf(ctx, m.start.Slot); err != nil {
			return answer, err
		}
		m.kept = m.kept || answer.Copy != ""
	}
	answer.Refused, err = ask(m)
	return answer, err
}

// copyOf is what this member has of a slot's data.
func (s *handout) copyOf(ctx context.Context, slot events.SlotID) (members.Copy, error) {
	stored, err := s.repo.Stored(ctx)
	i := slices.IndexFunc(stored, func(st events.StoredSlot) bool { return st.Slot == slot })
	switch {
	case err != nil || i < 0:
		return "", err
	case stored[i].Complete && stored[i].Damage == "":
		return members.SoundCopy, nil
	}
	return members.PartOfCopy, nil
}

// onSell begins a sale that was handed out to this member, or says why it does not. unready says why it cannot begin
// any now.
func (s *handout) onSell(a *shell.Turn, m sellHere, unready string) {
	no := s.refuses(m, unready)
	if no == nil && !m.try && s.agents[m.start.Slot] == nil {
		s.begin(a, m.start, m.by, nil)
	}
	a.Asker()(no, nil)
}

// refuses says why this member does not sell a slot; nil: it can, or sells it already.
func (s *handout) refuses(m sellHere, unready string) *members.Refusal {
	no := func(criterion, format string, args ...any) *members.Refusal {
		return &members.Refusal{Criterion: criterion, Reason: fmt.Sprintf(format, args...)}
	}
	c := s.beginning[m.start.Slot]
	switch ag := s.agents[m.start.Slot]; {
	case unready != "":
		return no(slotqueue.CriterionMember, "%s", unready)
	case ag != nil && ag.remote != "":
		return no(slotqueue.CriterionMember, "member %s sells the slot", ag.remote)
	case ag != nil && ag.Left != "":
		return no(slotqueue.CriterionQuarantined, "quarantined: %s", ag.Left)
	case ag != nil:
		return nil
	case c != nil && !c.handing:
		return no(slotqueue.CriterionMember, "data of an earlier sale is being deleted")
	}
	if m.kept {
		return nil
	}
	if q, ok := s.quarantined.Has(shell.Subject{Kind: shell.SubjectSlot, Key: m.start.Slot.String()}); ok {
		return no(slotqueue.CriterionQuarantined, "quarantined: %s", q.Reason)
	}
	if here := s.admitHere(m.start.Request); here != nil {
		return no(here.Criterion, "%s", here.Reason)
	}
	return nil
}

// onHandedOut tells the workers, or lets them watch the sale.
func (s *handout) onHandedOut(m handedOut) {
	c := s.beginning[m.slot]
	if c == nil || !c.handing {
		return
	}
	s.handedOut++
	delete(s.beginning, m.slot)
	if m.refused != nil {
		tellAll(c.workers, *m.refused)
		if c.asked != "" { // Others were refused because it counted until now.
			s.queue.Tell(queue.Wake{Reason: "a slot was not handed out", Criteria: queue.NotHandedOut()})
		}
		return
	}
	if c.over != nil {
		tellAll(c.workers, *c.over)
		return
	}
	ag := s.agents[m.slot]
	if ag == nil { // Another member's, which has not recorded its start yet.
		ag = newAgent(m.slot, c.request, c.index)
		ag.remote, ag.starting, ag.start = m.member, true, c.start
		s.put(ag)
		s.RemoteLoad.Set(m.slot, s.ExpectedProofs(c.start.Request), c.start.EndsAt)
	}
	ag.watchers = append(ag.watchers, c.workers...)
	if !ag.starting {
		tellAll(c.workers, sales.Changed{Agent: ag.Ref().Address(), Slot: m.slot, State: ag.state, Last: ag.last})
	}
}

func (s *handout) onGiveUp(a *shell.Turn, m sales.GiveUp) {
	if s.StoreWatch.Away() { // No sale makes progress during an outage; the worker goes on waiting.
		return
	}
	slot := events.SlotIDOf(m.Work.RequestID, m.Work.SlotIndex)
	if ag := s.agents[slot]; ag != nil && ag.remote != "" {
		s.giveUpRemote(a, ag, m)
	} else if ag != nil {
		ag.Ref().Tell(sales.Command{Cmd: sale.GiveUp{
			At: s.ChainTime(), Reason: m.Reason, LetGo: true, Reprocess: true,
			Criterion: slotqueue.CriterionNoProgress,
		}, Cause: "worker"})
	}
}

// giveUpRemote asks another member to end a sale that makes no progress.
func (s *handout) giveUpRemote(a *shell.Turn, ag *agent, m sales.GiveUp) {
	slot := events.SlotIDOf(m.Work.RequestID, m.Work.SlotIndex)
	a.Do(func(ctx context.Context) {
		s.Yield(ctx, "let go of "+slot.Short())
		if _, err := askMember(ctx, s.cluster, ag.remote, members.LetGo{Work: m.Work, Reason: m.Reason}); err != nil {
			s.root.Tell(giveUpFailed{slot, err})
		}
	})
}

// errNotSold: the sale of a slot that was handed out to this member never began.
var errNotSold = errors.New("it does not sell the slot")

// onGiveUpHere lets go of a slot, or says that nothing of it is here: the question to sell it was lost.
func (s *handout) onGiveUpHere(a *shell.Turn, m giveUpHere, booted bool) {
	answer := a.Asker()
	slot := events.SlotIDOf(m.Work.RequestID, m.Work.SlotIndex)
	if ag := s.agents[slot]; booted && s.beginning[slot] == nil && (ag == nil || ag.remote != "") {
		answer(struct{}{}, errNotSold)
		return
	}
	s.onGiveUp(a, m.GiveUp)
	answer(struct{}{}, nil)
}

// onGiveUpFailed frees the workers: the sale waits for its member, and they have others to do.
func (s *handout) onGiveUpFailed(m giveUpFailed) {
	ag := s.agents[m.slot]
	if ag == nil || ag.remote == "" {
		return
	}
	refused := s.noMember(fmt.Sprintf("member %s does not let go of it: %v", ag.remote, m.err))
	refused.Requeue = ag.starting
	if _, answered := errors.AsType[*events.MemberError](m.err); answered { // It is here, and does not sell it.
		refused.RetryAt = s.ChainTime()
	}
	tellAll(ag.watchers, *refused)
	ag.watchers = nil
	if ag.starting { // Nothing says that it has begun.
		s.drop(m.slot)
		s.RemoteLoad.Set(m.slot, 0, time.Time{})
	}
}

// isPlaced asks whether nobody needs to look any more for a member that adopts a slot. If so, that is over.
type isPlaced struct{ slot events.SlotID }

// placeAdopted looks for the member that adopts a slot, beside the actor, until its sale has begun.
func (s *handout) placeAdopted(a *shell.Turn, slot events.SlotID, c *candidate) {
	s.beginning[slot] = c
	c.asked = s.Member // It counts as sold, whichever member adopts it.
	p := &placing{handout: s, start: c.start, by: c.by, answers: map[events.Member]members.Sells{}}
	p.until = s.lastFetch(s.ChainTime())
	a.Do(func(ctx context.Context) {
		for ctx.Err() == nil {
			s.Yield(ctx, "adopt "+slot.Short())
			placed, err := shell.Ask[bool](s.root, isPlaced{slot}).Wait(ctx)
			if err != nil || placed {
				return
			}
			from := s.View.Now().Number
			_ = s.RT.Guarded("adopt a slot", func() error { // It is tried again.
				p.try(ctx)
				return nil
			})
			_, _ = s.View.Wait(ctx, func(h events.Head) bool { return h.Number != from })
		}
	})
}

// onIsPlaced ends the search when the sale has begun, and when another member has the term, which searches itself.
func (s *handout) onIsPlaced(a *shell.Turn, m isPlaced, owns bool) {
	c, ag := s.beginning[m.slot], s.agents[m.slot]
	placed := c == nil || ag != nil || c.over != nil || !owns
	a.Asker()(placed, nil)
	if !placed || c == nil {
		return
	}
	delete(s.beginning, m.slot)
	switch {
	case ag != nil:
		s.watch(ag, c.workers...)
	case c.over != nil:
		tellAll(c.workers, *c.over)
	default:
		tellAll(c.workers, *s.noMember("another member has the term"))
	}
}

// lastFetch is until when, in chain time, a slot may wait to be fetched for the next proof that it may owe and for
// which there is time: as much of it as a slot on offer needs that is taken (sales.minFill).
func (s *handout) lastFetch(now time.Time) time.Time {
	cfg, needs := s.Terms.Proofs, s.TimeToFill()
	return duty.End(cfg, duty.Period(cfg, now.Add(needs))).Add(-needs)
}

// placing is a search for the member that adopts a slot.
type placing struct {
	*handout
	start   sale.Start
	by      events.EventID
	until   time.Time // members that are away are waited for, in chain time
	answers map[events.Member]members.Sells
}

// try asks the members that have not answered yet, and tells one to begin, if it is clear which.
func (p *placing) try(ctx context.Context) {
	away := p.ask(ctx)
	to := p.choose(away && p.ChainTime().Before(p.until))
	if to == "" {
		return
	}
	start := p.start
	start.Member = to
	log := p.Log.WithField("slot", start.Slot.String())
	log.Infof("member %s adopts the slot; it has of its data: %q", to, p.answers[to].Copy)
	answer, err := p.sell(ctx, sellHere{start: start, by: p.by, kept: to == p.Member})
	if err == nil && answer.Refused == nil {
		return
	}
	delete(p.answers, to)
	if ctx.Err() == nil {
		log.Warnf("member %s does not adopt the slot, will try again: %v, %+v", to, err, answer.Refused)
	}
}

// ask asks the members that have not answered yet whether they would adopt the slot, and says whether one that did not
// answer may have its data. After a loss of events there may be members of which the record does not know.
func (p *placing) ask(ctx context.Context) (away bool) {
	seen := p.cluster.Seen()
	for _, m := range seen {
		if _, answered := p.answers[m]; answered {
			continue
		}
		start := p.start
		start.Member = m
		answer, err := p.sell(ctx, sellHere{start: start, try: true})
		if err == nil && (answer.Refused == nil || answer.Refused.Criterion != slotqueue.CriterionMember) {
			p.answers[m] = answer
		}
	}
	known, _ := p.record.state()
	for _, one := range known.Members() {
		if !slices.Contains(seen, one.Member) {
			away = true
		}
	}
	return away || len(p.answers) < len(seen) || p.witness != nil && !p.witness.Lost().None()
}

// choose is the member that adopts the slot; empty: a member that is awaited may be better than those that answered.
func (p *placing) choose(awaits bool) events.Member {
	byName := slices.Sorted(maps.Keys(p.answers))
	with := func(c members.Copy) events.Member {
		for _, m := range byName {
			if p.answers[m].Copy == c {
				return m
			}
		}
		return ""
	}
	if sound := with(members.SoundCopy); sound != "" || awaits {
		return sound
	}
	if part := with(members.PartOfCopy); part != "" {
		return part
	}
	ask := p.AskOf(p.start.Request, p.start.EndsAt)
	ask.MaxAtRisk, ask.Quota = nil, 0 // Its collateral is deposited already.
	fit, _ := p.mirror.Fits(ask, nil)
	for _, m := range slices.Concat(fit, byName) {
		if answer, answered := p.answers[m]; answered && answer.Refused == nil {
			return m
		}
	}
	return p.Member // There is room nowhere.
}

func startMessage(c sale.Start) ([]byte, error) {
	decided, err := sale.Decide(sale.State{}, c)
	if err != nil {
		return nil, err
	}
	return proto.Marshal(decided[0])
}

// startOf is the command that a message came from.
func startOf(started []byte) (c sale.Start, err error) {
	var e messages.SaleStarted
	if err := proto.Unmarshal(started, &e); err != nil {
		return c, fmt.Errorf("%w: %w", events.ErrMalformed, err)
	}
	if err := events.CheckMessage(&e); err != nil {
		return c, err
	}
	st := sale.Evolve(sale.State{}, &e)
	return sale.Start{
		At: st.BeganAt, Slot: st.Slot, Index: st.Index, Request: st.Request, Repair: st.Repair, Adopted: st.Adopted,
		ExpiresAt: st.ExpiresAt, EndsAt: st.EndsAt, FailEvery: st.FailEvery, Member: st.Member,
	}, nil
}
