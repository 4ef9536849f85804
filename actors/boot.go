package actors

import (
	"context"
	"errors"
	"fmt"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
)

// How the supervisor starts: it asks record and chain what there is, all at once. As soon
// as it knows the contract, the newest block and which sales live, it spawns the tree and
// lets those sales go on, because a proof may be due. When the chain has said which slots
// are ours as well, it adopts those that the record does not know, and new sales begin.

// boot is what record and chain say at the start. What has not been answered is nil.
type boot struct {
	market *events.MarketConfig
	latest *latest
	survey *survey
	owned  *[]events.OwnedSlot
}

// latest is the newest block, and the ones up to it, if they could be read.
type latest struct {
	head  events.Head
	heads []events.Head
}

// bootPart is one of the answers.
type bootPart func(*boot)

// boot asks record and chain what there is to do. It waits for each answer for as long
// as it takes.
func (s *supervisor) boot(a *turn) {
	s.bootWith(a, "boot: configuration", func(ctx context.Context) (bootPart, error) {
		m, err := s.Market.Config(ctx)
		return func(b *boot) { b.market = &m }, wrapped(err, "read the contract's configuration")
	})
	s.bootWith(a, "boot: newest block", func(ctx context.Context) (bootPart, error) {
		head, err := s.Market.Head(ctx)
		if err != nil {
			return nil, fmt.Errorf("read the newest block: %w", err)
		}
		l := latest{head, s.lately(ctx, head)}
		return func(b *boot) { b.latest = &l }, nil
	})
	s.bootWith(a, "boot: our slots", func(ctx context.Context) (bootPart, error) {
		owned, err := s.Market.MySlots(ctx)
		return func(b *boot) { b.owned = &owned }, wrapped(err, "read our slots on chain")
	})
	s.bootWith(a, "boot: sales", func(ctx context.Context) (bootPart, error) {
		found, err := readSurvey(ctx, s.env)
		return func(b *boot) { b.survey = found }, err
	})
}

func wrapped(err error, what string) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

func (s *supervisor) bootWith(a *turn, key string, ask func(context.Context) (bootPart, error)) {
	self := a.self
	a.rt.do(func(ctx context.Context) {
		var part bootPart
		err := s.retry(ctx, key,
			func(err error) { s.log.Warnf("starting waits for the chain or the record: %v", err) },
			func(err error) bool {
				return errors.Is(err, events.ErrDamaged) || errors.Is(err, events.ErrNewerEvent) ||
					errors.Is(err, events.ErrUnknownEvent) || errors.Is(err, events.ErrMalformed)
			},
			func(ctx context.Context) (err error) {
				part, err = ask(ctx)
				return err
			})
		switch {
		case err == nil:
			self.tell(part)
		case ctx.Err() == nil:
			s.fatal(fmt.Errorf("start: %w", err))
		}
	})
}

func (s *supervisor) onBoot(a *turn, part bootPart) {
	b := &s.start
	part(b)
	if b.market == nil || b.latest == nil || b.survey == nil {
		return
	}
	if !s.goesOn {
		if have, want := s.Prover.KeyHash(), b.market.Proofs.KeyHash; have != want {
			s.fatal(fmt.Errorf("%w: the contract wants %s, at hand is %s", ErrWrongKeys, want, have))
			return
		}
		s.goesOn = true
		s.goOn(a, b)
	}
	if b.owned != nil {
		s.complete(a, b)
	}
}

// goOn spawns the tree, and lets the sales of the record go on.
func (s *supervisor) goOn(a *turn, b *boot) {
	s.terms = *b.market
	s.view.advance(b.latest.head)
	s.view.keep(b.latest.heads, s.view.rewound())
	s.lastNews = s.Clock.Now()
	self := a.self
	s.ledger = a.spawn("Reservations", newReservations(s.env,
		func(reason string, criteria []string) { s.queue.tell(wakeQueue{reason, criteria}) },
		func(err error) { s.fatal(fmt.Errorf("the ledger's record: %w", err)) }))
	s.queue = a.spawn("SlotQueue", newSlotQueue(s.env, s.ledger, self,
		func(err error) { s.fatal(fmt.Errorf("the queue's record: %w", err)) }))
	scheduler := &proofScheduler{
		env: s.env, sales: map[events.SlotID]*scheduled{}, unproven: map[events.SlotID]*unproven{},
	}
	scheduler.pace.learn(b.latest.heads)
	s.scheduler = a.spawn("ProofScheduler", scheduler)
	for _, l := range b.survey.living() {
		s.agents[l.slot] = &agent{request: l.request, index: l.index}
		s.agents[l.slot].ref = s.spawnAgent(a, l.slot, l.request, l.index)
	}
	if s.Quota > 0 {
		s.ledger.tell(ledgerCommand{
			capacity.SetQuota{At: s.Clock.Now(), Bytes: s.Quota},
			"start",
			func(r result[capacity.State, capacity.Event]) {
				if r.err != nil && !errors.Is(r.err, errReloading) {
					s.fatal(fmt.Errorf("the quota does not fit what is allocated: %w", r.err))
				}
			},
		})
	}
	s.follow(a)
}

// complete adopts what the record does not know, and lets new sales begin.
func (s *supervisor) complete(a *turn, b *boot) {
	s.adopt(a, *b.owned)
	s.releaseOrphans(a, b)
	s.booted = true
	s.survey(a, b.survey)
	s.startValidator(a)
	for _, m := range s.early {
		s.onBegin(a, m)
	}
	s.start, s.early = boot{}, nil
}

// follow follows the chain from where the record ends.
func (s *supervisor) follow(a *turn) {
	self := a.self
	f := &chainFollower{env: s.env, deliver: func(n chainNews) { self.tell(n) }}
	a.rt.do(f.run)
}
