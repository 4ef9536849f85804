package alerting_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/page/pagetest"
)

func alerts(t *testing.T, most int) pagetest.Browser {
	t.Helper()
	return pagetest.Open(t, pagetest.Recorded(t, pagetest.History{Root: "../../../..", Name: "alerts", Most: most}))
}

func TestAnAlertIsShownWithWhatCanBeDone(t *testing.T) {
	for name, c := range map[string]struct {
		most int
		want []string
	}{
		"open": {6, []string{
			"Problem nothing can be written since 2023-11-14 23:13:20Z", "Number 1, disk-full; raised again 1 time",
			"What you know Acknowledge", "alerts.command OK it takes what it is sent", "None was cleared yet.",
		}},
		"over": {0, []string{
			"OK No alert is open.", "Nothing is muted.", "it was not acknowledged within a week", "anna: on my way",
		}},
	} {
		t.Run(name, func(t *testing.T) { alerts(t, c.most).Shows(t, "/page/alerts", c.want...) })
	}
}

func TestTheOverviewLeadsWithAlerts(t *testing.T) {
	alerts(t, 6).Shows(t, "/page/overview",
		"Needs you Problem nothing can be written since 2023-11-14 23:13:20Z The alert")
}

func TestTheMuteOfAnAlertIsFilledIn(t *testing.T) {
	_, body := alerts(t, 6).Get(t, "/page/alerts?kind=disk-full&subject=x")
	for _, want := range []string{" selected>disk-full</option>", `name="subject" value="x"`} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s", want)
		}
	}
}

// Without a running host each order is refused, and what was typed is still there, in its form only.
func TestWhatWasTypedIsNotLost(t *testing.T) {
	b := alerts(t, 6)
	for _, form := range []url.Values{
		{"do": {"acknowledge"}, "number": {"1"}, "note": {"typed"}},
		{"do": {"mute"}, "kind": {"disk-full"}, "long": {"1 week"}, "reason": {"typed"}},
	} {
		_, body := b.Post(t, "/page/alerts", form)
		if strings.Count(body, `value="typed"`) != 1 || !strings.Contains(pagetest.Text(body), "no host answers") {
			t.Errorf("%v:\n%s", form, pagetest.Text(body))
		}
	}
	for _, form := range []url.Values{
		{"do": {"acknowledge"}, "number": {"x"}},
		{"do": {"mute"}, "kind": {"none"}},
		{"do": {"unmute"}, "kind": {"disk-full"}},
		{"do": {"test"}, "channel": {"../x"}},
	} {
		if status, _ := b.Post(t, "/page/alerts", form); status < 400 {
			t.Errorf("%v: status %d", form, status)
		}
	}
}
