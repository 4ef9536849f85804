package proofs

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/actors/shell/shelltest"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/messages"
)

func TestWhatGoesWrongWithASaleIsAnAlert(t *testing.T) {
	shelltest.Bubble(t, func(t *testing.T, rt *shell.Runtime) {
		s := newSchedule(t, rt)
		var told []health.Alert
		s.deps.Alerts = health.NewAlerts(s.deps.Base, func(a health.Alert) { told = append(told, a) })
		slot := events.SlotID{1}
		New(s.deps).alertSale(slot, []sale.Event{
			&messages.ProofDue{Period: 7}, &messages.ProofSubmitted{Period: 7}, &messages.RequestStarted{},
			&messages.ProofMissed{Period: 8, Reason: "the host did not run"},
			&messages.CollateralChecked{Period: 8, Collateral: "100", Slashed: "0"},
			&messages.CollateralChecked{Period: 8, Collateral: "80", Slashed: "20"}, // As of before CollateralSlashed.
			&messages.CollateralSlashed{Period: 9, Collateral: "60", Slashed: "20"},
			&messages.SlotForfeited{Reason: "two proofs were missed"},
			&messages.SlotDropped{},
		})
		want := []health.AlertKind{health.AlertProofMissed, health.AlertSlashed, health.AlertSlashed, health.AlertForfeited, health.AlertForfeited}
		var kinds []health.AlertKind
		for _, a := range told {
			kinds = append(kinds, a.Kind)
		}
		if diff := cmp.Diff(want, kinds); diff != "" {
			t.Fatalf("alerts (-want +got):\n%s", diff)
		}
		for _, a := range told {
			if a.Slot != slot.String() || a.Hint == "" || a.Text == "" || a.At.IsZero() {
				t.Errorf("not complete: %+v", a)
			}
		}
		if a := told[0]; a.Period != 8 || a.Text != "the proof of period 8 was missed: the host did not run" {
			t.Errorf("the first: %+v", a)
		}
	})
}
