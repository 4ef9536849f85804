package actors_test

import (
	"slices"
	"strings"
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
		time.Sleep(time.Minute)
		if told.opened(health.AlertMember) != 0 {
			m.Errorf("north is back, and there is an alert: %v", told.open)
		}
	})
}

func TestACertificateThatEndsSoonIsToldOnceUntilItIsRenewed(t *testing.T) {
	withMembers(t, nil, func(m *membersRig) {
		m.cfg.CertificateWarning = 14 * 24 * time.Hour
		m.add("north", m.world)
		m.begin("north")
		told := m.members["north"].alerts
		for n, ends := range []time.Duration{15 * 24 * time.Hour, 13 * 24 * time.Hour, 400 * 24 * time.Hour, -time.Minute} {
			at := time.Now().Add(ends)
			m.ends.Store(&at)
			time.Sleep(3 * time.Minute)
			warned := strings.Contains(m.says("north"), "the certificate north.crt of this member ends at")
			if warned != (n%2 == 1) || len(told.of(health.AlertCertificate)) != (n+1)/2 ||
				told.opened(health.AlertCertificate) != n%2 {
				m.Errorf("it ends in %s: %q, alerts %v", ends, m.says("north"), told.all)
			}
		}
	})
}
