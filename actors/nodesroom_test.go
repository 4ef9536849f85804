package actors_test

import (
	"context"
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/chainview"
	nodes "github.com/hostnode/hostnode/actors/downtime"
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/downtime"
	"github.com/hostnode/hostnode/messages"
)

// watching is a member's room in which the members watch each other by their leases.
func watching(part *shell.Part, of port.Cluster) actors.Room {
	rules := downtime.DocumentRules()
	rules.WindowLength, rules.TrackingPeriod = 20*time.Second, time.Minute
	standing := new(nodes.Standing)
	return actors.Room{
		Part: part, Runs: actors.Owner, Heads: true, Lost: "no node is judged while it is down",
		Takes:  actors.Taker[downtime.Status, nodes.Order](part),
		Barred: func(m events.Member) bool { return standing.Barred(events.Node(m)) },
		Start: func(c *chainview.Chain, _ int, broken func(error)) shell.Behavior {
			return nodes.New(nodes.Deps{
				Base: c.Base, Decide: downtime.Decide, Seen: of.Seen, Standing: standing, Broken: broken,
				Rules: rules, Every: 5 * time.Second, Gap: 15 * time.Second, Tell: func(nodes.Notice) {},
			})
		},
	}
}

// An order is given to any member, and the room of the owner decides. Who is suspended is handed no slot; who is not
// seen is suspended by its windows.
func TestMembersThatAreSuspendedAreHandedNoSlots(t *testing.T) {
	withMembers(t, nil, func(m *membersRig) {
		parts := map[events.Member]*shell.Part{}
		m.rooms = func(of port.Cluster) []actors.Room {
			parts[of.Member()] = shell.NewPart(nodes.Name)
			return []actors.Room{watching(parts[of.Member()], of)}
		}
		m.offering("north", "south")
		m.mineUntil("both are watched", func() bool { return m.count("NodeJoined") == 2 })
		order := func(through events.Member, is downtime.Status) {
			m.Helper()
			cmd := nodes.Order{Node: "north", Force: &downtime.Force{To: is, By: "anna", Reason: "it is slow"}}
			ctx, cancel := context.WithTimeout(m.Context(), time.Minute)
			defer cancel()
			got, err := actors.OrderOwner[downtime.Status](ctx, m.members[through].host, parts[through], cmd)
			if err != nil || got != is {
				m.Errorf("through %s: %s, %v", through, got, err)
			}
		}
		order("south", downtime.Suspended)
		m.world.Post(long(1, 1))
		m.mineUntil("a slot is handed out", m.has("SlotHandedOut"))
		if to := all[*messages.SlotHandedOut](m.rig)[0].GetMember(); to != "south" {
			m.Errorf("it is handed to %s", to)
		}
		order("north", downtime.Active)
		m.members["south"].host.Kill()
		m.cluster.Kill("south")
		m.mineUntil("the windows suspend south", func() bool { return m.count("NodeSuspended") == 2 })
		if by := all[*messages.NodeSuspended](m.rig)[1]; by.GetVerdict().GetOffline() == 0 {
			m.Errorf("suspended: %s", by)
		}
	})
}
