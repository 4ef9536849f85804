package actors_test

import (
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/witness"
	"github.com/hostnode/hostnode/messages"
)

// witnessed puts a witness before the store of each member from its next start on.
func (m *membersRig) witnessed(dir string, names ...events.Member) {
	m.Helper()
	for _, name := range names {
		one := m.members[name]
		store, _, err := witness.New(m.Context(), one.store, filepath.Join(dir, string(name)))
		if err != nil {
			m.Fatal(err)
		}
		one.crowd, one.witness = store, store
	}
}

// older has all members, which do not run, start on the record before the first event of a type; "": an empty one.
func (m *membersRig) older(kind, dir string) {
	m.Helper()
	m.store = m.upTo(kind)
	for _, one := range m.members {
		one.store = &flakyStore{Memory: m.store, back: make(chan struct{})}
	}
	m.witnessed(dir, slices.Collect(maps.Keys(m.members))...)
	for m.world.Head().Time.Add(m.cfg.MinFill).Unix()%period != 0 { // Those that are away are waited for the longest.
		m.mine(1)
	}
}

// adopters are the members that adopted slots, by slot.
func (m *membersRig) adopters() map[string]string {
	by := map[string]string{}
	for _, e := range all[*messages.SaleStarted](m.rig) {
		if e.GetAdopted() {
			by[e.GetSlotId()] = e.GetMember()
		}
	}
	return by
}

// hostingEach has each member host a slot, and then ends all of them.
func (m *membersRig) hostingEach(dir string) (hosted map[string]string) {
	m.Helper()
	for _, name := range three {
		m.kill(name)
	}
	m.cfg.Quota = 1 << 30
	m.witnessed(dir, three...)
	for _, name := range three {
		m.begin(name)
	}
	m.world.Post(longer(1, 3))
	m.mineUntil("each member proves", func() bool { return m.count("ProofSubmitted") >= 6 })
	hosted = map[string]string{}
	for _, name := range three {
		hosted[m.slotOf(name).String()] = string(name)
		m.kill(name)
	}
	return hosted
}

// After an older or empty event store each slot is adopted by the member whose disk has it, although the owner looks
// first, and some start later.
func TestAfterAnOlderStoreEachMemberAdoptsWhatIsOnItsDisk(t *testing.T) {
	for _, kind := range []string{"", "SlotHandedOut", "SaleStarted", "SlotFilled"} {
		t.Run("before "+kind, func(t *testing.T) {
			dir := t.TempDir()
			withMembers(t, three, func(m *membersRig) {
				hosted := m.hostingEach(dir)
				m.older(kind, dir)
				m.begin("north")
				m.mine(2)
				m.begin("south")
				m.mine(4)
				m.begin("west")
				m.mineUntil("all slots are settled", func() bool { return m.count("SaleSettled") == 3 })
				m.settled(3)
				got := m.adopters()
				maps.DeleteFunc(hosted, func(slot, _ string) bool { return kind == "SlotFilled" && got[slot] == "" })
				if !maps.Equal(got, hosted) || len(got) == 0 && kind != "SlotFilled" {
					m.Errorf("adopted: %v, want %v", got, hosted)
				}
			})
		})
	}
}

// A member that does not come back is waited for only as long as another one can still fetch its slot.
func TestASlotWhoseMemberDoesNotComeBackIsFetchedInTime(t *testing.T) {
	dir := t.TempDir()
	withMembers(t, three, func(m *membersRig) {
		hosted := m.hostingEach(dir)
		lost := m.slotOf("west")
		m.older("SlotHandedOut", dir)
		m.begin("north")
		m.begin("south")
		m.mineUntil("two adopt what is on their disks", func() bool { return len(m.adopters()) == 2 })
		m.mine(3)
		if by := m.adopters(); by[lost.String()] != "" {
			m.Errorf("adopted at once: %v", by)
		}
		m.mineUntil("somebody else adopts it", func() bool { return len(m.adopters()) == 3 })
		m.mineUntil("all slots are settled", func() bool { return m.count("SaleSettled") == 3 })
		if missed := m.count("ProofMissed"); m.count("PayoutReceived") != 3 || missed > 1 {
			m.Errorf("%d slots are paid, %d proofs were missed", m.count("PayoutReceived"), missed)
		}
		hosted[lost.String()] = m.adopters()[lost.String()]
		if got := m.adopters(); !maps.Equal(got, hosted) || hosted[lost.String()] == "west" {
			m.Errorf("adopted: %v, want %v", got, hosted)
		}
	})
}
