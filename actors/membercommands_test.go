package actors_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/downtime"
	"github.com/hostnode/hostnode/actors/members"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/actors/sim"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	core "github.com/hostnode/hostnode/events/downtime"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/messages"
)

// An operator gives a command to any member, and it is passed on to the one that it concerns.
func TestCommandsArePassedOnToTheMemberThatTheyConcern(t *testing.T) {
	withMembers(t, []events.Member{"north", "south"}, func(m *membersRig) {
		south := m.members["south"].host
		if err := south.Queue(m.Context(), slotqueue.Pause{At: time.Now(), Reason: "a walk"}); err != nil {
			m.Fatal(err)
		}
		if paused := all[*messages.QueuePaused](m.rig); len(paused) != 1 || paused[0].GetReason() != "a walk" {
			m.Errorf("pauses: %v", paused)
		}
		if err := south.Queue(m.Context(), slotqueue.Resume{At: time.Now(), Reason: "back"}); err != nil {
			m.Fatal(err)
		}
		id := events.AvailabilityID{7}
		create := capacity.Create{At: time.Now(), ID: id, Now: capacity.Offer{
			Size: events.BlockSize, Duration: time.Hour, MinPrice: events.NewAmount(5), Collateral: events.NewAmount(9),
			Enabled: true,
		}}
		if err := south.LedgerOf(m.Context(), "north", create); err != nil {
			m.Fatal(err)
		}
		price := events.NewAmount(6)
		for range 2 { // Repeating it is harmless.
			if err := south.LedgerOf(m.Context(), "north", capacity.Update{At: time.Now(), ID: id, MinPrice: &price}); err != nil {
				m.Fatal(err)
			}
		}
		s, err := m.members["north"].host.ViewLedger(m.Context())
		if err != nil {
			m.Fatal(err)
		}
		found := false
		for _, a := range s.Availabilities {
			found = found || a.ID == id && a.MinPrice == price && a.Collateral == create.Now.Collateral
		}
		if !found {
			m.Errorf("north's ledger: %+v", s.Availabilities)
		}
		if err := south.LedgerOf(m.Context(), "north", capacity.Delete{At: time.Now(), ID: id}); err != nil {
			m.Fatal(err)
		}
		err = south.LedgerOf(m.Context(), "north", capacity.Update{At: time.Now(), ID: events.AvailabilityID{8}, MinPrice: &price})
		if !errors.Is(err, capacity.ErrUnknownAvailability) || !strings.Contains(err.Error(), "member north") {
			m.Errorf("an unknown availability: %v", err)
		}
		err = south.LedgerOf(m.Context(), "east", create)
		if !errors.Is(err, actors.ErrUnknownMember) || !strings.Contains(err.Error(), "its members are north, south") {
			m.Errorf("an unknown member: %v", err)
		}
		work := shell.Subject{Kind: shell.SubjectSlot, Key: events.SlotID{1}.String()}
		if err := south.TryAgain(m.Context(), work); !errors.Is(err, shell.ErrNotQuarantined) {
			m.Errorf("nothing is quarantined: %v", err)
		}
	})
}

// Each member says by itself what it has to do, to whichever is asked.
func TestEachMemberSaysWhatItHasToDo(t *testing.T) {
	withMembers(t, three, func(m *membersRig) {
		m.world.Post(sim.Offer(1, 3))
		m.mineUntil("each member proves", func() bool { return m.count("ProofSubmitted") >= 6 })
		work := func(asked, of events.Member) members.Work {
			w, err := m.members[asked].host.WorkOf(m.Context(), of)
			if err != nil {
				m.Fatal(err)
			}
			return w
		}
		fromSouth := [][2]events.Member{{"north", "south"}, {"south", "west"}}
		m.links(true, fromSouth...) // A proof of south waits for the owner until half of its time has passed.
		var own members.Work
		m.mineUntil("south has a proof to send", func() bool {
			own = work("south", "")
			return own.ProofsDue > 0
		})
		m.links(false, fromSouth...)
		south, err := m.members["south"].host.Status(m.Context())
		if err != nil {
			m.Fatal(err)
		}
		want := members.Work{
			Head: south.Head.Number, ProofsDue: 1, ProverBusy: south.Prover.Busy, ProverMost: south.Prover.Most, MayOwn: true,
		}
		if told := work("west", "south"); own != want || told != want || want.Head == 0 || want.ProverMost != 60 {
			m.Errorf("south says %+v, and to west %+v, want %+v", own, told, want)
		}
		m.kill("south")
		if w, err := m.members["west"].host.WorkOf(m.Context(), "south"); !errors.Is(err, events.ErrMemberAway) {
			m.Errorf("a dead member: %+v, %v", w, err)
		}
	})
}

// If nobody answers, the error names the member.
func TestACommandToAMemberThatIsAwayNamesIt(t *testing.T) {
	withMembers(t, []events.Member{"north", "south"}, func(m *membersRig) {
		m.kill("south")
		err := m.members["north"].host.LedgerOf(m.Context(), "south", capacity.Delete{At: time.Now()})
		if !errors.Is(err, events.ErrMemberAway) || !strings.Contains(err.Error(), "south") {
			m.Errorf("to a dead member: %v", err)
		}
	})
}

// Each command of an operator travels as it was given; what is none is refused.
func TestCommandsOfOtherKindsDoNotTravel(t *testing.T) {
	if _, err := members.ToLedger(capacity.SetQuota{}); !errors.Is(err, events.ErrMalformed) {
		t.Errorf("a quota: %v", err)
	}
	if _, err := members.ToQueue(slotqueue.Take{}); !errors.Is(err, events.ErrMalformed) {
		t.Errorf("a take: %v", err)
	}
	if _, err := (members.ChangeLedger{}).Command(); !errors.Is(err, events.ErrMalformed) {
		t.Errorf("an empty one: %v", err)
	}
	if _, err := (members.ChangeQueue{}).Command(); !errors.Is(err, events.ErrMalformed) {
		t.Errorf("an empty one: %v", err)
	}
}

// A member of a newer version passes on an order that this one does not know: it is refused, and not taken for another one.
func TestAnOrderThatIsNotKnownHereIsRefused(t *testing.T) {
	takes := actors.Taker[core.Status, downtime.Order](shell.NewPart(downtime.Name))
	for _, order := range []string{`{"Node":"a","Evict":{"By":"anna"}}`, `{"Node":"a","Force":{"To":3,"For":"1h"}}`} {
		_, err := takes(t.Context(), nil, []byte(order))
		if !errors.Is(err, events.ErrMalformed) || !strings.Contains(err.Error(), "different versions") {
			t.Errorf("%s: %v", order, err)
		}
	}
}
