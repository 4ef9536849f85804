package actors

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/hostnode/hostnode/actors/admission"
	"github.com/hostnode/hostnode/actors/members"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/slotqueue"
)

// This file finds the member that adopts a slot: the one whose disk has its data. The record lacks the sale,
// because the event store is older than the host, or empty; so all members are asked. One that is away may have the
// data, and is waited for, until another one could just still fetch it before the next proof. Of two copies a sound
// one counts more, then the lesser name. Nobody's is fetched where there is room.
//
// Only the record says that a member has begun: until then it is told again, because it may have died meanwhile. If
// two begin, one of them finds that the sale is not its own, as with slots that are handed out.

// isPlaced asks whether nobody needs to look any more for a member that adopts a slot. If so, that is over.
type isPlaced struct{ slot events.SlotID }

// placeAdopted looks for the member that adopts a slot, beside the actor, until its sale has begun.
func (s *supervisor) placeAdopted(a *shell.Turn, slot events.SlotID, c *candidate) {
	s.beginning[slot] = c
	c.asked = s.Member // It counts as sold, whoever adopts it.
	p := &placing{supervisor: s, start: c.start, by: c.by, answers: map[events.Member]members.Sells{}}
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
func (s *supervisor) onIsPlaced(a *shell.Turn, m isPlaced) {
	c, ag := s.beginning[m.slot], s.agents[m.slot]
	placed := c == nil || ag != nil || c.over != nil || !s.term.owns
	a.Asker()(placed, nil)
	if !placed || c == nil {
		return
	}
	delete(s.beginning, m.slot)
	switch {
	case ag != nil:
		for _, w := range c.workers {
			s.watch(m.slot, ag, w)
		}
	case c.over != nil:
		tellAll(c.workers, *c.over)
	default:
		tellAll(c.workers, admission.Refusal{
			Criterion: slotqueue.CriterionMember, Reason: "another member has the term",
			Requeue: true, RetryAt: s.soon(),
		})
	}
}

// lastFetch is until when, in chain time, a slot may wait to be fetched for the next proof that it may owe and for
// which there is time: as much of it as a slot on offer needs that is taken (sales.minFill).
func (s *supervisor) lastFetch(now time.Time) time.Time {
	cfg, needs := s.Terms.Proofs, s.TimeToFill()
	return duty.End(cfg, duty.Period(cfg, now.Add(needs))).Add(-needs)
}

// placing is a search for the member that adopts a slot.
type placing struct {
	*supervisor
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
	seen := p.Cluster.Seen()
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
	known, _ := p.owner.state()
	for _, one := range known.Members() {
		if !slices.Contains(seen, one.Member) {
			away = true
		}
	}
	return away || len(p.answers) < len(seen) || p.Witness != nil && !p.Witness.Lost().None()
}

// choose is the member that adopts the slot; empty: whoever is awaited may be better than those that answered.
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

// sells answers whether this member sells a slot, or begins to, as ask of its supervisor.
func (e *env) sells(
	ctx context.Context, m sellHere, ask func(sellHere) (*members.Refusal, error),
) (answer members.Sells, err error) {
	if m.start.Adopted {
		if answer.Copy, err = e.copyOf(ctx, m.start.Slot); err != nil {
			return answer, err
		}
		m.kept = m.kept || answer.Copy != ""
	}
	answer.Refused, err = ask(m)
	return answer, err
}

// copyOf is what this member has of a slot's data.
func (e *env) copyOf(ctx context.Context, slot events.SlotID) (members.Copy, error) {
	stored, err := e.Repo.Stored(ctx)
	i := slices.IndexFunc(stored, func(st events.StoredSlot) bool { return st.Slot == slot })
	switch {
	case err != nil || i < 0:
		return "", err
	case stored[i].Complete && stored[i].Damage == "":
		return members.SoundCopy, nil
	}
	return members.PartOfCopy, nil
}
