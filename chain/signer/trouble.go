package signer

import (
	"cmp"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
)

const (
	// toldAfter is how long a trouble lasts before an operator is told: a signer may be restarted.
	toldAfter = 30 * time.Second
	// failureCounts is how long it counts as a trouble that one transaction was not signed: it may not be
	// wanted any more, and then nobody asks again.
	failureCounts = 5 * time.Minute
)

// Trouble is why the signer signs nothing, or not everything.
type Trouble struct {
	// Since is by the machine's clock.
	Since  time.Time
	Reason string
}

func (t Trouble) String() string {
	return fmt.Sprintf("%s, since %s", t.Reason, t.Since.UTC().Format("2006-01-02 15:04:05Z"))
}

// state is what is known of the signer. It is safe for concurrent use.
type state struct {
	mu       sync.Mutex
	name     string
	troubled func(Trouble)
	log      logrus.FieldLogger

	since   time.Time // of the present trouble; zero: there is none
	told    bool      // of the present trouble
	away    error     // it did not say that it is there
	lacking error     // it does not have the account
	// unsigned is why it did not sign what it was asked last, at a time. It may be there all the same, and
	// wait for a person.
	unsigned error
	at       time.Time
}

func newState(name string, troubled func(Trouble), log logrus.FieldLogger) *state {
	return &state{name: name, troubled: troubled, log: log}
}

// signs notes how asking for a signature ended.
func (s *state) signs(err error, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.away, s.lacking, s.unsigned = nil, nil, nil
	} else {
		s.unsigned, s.at = err, now
	}
	s.settle(now)
}

func (s *state) lacks(why error, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lacking = why
	s.settle(now)
}

func (s *state) has() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lacking = nil
}

// tell notes whether the signer is there, and tells a trouble that has lasted. It returns true while there
// is one.
func (s *state) tell(away error, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if away == nil && s.away != nil && errors.Is(s.unsigned, ErrAway) {
		s.unsigned = nil // That was why.
	}
	s.away = away
	s.settle(now)
	t, is := s.present()
	if !is {
		return false
	}
	if !s.told && now.Sub(t.Since) >= toldAfter {
		s.told = true
		if s.troubled != nil {
			s.troubled(t)
		}
	}
	return true
}

func (s *state) trouble(now time.Time) (Trouble, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle(now)
	return s.present()
}

// settle follows beginning and end of a trouble.
func (s *state) settle(now time.Time) {
	if s.unsigned != nil && now.Sub(s.at) >= failureCounts {
		s.unsigned = nil
	}
	why := s.why()
	switch {
	case why != nil && s.since.IsZero():
		s.since, s.told = now, false
		s.log.Warnf("nothing is signed by %s: %v", s.name, why)
	case why == nil && !s.since.IsZero():
		s.log.Infof("the signer at %s signs again, after %s", s.name, now.Sub(s.since).Round(time.Second))
		s.since = time.Time{}
	}
}

// why is the most important reason.
func (s *state) why() error { return cmp.Or(s.away, s.lacking, s.unsigned) }

func (s *state) present() (Trouble, bool) {
	why := s.why()
	if why == nil {
		return Trouble{}, false
	}
	return Trouble{Since: s.since, Reason: fmt.Sprintf("%v (%s)", why, s.name)}, true
}
