package node

import (
	"errors"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/alerts"
	"github.com/hostnode/hostnode/events"
)

// start is what is known of a host that is starting, so that it can be seen and somebody
// is called when the chain or the event store keep it from running for long: who waits
// for them misses proofs. Safe for concurrent use.
type start struct {
	alerts *alerts.Sender
	log    *logrus.Entry
	now    func() time.Time

	mu   sync.Mutex
	f    health.Facts
	told map[string]bool // causes
}

func newStart(now time.Time, dataDir string, to *alerts.Sender, log *logrus.Entry) *start {
	return &start{
		alerts: to, log: log, now: time.Now, told: map[string]bool{},
		f: health.Facts{Stage: health.Starting, StageSince: now, DataDir: dataDir},
	}
}

func (s *start) facts() health.Facts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.f
}

func (s *start) is(account events.Address) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.f.Account = account.String()
}

func (s *start) does(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.f.WaitsFor = what
}

func (s *start) stops(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.f = health.Facts{Stage: health.Stopping, StageSince: now, DataDir: s.f.DataDir, Account: s.f.Account}
}

// waits is told why something does not answer, and nil when it does.
func (s *start) waits(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	switch f := &s.f; {
	case why == nil:
		f.Chain, f.Record = health.ChainFacts{}, shell.RecordStatus{}
		clear(s.told)
	case errors.Is(why, events.ErrAway):
		if !f.Record.Away {
			f.Record.Away, f.Record.Since = true, now
		}
		f.Record.Reason = why.Error()
		s.tell("record-away", now.Sub(f.Record.Since) >= actors.AwayAlertAfter)
	default:
		if !f.Chain.Away {
			f.Chain.Away, f.Chain.AwaySince = true, now
		}
		f.Chain.AwayReason = why.Error()
		s.tell("chain-away", now.Sub(f.Chain.AwaySince) >= actors.SilentAlertAfter)
	}
}

func (s *start) tell(code string, long bool) {
	if long && !s.told[code] {
		s.told[code] = true
		tellCause(s.alerts, code, s.f, s.log)
	}
}
