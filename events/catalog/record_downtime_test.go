package catalog_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/downtime"
)

// watchedNodes is the record of a host that watches two nodes: one is suspended under a single review, reinstated and
// disqualified, after a person confirmed it; the other is judged by other rules than in the beginning, has a window
// that is void and one that is revised, and leaves.
func watchedNodes(t *testing.T) []events.Recorded {
	t.Helper()
	const window = 30 * time.Minute
	begin, me := events.Unix(1_700_006_400), events.Address{0x5f}
	end := func(windows int) time.Time { return begin.Add(time.Duration(windows) * window) }
	rules := downtime.DocumentRules()
	rules.TrackingPeriod, rules.GracePeriod = 10*window, 2*window
	rules.SingleReview, rules.Disqualification = true, downtime.Propose
	nodes, all := map[events.Node]downtime.State{}, []said(nil)
	do := func(node events.Node, cause string, c downtime.Command) {
		out, err := downtime.Decide(nodes[node], c)
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range out {
			nodes[node] = downtime.Evolve(nodes[node], e)
			all = append(all, said{stream: events.NodeStream(me, node), message: e, cause: cause, follows: i > 0})
		}
	}
	write := func(node events.Node, first int, windows string) {
		for n, c := range windows {
			outcome := map[rune]downtime.Outcome{'o': downtime.Offline, 'i': downtime.Online}[c]
			do(node, "look", downtime.Write{At: end(first + n + 1), Audits: []downtime.Audit{{
				ID: fmt.Sprintf("probe:%d", first+n), Source: downtime.Probe, Outcome: outcome, Time: end(first + n),
			}}})
			do(node, "look", downtime.Judge{At: end(first + n + 1)})
		}
	}
	other := rules
	other.SingleReview = false
	stranger := events.Node(events.Address{0x60}.String())
	do(stranger, "start", downtime.Join{At: begin, Rules: rules})
	do("north", "start", downtime.Join{At: begin, Rules: rules})
	write(stranger, 0, "iiiiiiiiiioooiiiiiiiiiiiiooooooooooooooooo")
	write("north", 0, "iii")
	do("north", "start", downtime.Join{At: end(3), Rules: other})
	do("north", "start", downtime.Void{At: end(3), From: end(1), Until: end(2), Reason: "nobody watched"})
	do("north", "look", downtime.Write{At: end(3), Audits: []downtime.Audit{{
		ID: "late", Source: downtime.Proof, Outcome: downtime.Offline, Time: end(2).Add(time.Minute),
	}}})
	person := func(to downtime.Status) downtime.Force {
		return downtime.Force{At: end(42), To: to, By: "anna", Reason: "as agreed"}
	}
	do("north", "operator", downtime.Maintain{At: end(42), From: end(43), Until: end(44), By: "anna", Reason: "disks"})
	do("north", "operator", person(downtime.Suspended))
	do("north", "operator", person(downtime.Active))
	do("north", "operator", downtime.Force{At: end(42), To: downtime.Exited, By: "anna", Reason: "sold"})
	do(stranger, "operator", person(downtime.Disqualified))
	list := written(t, all)
	if !clean(t, list) {
		t.Fatal("the audit of the record finds something")
	}
	return list
}

// The audit finds nothing wrong with the record of nodes.
func TestTheRecordOfNodesIsInOrder(t *testing.T) { watchedNodes(t) }
