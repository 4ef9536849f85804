package actors

import (
	"context"
	"errors"
	"fmt"

	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/members"
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/queue"
	"github.com/hostnode/hostnode/actors/sales"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/messages"
)

// This file is what a member of a host does beside a process that is the whole host: it reads in the record what the
// others do, answers their questions, and begins and stops what runs once per host. That runs in the owner, the
// member that has the term: its rooms of the place Owner, and the follower of the contract's logs. term.go decides
// which member that is, and says so here (termBegan, termEnded); rooms.owns: it is this process.

// onMembers takes what only a member of a host is told.
func (s *supervisor) onMembers(a *shell.Turn, msg any) {
	switch m := msg.(type) {
	case marketSaid:
		s.sales.tellConcerned(m.event)
	case remoteSale:
		s.sales.onRemoteSale(m.Changed)
	case sellHere:
		s.handout.onSell(a, m, s.unready(m))
	case handedOut:
		s.handout.onHandedOut(m)
	case isPlaced:
		s.handout.onIsPlaced(a, m, s.rooms.owns)
	case giveUpHere:
		s.handout.onGiveUpHere(a, m, s.rooms.booted)
	case giveUpFailed:
		s.handout.onGiveUpFailed(m)
	case termBegan:
		s.onTermBegan(a)
	case termEnded:
		s.onTermEnded(a)
	case listOutstanding:
		s.handout.onListOutstanding(a)
	case members.Ready: // A proof that another member left for the owner.
		if s.rooms.owns { // Otherwise the owner is told as well, or the next one reads it (readReadyProofs).
			s.others.send(a, m, s.sales.agents[m.Slot])
		}
	}
}

// startMember begins what a member does beside selling.
func (s *supervisor) startMember(a *shell.Turn) {
	s.followHeads(a)
	if s.terms == nil {
		s.Log.Info("this member never runs what runs once per host: account.transactions is false")
		return
	}
	a.RT.Do("term", s.terms.keep)
}

// onTermBegan begins what runs once per host. The follower of the market takes the place of that of the heads.
func (s *supervisor) onTermBegan(a *shell.Turn) {
	answer := a.Asker()
	if !s.rooms.owns {
		s.stopFollow()
		s.rooms.owns = true
		s.rooms.run(a)
		s.followMarket(a)
		for _, ag := range s.sales.agents { // Noted in an earlier term; another owner may have had tokens since.
			ag.refillShort = false
		}
		s.sales.askOwned = true // The owner adopts slots that the contract counts as ours and nobody sells.
		s.others.readReadyProofs(a)
	}
	answer(struct{}{}, nil)
}

// onTermEnded stops what runs once per host. It does not wait until that has ended: what it still decides is not
// appended any more (term.go).
func (s *supervisor) onTermEnded(a *shell.Turn) {
	answer := a.Asker()
	if s.rooms.owns {
		s.stopFollow()
		s.rooms.stopOwners()
		s.sales.forgetWorkers() // They were the queue's.
		s.rooms.owns = false
		s.followHeads(a)
	}
	answer(struct{}{}, nil)
}

// otherMembers is what the other members of the host do, as the record tells it.
type otherMembers struct {
	*chainview.Chain
	record      *hostRecord
	mirror      *members.Mirror
	ready       *members.ReadyProofs
	market      string      // the market's stream
	contract    port.Market // sends only if this process is the owner; Chain.Market has the owner send
	proofTxs    *shell.Pool
	root, queue *shell.Part // the supervisor, and the queue, which runs in the owner
	// followed is up to where take has taken the record: the follower sets it, and a new owner waits for it (upToDate).
	followed *watched[events.Position]
}

// load folds the ledgers of all members, and the living sales of the others.
func (o *otherMembers) load(ctx context.Context, living *livingSales) (others []remoteSale, err error) {
	now, _ := o.record.state()
	for _, p := range now.Members() {
		name := p.Member
		if p.HostLedger { // Its ledger is the host's own, from before there were members, and has no name.
			name = ""
		}
		if _, err := o.mirror.Load(ctx, events.LedgerStream(o.Me, name)); err != nil {
			return nil, err
		}
	}
	for _, l := range living.inOrder() {
		if o.Mine(l.member) {
			continue
		}
		st, err := o.mirror.Load(ctx, events.SaleStream(o.Me, l.slot))
		if err != nil {
			return nil, err
		}
		others = append(others, remoteSale{sales.Changed{Slot: l.slot, State: st, Ahead: st}})
	}
	return others, nil
}

// take takes each event of the record, in order. After an error the same event must be taken again.
func (o *otherMembers) take(ctx context.Context, r events.Recorded) error {
	if r.Stream == o.market {
		o.readMarket(r)
		return nil
	}
	if ready, is, err := o.ready.Read(r); err != nil {
		o.Log.Errorf("a proof of another member is left alone: %v", err)
		return nil
	} else if is {
		o.root.Tell(ready)
		return nil
	}
	change, err := o.mirror.Take(ctx, r)
	if shell.NeverPasses(err) {
		o.Log.WithField("stream", r.Stream).Errorf("what another member wrote cannot be read: %v", err)
		return nil
	} else if err != nil {
		return err
	}
	if change.Sale != nil {
		o.root.Tell(remoteSale{*change.Sale})
	}
	if change.Freed != "" {
		o.queue.Tell(queue.Wake{Reason: change.Freed, Criteria: queue.OfMember()})
	}
	return nil
}

// marketSaid is an event of the market's stream, which may concern sales of this member.
type marketSaid struct{ event messages.MarketEvent }

// readMarket passes on what the owner recorded of the contract.
func (o *otherMembers) readMarket(r events.Recorded) {
	m, err := shell.DecodeAs[messages.MarketEvent](o.Codec, r)
	if err != nil {
		o.Log.Errorf("an event of the market cannot be read: %v", err)
		return
	}
	switch m := m.(type) {
	case *messages.BlocksScanned:
		o.Recorded.Store(m.GetNumber())
		o.View.Wake()
	case *messages.ChainReorganized:
		o.Recorded.Store(m.GetAncestor())
		o.View.Wake()
	default:
		o.root.Tell(marketSaid{m})
	}
}

// readReadyProofs reads the proofs that were handed over before this member had the term. Those that come later are
// read by take.
func (o *otherMembers) readReadyProofs(a *shell.Turn) {
	now := o.ChainTime()
	known, _ := o.record.state()
	a.Do(func(ctx context.Context) {
		o.Yield(ctx, "ready proofs")
		for _, p := range known.Members() {
			if p.Member == o.Member {
				continue
			}
			var left []members.Ready
			err := askStore(ctx, o.Base, func() (err error) {
				left, err = o.ready.HandedOver(ctx, p.Member, now.Add(-o.Terms.Proofs.Period))
				return err
			})
			if err != nil && ctx.Err() == nil {
				o.Log.Warnf("the proofs that member %s left are not known: %v", p.Member, err)
			}
			for _, r := range left {
				o.root.Tell(r)
			}
		}
	})
}

// send sends a proof that another member left, as the owner, if it is of use: ag is what the owner knows of the sale;
// nil: nothing. It is of a slot that the other one sells, and of a period that is not over. Whether the slot is
// hosted still, and lacks the proof, the contract is asked before it is sent.
func (o *otherMembers) send(a *shell.Turn, r members.Ready, ag *agent) {
	log := o.Log.WithField("slot", r.Slot.String()).WithField("period", r.Period)
	now := o.ChainTime()
	period := duty.Period(o.Terms.Proofs, now)
	switch {
	case r.Member == o.Member: // Its sale sends it itself.
		return
	case ag == nil: // The sale may be over.
		return
	case ag.remote != r.Member:
		log.Warnf("member %s left a proof of a slot that it does not sell; it is not sent", r.Member)
		return
	case now.After(r.Deadline), r.Period < period, r.Period > period+1: // The other one may know a newer block.
		return
	}
	call := events.SlotCall{
		Request: ag.request, Slot: r.Slot, Index: ag.index, Attempt: ag.state.Attempt, Deadline: r.Deadline,
		Challenge: r.Challenge,
	}
	task := fmt.Sprintf("proof of %s, %s, %d", r.Member, r.Slot.Short(), r.Period)
	a.Do(func(ctx context.Context) {
		o.Yield(ctx, task)
		err := o.RT.Guarded("proof of another member", func() error {
			return o.Retry(ctx, task, func(error) {}, isFinal, func(ctx context.Context) error {
				_, err := shell.In(ctx, o.proofTxs, r.Deadline, func() (events.Receipt, error) {
					return o.contract.SubmitProof(ctx, call, r.Period, r.Proof)
				})
				return err
			})
		})
		switch {
		case ctx.Err() != nil:
		case err == nil:
			log.Infof("the proof that member %s left was sent", r.Member)
		case !errors.Is(err, events.ErrProofAlreadySubmitted):
			log.Warnf("the proof that member %s left was not sent: %v", r.Member, err)
		}
	})
}

// isFinal ends the tries to send a proof of another member: the contract has answered, the deadline is over
// (ErrDeadlinePassed), or this process is not the owner any more. The member whose proof it is goes on by itself.
func isFinal(err error) bool {
	return !members.Unanswered(err) || errors.Is(err, events.ErrNotOwner)
}
