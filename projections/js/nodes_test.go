package js_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/downtime"
)

const nodeWindow = 30 * time.Minute

// TestTheServersViewOfNodesIsOursWhateverIsDecided compares them over random commands about two nodes, at points in
// time near the borders of windows.
func TestTheServersViewOfNodesIsOursWhateverIsDecided(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		both, codec, now := newTwins(t), catalog.Codec(), events.Unix(1_700_006_400)
		nodes, revisions, position := downtime.Fleet{}, map[events.Node]uint64{}, events.Position(0)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(anyTime(t, "later"))
			node := rapid.SampledFrom([]events.Node{"north", events.Node(other.String())}).Draw(t, "node")
			all, err := downtime.Decide(nodes[node], anyAboutANode(t, nodes[node], now))
			if err != nil {
				continue // What is refused leaves no trace.
			}
			for _, e := range all {
				name, version, data, err := codec.Encode(e)
				if err != nil {
					t.Fatalf("%v", err)
				}
				position++
				both.apply(events.Recorded{
					Stream: events.NodeStream(me, node), Revision: revisions[node], Position: position, Type: name,
					Data: data, Meta: events.Metadata{Version: version},
				})
				nodes[node] = downtime.Evolve(nodes[node], e)
				revisions[node]++
			}
		}
	})
}

// anyTime draws a duration, so that many points in time are the borders of windows.
func anyTime(t *rapid.T, name string) time.Duration {
	return rapid.SampledFrom([]time.Duration{
		0, nodeWindow / 2, nodeWindow, nodeWindow, 2 * nodeWindow, 3 * nodeWindow, time.Nanosecond, nodeWindow - time.Nanosecond,
	}).Draw(t, name)
}

// anyAboutANode draws a command; most of them are audits.
func anyAboutANode(t *rapid.T, s downtime.State, now time.Time) downtime.Command {
	times := func(name string) time.Time {
		return now.Add(-anyTime(t, name) - anyTime(t, name))
	}
	kind := rapid.IntRange(0, 12).Draw(t, "command")
	if s.Status == downtime.Unknown {
		kind = 0
	}
	switch kind {
	case 0:
		return downtime.Join{At: now, Rules: anyRulesOfNodes(t)}
	case 1:
		if len(s.Voids) > 0 && rapid.Bool().Draw(t, "lifted") {
			v := s.Voids[0]
			return downtime.Void{At: now, From: v.From, Until: v.Until, All: v.All, Lifted: true}
		}
		return downtime.Void{
			At: now, From: times("from"), Until: times("until"), Reason: "nobody watched", All: rapid.Bool().Draw(t, "all"),
		}
	case 2:
		to := rapid.SampledFrom([]downtime.Status{downtime.Active, downtime.Suspended, downtime.Disqualified})
		return downtime.Force{At: now, To: to.Draw(t, "to"), By: "anna", Reason: "as agreed"}
	case 3:
		return downtime.Maintain{At: now, From: times("from"), Until: now.Add(time.Hour), By: "anna", Reason: "disks"}
	case 4:
		return downtime.Force{At: now, To: downtime.Exited, By: "anna", Reason: "sold"}
	case 5, 6, 7:
		return downtime.Judge{At: now}
	}
	w := downtime.Write{At: now}
	for range rapid.IntRange(1, 3).Draw(t, "audits") {
		at := s.Rules.StartOf(times("audit")).Add(-nodeWindow)
		w.Audits = append(w.Audits, downtime.Audit{
			ID:     fmt.Sprint(at.Unix(), rapid.IntRange(0, 1).Draw(t, "audit of the window")),
			Source: rapid.SampledFrom([]downtime.Source{downtime.Proof, downtime.Probe}).Draw(t, "source"), Time: at,
			Outcome: rapid.SampledFrom([]downtime.Outcome{
				downtime.Online, downtime.Offline, downtime.Offline, downtime.Withdrawn,
			}).Draw(t, "outcome"),
			Version: rapid.Uint32Range(0, 3).Draw(t, "version"),
		})
	}
	return w
}

func anyRulesOfNodes(t *rapid.T) downtime.Service {
	r := downtime.DocumentRules()
	if rapid.Bool().Draw(t, "scored") {
		r.RuleSet, r.Evidence = downtime.Scored, true
	}
	r.WindowLength = nodeWindow / time.Duration(rapid.IntRange(1, 2).Draw(t, "half a window"))
	r.TrackingPeriod = time.Duration(rapid.IntRange(1, 6).Draw(t, "tracking period")) * nodeWindow
	r.GracePeriod = time.Duration(rapid.IntRange(0, 2).Draw(t, "grace period")) * nodeWindow
	r.Retention = time.Duration(rapid.IntRange(0, 12).Draw(t, "retention")) * nodeWindow
	r.SingleReview = rapid.Bool().Draw(t, "single review")
	r.Disqualification = rapid.SampledFrom([]downtime.Disqualification{
		downtime.Disqualify, downtime.Propose, downtime.Never,
	}).Draw(t, "disqualification")
	return r
}
