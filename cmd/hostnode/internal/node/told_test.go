package node

import (
	"context"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"

	room "github.com/hostnode/hostnode/actors/alerts"
	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/chain/tx"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/alerts"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/alert"
)

// What the parts of the process tell is an alert of the right kind, as urgent as docs/alerts.md says, and what clears it
// names it.
func TestWhatTheActorsDoNotSeeIsAnAlert(t *testing.T) {
	null, _ := logtest.NewNullLogger()
	log := logrus.NewEntry(null)
	me := events.Address{1}
	for kind, tell := range map[health.AlertKind]func(n *Node){
		health.AlertUsedElsewhere: func(n *Node) { n.tellUse(tx.ForeignUse{Host: true}, me, log) },
		health.AlertNotBelieved:   func(n *Node) { n.tellDoubt(rpc.AnswerError{Question: "block 7", Reason: "it is 8"}, me, log) },
		health.AlertFeeLimit:      func(n *Node) { n.tellFees(tx.FeeLimit{Refused: "no"}, me, log) },
		health.AlertSigner: func(n *Node) {
			tellCause(n.alerts, "not-signing", health.Facts{Chain: health.ChainFacts{Signer: "it refuses"}}, log)
		},
		health.AlertViews: func(n *Node) {
			tellCause(n.alerts, "views-stopped", health.Facts{Views: "an event cannot be read"}, log)
		},
	} {
		n := &Node{alerts: alerts.NewDesk(alerts.Config{Log: log, Timeout: time.Minute}, "", "")}
		tell(n)
		if !health.OfMoment(kind) {
			n.alerts.Clear(health.Alert{Kind: kind, Reason: "it is over"})
		}
		ctx, cancel := context.WithCancel(t.Context())
		var state alert.State
		n.alerts.Record(ctx, func(_ context.Context, o room.Order) error {
			var c alert.Command
			switch {
			case o.Raise != nil:
				r := *o.Raise
				r.At = time.Now()
				c = r
				if o.Raise.Kind != string(kind) || o.Raise.Severity.String() != health.SeverityOf(kind) ||
					o.Raise.Moment != health.OfMoment(kind) || o.Raise.Text == "" || o.Raise.Hint == "" {
					t.Errorf("%s is told as %+v", kind, *o.Raise)
				}
				if o.Raise.Moment {
					cancel()
				}
			case o.Clear != nil:
				over := *o.Clear
				over.At = time.Now()
				c = over
				cancel()
			}
			all, err := alert.Decide(state, c)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range all {
				state = alert.Evolve(state, e)
			}
			return nil
		})
		if open := len(state.Alerts) > 0; state.Raised != 1 || open != health.OfMoment(kind) {
			t.Errorf("%s: %+v", kind, state)
		}
		cancel()
		n.alerts.Close()
	}
}
