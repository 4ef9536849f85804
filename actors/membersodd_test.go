package actors_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostnode/hostnode/actors/porttest/clusterfake"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// A member's clock says nothing that others decide by: leases and calls last, and deadlines are in chain time.
func TestMembersWhoseClocksAreOffLoseNothing(t *testing.T) {
	withMembers(t, three, func(m *membersRig) {
		m.members["south"].world.Skew(10 * time.Minute)
		m.members["west"].world.Skew(-10 * time.Minute)
		m.world.Post(longer(1, 3))
		m.mineUntil("each member proves", func() bool { return m.count("ProofSubmitted") >= 6 })
		for _, owner := range []events.Member{"south", "west", "north"} {
			m.cluster.Expire(m.cluster.Holder())
			m.mineUntil("the term changes hands", func() bool { return m.members[owner].account.Owns() })
			proven := m.count("ProofSubmitted")
			m.mineUntil("all prove", func() bool { return m.count("ProofSubmitted") > proven+4 })
		}
		m.kill("south")
		m.begin("south") // Its own start was later than now, or earlier.
		m.mineUntil("all slots are settled", func() bool { return m.count("SaleSettled") == 3 })
		m.settled(3)
		m.clean()
	})
}

// Members that ask different etcds both have a lease. They take the term from each other ever more seldom, and what
// they sell is paid.
func TestMembersThatAskDifferentEtcdsDoNotPlayWithTheTerm(t *testing.T) {
	withMembers(t, []events.Member{"north"}, func(m *membersRig) {
		first := m.cluster
		m.cluster = clusterfake.New(5 * time.Second)
		m.add("south", m.world.Beside())
		m.begin("south")
		defer m.cluster.Kill("south")
		m.offers("south")
		m.world.Post(longer(1, 3))
		m.mine(150)
		if terms := len(all[*messages.TermTaken](m.rig)); terms < 2 || terms > 40 {
			t.Errorf("%d terms in five minutes", terms)
		}
		m.kill("south")
		m.cluster = first
		m.mineUntil("all slots are settled or wait for south", func() bool {
			return m.count("SaleSettled")+len(m.members["south"].world.Stored()) == 3
		})
	})
}

// withOwnerAndSeller runs a test with an owner, north, that offers nothing, and a member, south, that sells.
func withOwnerAndSeller(t *testing.T, test func(m *membersRig)) {
	t.Helper()
	inWorld(t, func(r *rig) {
		m := newMembersRig(r)
		m.add("north", m.world)
		m.begin("north")
		m.add("south", m.world.Beside())
		m.begin("south")
		defer func() {
			for _, name := range []events.Member{"north", "south"} {
				m.kill(name)
			}
			time.Sleep(time.Minute)
		}()
		m.offers("south")
		test(m)
	})
}

// The owner has the fill mined, and its answer is lost: the seller sees on the chain that the slot is its own, records
// that, and proves.
func TestAFillWhoseAnswerIsLostIsProven(t *testing.T) {
	withOwnerAndSeller(t, func(m *membersRig) {
		m.world.Post(longer(1, 3))
		m.mineUntil("the data is here", m.has("SlotStored"))
		m.cluster.CutLink("north", "south")
		for range 60 { // Much faster than a question is given up by the clock: the chain's time counts.
			m.world.Mine(1)
			synctest.Wait()
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
		}
		if n := m.count("SlotFilled"); n != 3 {
			t.Errorf("after six periods south knows of %d fills", n)
		}
		m.mineUntil("south proves", func() bool { return m.count("ProofSubmitted") >= 8 })
		without := 0
		for _, e := range all[*messages.SlotFilled](m.rig) {
			if e.GetReceipt() == nil {
				without++
			}
		}
		if without == 0 {
			t.Error("the link was cut too late")
		}
		m.cluster.HealLink("north", "south")
		m.mineUntil("all slots are settled", func() bool { return m.count("SaleSettled") == 3 })
		if paid, missed := m.count("PayoutReceived"), m.count("ProofMissed"); paid != 3 || missed > 1 { // A period has ten blocks.
			t.Errorf("%d slots are paid, %d proofs were missed", paid, missed)
		}
		m.clean()
	})
}

// The answer to a fill is lost together with all that the seller has but the chain and its key: it sees on the chain
// that the slot is its own, and proves, although it cannot record either.
func TestAFillWhoseAnswerIsLostIsProvenAloneWithTheChain(t *testing.T) {
	withOwnerAndSeller(t, func(m *membersRig) {
		request := long(1, 3)
		m.world.Post(request)
		m.mineUntil("the data is here", m.has("SlotStored"))
		free := func() (slots []events.SlotID) {
			for i := range request.Ask.Slots {
				if id := events.SlotIDOf(request.ID, i); m.world.State(id) == events.SlotFree {
					slots = append(slots, id)
				}
			}
			return slots
		}
		m.cluster.CutLink("north", "south")
		left, recorded := free(), m.count("SlotFilled")
		for len(free()) > 0 {
			m.world.Mine(1)
			synctest.Wait()
		}
		if len(left) == 0 || m.count("SlotFilled") != recorded {
			t.Fatalf("%d slots were left, %d of %d fills are in the record: the link was cut too late",
				len(left), recorded, m.count("SlotFilled"))
		}
		m.links(true, [2]events.Member{"north", "south"})
		m.withoutStore(true, "south")
		m.mine(8 * period)
		for _, slot := range left {
			if taken := m.world.Taken(slot); len(taken) < 6 || m.count("SlotFilled") != recorded {
				t.Errorf("alone with the chain it proved %d, and %d fills are recorded", taken, m.count("SlotFilled"))
			}
		}
		m.withoutStore(false, "south")
		m.links(false, [2]events.Member{"north", "south"})
		m.mineUntil("all fills are recorded", func() bool { return m.count("SlotFilled") == 3 })
		m.mine(3 * period)
		for _, slot := range left {
			if missed := m.world.MissedPeriods(slot); len(missed) > 1 { // A period has ten blocks.
				t.Errorf("it missed %d", missed)
			}
		}
		m.clean()
	})
}
