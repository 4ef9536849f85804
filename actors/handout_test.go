package actors_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors/members"
	"github.com/hostnode/hostnode/actors/porttest/clusterfake"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/messages"
)

// setSize changes how much room a member offers.
func (m *membersRig) setSize(name events.Member, size events.Bytes) {
	change := capacity.Update{At: time.Now(), ID: events.AvailabilityID{1, name[0]}, Size: &size}
	if err := m.members[name].host.Ledger(m.Context(), change); err != nil {
		m.Error(err)
	}
}

// Slots that are handed out at the same time may be more than a member has room for, because its ledger
// reserves only when a sale begins. The others are sold by the members that have room.
func TestASlotThatFoundAMembersRoomTakenIsSoldByAnother(t *testing.T) {
	withMembers(t, []events.Member{"north", "south"}, func(m *membersRig) {
		q := long(1, 3)
		m.setSize("south", q.Ask.SlotSize)
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
		m.setSize("north", 1)
		m.cluster.Deliver(func(_, _ events.Member, q []byte) clusterfake.Delivery {
			begins := bytes.Contains(q, []byte(`"sell"`)) && m.count("SlotHandedOut") == 1
			if begins {
				m.setSize("south", 1)
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
		m.setSize("north", 1)
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

// Slots that are being handed out count as sold: members take their time to answer.
func TestNoMoreSlotsOfARequestAreHandedOutThanTheHostMaySell(t *testing.T) {
	withMembers(t, nil, func(m *membersRig) {
		m.cfg.MaxSlotsPerRequest = 0 // As many as the request may lose, which is one.
		m.offering(three...)
		m.setSize("north", 1) // The owner would answer itself at once.
		m.cluster.Deliver(func(events.Member, events.Member, []byte) clusterfake.Delivery {
			return clusterfake.Delivery{Delay: 2 * time.Second}
		})
		m.world.Post(long(1, 3))
		m.mineUntil("a slot is filled", m.has("SlotFilled"))
		m.mine(20)
		if started, handed := m.count("SaleStarted"), m.count("SlotHandedOut"); started != 1 || handed != 1 {
			m.Errorf("%d sales began, %d slots were handed out; one may be sold", started, handed)
		}
	})
}

// A slot is refused because another one of its request is being handed out, which nobody takes then.
func TestASlotThatWasNotHandedOutMakesRoomForAnother(t *testing.T) {
	withMembers(t, nil, func(m *membersRig) {
		m.cfg.MaxSlotsPerRequest = 1
		m.offering("north", "south")
		m.setSize("north", 1)
		first := ""
		m.cluster.Deliver(func(_, _ events.Member, q []byte) clusterfake.Delivery {
			var asked struct{ Body members.Sell }
			if json.Unmarshal(q, &asked) != nil || asked.Body.Started == nil {
				return clusterfake.Delivery{}
			}
			first = cmp.Or(first, string(asked.Body.Started))
			return clusterfake.Delivery{Lost: string(asked.Body.Started) == first}
		})
		m.world.Post(long(1, 2))
		m.mine(60) // Much less than until the first one is handed out again.
		if n := m.count("SlotFilled"); n != 1 {
			m.Errorf("%d slots were filled", n)
		}
		capped := func(e *messages.SlotReleased) bool { return e.GetCriterion() == slotqueue.CriterionRequestCap }
		if !slices.ContainsFunc(all[*messages.SlotReleased](m.rig), capped) {
			m.Errorf("no slot was refused: %v", m.names())
		}
	})
}
