package actors_test

import (
	"slices"
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/events"
)

// A member says who has the term, and which of the others do not seem to be alive; an alert is
// raised when a member has been silent for a while, once.
func TestAMemberSaysWhoHasTheTermAndWhoIsSilent(t *testing.T) {
	withMembers(t, []events.Member{"north", "south"}, func(m *membersRig) {
		m.add("west", m.world.Beside())
		m.begin("west")
		members := func() health.MembersFacts {
			s, err := m.members["west"].host.Status(m.Context())
			if err != nil {
				m.Fatal(err)
			}
			return s.Members
		}
		if f := members(); f.Member != "west" || f.Owner != "north" || f.TermSince.IsZero() || len(f.Silent) != 0 {
			m.Errorf("all are alive: %+v", f)
		}
		m.kill("north")
		m.mineUntil("it is silent", func() bool { return len(members().Silent) == 1 })
		time.Sleep(2 * time.Minute)
		f := members()
		if f.Owner == "north" || f.Owner == "" || f.Silent[0].Member != "north" || f.Silent[0].Heard.IsZero() {
			m.Errorf("after the death of north: %+v", f)
		}
		told := m.members["west"].alerts
		if len(told.of(health.AlertMember)) != 1 || len(told.of(health.AlertNoOwner)) != 0 {
			m.Errorf("alerts: %v", told.all)
		}
		m.begin("north")
		if f := members(); slices.ContainsFunc(f.Silent, func(s health.SilentMember) bool { return s.Member == "north" }) {
			m.Errorf("after north came back: %+v", f)
		}
	})
}
