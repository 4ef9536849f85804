package rpc

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// Reachability says how the chain is reached. It contains no secrets.
type Reachability struct {
	// Endpoint is the one in use, or while there is none the last one; empty before the first
	// connection. Since is when its use began.
	Endpoint string
	Since    time.Time
	// First is the first configured endpoint when another one is in use, and WhyNotFirst what was
	// wrong with it when it was last tried.
	First, WhyNotFirst string
	// Away is since when no endpoint can be used; zero: one can. AwayReason says what is wrong with
	// each.
	Away       time.Time
	AwayReason string
	// Limited: each of them answers, but limits our requests.
	Limited bool
}

// reachability collects what Conn.Reachability returns. It has a lock of its own, because Conn's is held
// while connecting. It is safe for concurrent use.
type reachability struct {
	endpoints []*endpoint // only what never changes is read here

	mu      sync.Mutex
	reasons []string // what was wrong with each when it was last tried
	limits  []bool   // whether that was a limit on our requests
	inUse   int      // index of the endpoint in use, or the last one; -1 before the first
	since   time.Time
	away    time.Time
}

func newReachability(endpoints []*endpoint) *reachability {
	return &reachability{
		endpoints: endpoints, inUse: -1, reasons: make([]string, len(endpoints)),
		limits: make([]bool, len(endpoints)),
	}
}

// uses notes which endpoint is in use.
func (s *reachability) uses(index int, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inUse != index {
		s.inUse, s.since = index, now
	}
	s.reasons[index], s.limits[index], s.away = "", false, time.Time{}
}

// fails notes what is wrong with an endpoint.
func (s *reachability) fails(e *endpoint, why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.endpoints, e); i >= 0 {
		s.reasons[i], s.limits[i] = reasonOf(e, why), IsTooOften(why)
	}
}

// reasonOf is an error's text without what is displayed next to it anyway.
func reasonOf(e *endpoint, why error) string {
	text := strings.TrimPrefix(e.hide(why).Error(), ErrUnavailable.Error()+": ")
	return strings.TrimPrefix(text, "connect to "+e.name+": ")
}

// noneLeft notes that no endpoint can be used.
func (s *reachability) noneLeft(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away.IsZero() {
		s.away = now
	}
}

func (s *reachability) now() Reachability {
	s.mu.Lock()
	defer s.mu.Unlock()
	var st Reachability
	if s.inUse >= 0 {
		st.Endpoint, st.Since = s.endpoints[s.inUse].name, s.since
	}
	if s.inUse > 0 {
		st.First, st.WhyNotFirst = s.endpoints[0].name, s.reasons[0]
	}
	if st.Away = s.away; st.Away.IsZero() {
		return st
	}
	st.Limited = !slices.Contains(s.limits, false)
	var all []string
	for i, reason := range s.reasons {
		if reason != "" {
			all = append(all, s.endpoints[i].name+": "+reason)
		}
	}
	st.AwayReason = strings.Join(all, "; ")
	return st
}
