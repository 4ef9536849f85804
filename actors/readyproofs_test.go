package actors_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/actors/members"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/actors/shell/shelltest"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/duty"
)

// withSeller runs a test in which west, which has no key, hosts a slot, as do the members before it, of which the
// first is the owner.
func withSeller(t *testing.T, others []events.Member, test func(m *membersRig, slot events.SlotID)) {
	t.Helper()
	withMembers(t, append(slices.Clone(others), "west"), func(m *membersRig) {
		m.withoutKey("west")
		m.world.Post(long(1, uint64(len(others))+1))
		m.mineUntil("all slots are filled", func() bool { return m.count("SlotFilled") == len(others)+1 })
		m.mineUntil("all prove", func() bool { return m.count("ProofSubmitted") > 3*len(others) })
		test(m, m.slotOf("west"))
	})
}

// withoutKey starts a member again without the account's key.
func (m *membersRig) withoutKey(name events.Member) {
	m.kill(name)
	m.members[name].keyless = true
	m.begin(name)
}

// slotOf is the slot on the disk of a member.
func (m *membersRig) slotOf(name events.Member) events.SlotID {
	m.Helper()
	stored := m.members[name].world.Stored()
	if len(stored) != 1 {
		m.Fatalf("member %s has the data of %d slots", name, len(stored))
	}
	return stored[0]
}

// proofs are those that a member leaves in the event store.
func (m *membersRig) proofs(name events.Member) *members.ReadyProofs {
	b := &shell.Base{
		Store: m.store, Codec: catalog.Codec(), Clock: shelltest.Clock{}, Log: silent(), Member: name,
		Me: m.ports.Market.Account(), Yield: shelltest.NoYield,
	}
	b.StoreWatch = shell.NewStoreWatch(b.Clock, b.Log, shelltest.NoYield)
	return members.NewReadyProofs(b)
}

// due kills west, whose slot it is, right before its next proof is due, and returns that proof.
func (m *membersRig) due(slot events.SlotID) members.Ready {
	m.Helper()
	cfg, err := m.ports.Market.Config(m.Context())
	if err != nil {
		m.Fatal(err)
	}
	for {
		m.mine(1)
		head := m.world.Head()
		period := duty.Period(cfg.Proofs, head.Time) + 1
		pointer := int(duty.Pointer(cfg.Proofs, slot, head.Number+2, period))
		if !head.Time.Add(2*time.Second).Equal(duty.Start(cfg.Proofs, period)) ||
			pointer < int(cfg.Proofs.Downtime) || pointer > 255-22 {
			continue
		}
		m.kill("west")
		m.mine(1)
		return members.Ready{
			Slot: slot, Period: period, Deadline: duty.Deadline(cfg.Proofs, period), Proof: m.world.Proof(slot),
		}
	}
}

// leaves has a member leave a proof, and mines blocks. A period has ten.
func (m *membersRig) leaves(name events.Member, r members.Ready, blocks int) {
	m.Helper()
	if err := m.proofs(name).HandOver(m.Context(), r); err != nil {
		m.Fatal(err)
	}
	m.mine(blocks)
}

func (m *membersRig) took(r members.Ready) bool {
	return slices.Contains(m.world.Taken(r.Slot), r.Period)
}

func TestTheOwnerSendsAProofThatAnotherMemberLeft(t *testing.T) {
	withSeller(t, []events.Member{"north", "south"}, func(m *membersRig, slot events.SlotID) {
		for range 2 {
			r := m.due(slot)
			m.leaves("west", r, 8)
			if !m.took(r) {
				t.Errorf("the proof of period %d was not sent: %d", r.Period, m.world.Taken(slot))
			}
		}
		if n := m.members["south"].world.Sent(); n > 0 {
			t.Errorf("a member that is not the owner sent %d proofs", n)
		}
	})
}

// Whatever another member leaves, nothing else is sent than what its slot owes now.
func TestAProofThatIsOfNoUseIsNotSent(t *testing.T) {
	for name, c := range map[string]struct {
		by    events.Member
		spoil func(m *membersRig, r *members.Ready)
	}{
		"of a period that is over": {"west", func(_ *membersRig, r *members.Ready) { r.Period -= 100 }},
		"of a period that is far":  {"west", func(_ *membersRig, r *members.Ready) { r.Period += 5 }},
		"too late": {"west", func(m *membersRig, r *members.Ready) {
			r.Deadline = m.world.Head().Time.Add(-1)
			r.Proof[0][0] ^= 1 // The same proof is not written twice.
		}},
		"of another member's slot": {"south", func(*membersRig, *members.Ready) {}},
		"of a slot of nobody":      {"west", func(_ *membersRig, r *members.Ready) { r.Slot = events.SlotID{7} }},
	} {
		t.Run(name, func(t *testing.T) {
			withSeller(t, []events.Member{"north", "south"}, func(m *membersRig, slot events.SlotID) {
				good := m.due(slot)
				r := good
				c.spoil(m, &r)
				before := len(m.world.Taken(slot))
				m.leaves(c.by, r, 4)
				if taken := m.world.Taken(slot); len(taken) != before {
					t.Errorf("it was sent: %d", taken)
				}
				m.leaves("west", good, 4)
				if !m.took(good) {
					t.Errorf("after it nothing was sent: %d", m.world.Taken(slot))
				}
			})
		})
	}
}

// An owner whose transactions take long leaves its own proof in the event store, too, and reads it there.
func TestAnOwnerDoesNotWarnOfItsOwnProof(t *testing.T) {
	withMembers(t, []events.Member{"north"}, func(m *membersRig) {
		m.world.Post(long(1, 1))
		m.mineUntil("it proves", func() bool { return m.count("ProofSubmitted") > 0 })
		slot, head := m.slotOf("north"), m.world.Head()
		cfg, err := m.ports.Market.Config(m.Context())
		if err != nil {
			t.Fatal(err)
		}
		period := duty.Period(cfg.Proofs, head.Time)
		m.leaves("north", members.Ready{
			Slot: slot, Period: period, Deadline: duty.Deadline(cfg.Proofs, period), Proof: m.world.Proof(slot),
		}, 4)
		for _, e := range m.members["north"].said.AllEntries() {
			if e.Level <= logrus.WarnLevel {
				t.Errorf("it warns: %s", e.Message)
			}
		}
	})
}

// What cannot be read, or is read twice, neither stops the owner nor is sent twice.
func TestPoisonAndRepetitionsAmongProofsHoldUpNothing(t *testing.T) {
	withSeller(t, []events.Member{"north", "south"}, func(m *membersRig, slot events.SlotID) {
		r := m.due(slot)
		stream := events.ProofsStream(m.ports.Market.Account(), "west")
		put := func(e events.NewEvent, n int) {
			e.ID = events.NewEventID(stream, "test", n)
			if _, err := m.store.Append(m.Context(), stream, events.Any(), []events.NewEvent{e}); err != nil {
				t.Fatal(err)
			}
		}
		put(events.NewEvent{Type: "ProofReady", Data: []byte{0xff, 0}}, 0)
		put(events.NewEvent{Type: "Nothing", Data: []byte("{}")}, 1)
		before := len(m.world.Taken(slot))
		sent := m.members["north"].world.Sent()
		m.leaves("west", r, 8)
		last, _, err := events.Last(m.Context(), m.store, stream)
		if err != nil {
			t.Fatal(err)
		}
		for n := range 3 {
			put(events.NewEvent{Type: last.Type, Data: last.Data, Meta: last.Meta}, n+2)
		}
		m.mine(2)
		if taken := m.world.Taken(slot); len(taken) != before+1 || !m.took(r) {
			t.Errorf("taken are those of the periods %d", taken)
		}
		if n := m.members["north"].world.Sent() - sent; n > 4 { // The owner proves its own slot, too.
			t.Errorf("%d proofs were sent", n)
		}
	})
}

// While nobody is the owner, a proof waits for the next one: another member, or the same one again.
func TestTheNextOwnerSendsAProofThatWasLeftBefore(t *testing.T) {
	for name, next := range map[string]events.Member{"another member": "south", "the same, started again": "north"} {
		t.Run(name, func(t *testing.T) {
			others := []events.Member{"north"}
			if next != "north" {
				others = append(others, next)
			}
			withSeller(t, others, func(m *membersRig, slot events.SlotID) {
				r := m.due(slot)
				m.kill("north")
				if err := m.proofs("west").HandOver(m.Context(), r); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if next == "north" {
					m.begin("north")
				}
				m.mine(15)
				if !m.members[next].account.Owns() || !m.took(r) {
					t.Errorf("%s owns the account: %t; taken are those of the periods %d", next,
						m.members[next].account.Owns(), m.world.Taken(slot))
				}
			})
		})
	}
}
