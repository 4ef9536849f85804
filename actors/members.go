package actors

import (
	"context"
	"errors"
	"fmt"

	"github.com/hostnode/hostnode/actors/members"
	"github.com/hostnode/hostnode/actors/queue"
	"github.com/hostnode/hostnode/actors/sales"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/messages"
)

// This file is what a member of a host does beside a process that is the whole host: it reads in
// the record what the others do, answers their questions, and begins and stops what runs once per
// host.

// term is what the supervisor knows of the term of this process. A process that is the host has one
// from its start to its end.
type term struct {
	owns bool
	stop context.CancelFunc // stops following the chain
}

// onMembers takes what only a member of a host is told.
func (s *supervisor) onMembers(a *shell.Turn, msg any) {
	switch m := msg.(type) {
	case marketSaid:
		s.tellConcerned(m.event)
	case remoteSale:
		s.onRemoteSale(m.Changed)
	case sellHere:
		s.onSell(a, m)
	case handedOut:
		s.onHandedOut(m)
	case isPlaced:
		s.onIsPlaced(a, m)
	case giveUpHere:
		s.onGiveUpHere(a, m)
	case giveUpFailed:
		s.onGiveUpFailed(m)
	case termBegan:
		s.onTermBegan(a)
	case termEnded:
		s.onTermEnded(a)
	case listOutstanding:
		a.Asker()(outstanding{s.outstandingSales(), s.paid(), s.handedOut}, nil)
	case members.Ready:
		s.onReadyProof(a, m)
	}
}

// serve answers the questions of the other members.
func (h *Host) serve() {
	to := members.Answers{}
	h.env.market.Answer(to)
	members.On(to, func(ctx context.Context, q members.Sell) (members.Sells, error) {
		start, err := startOf(q.Started)
		if err != nil {
			return members.Sells{}, err
		}
		start.Member = h.env.Member
		asked := sellHere{start: start, by: q.By, try: q.Try}
		return h.env.sells(ctx, asked, func(m sellHere) (*members.Refusal, error) {
			return ask(ctx, h, shell.AskActor[*members.Refusal](h.supervisor, m))
		})
	})
	members.On(to, func(ctx context.Context, q members.LetGo) (none members.None, err error) {
		here := giveUpHere{sales.GiveUp{Work: q.Work, Reason: q.Reason}}
		_, err = ask(ctx, h, shell.AskActor[struct{}](h.supervisor, here))
		return none, err
	})
	h.answerCommands(to)
	h.env.Cluster.Serve(to.Serve)
}

// loadOthers folds the ledgers of all members, and the living sales of the others.
func (e *env) loadOthers(ctx context.Context, living *livingSales) (others []remoteSale, err error) {
	now, _ := e.owner.state()
	for _, p := range now.Members() {
		name := p.Member
		if p.HostLedger {
			name = ""
		}
		if _, err := e.mirror.Load(ctx, events.LedgerStream(e.Me, name)); err != nil {
			return nil, err
		}
	}
	for _, l := range living.inOrder() {
		if e.Mine(l.member) {
			continue
		}
		st, err := e.mirror.Load(ctx, events.SaleStream(e.Me, l.slot))
		if err != nil {
			return nil, err
		}
		others = append(others, remoteSale{sales.Changed{Slot: l.slot, State: st, Ahead: st}})
	}
	return others, nil
}

// readOthers returns what takes each event of the record, in order. After an error the same event must be taken
// again.
func (s *supervisor) readOthers() func(context.Context, events.Recorded) error {
	market := events.MarketStream(s.ChainID, s.Contract)
	return func(ctx context.Context, r events.Recorded) error {
		if r.Stream == market {
			s.readMarket(r)
			return nil
		}
		if ready, is, err := s.ready.Read(r); err != nil {
			s.Log.Errorf("a proof of another member is left alone: %v", err)
			return nil
		} else if is {
			s.root.Tell(ready)
			return nil
		}
		change, err := s.mirror.Take(ctx, r)
		if shell.NeverPasses(err) {
			s.Log.WithField("stream", r.Stream).Errorf("what another member wrote cannot be read: %v", err)
			return nil
		} else if err != nil {
			return err
		}
		if change.Sale != nil {
			s.root.Tell(remoteSale{*change.Sale})
		}
		if change.Freed != "" {
			s.queue.Tell(queue.Wake{Reason: change.Freed, Criteria: queue.OfMember()})
		}
		return nil
	}
}

// marketSaid is an event of the market's stream, which concerns the sales of this member.
type marketSaid struct{ event messages.MarketEvent }

// readMarket passes on what the owner recorded of the contract.
func (s *supervisor) readMarket(r events.Recorded) {
	m, err := shell.DecodeAs[messages.MarketEvent](s.Codec, r)
	if err != nil {
		s.Log.Errorf("an event of the market cannot be read: %v", err)
		return
	}
	switch m := m.(type) {
	case *messages.BlocksScanned:
		s.Told.Store(m.GetNumber())
		s.View.Wake()
	case *messages.ChainReorganized:
		s.Told.Store(m.GetAncestor())
		s.View.Wake()
	default:
		s.root.Tell(marketSaid{m})
	}
}

// startMember begins what a member does besides selling.
func (s *supervisor) startMember(a *shell.Turn) {
	s.followHeads(a)
	if s.Account == nil {
		s.Log.Info("this member never runs what runs once per host: account.transactions is false")
		return
	}
	a.RT.Do("term", s.keepTerms)
}

// onTermBegan begins what runs once per host.
func (s *supervisor) onTermBegan(a *shell.Turn) {
	answer := a.Asker()
	if !s.term.owns {
		s.term.stop()
		s.term.owns = true
		s.runRooms(a)
		s.follow(a)
		for _, ag := range s.agents { // Another owner may have had them filled meanwhile.
			ag.refill.short = false
		}
		s.owned.due = true // What the contract counts as ours and nobody sells is the owner's.
		s.readReadyProofs(a)
	}
	answer(struct{}{}, nil)
}

// onTermEnded stops what runs once per host.
func (s *supervisor) onTermEnded(a *shell.Turn) {
	answer := a.Asker()
	if s.term.owns {
		s.term.stop()
		for _, r := range s.rooms.all {
			if r.Runs == Owner {
				s.stopRoom(r)
			}
		}
		s.term.owns = false
		s.followHeads(a)
	}
	answer(struct{}{}, nil)
}

// followHeads follows the blocks without their logs, which the owner records.
func (s *supervisor) followHeads(a *shell.Turn) {
	s.following(a, "heads", func(ctx context.Context) {
		s.again(ctx, "heads", "the blocks", "heads", func() error {
			return s.Feed.FollowHeads(ctx, s.View.Cursor(), func(ctx context.Context, u events.ChainUpdate) error {
				s.root.Tell(chainNews{head: u.Head, live: u.Live, reorganized: u.Reorganized})
				return ctx.Err()
			})
		})
	})
}

// following runs a task that follows the chain until the term changes.
func (s *supervisor) following(a *shell.Turn, name string, task func(context.Context)) {
	until, stop := context.WithCancel(context.Background())
	s.term.stop = stop
	a.RT.Do(name, func(ctx context.Context) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(until, cancel)()
		task(ctx)
	})
}

// readReadyProofs reads what was left before this member had the term. What comes later is read with
// everything else that other members write.
func (s *supervisor) readReadyProofs(a *shell.Turn) {
	now := s.ChainTime()
	known, _ := s.owner.state()
	a.Do(func(ctx context.Context) {
		s.Yield(ctx, "ready proofs")
		for _, p := range known.Members() {
			if p.Member == s.Member {
				continue
			}
			var left []members.Ready
			err := s.ask(ctx, func() (err error) {
				left, err = s.ready.Left(ctx, p.Member, now.Add(-s.Terms.Proofs.Period))
				return err
			})
			if err != nil && ctx.Err() == nil {
				s.Log.Warnf("the proofs that member %s left are not known: %v", p.Member, err)
			}
			for _, r := range left {
				s.root.Tell(r)
			}
		}
	})
}

// onReadyProof sends a proof that another member left, if this member is the owner and the proof is of use:
// it is of a slot that the other one sells, and of a period that is not over. Whether the slot is hosted still,
// and lacks the proof, the contract is asked before it is sent.
func (s *supervisor) onReadyProof(a *shell.Turn, r members.Ready) {
	log := s.Log.WithField("slot", r.Slot.String()).WithField("period", r.Period)
	ag, now := s.agents[r.Slot], s.ChainTime()
	period := duty.Period(s.Terms.Proofs, now)
	switch {
	case !s.term.owns, r.Member == s.Member, ag == nil: // Its sale sends its own; a sale may be over.
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
		s.Yield(ctx, task)
		err := s.RT.Guarded("proof of another member", func() error {
			return s.Retry(ctx, task, func(error) {}, isFinal, func(ctx context.Context) error {
				_, err := shell.In(ctx, s.proofTxs, r.Deadline, func() (events.Receipt, error) {
					return s.Ports.Market.SubmitProof(ctx, call, r.Period, r.Proof)
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

// isFinal: another try to send a proof of another member is no use. Its member goes on trying.
func isFinal(err error) bool {
	return !members.Unanswered(err) || errors.Is(err, events.ErrNotOwner)
}
