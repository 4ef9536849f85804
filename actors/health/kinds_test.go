package health_test

import (
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/actors/shell/shelltest"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/alert"
)

// book records what is raised and cleared, as the room of alerts does.
type book struct{ alert.State }

func (b *book) do(t *testing.T, c alert.Command) {
	t.Helper()
	all, err := alert.Decide(b.State, c)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		b.State = alert.Evolve(b.State, e)
	}
}

func keyOf(a health.Alert) alert.Key {
	return alert.Key{Kind: string(a.Kind), Member: a.Member, Subject: a.Subject}
}

// raising tells of alerts, which the book records.
func (b *book) raising(t *testing.T) *health.Alerts {
	base := &shell.Base{Log: shelltest.QuietLog(), Clock: shelltest.Clock{}, Member: "north"}
	return health.NewAlerts(base, func(a health.Alert) {
		severity := alert.Critical
		if a.Severity == health.SeverityWarning {
			severity = alert.Warning
		}
		b.do(t, alert.Raise{
			Key: keyOf(a), At: a.At, Severity: severity, Text: a.Text, Slot: a.Slot, Moment: health.OfMoment(a.Kind),
		})
	}).Ending(func(a health.Alert) { b.do(t, alert.Clear{Key: keyOf(a), At: a.Cleared, Reason: a.Reason}) })
}

// documented are the kinds of docs/alerts.md.
func documented(t *testing.T) (kinds []health.AlertKind) {
	t.Helper()
	page, err := os.ReadFile("../../docs/alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\| .* \\| (warning|critical)[ a-z-]* \\|").FindAllSubmatch(page, -1) {
		kind := health.AlertKind(row[1])
		kinds = append(kinds, kind)
		if string(row[2]) != health.SeverityOf(kind) || !kind.Known() {
			t.Errorf("docs/alerts.md calls %s %s; it is %s, known: %t", kind, row[2], health.SeverityOf(kind), kind.Known())
		}
	}
	return kinds
}

// Each kind is open when it was raised, about a slot or something else, until that is cleared; what happened at a moment
// also until a person acknowledges it.
func TestEachKindIsOpenUntilItIsCleared(t *testing.T) {
	kinds := documented(t)
	if diff := cmp.Diff(health.Kinds(), slices.Sorted(slices.Values(kinds))); diff != "" {
		t.Fatalf("kinds (-), documented (+):\n%s", diff)
	}
	for _, kind := range kinds {
		b := &book{}
		tell := b.raising(t)
		tell.Raise(kind, events.SlotID{1}, 7, "a slot", "")
		tell.Raise(kind, events.SlotID{}, 0, "the host", "")
		tell.RaiseAbout(kind, "part", "a part", "")
		tell.RaiseAbout(kind, "part", "a part", "")
		if len(b.Alerts) != 3 {
			t.Fatalf("%s: %+v", kind, b.Alerts)
		}
		b.do(t, alert.Acknowledge{At: time.Now(), By: "anna", Note: "seen"})
		if open := slices.ContainsFunc(b.Alerts, alert.Alert.Open); open == health.OfMoment(kind) {
			t.Errorf("%s is acknowledged, and open: %t", kind, open)
		}
		tell.Raise(kind, events.SlotID{1}, 8, "again", "")
		tell.Clear(kind, events.SlotID{1}, "well")
		tell.Clear(kind, events.SlotID{}, "well")
		tell.ClearAbout(kind, "part", "well")
		if len(b.Alerts) > 0 {
			t.Errorf("%s is cleared, and there is %+v", kind, b.Alerts)
		}
	}
}

// An alert that a cause raises is cleared by the name of the cause. Two causes with alerts of one kind are told apart.
func TestAnAlertOfACauseIsClearedByItsName(t *testing.T) {
	subjects := map[string]string{}
	for _, code := range []string{
		"chain-away", "chain-silent", "record-away", "no-owner", "owner-silent", "fee-limit", "not-signing", "no-gas",
		"gas-low", "disk-away", "sectors-disk-away", "disk-full", "views-stopped", "quota-too-small", "member-silent",
		"certificate-ends", "sectors-stuck", "sale-quarantined",
	} {
		b := &book{}
		tell := b.raising(t)
		a := health.Cause{Code: code, Alert: health.KindOf(code), Proving: health.No}.AsAlert()
		if other := subjects[string(a.Kind)+a.Subject]; other != "" || a.Severity != health.SeverityCritical {
			t.Errorf("%s is told like %s: %+v", code, other, a)
		}
		subjects[string(a.Kind)+a.Subject] = code
		tell.RaiseAbout(a.Kind, a.Subject, "so it is", "")
		open := len(b.Alerts)
		tell.ClearCause(code, "well")
		if open != 1 || len(b.Alerts) > 0 {
			t.Errorf("%s: %d were open, then %+v", code, open, b.Alerts)
		}
	}
}

func TestAnIncidentIsOverOnceItIsKnownToBe(t *testing.T) {
	said := ""
	var i health.Incident
	for _, now := range []string{"unknown", "well", "well", "so", "so", "unknown", "so", "well", "unknown", "well"} {
		i.Lasts(now == "so", now == "well", func() { said += "told " }, func() { said += "over " })
	}
	if said != "over told told over " {
		t.Errorf("said: %s", said)
	}
}
