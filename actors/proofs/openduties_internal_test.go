package proofs

import (
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/sale"
)

// A sale that does not know yet that its request has started knows only the expiry. Periods
// that the expiry would cut short are not judged: a miss that was marked after it was once
// excused.
func TestNothingIsJudgedThatAnExpiryWouldCutShortWhichMayNotCount(t *testing.T) {
	cfg := events.ProofConfig{Period: 20 * time.Second, Timeout: 10 * time.Second}
	p := &Scheduler{Deps: depsOf(&shell.Base{})}
	p.Terms.Proofs = cfg
	const begun = 100 // the period in which the request expires, two seconds after its begin
	s := &scheduled{judged: begun - 3, state: sale.State{
		ExpiresAt: duty.Start(cfg, begun).Add(2 * time.Second), EndsAt: duty.Start(cfg, begun+50),
		Duties: []sale.Duty{{Period: begun}},
	}}
	const closed = begun + 2
	if first := p.unjudged(s, closed); first != begun-2 {
		t.Fatalf("the first to be judged is %d, want %d", first, begun-2)
	}
	if last := p.certainUpTo(s); last != begun-2 { // What ends then may be marked until behind the expiry.
		t.Fatalf("certain up to %d, want %d", last, begun-2)
	}
	s.judged = begun - 2
	if first := p.unjudged(s, closed); first <= closed {
		t.Fatalf("period %d is to be judged, whose marking the expiry would cut short", first)
	}
	s.state.Started = true
	if first := p.unjudged(s, closed); first != begun-1 {
		t.Fatalf("when it has started, the first to be judged is %d, want %d", first, begun-1)
	}
}
