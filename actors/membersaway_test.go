package actors_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/actors/sim"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/messages"
)

// links cuts the ways between members, or heals them.
func (m *membersRig) links(cut bool, between ...[2]events.Member) {
	for _, l := range between {
		for _, way := range [][2]events.Member{l, {l[1], l[0]}} {
			if cut {
				m.cluster.CutLink(way[0], way[1])
			} else {
				m.cluster.HealLink(way[0], way[1])
			}
		}
	}
}

// withoutLease separates members from what says who is alive, or ends that.
func (m *membersRig) withoutLease(away bool, names ...events.Member) {
	for _, name := range names {
		if away {
			m.cluster.Cut(name)
		} else {
			m.cluster.Heal(name)
		}
	}
}

// withoutStore separates members from the record, or ends that.
func (m *membersRig) withoutStore(away bool, names ...events.Member) {
	for _, name := range names {
		if away {
			m.members[name].store.set(refuses)
		} else {
			m.members[name].store.set(up)
		}
	}
}

// changesLeader is an event store whose leader dies with what it has just written unanswered, and whose nodes elect
// another one in some seconds.
func (m *membersRig) changesLeader() {
	for _, how := range []failure{forgets, refuses} {
		for _, name := range three {
			m.members[name].store.set(how)
		}
		m.mine(4)
	}
	m.withoutStore(false, three...)
}

// says is what the status of a member says: whether it sells and proves, and why not.
func (m *membersRig) says(name events.Member) string {
	m.Helper()
	s, err := m.members[name].host.Status(m.Context())
	if err != nil {
		m.Fatal(err)
	}
	f := health.Facts{Stage: health.Running, Record: s.Record, Members: s.Members, Hosting: len(s.Sales)}
	f.Supply.Unknown = true // It is enough that it was offered.
	if s.Stalled {
		f.Chain.SilentSince = s.LastNews
	}
	j := health.Judge(f)
	said := fmt.Sprintf("selling %s, proving %s", j.Selling, j.Proving)
	for _, c := range slices.Concat(j.Causes, health.Warnings(f)) {
		said += "; " + c.Reason
	}
	return said
}

// alerted are the alerts of all members, without those of single proofs.
func (m *membersRig) alerted() string {
	var all []string
	for name, one := range m.members {
		for _, a := range one.alerts.all {
			if a.Kind != health.AlertProofMissed {
				all = append(all, fmt.Sprintf("%s %s", name, a.Kind))
			}
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// missed are the members whose proofs were missed.
func (m *membersRig) missed() []events.Member {
	seller, missed := map[string]events.Member{}, map[events.Member]bool{}
	for r, err := range m.store.ReadAll(m.Context(), 0, 0) {
		if err != nil || r.Type != "SaleStarted" && r.Type != "ProofMissed" {
			continue
		}
		switch e := events.Must(catalog.Codec().Decode(r)).(type) {
		case *messages.SaleStarted:
			seller[r.Stream] = events.Member(e.GetMember())
		case *messages.ProofMissed:
			missed[seller[r.Stream]] = true
		}
	}
	return slices.Sorted(maps.Keys(missed))
}

// outageCase is a line of the table "When something is away" of docs/cluster.md.
type outageCase struct {
	away func(m *membersRig, away bool)
	// moves: another member may take the term.
	moves bool
	// sells is how many slots are sold meanwhile, of three.
	sells int
	// unproven is the member whose proofs wait, until the contract has taken its slot; empty: nobody's do.
	unproven events.Member
	// says is a part of what the status of each member says, in the order of three; alerts are those of all members.
	says   [3]string
	alerts string
}

const (
	sellsAndProves = "selling yes, proving yes"
	recordIsAway   = "selling no, proving yes; the event store does not answer"
	chainIsAway    = "selling no, proving no; no block has come since"
	leaseIsAway    = "selling yes, proving yes; etcd does not know that this member is alive"
	southIsSilent  = "selling yes, proving yes; members that do not seem to be alive: south"
)

// The lines of the table "When something is away" of docs/cluster.md: north is the owner, all have the key, and
// each hosts a slot. Whatever is away, the sales are paid; proofs reach the chain unless that is what is away; and
// the term stays unless its owner is away.
func TestWhatGoesOnWhenSomethingOfAClusterIsAway(t *testing.T) {
	north, south, west := events.Member("north"), events.Member("south"), events.Member("west")
	ns, nw, sw := [2]events.Member{north, south}, [2]events.Member{north, west}, [2]events.Member{south, west}
	allWell := [3]string{sellsAndProves, sellsAndProves, sellsAndProves}
	withoutRecord := outageCase{
		says:   [3]string{recordIsAway, recordIsAway, recordIsAway},
		alerts: "north record-away, south record-away, west record-away",
	}
	for name, c := range map[string]outageCase{
		"etcd": {
			sells: 3, says: [3]string{leaseIsAway, leaseIsAway, leaseIsAway},
			away: func(m *membersRig, away bool) { m.withoutLease(away, three...) },
		},
		"the event store": {
			says: withoutRecord.says, alerts: withoutRecord.alerts,
			away: func(m *membersRig, away bool) { m.withoutStore(away, three...) },
		},
		"the event store of the owner": {
			moves: true, sells: 3, says: [3]string{recordIsAway, sellsAndProves, sellsAndProves},
			alerts: "north record-away", away: func(m *membersRig, away bool) { m.withoutStore(away, north) },
		},
		"the event store of a member": { // One slot was handed to it before it knew.
			sells: 2, says: [3]string{sellsAndProves, recordIsAway, sellsAndProves},
			alerts: "south record-away", away: func(m *membersRig, away bool) { m.withoutStore(away, south) },
		},
		"the event store's leader": {sells: 3, says: allWell, away: func(m *membersRig, away bool) {
			if away {
				m.changesLeader()
			}
		}},
		"etcd and the event store": {
			says: withoutRecord.says, alerts: withoutRecord.alerts,
			away: func(m *membersRig, away bool) {
				m.withoutLease(away, three...)
				m.withoutStore(away, three...)
			},
		},
		"the chain of a member": {
			sells: 2, unproven: south, says: [3]string{sellsAndProves, chainIsAway, sellsAndProves},
			alerts: "south chain-silent", away: func(m *membersRig, away bool) { m.members[south].world.Unplug(away) },
		},
		"the chain of the owner": {
			unproven: north, says: [3]string{chainIsAway, sellsAndProves, sellsAndProves},
			alerts: "north chain-silent", away: func(m *membersRig, away bool) { m.members[north].world.Unplug(away) },
		},
		"the way between two members, not the owner": {
			sells: 3, says: allWell, away: func(m *membersRig, away bool) { m.links(away, sw) },
		},
		"the way between a member and the owner": {
			sells: 3, says: allWell, away: func(m *membersRig, away bool) { m.links(away, ns) },
		},
		"the ways from one member to all others": {
			sells: 3, says: allWell, away: func(m *membersRig, away bool) { m.links(away, ns, sw) },
		},
		"all ways between members": {
			sells: 3, says: allWell, away: func(m *membersRig, away bool) { m.links(away, ns, sw, nw) },
		},
		"one member from all others, etcd and the store": {
			sells: 3, says: [3]string{southIsSilent, recordIsAway, southIsSilent},
			alerts: "north member-silent, south record-away, west member-silent",
			away: func(m *membersRig, away bool) {
				m.withoutLease(away, south)
				m.withoutStore(away, south)
				m.links(away, ns, sw)
			},
		},
		"the owner from all others, etcd and the store": {
			moves: true, sells: 3, says: [3]string{recordIsAway, "alive: north", "alive: north"},
			alerts: "north record-away, south member-silent, west member-silent",
			away: func(m *membersRig, away bool) {
				m.withoutLease(away, north)
				m.withoutStore(away, north)
				m.links(away, ns, nw)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			withMembers(t, three, func(m *membersRig) { m.outage(c) })
		})
	}
}

// outage lets something be away while proofs are due and slots are on offer, and checks what goes on, what waits,
// and what a person sees.
func (m *membersRig) outage(c outageCase) {
	m.Helper()
	m.world.Post(longer(1, 3))
	m.mineUntil("each member proves", func() bool { return m.count("ProofSubmitted") >= 6 })
	c.away(m, true)
	late := longer(2, 3)
	late.Expiry = late.Ask.Duration / 2
	m.world.Post(late)
	m.mine(140) // An alert of the chain takes two minutes.
	terms, sold := all[*messages.TermTaken](m.rig), m.count("SlotFilled")-3
	if sold != c.sells {
		m.Errorf("%d slots were sold meanwhile, want %d; sales by member: %v", sold, c.sells, m.sellers())
	}
	for i, name := range three {
		if said := m.says(name); !strings.Contains(said, c.says[i]) {
			m.Errorf("the status of %s says %q, want %q", name, said, c.says[i])
		}
	}
	if told := m.alerted(); told != c.alerts {
		m.Errorf("alerts: %s; want %s", told, c.alerts)
	}
	c.away(m, false)
	m.mineUntil("all slots are settled", func() bool { return m.count("SaleSettled") == 6 })
	paid, unproven := 6, []events.Member(nil)
	if c.unproven != "" {
		paid, unproven = 5, []events.Member{c.unproven}
	}
	if missed := m.missed(); m.count("PayoutReceived") != paid || !slices.Equal(missed, unproven) {
		m.Errorf("%d slots are paid, proofs of %v were missed", m.count("PayoutReceived"), missed)
	}
	if moved := slices.ContainsFunc(terms, func(e *messages.TermTaken) bool { return e.GetMember() != "north" }); moved != c.moves {
		m.Errorf("the terms: %v", terms)
	}
	m.clean()
}

// Nobody else may have the term, so its owner keeps it without the event store, and sends proofs.
func TestAnOwnerWithoutTheEventStoreKeepsATermThatNobodyElseMayHave(t *testing.T) {
	withMembers(t, three, func(m *membersRig) {
		m.withoutKey("south")
		m.withoutKey("west")
		m.world.Post(longer(1, 3))
		m.mineUntil("each member proves", func() bool { return m.count("ProofSubmitted") >= 6 })
		m.withoutStore(true, "north")
		m.mine(100)
		if terms := m.count("TermTaken"); terms != 1 || !m.members["north"].account.Owns() {
			m.Errorf("%d terms were taken", terms)
		}
		m.withoutStore(false, "north")
		m.mineUntil("all slots are settled", func() bool { return m.count("SaleSettled") == 3 })
		m.settled(3)
		m.clean()
	})
}

// While no member that may own is alive nothing is sent, and nothing is lost. Before that there is a warning.
func TestWithoutAMemberThatMayOwnEverythingWaits(t *testing.T) {
	for name, c := range map[string]struct {
		ends func(m *membersRig, name events.Member)
		says string
	}{
		"they were killed": {(*membersRig).kill, "selling unknown, proving yes; member south has the term since"},
		"they were stopped": {func(m *membersRig, name events.Member) {
			if err := m.members[name].host.Stop(m.Context()); err != nil {
				m.Fatal(err)
			}
			m.kill(name)
		}, "selling no, proving yes; no member has the term since"},
	} {
		t.Run(name, func(t *testing.T) {
			withMembers(t, []events.Member{"north", "south"}, func(m *membersRig) {
				m.add("west", m.world.Beside())
				west := m.members["west"]
				west.keyless = true
				m.begin("west")
				m.offers("west")
				c.ends(m, "north")
				m.mineUntil("south has the term", func() bool { return m.members["south"].account.Owns() })
				m.mine(20)
				if said := m.says("west"); !strings.Contains(said, "only member south may take the term") {
					m.Errorf("before: %q", said)
				}
				c.ends(m, "south")
				m.mine(40)
				m.world.Post(longer(1, 3))
				m.mine(60)
				said := m.says("west")
				if !strings.Contains(said, c.says) || !strings.Contains(said, "no living member may take the term") {
					m.Errorf("the status says %q, want %q", said, c.says)
				}
				if told := len(west.alerts.of(health.AlertNoOwner)); told != 1 || m.count("SlotHandedOut") != 0 {
					m.Errorf("%d alerts of no owner, %d slots handed out", told, m.count("SlotHandedOut"))
				}
				m.begin("south")
				m.begin("north")
				m.mineUntil("each member proves", func() bool { return m.count("ProofSubmitted") >= 6 })
				if west.alerts.opened(health.AlertNoOwner) != 0 {
					m.Error("there is an owner again, and there is an alert")
				}
				m.kill("north")
				m.kill("south")
				sent := m.count("ProofSubmitted")
				m.mine(12)
				if west.world.Sent() != 0 || m.count("ProofSubmitted") != sent {
					m.Errorf("a member without the key sent %d proofs", west.world.Sent())
				}
				m.begin("south")
				m.begin("north")
				m.mineUntil("all slots are settled", func() bool { return m.count("SaleSettled") == 3 })
				if m.count("PayoutReceived") != 3 {
					m.Errorf("%d slots are paid", m.count("PayoutReceived"))
				}
				m.clean()
			})
		})
	}
}

// A member without the key that reaches nobody but the event store: the owner finds its proofs there.
func TestAMemberWithoutTheKeyThatReachesOnlyTheEventStoreProves(t *testing.T) {
	withMembers(t, three, func(m *membersRig) {
		m.withoutKey("west")
		m.world.Post(sim.Offer(1, 3))
		m.mineUntil("each member proves", func() bool { return m.count("ProofSubmitted") >= 6 })
		slot := m.slotOf("west")
		before := len(m.world.Taken(slot))
		alone := func(away bool) {
			m.withoutLease(away, "west")
			m.links(away, [2]events.Member{"west", "north"}, [2]events.Member{"west", "south"})
		}
		alone(true)
		m.mine(100)
		if taken := len(m.world.Taken(slot)) - before; taken < 3 {
			m.Errorf("%d proofs were taken while it was alone", taken)
		}
		left, err := m.proofs("west").HandedOver(m.Context(), "west", events.Unix(0))
		if err != nil || len(left) < 3 || len(left) > 5 {
			m.Errorf("it left %d proofs in 5 periods: %v", len(left), err)
		}
		alone(false)
		m.mineUntil("all slots are settled", func() bool { return m.count("SaleSettled") == 3 })
		m.settled(3)
	})
}
