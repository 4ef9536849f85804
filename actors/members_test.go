package actors_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/porttest/clusterfake"
	"github.com/hostnode/hostnode/actors/sim"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/membership"
	"github.com/hostnode/hostnode/messages"
)

// membersRig is a host of several members over one store, in a simulated world.
type membersRig struct {
	*rig
	cluster *clusterfake.Host
	members map[events.Member]*memberRig
	ends    atomic.Pointer[time.Time] // of the certificate of each member; nil: they have none
	// rooms are those of further machines of a member; nil: there are none.
	rooms func(of port.Cluster) []actors.Room
}

type memberRig struct {
	name    events.Member
	world   *sim.World
	account *sim.Account
	store   *flakyStore  // its way to the record
	crowd   events.Store // in front of it; nil: nothing is
	witness port.Witness // of that, if there is one
	host    *actors.Host
	keyless bool // it never owns the account
	alerts  *alertLog
	said    *test.Hook // what it logs
}

// clusterOf is a member's part of the cluster, which also knows who may take the term, and certificates.
type clusterOf struct {
	port.Cluster
	m *membersRig
}

func (c clusterOf) LeaseAway() (since time.Time, reason error) {
	return c.Cluster.(*clusterfake.Member).LeaseAway()
}

func (c clusterOf) MayOwn() []events.Member {
	return slices.DeleteFunc(c.Seen(), func(name events.Member) bool { return c.m.members[name].keyless })
}

// Resign checks that a member which lets others send has ended sending.
func (c clusterOf) Resign(ctx context.Context) error {
	if c.m.members[c.Member()].account.Owns() {
		c.m.Errorf("member %s gives the lease back while it sends", c.Member())
	}
	return c.Cluster.Resign(ctx)
}

// CertificateEnds is asked of a cluster whose members have certificates.
func (c clusterOf) CertificateEnds() (file string, at time.Time) {
	if ends := c.m.ends.Load(); ends != nil {
		return string(c.Member()) + ".crt", *ends
	}
	return "", time.Time{}
}

// withMembers runs a test with members that have started and offer space, in the order given.
func withMembers(t *testing.T, names []events.Member, test func(r *membersRig)) {
	t.Helper()
	inWorld(t, func(r *rig) {
		m := newMembersRig(r)
		defer func() {
			for _, one := range m.members {
				one.host.Kill()
			}
			for name := range m.members {
				m.cluster.Kill(name)
			}
			time.Sleep(time.Minute)
		}()
		m.offering(names...)
		test(m)
	})
}

// offering starts members that offer space.
func (m *membersRig) offering(names ...events.Member) {
	m.Helper()
	for _, name := range names {
		world := m.world
		if len(m.members) > 0 {
			world = m.world.Beside()
		}
		m.add(name, world)
		m.begin(name)
		m.offers(name)
	}
}

func newMembersRig(r *rig) *membersRig {
	return &membersRig{rig: r, cluster: clusterfake.New(5 * time.Second), members: map[events.Member]*memberRig{}}
}

// add gives a member a world and a way to the record.
func (m *membersRig) add(name events.Member, world *sim.World) {
	m.members[name] = &memberRig{
		name: name, world: world, store: &flakyStore{Memory: m.store, back: make(chan struct{})}, alerts: &alertLog{},
	}
}

// begin starts a member, for the first time or again.
func (m *membersRig) begin(name events.Member) {
	m.Helper()
	one := m.members[name]
	one.account = one.world.Account()
	ports := one.world.Ports(one.store)
	if one.crowd != nil {
		ports.Store, ports.Witness = one.crowd, one.witness
	}
	ports.Cluster = clusterOf{m.cluster.Start(name), m}
	if !one.keyless {
		ports.Account = one.account
	}
	if m.rooms != nil {
		ports.Rooms = m.rooms(ports.Cluster)
	}
	cfg := m.cfg
	cfg.Node, cfg.Alert, cfg.AlertOver = string(name), one.alerts.take, one.alerts.end
	log, said := test.NewNullLogger()
	host, err := actors.Start(context.Background(), cfg, ports, logrus.NewEntry(log))
	if err != nil {
		m.Fatal(err)
	}
	one.host, one.said = host, said
	synctest.Wait()
}

func (m *membersRig) kill(name events.Member) {
	m.members[name].host.Kill()
	m.cluster.Kill(name)
	synctest.Wait()
}

func (m *membersRig) offers(name events.Member) {
	m.Helper()
	for _, cmd := range []capacity.Command{
		capacity.SetQuota{At: time.Now(), Bytes: 1 << 30},
		capacity.Create{At: time.Now(), ID: events.AvailabilityID{1, name[0]}, Now: capacity.Offer{
			Size: 64 * events.BlockSize, Duration: 24 * time.Hour, MinPrice: events.NewAmount(1),
			Collateral: events.NewAmount(1 << 38), Enabled: true,
		}},
	} {
		if err := m.members[name].host.Ledger(m.Context(), cmd); err != nil {
			m.Fatal(err)
		}
		synctest.Wait()
	}
}

// sellers is how many sales each member began.
func (m *membersRig) sellers() map[events.Member]int {
	began := map[events.Member]int{}
	for _, e := range all[*messages.SaleStarted](m.rig) {
		began[events.Member(e.GetMember())]++
	}
	return began
}

// settled checks that all sales are paid and settled, that nothing is left, and nothing was missed.
func (m *membersRig) settled(slots int) {
	m.Helper()
	if m.count("PayoutReceived") != slots || m.count("SaleSettled") != slots || m.count("ProofMissed") != 0 {
		m.Errorf("%d slots: %d paid, %d settled, %d proofs missed", slots,
			m.count("PayoutReceived"), m.count("SaleSettled"), m.count("ProofMissed"))
	}
	for name, one := range m.members {
		if left := one.world.Stored(); len(left) != 0 {
			m.Errorf("member %s has data of %d slots left", name, len(left))
		}
	}
}

var three = []events.Member{"north", "south", "west"}

// What may be at stake is the account's, so it bounds the sales of all members together.
func TestTheCollateralAtRiskIsThatOfAllMembers(t *testing.T) {
	withMembers(t, nil, func(m *membersRig) {
		q := sim.Offer(1, 3)
		each, _ := q.Ask.CollateralPerSlot()
		most := each.MulSaturating(2)
		m.cfg.MaxCollateralAtRisk = &most
		m.offering(three...)
		m.world.Post(q)
		m.mineUntil("two slots are filled", func() bool { return m.count("SlotFilled") == 2 })
		m.mine(20)
		if n := m.count("SaleStarted"); n != 2 {
			m.Errorf("%d sales began, with collateral for two at most", n)
		}
		reasons := ""
		for _, e := range all[*messages.SlotReleased](m.rig) {
			reasons += e.GetCriterion() + " "
		}
		if !strings.Contains(reasons, string(capacity.AtRisk)) {
			m.Errorf("the slots were released for %q", reasons)
		}
	})
}

func TestTheSlotsOfARequestAreSoldByAllMembers(t *testing.T) {
	withMembers(t, three, func(m *membersRig) {
		q := sim.Offer(1, 3)
		m.world.Post(q)
		m.mineUntil("all slots are settled", func() bool { return m.count("SaleSettled") == 3 })
		m.settled(3)
		want := map[events.Member]int{"north": 1, "south": 1, "west": 1}
		if got := m.sellers(); !maps.Equal(got, want) {
			m.Errorf("sales by member: %v, want %v", got, want)
		}
		handed := all[*messages.SlotHandedOut](m.rig)
		if len(handed) != 3 {
			m.Errorf("%d slots were handed out", len(handed))
		}
		terms := all[*messages.TermTaken](m.rig)
		if len(terms) != 1 || terms[0].GetMember() != "north" {
			m.Errorf("the terms: %v", terms)
		}
		if m.members["south"].account.Owned()+m.members["west"].account.Owned() > 0 {
			m.Error("a member without the term owned the account's transactions")
		}
	})
}

// One account pays for the proofs of all members.
func TestTheCoinsMustLastForTheProofsOfAllMembers(t *testing.T) {
	withMembers(t, nil, func(m *membersRig) {
		m.cfg.WalletDays = 1
		m.offering(three...)
		m.world.Post(long(1, 3))
		m.mineUntil("each member proves", func() bool { return m.count("ProofSubmitted") >= 6 })
		m.kill("west")
		m.begin("west")
		m.mine(2)
		for name, one := range m.members {
			s, err := one.host.Status(m.Context())
			if err != nil {
				m.Fatal(err)
			}
			if here := s.Prover.Slots; here != 1 || s.Needs.Proofs < 2*10*3600/period { // Two need less in their ten hours.
				m.Errorf("%s needs coins for %d proofs a day, and proves %d slots itself", name, s.Needs.Proofs, here)
			}
		}
	})
}

// The death of the owner stops nothing but what lies on its own disk.
func TestAnotherMemberTakesTheTermOfADeadOwner(t *testing.T) {
	withMembers(t, three, func(m *membersRig) {
		q := long(1, 3)
		m.world.Post(q)
		m.mineUntil("all slots are filled", func() bool { return m.count("SlotFilled") == 3 })
		m.kill("north")
		proven := m.count("ProofSubmitted")
		m.mineUntil("somebody else has the term", func() bool { return len(all[*messages.TermTaken](m.rig)) == 2 })
		m.mineUntil("the living members prove", func() bool { return m.count("ProofSubmitted") > proven+4 })
		m.world.Post(sim.Offer(2, 2))
		m.mineUntil("more is sold", func() bool { return m.count("SlotFilled") == 5 })
		after := all[*messages.TermTaken](m.rig)
		if owner := after[1].GetMember(); owner != "south" && owner != "west" || after[1].GetTerm() != 2 {
			m.Errorf("term %d was taken by %s", after[1].GetTerm(), owner)
		}
		m.begin("north")
		m.mine(5)
		if terms := all[*messages.TermTaken](m.rig); len(terms) != 2 {
			m.Errorf("the member that came back changed the term: %v", terms)
		}
		if s, err := m.members["north"].host.Status(m.Context()); err != nil || len(s.Sales) != 1 {
			m.Errorf("the member that came back has %d sales: %v", len(s.Sales), err)
		}
	})
}

// An owner that lost its lease goes on until another member has taken the term, and then stops what
// runs once per host. Its own sales go on, and it may have the term again.
func TestADeposedOwnerStepsDownAndMayComeBack(t *testing.T) {
	withMembers(t, []events.Member{"north", "south"}, func(m *membersRig) {
		m.world.Post(long(1, 2))
		m.mineUntil("all slots are filled", func() bool { return m.count("SlotFilled") == 2 })
		for term, owner := range []events.Member{"south", "north", "south"} {
			held := m.cluster.Holder()
			m.cluster.Expire(held)
			m.mineUntil("the term changes hands", func() bool {
				return m.members[owner].account.Owns() && !m.members[held].account.Owns()
			})
			terms := all[*messages.TermTaken](m.rig)
			if last := terms[len(terms)-1]; last.GetMember() != string(owner) || last.GetTerm() != uint64(term)+2 {
				m.Fatalf("term %d was taken by %s", last.GetTerm(), last.GetMember())
			}
			proven := m.count("ProofSubmitted")
			m.mineUntil("both prove", func() bool { return m.count("ProofSubmitted") > proven+4 })
			m.world.Post(long(byte(term)+2, 2))
			m.mineUntil("more is sold", func() bool { return m.count("SlotFilled") == 4+2*term })
		}
		if missed := m.count("ProofMissed"); missed > 0 {
			m.Errorf("%d proofs were missed", missed)
		}
	})
}

// A stop in good order says that the term is over, and lets others have it at once.
func TestAStopGivesTheTermBack(t *testing.T) {
	withMembers(t, []events.Member{"north", "south"}, func(m *membersRig) {
		if err := m.members["north"].host.Stop(m.Context()); err != nil {
			m.Fatal(err)
		}
		synctest.Wait()
		terms, ends := all[*messages.TermTaken](m.rig), all[*messages.TermEnded](m.rig)
		if len(terms) != 2 || terms[1].GetMember() != "south" || len(ends) != 1 || ends[0].GetTerm() != 1 {
			m.Errorf("terms %v, ends %v", terms, ends)
		}
	})
}

// Between the hand-out and the start of a sale, each may die.
func TestASlotThatWasHandedOutIsSoldOnceWhoeverDies(t *testing.T) {
	for _, victim := range []events.Member{"north", "south"} {
		t.Run(string(victim), func(t *testing.T) {
			withMembers(t, []events.Member{"north", "south"}, func(m *membersRig) {
				q := long(1, 2)
				m.world.Post(q)
				m.world.Mine(1)
				for range 10_000 {
					if m.count("SlotHandedOut") == 2 {
						break
					}
					time.Sleep(time.Millisecond)
				}
				m.kill(victim)
				m.mine(10)
				m.begin(victim)
				m.mineUntil("all slots are filled", func() bool { return m.count("SlotFilled") == 2 })
				slots := map[string]int{}
				for _, e := range all[*messages.SaleStarted](m.rig) {
					slots[e.GetSlotId()]++
				}
				if len(slots) != 2 || slices.Max(slices.Collect(maps.Values(slots))) > 1 {
					m.Errorf("sales by slot: %v", slots)
				}
			})
		})
	}
}

// A member that dies right before it records the start of a sale says when it is back that it sells nothing of it. Then
// the slot is judged again at once.
func TestASlotOfWhichAMemberRecordedNothingIsJudgedAgainWhenItSaysSo(t *testing.T) {
	withMembers(t, nil, func(m *membersRig) {
		m.add("north", m.world)
		store := m.keeping("north")
		m.begin("north")
		m.offers("north")
		m.add("south", m.world.Beside())
		m.begin("south")
		m.offers("south")
		store.keep(func(name string) bool { return name == "SaleStarted" })
		m.world.Post(long(1, 2))
		m.mineUntil("both are handed out", func() bool { return m.count("SlotHandedOut") == 2 })
		m.kill("north")
		store.release(false)
		m.mine(10)
		m.begin("north")
		// The worker's patience is ten minutes, and so is the pause of a slot of which nobody says anything.
		m.mineUntil("all slots are filled", func() bool { return m.count("SlotFilled") == 2 })
	})
}

// A process that is not told that it is a member would run the whole host.
func TestAProcessWithoutAMemberIsRefusedOnAHostThatHasMembers(t *testing.T) {
	withMembers(t, []events.Member{"north", "south"}, func(m *membersRig) {
		_, err := actors.Start(m.Context(), m.cfg, m.ports, silent())
		if !errors.Is(err, membership.ErrHasMembers) {
			m.Errorf("it began: %v", err)
		}
	})
}

// A host of one process becomes the first member, and keeps its ledger and its sales.
func TestAHostOfOneProcessBecomesTheFirstMember(t *testing.T) {
	inWorld(t, func(r *rig) {
		r.start()
		r.offer(64 * events.BlockSize)
		r.world.Post(long(1, 1))
		r.mineUntil("the slot is filled", r.has("SlotFilled"))
		if err := r.host.Stop(r.Context()); err != nil {
			r.Fatal(err)
		}
		r.host = nil
		m := newMembersRig(r)
		m.cfg.UsedDirectory = true
		m.add("north", r.world)
		m.begin("north")
		m.cfg.UsedDirectory = false
		m.add("south", r.world.Beside())
		m.begin("south")
		m.offers("south")
		defer func() {
			for _, name := range []events.Member{"north", "south"} {
				m.kill(name)
			}
			time.Sleep(time.Minute)
		}()
		proven := r.count("ProofSubmitted")
		m.mineUntil("it goes on proving", func() bool { return r.count("ProofSubmitted") > proven })
		m.world.Post(sim.Offer(2, 2))
		m.mineUntil("both sell", func() bool { return m.count("SlotFilled") == 3 })
		if got := m.sellers(); got["north"] != 1 || got["south"] != 1 || got[""] != 1 {
			m.Errorf("sales by member: %v", got)
		}
	})
}
