//go:build e2e

package demo

import (
	"testing"
	"time"

	"github.com/hostnode/hostnode/events"
)

// This file holds the fault runs themselves to what they promise.

func TestAFaultExcusesThePeriodsThatItTouchesAndNoOthers(t *testing.T) {
	var w watch
	at := func(second uint64) time.Time { return events.Unix(second) }
	w.note(at(5), true)
	w.hinder("stopped", true, false)
	w.note(at(62), false)
	w.hinder("stopped", false, false)
	w.note(at(70), true)
	w.note(at(130), false) // It has returned, and follows the chain once more a moment later.
	w.note(at(140), true)
	w.returned = time.Now().Add(-graceOfReturn)
	w.note(at(190), false) // It does not follow the chain, and no fault keeps it from that.
	for _, test := range []struct {
		from, to uint64
		could    bool
	}{{0, 60, true}, {60, 120, false}, {120, 180, false}, {180, 240, true}} {
		if could, why := w.could(at(test.from), at(test.to)); could != test.could {
			t.Errorf("it could prove from %d to %d: %t (%s)", test.from, test.to, could, why)
		}
	}
}

func TestASeedDrawsTheSameFaultsAgain(t *testing.T) {
	for seed := range uint64(len(faultKinds())) {
		first, again := drawFaults(seed, faultBeat), drawFaults(seed, faultBeat)
		begins := false
		for i, d := range first {
			a := again[i]
			if d.kind.name != a.kind.name || d.at != a.at || d.lasts != a.lasts || d.who != a.who || d.does != a.does {
				t.Errorf("seed %d: fault %d is %v, and then %v", seed, i, d, a)
			}
			begins = begins || d.kind.name == faultKinds()[seed].name
		}
		if !begins {
			t.Errorf("seed %d draws no %s", seed, faultKinds()[seed].name)
		}
	}
}
