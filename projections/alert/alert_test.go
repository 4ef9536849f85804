package alert_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/events"
	core "github.com/hostnode/hostnode/events/alert"
	"github.com/hostnode/hostnode/events/snapshot"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/projections/alert"
)

var rewrite = flag.Bool("rewrite", false, "write the golden file anew")

var began = events.Unix(1_700_000_000)

func minute(n int) time.Time { return began.Add(time.Duration(n) * time.Minute) }

func key(kind string) core.Key { return core.Key{Kind: kind} }

// life is a record in order: an alert that is cleared, one of a moment that is acknowledged, one that stays open.
func life(t *testing.T) (all []core.Event) {
	t.Helper()
	s := core.State{}
	for _, c := range []core.Command{
		core.SetChannels{At: minute(0), Names: []string{"command", "webhook"}},
		core.Raise{Key: key("disk-full"), At: minute(1), Severity: core.Warning, Text: "full", Delivered: []string{"webhook"}},
		core.Outcome{At: minute(2), Number: 1, Channel: "command", Failed: "it says 1"},
		core.Clear{Key: key("disk-full"), At: minute(3), Reason: "room again"},
		core.Raise{Key: key("collateral-slashed"), At: minute(4), Severity: core.Critical, Text: "12 tokens", Moment: true},
		core.Acknowledge{At: minute(5), By: "anna", Note: "seen"},
		core.Raise{Key: key("no-owner"), At: minute(6), Severity: core.Critical, Text: "nobody", Hint: "start one"},
		core.SetMute{At: minute(7), Mute: core.Mute{Kind: "no-owner", Until: minute(60), By: "anna", Reason: "an upgrade"}},
	} {
		out, err := core.Decide(s, c)
		if err != nil || len(out) == 0 {
			t.Fatalf("%+v brings %v: %v", c, out, err)
		}
		for _, e := range out {
			s = core.Evolve(s, e)
		}
		all = append(all, out...)
	}
	return all
}

func TestTheViewPrintsAsEver(t *testing.T) {
	view := alert.Machine().View()
	for _, e := range life(t) {
		if !view.Fold(events.Recorded{}, e) {
			t.Fatalf("%T is no event of alerts", e)
		}
	}
	if view.Fold(events.Recorded{}, &messages.BlocksScanned{}) {
		t.Error("an event of a market is one of alerts")
	}
	got, err := json.MarshalIndent(view.Rows(), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", "alerts.json")
	if *rewrite {
		if err := os.WriteFile(path, append(got, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.TrimSpace(string(want)), string(got)); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	again := alert.Machine().View()
	state, err := snapshot.Encode(func(c *snapshot.Coder) { c.Parts(view.State()) })
	if err == nil {
		err = snapshot.Decode(state, func(c *snapshot.Coder) { c.Parts(again.State()) })
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(view.Rows(), again.Rows()); diff != "" {
		t.Errorf("saved and loaded:\n%s", diff)
	}
}

// Each plants one error into a record that is in order. The audit finds it, and nothing before it.
func TestAnErrorInARecordIsFound(t *testing.T) {
	at := events.TimeToMessage
	for name, c := range map[string]struct {
		plant core.Event // at the end
		rule  string
	}{
		"nothing": {nil, ""},
		"delivered without having been raised": {
			&messages.AlertDelivered{At: at(minute(8)), Number: 9, Channel: "webhook"}, "alert-delivery",
		},
		"delivered by a channel that there is not": {
			&messages.AlertDelivered{At: at(minute(8)), Number: 3, Channel: "pigeon"}, "alert-delivery",
		},
		"cleared before it was": {
			&messages.AlertDelivered{At: at(minute(8)), Number: 3, Channel: "webhook", Cleared: true}, "alert-delivery",
		},
		"a pause that is too short": {
			&messages.AlertUndelivered{
				At: at(minute(8)), Number: 3, Channel: "webhook", Failures: 1, Retry: at(minute(8)), Reason: "no",
			}, "alert-delivery",
		},
		"raised twice": {&messages.AlertRaised{
			At: at(minute(8)), Number: 4, Kind: "no-owner", Since: at(minute(8)), Severity: "critical", Text: "nobody",
			Hint: "start one",
		}, "alert-order"},
		"cleared twice":         {&messages.AlertCleared{At: at(minute(8)), Number: 1}, "alert-order"},
		"time that goes back":   {&messages.AlertCleared{At: at(minute(2)), Number: 3}, "alert-order"},
		"nobody acknowledges":   {&messages.AlertAcknowledged{At: at(minute(8)), Number: 3}, "alert-person"},
		"a mute without an end": {&messages.AlertsMuted{At: at(minute(8)), Kind: "a", By: "anna", Reason: "b"}, "alert-person"},
		"a mute ends too early": {&messages.AlertsUnmuted{At: at(minute(8)), Kind: "no-owner"}, "alert-person"},
	} {
		t.Run(name, func(t *testing.T) {
			all := life(t)
			if c.plant != nil {
				all = append(slices.Clip(all), c.plant)
			}
			judge, found := alert.Machine().Judge(), []string(nil)
			for _, e := range all {
				if !judge.Judge(e, func(rule, format string, args ...any) {
					found = append(found, rule+": "+fmt.Sprintf(format, args...))
				}) {
					t.Fatalf("%T is no event of alerts", e)
				}
			}
			if c.rule == "" && len(found) == 0 {
				return
			}
			if len(found) != 1 || !strings.HasPrefix(found[0], c.rule) {
				t.Errorf("found %q, want one of %s", found, c.rule)
			}
		})
	}
}
