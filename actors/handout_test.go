package actors_test

import (
	"bytes"
	"maps"
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors/porttest/clusterfake"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
)

// Slots that are handed out at the same time may be more than a member has room for, because its ledger
// reserves only when a sale begins. The others are sold by the members that have room.
func TestASlotThatFoundAMembersRoomTakenIsSoldByAnother(t *testing.T) {
	withMembers(t, []events.Member{"north", "south"}, func(m *membersRig) {
		q := long(1, 3)
		room := q.Ask.SlotSize
		change := capacity.Update{At: time.Now(), ID: events.AvailabilityID{1, 's'}, Size: &room}
		if err := m.members["south"].host.Ledger(m.Context(), change); err != nil {
			m.Fatal(err)
		}
		m.mine(1) // Now the owner knows it.
		m.cluster.Deliver(func(events.Member, events.Member, []byte) clusterfake.Delivery {
			return clusterfake.Delivery{Delay: time.Second} // All are handed out before the first sale begins.
		})
		m.world.Post(q)
		m.mineUntil("a slot found no room", func() bool { return m.count("SaleIgnored") > 0 })
		m.mineUntil("all slots are filled", func() bool { return m.count("SlotFilled") == 3 })
		hosted := map[events.Member]int{}
		for name, one := range m.members {
			hosted[name] = len(one.world.Stored())
		}
		if want := map[events.Member]int{"north": 2, "south": 1}; !maps.Equal(hosted, want) {
			m.Errorf("slots by member: %v, want %v", hosted, want)
		}
	})
}

// A member found no room for a slot that was handed out to it, and its answer that it sells the slot was lost: the sale
// is over before the owner gives up waiting for the answer.
func TestASaleThatEndsBeforeItsMemberAnswersIsTakenBackAtOnce(t *testing.T) {
	withMembers(t, []events.Member{"north", "south"}, func(m *membersRig) {
		noRoom := func(name events.Member) {
			size := events.Bytes(1)
			change := capacity.Update{At: time.Now(), ID: events.AvailabilityID{1, name[0]}, Size: &size}
			if err := m.members[name].host.Ledger(m.Context(), change); err != nil {
				m.Error(err)
			}
		}
		noRoom("north")
		m.cluster.Deliver(func(_, _ events.Member, q []byte) clusterfake.Delivery {
			begins := bytes.Contains(q, []byte(`"sell"`)) && m.count("SlotHandedOut") == 1
			if begins {
				noRoom("south")
			}
			return clusterfake.Delivery{AnswerLost: begins}
		})
		m.world.Post(long(1, 1))
		m.mineUntil("a slot found no room", func() bool { return m.count("SaleIgnored") == 1 })
		m.mine(30)
		if n := m.count("SlotReleased"); n != 1 {
			m.Errorf("it was taken back %d times: %v", n, m.names())
		}
	})
}

// A slot was handed out, and the question to sell it was lost: the member has no sale that it could let go of,
// and says so, or the worker would wait for ever.
func TestASlotWhoseMemberWasNeverToldIsSoldAgain(t *testing.T) {
	withMembers(t, []events.Member{"north", "south"}, func(m *membersRig) {
		size := events.Bytes(1)
		if err := m.members["north"].host.Ledger(m.Context(), capacity.Update{ // North has no room.
			At: time.Now(), ID: events.AvailabilityID{1, 'n'}, Size: &size,
		}); err != nil {
			m.Fatal(err)
		}
		m.cluster.Deliver(func(_, _ events.Member, q []byte) clusterfake.Delivery {
			begins := bytes.Contains(q, []byte(`"sell"`)) && m.count("SlotHandedOut") == 1
			return clusterfake.Delivery{Lost: begins && m.count("SlotReleased") == 0}
		})
		m.world.Post(long(1, 1))
		m.mineUntil("it is taken back", func() bool { return m.count("SlotReleased") == 1 })
		m.mineUntil("it is handed out again, and sold", func() bool { return m.count("SlotFilled") == 1 })
		if n := m.count("SlotHandedOut"); n != 2 {
			m.Errorf("handed out %d times", n)
		}
	})
}
