package sim

import (
	"testing"

	"github.com/hostnode/hostnode/events/alert"
	"github.com/hostnode/hostnode/messages"
)

// A simulation proves nothing about alerts unless all that can become of them happens.
func TestSimulatedAlertsAreToldRefusedAndAcknowledged(t *testing.T) {
	seen := map[string]int{}
	for _, name := range []string{"alerts", "alertsAndFaults"} {
		out := Run(t, *first, Scenarios()[name])
		if out.Problem != nil {
			t.Fatal(repeatable(name, *first, out.Problem))
		}
		for event, n := range out.Events {
			seen[event] += n
		}
	}
	for _, event := range []string{
		"AlertRaised", "AlertRepeated", "AlertCleared", "AlertAcknowledged", "AlertDelivered", "AlertUndelivered",
	} {
		if seen[event] == 0 {
			t.Errorf("no %s in %v", event, seen)
		}
	}
}

// alertPlants are errors planted in the rules of alerts.
func alertPlants() map[string]planted {
	with := func(decide func(alert.State, alert.Command) ([]alert.Event, error)) Scenario {
		sc := Scenarios()["alerts"]
		sc.Plant.Alert = decide
		return sc
	}
	return map[string]planted{
		"a warning that was told stands for the critical alert": {breaks: AlertsAreTold, sc: with(takesAnything)},
		"what a channel took is forgotten":                      {breaks: AlertsAreTold, sc: with(forgetsDeliveries)},
		"an alert is never over":                                {breaks: AlertsAreTrue, sc: with(neverClears)},
	}
}

func takesAnything(s alert.State, c alert.Command) ([]alert.Event, error) {
	if o, ok := c.(alert.Outcome); ok {
		o.Severity, o.Times = alert.Critical, 1<<32
		c = o
	}
	return alert.Decide(s, c)
}

func forgetsDeliveries(s alert.State, c alert.Command) ([]alert.Event, error) {
	all, err := alert.Decide(s, c)
	if len(all) == 1 {
		if _, ok := all[0].(*messages.AlertDelivered); ok {
			return nil, nil
		}
	}
	return all, err
}

func neverClears(s alert.State, c alert.Command) ([]alert.Event, error) {
	if _, ok := c.(alert.Clear); ok {
		return nil, nil
	}
	return alert.Decide(s, c)
}
