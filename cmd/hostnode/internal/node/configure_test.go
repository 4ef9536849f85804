package node

import (
	"testing"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
)

// Only the embedded chain is known to have a block a second; of any other, whatever its
// number, it is measured unless it is set.
func TestBlockTimeAndPollIntervalAreMeasuredOnChainsThatAreNotOurs(t *testing.T) {
	for name, tc := range map[string]struct {
		endpoint      string
		development   bool
		blocks, polls time.Duration // as set
		want, poll    time.Duration
	}{
		"the embedded chain":            {"", true, 0, 0, time.Second, 250 * time.Millisecond},
		"a development chain elsewhere": {"http://127.0.0.1:8545", true, 0, 0, 0, 250 * time.Millisecond},
		"any other chain":               {"https://node.example.net", false, 0, 0, 0, 0},
		"what is set":                   {"https://node.example.net", false, 3 * time.Second, time.Minute, 3 * time.Second, time.Minute},
		"what is set for development":   {"http://127.0.0.1:8545", true, 3 * time.Second, time.Minute, 3 * time.Second, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			c := config.Default()
			c.Chain.Endpoint, c.Chain.BlockTime, c.Chain.PollInterval = tc.endpoint, tc.blocks, tc.polls
			o, err := FromConfig(c, Parts{Endpoint: tc.endpoint, Development: tc.development})
			if err != nil {
				t.Fatal(err)
			}
			if o.Chain.BlockTime != tc.want || o.Host.Margin.BlockTime != tc.want || o.Chain.PollInterval != tc.poll {
				t.Fatalf("blocks %s and %s apart, looked for every %s",
					o.Chain.BlockTime, o.Host.Margin.BlockTime, o.Chain.PollInterval)
			}
		})
	}
}

func TestACallMayTakeTenSecondsAtFirstAndOnADevelopmentChainThreeUnlessItIsSet(t *testing.T) {
	for _, tc := range []struct {
		development bool
		set, want   time.Duration
	}{
		{false, 0, 10 * time.Second},
		{true, 0, 3 * time.Second},
		{true, time.Minute, time.Minute},
	} {
		c := config.Default()
		c.Chain.CallTimeout = tc.set
		o, err := FromConfig(c, Parts{Development: tc.development})
		if err != nil || o.Chain.CallTimeout != tc.want {
			t.Errorf("development %t, set to %s: %s, %v", tc.development, tc.set, o.Chain.CallTimeout, err)
		}
	}
}
