package proofs

import (
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/actors/shell/shelltest"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
)

// If the duties of one slot cannot be computed, no other slot is affected. They are tried again
// with each block, and an alert is raised when that does not help.
func TestASlotOnWhichTheSchedulerPanicsHindersNoOther(t *testing.T) {
	shelltest.Bubble(t, func(t *testing.T, rt *shell.Runtime) {
		s := newSchedule(t, rt)
		var alerts []health.Alert
		s.deps.Alerts = health.NewAlerts(s.deps.Base, func(a health.Alert) { alerts = append(alerts, a) })
		p := New(s.deps)
		s.scheduler = rt.Root("scheduler under test", p)
		healthy := s.state.Slot
		sick := events.SlotID{31: healthy[31] - 1} // It comes first.
		s.publish()
		s.state.Slot = sick
		s.publish()
		s.state.Slot = healthy
		probability := p.sales[sick].Probability
		p.sales[sick].Probability = nil // What is drawn with it panics.
		const period = 1000
		block, at := s.blockWithPointer(period, 100), duty.Start(s.cfg, period)
		for i := range uint64(4) {
			if told := s.head(block+i, at.Add(time.Duration(i)*time.Second)); len(told) != 1 {
				t.Fatalf("block %d: the other slot was told %+v", i, told)
			}
		}
		about := aboutDuties(sick)
		if _, ok := s.deps.Quarantined.Has(about); !ok || len(alerts) != 1 || alerts[0].Kind != health.AlertNotProving {
			t.Fatalf("quarantined: %v, alerts: %+v", s.deps.Quarantined.All(), alerts)
		}
		p.sales[sick].Probability = probability
		if told := s.head(block+4, at.Add(4*time.Second)); len(told) != 2 {
			t.Fatalf("when it can be computed again, told %+v", told)
		}
		s.head(block+5, at.Add(2*s.cfg.Period))
		if _, ok := s.deps.Quarantined.Has(about); ok {
			t.Fatal("it is quarantined still")
		}
	})
}
