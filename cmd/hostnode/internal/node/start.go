package node

import (
	"errors"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/alerts"
	"github.com/hostnode/hostnode/events"
)

// start is what is known of a host that is starting. It is shown, and alerts somebody
// when the chain or the event store prevents the start for long, because proofs are
// missed meanwhile. Safe for concurrent use.
type start struct {
	alerts *alerts.Desk
	log    *logrus.Entry
	now    func() time.Time

	mu   sync.Mutex
	f    health.Facts
	told map[string]bool // causes
	away time.Time       // since when the event store did not answer at first; zero: it always did
	// standing says how the chain is reached, while what is hosted is proven.
	standing func() rpc.Reachability
}

func newStart(now time.Time, dataDir string, typed health.Typed, to *alerts.Desk, log *logrus.Entry) *start {
	return &start{
		alerts: to, log: log, now: time.Now, told: map[string]bool{},
		f: health.Facts{Stage: health.Starting, StageSince: now, DataDir: dataDir, Typed: typed},
	}
}

func (s *start) facts() health.Facts {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lookAtChain()
	return s.f
}

// notes changes what is known.
func (s *start) notes(change func(*health.Facts)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.f)
}

func (s *start) is(account events.Address) {
	s.notes(func(f *health.Facts) { f.Account = account.String() })
}

func (s *start) does(what string) { s.notes(func(f *health.Facts) { f.WaitsFor = what }) }

func (s *start) stops(now time.Time) {
	s.notes(func(f *health.Facts) {
		*f = health.Facts{
			Stage: health.Stopping, StageSince: now, DataDir: f.DataDir, Typed: f.Typed, Account: f.Account,
		}
	})
}

// waits notes why something does not answer; nil: it does.
func (s *start) waits(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	switch f := &s.f; {
	case why == nil:
		f.Chain, f.Record = health.ChainFacts{}, shell.StoreStatus{}
		clear(s.told)
	case errors.Is(why, events.ErrAway):
		if !f.Record.Away {
			f.Record.Away, f.Record.Since = true, now
		}
		if s.away.IsZero() {
			s.away = now
		}
		if f.Record.Reason == "" || !errors.Is(why, errSilentStore) { // That says less than an earlier answer.
			f.Record.Reason = why.Error()
		}
		s.tell("record-away", now.Sub(f.Record.Since) >= actors.AwayAlertAfter)
		if s.lookAtChain(); f.Chain.Away {
			s.tell("chain-away", now.Sub(f.Chain.AwaySince) >= actors.SilentAlertAfter)
		}
	default:
		if !f.Chain.Away {
			f.Chain.Away, f.Chain.AwaySince = true, now
		}
		f.Chain.AwayReason, f.Chain.Limited = why.Error(), rpc.IsTooOften(why)
		s.tell("chain-away", now.Sub(f.Chain.AwaySince) >= actors.SilentAlertAfter)
	}
}

func (s *start) storeAwaySince() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.away
}

// waitsMeanwhile is waits for the proving during an outage of the event store: that the
// chain answers does not end the outage.
func (s *start) waitsMeanwhile(why error) {
	switch {
	case why == nil:
		s.notes(func(f *health.Facts) { f.Chain = health.ChainFacts{} })
	case errors.Is(why, events.ErrAway): // Only the record would know more.
		s.proves(health.OutageFacts{Nothing: why.Error()})
	default:
		s.waits(why)
	}
}

// proves notes what is proven during an outage of the event store.
func (s *start) proves(o health.OutageFacts) {
	s.notes(func(f *health.Facts) { f.Outage, f.Hosting, f.ProofTrouble = o, o.Slots, o.Trouble })
}

// reaches is told what says how the chain is reached, and nil when nothing does any more.
func (s *start) reaches(standing func() rpc.Reachability) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.standing, s.f.Chain = standing, health.ChainFacts{}
}

func (s *start) lookAtChain() {
	if s.standing != nil {
		now := s.standing()
		s.f.Chain = health.ChainFacts{
			Away: !now.Away.IsZero(), AwaySince: now.Away, AwayReason: now.AwayReason, Limited: now.Limited,
		}
	}
}

func (s *start) tell(code string, long bool) {
	if long && !s.told[code] {
		s.told[code] = true
		tellCause(s.alerts, code, s.f, s.log)
	}
}
