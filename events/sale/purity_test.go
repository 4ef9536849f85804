package sale

import (
	"testing"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// A type that Decide, Evolve, Next, Sentence or Waiting does not know is a bug of ours and must
// not go unnoticed.
func TestWhatTheRulesDoNotKnowPanics(t *testing.T) {
	s, _ := live(t, untilProving()...)
	for name, bug := range map[string]func(){
		"Decide":            func() { _, _ = Decide(s, strange{}) },
		"decideBeforeFill":  func() { _, _ = decideBeforeFill(s, strange{}) },
		"decideHosting":     func() { _, _ = decideHosting(s, strange{}) },
		"decideEnd":         func() { _, _ = decideEnd(s, strange{}) },
		"Evolve":            func() { Evolve(s, oddity{}) },
		"evolveHosting":     func() { evolveHosting(s, oddity{}) },
		"evolveEnd":         func() { evolveEnd(s, oddity{}) },
		"Next":              func() { Next(State{Phase: Phase(len(Phases()))}) },
		"Sentence":          func() { _ = Sentence(oddity{}) },
		"sentenceHosting":   func() { _ = sentenceHosting(oddity{}) },
		"sentenceEnd":       func() { _ = sentenceEnd(oddity{}) },
		"Waiting":           func() { _ = Waiting(State{Phase: Phase(len(Phases()))}) },
		"a malformed event": func() { Evolve(s, &messages.SlotFilled{Collateral: "much"}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s does not panic", name)
				}
			}()
			bug()
		}()
	}
}

type strange struct{}

func (strange) given() (at time.Time) { return at }

// The journal keeps a durable and a speculative state, so two futures may grow
// from one state. Neither may write into the other.
func TestTwoFuturesOfOneStateDoNotTouchEachOther(t *testing.T) {
	life := untilProving()
	for p := uint64(period1); p < period1+6; p++ {
		life = append(life, due(p, challenge1), closed(p))
		fork, _ := live(t, life...)
		for _, pair := range [][2]Event{
			{&messages.ProofMissed{Period: 1}, &messages.ProofMissed{Period: 2}},
			{&messages.CollateralChecked{Period: p, Collateral: "1"}, &messages.ProofMissed{Period: 3}},
			{dueEvent(p+200, challenge1), dueEvent(p+201, challenge3)},
			{dueEvent(p, challenge1), dueEvent(p, challenge3)},
		} {
			one := Evolve(fork, pair[0])
			asMade := copyOf(one)
			Evolve(fork, pair[1])
			if diff := differ(asMade, one); diff != "" {
				t.Fatalf("%T in one future changes the other (-was +is):\n%s", pair[1], diff)
			}
		}
	}
}

func dueEvent(period uint64, c events.Challenge) Event {
	return &messages.ProofDue{Period: period, Challenge: c.String()}
}
