package downtime_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/page/pagetest"
)

const watched = "/page/nodes/0x6000000000000000000000000000000000000000"

func nodesAfter(t *testing.T, most int) pagetest.Browser {
	t.Helper()
	return pagetest.Open(t, pagetest.Recorded(t, pagetest.History{Root: "../../../..", Name: "nodes", Most: most}))
}

func TestNodesAreListedTheWorstFirst(t *testing.T) {
	nodesAfter(t, 20).Shows(t, "/page/nodes",
		"What comes next 0x6000000000000000000000000000000000000000 Problem suspended 2023-11-15 06:30:00Z",
		"disqualified unless online from 2023-11-15 09:00:00Z on north OK active")
	nodesAfter(t, 50).Shows(t, "/page/nodes", "a person is asked to disqualify it")
}

func TestANodeIsShownWithItsArithmetic(t *testing.T) {
	b := nodesAfter(t, 20)
	b.Shows(t, watched,
		"the windows have suspended it since 2023-11-15 06:30:00Z until 2023-11-15 09:00:00Z",
		"disqualified at 2023-11-15 12:30:00Z. If it is online from now on, it is reinstated at 2023-11-15 10:30:00Z",
		"document this line counts 3 10 0 3 offline of 10 = 0.300000 at most 20.00 % offline Problem offending",
		"scored 3 10 0 7.00 online of 10 = 0.700000", "2023-11-15 + + + + - - - + + +",
		"NodeSuspended the windows 3 of 10 windows offline", "reinstate disqualify exit")
	b.Shows(t, "/page/nodes/north", "It is active, and no suspension is near.", "Announce maintenance",
		"0 of 0 windows offline, 1 more and it is suspended", "suspend disqualify exit")
	_, body := b.Get(t, watched)
	if !strings.Contains(body, `aria-label="7 times &#43;, 3 times -"`) {
		t.Error("who sees no strip is not told what is in it")
	}
}

func TestOrdersAboutANodeAreCheckedAndNotLost(t *testing.T) {
	b := nodesAfter(t, 20)
	for want, form := range map[string]url.Values{
		"no host answers": {"do": {"decide"}, "verb": {"reinstate"}, "reason": {"typed"}},
		"no time like":    {"do": {"maintenance"}, "from": {"tomorrow"}, "until": {""}, "why": {"typed"}},
	} {
		status, body := b.Post(t, "/page/nodes/north", form)
		if status < 400 || !strings.Contains(body, want) || !strings.Contains(body, `value="typed"`) {
			t.Errorf("%v: %d\n%s", form, status, pagetest.Text(body))
		}
	}
}
