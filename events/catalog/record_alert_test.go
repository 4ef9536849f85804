package catalog_test

import (
	"testing"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/alert"
)

// alerts is the record of a host with every event of alerts.
func alerts(t *testing.T) []events.Recorded {
	t.Helper()
	stream, s, all := events.AlertStream(events.Address{0x6e}), alert.State{}, []said(nil)
	hour := func(n int) time.Time { return events.Unix(1_700_000_000).Add(time.Duration(n) * time.Hour) }
	do := func(cause string, c alert.Command) {
		out, err := alert.Decide(s, c)
		if err != nil || len(out) == 0 {
			t.Fatalf("%+v brings %v: %v", c, out, err)
		}
		for i, e := range out {
			s = alert.Evolve(s, e)
			all = append(all, said{stream: stream, message: e, cause: cause, follows: i > 0})
		}
	}
	full, slashed := alert.Key{Kind: "disk-full"}, alert.Key{Kind: "collateral-slashed", Subject: events.SlotID{1}.String()}
	do("start", alert.SetChannels{At: hour(0), Names: []string{"command", "webhook"}})
	do("look", alert.Raise{
		Key: full, At: hour(1), Severity: alert.Warning, Text: "the disk is full", Hint: "make room",
		Delivered: []string{"command"},
	})
	do("look", alert.Outcome{At: hour(1), Number: 1, Channel: "webhook", Failed: "the answer is 500"})
	do("look", alert.Outcome{At: hour(1), Number: 1, Channel: "webhook"})
	do("look", alert.Raise{Key: full, At: hour(2), Severity: alert.Critical, Text: "nothing can be written"})
	do("operator", alert.Acknowledge{At: hour(3), Number: 1, By: "anna", Note: "on my way"})
	do("look", alert.Clear{Key: full, At: hour(4), Reason: "it has room again"})
	do("look", alert.Raise{
		Key: slashed, At: hour(5), Severity: alert.Critical, Text: "12 tokens are gone", Slot: slashed.Subject, Period: 7,
		Moment: true,
	})
	do("operator", alert.SetMute{At: hour(6), Mute: alert.Mute{
		Kind: full.Kind, Until: hour(20), By: "anna", Reason: "a new disk",
	}})
	do("operator", alert.Unmute{At: hour(7), Kind: full.Kind, By: "anna"})
	do("look", alert.Tick{At: hour(5 + 7*24)})
	list := written(t, all)
	if !clean(t, list) {
		t.Fatal("the audit of the record finds something")
	}
	return list
}
