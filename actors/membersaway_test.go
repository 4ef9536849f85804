package actors_test

import (
	"slices"
	"testing"

	"github.com/hostnode/hostnode/actors/sim"
	"github.com/hostnode/hostnode/events"
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

// The lines of the table "When something is away" of docs/cluster.md: north is the owner, all have the key, and
// each hosts a slot. Whatever is away, proofs reach the chain and the sales are paid; and the term stays unless
// its owner is away.
func TestWhatGoesOnWhenSomethingOfAClusterIsAway(t *testing.T) {
	north, south, west := events.Member("north"), events.Member("south"), events.Member("west")
	ns, nw, sw := [2]events.Member{north, south}, [2]events.Member{north, west}, [2]events.Member{south, west}
	for name, c := range map[string]struct {
		away  func(m *membersRig, away bool)
		moves bool // another member may take the term
	}{
		"etcd":            {away: func(m *membersRig, away bool) { m.withoutLease(away, three...) }},
		"the event store": {away: func(m *membersRig, away bool) { m.withoutStore(away, three...) }},
		"etcd and the event store": {away: func(m *membersRig, away bool) {
			m.withoutLease(away, three...)
			m.withoutStore(away, three...)
		}},
		"the way between two members, not the owner": {away: func(m *membersRig, away bool) { m.links(away, sw) }},
		"the way between a member and the owner":     {away: func(m *membersRig, away bool) { m.links(away, ns) }},
		"the ways from one member to all others":     {away: func(m *membersRig, away bool) { m.links(away, ns, sw) }},
		"all ways between members":                   {away: func(m *membersRig, away bool) { m.links(away, ns, sw, nw) }},
		"one member from all others, etcd and the store": {away: func(m *membersRig, away bool) {
			m.withoutLease(away, south)
			m.withoutStore(away, south)
			m.links(away, ns, sw)
		}},
		"the owner from all others, etcd and the store": {moves: true, away: func(m *membersRig, away bool) {
			m.withoutLease(away, north)
			m.withoutStore(away, north)
			m.links(away, ns, nw)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			withMembers(t, three, func(m *membersRig) {
				m.world.Post(sim.Offer(1, 3))
				m.mineUntil("each member proves", func() bool { return m.count("ProofSubmitted") >= 6 })
				c.away(m, true)
				m.mine(100)
				terms := all[*messages.TermTaken](m.rig)
				c.away(m, false)
				m.mineUntil("all slots are settled", func() bool { return m.count("SaleSettled") == 3 })
				m.settled(3)
				if moved := slices.ContainsFunc(terms, func(e *messages.TermTaken) bool { return e.GetMember() != "north" }); moved != c.moves {
					m.Errorf("the terms: %v", terms)
				}
			})
		})
	}
}
