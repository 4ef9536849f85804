package validation_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/validation"
	"github.com/hostnode/hostnode/internal/housetest"
	"github.com/hostnode/hostnode/messages"
)

var now = events.Unix(1_700_000_000)

const hour = time.Hour

func proofOf(slot byte, period uint64) events.MissingProof {
	return events.MissingProof{
		SlotRef: events.SlotRef{Request: events.RequestID{9}, Slot: events.SlotID{slot}, Index: uint64(slot)}, Period: period,
	}
}

func marking(reward, fee uint64) events.Marking {
	return events.Marking{
		Reward: events.NewAmount(reward),
		Receipt: events.Receipt{
			TxHash: events.Hash{1}, GasUsed: 165_000, Fee: events.NewAmount(fee),
			Block: events.Head{Number: 300, Hash: events.Hash{2}, Time: now},
		},
	}
}

// told folds what each command brings, and returns all events.
func told(t *testing.T, s validation.State, commands ...validation.Command) (validation.State, []validation.Event) {
	t.Helper()
	var all []validation.Event
	for _, c := range commands {
		brought, err := validation.Decide(s, c)
		if err != nil {
			t.Fatalf("%T: %v", c, err)
		}
		for _, e := range brought {
			s = validation.Evolve(s, e)
		}
		all = append(all, brought...)
	}
	return s, all
}

func start(most uint64) validation.Start {
	return validation.Start{At: now, Settings: validation.Settings{MaxSlots: most, Groups: 4, GroupIndex: 1}}
}

func TestEachCommandBringsWhatFollows(t *testing.T) {
	marked := validation.ReportMarked{At: now, Proof: proofOf(1, 7), Marking: marking(4000, 33)}
	failed := validation.ReportFailed{At: now, Proof: proofOf(1, 7), Reason: "another validator was faster"}
	var tried []validation.Command
	for name, c := range map[string]struct {
		given []validation.Command
		when  validation.Command
		then  int
	}{
		"the first start is recorded":                {nil, start(1000), 1},
		"a start with the same settings is not":      {[]validation.Command{start(1000)}, start(1000), 0},
		"other settings are recorded":                {[]validation.Command{start(1000)}, start(10), 1},
		"a marking is recorded":                      {[]validation.Command{start(0)}, marked, 1},
		"a marking is recorded once":                 {[]validation.Command{start(0), marked}, marked, 0},
		"a failure is recorded":                      {[]validation.Command{start(0)}, failed, 1},
		"a failure is recorded once":                 {[]validation.Command{start(0), failed}, failed, 0},
		"a failure after the marking is not":         {[]validation.Command{start(0), marked}, failed, 0},
		"a marking after a failure is recorded":      {[]validation.Command{start(0), failed}, marked, 1},
		"a marking after both is not recorded again": {[]validation.Command{start(0), failed, marked}, marked, 0},
		"another period is another proof": {
			[]validation.Command{start(0), marked},
			validation.ReportMarked{At: now, Proof: proofOf(1, 8), Marking: marking(1, 1)},
			1,
		},
	} {
		tried = append(tried, c.when)
		t.Run(name, func(t *testing.T) {
			s, _ := told(t, validation.State{}, c.given...)
			if _, brought := told(t, s, c.when); len(brought) != c.then {
				t.Fatalf("brought %v, want %d events", brought, c.then)
			}
		})
	}
	housetest.Complete(t, ".", "command", tried, "commands that are tried")
}

func TestNothingIsMarkedBeforeTheStart(t *testing.T) {
	for _, c := range []validation.Command{
		validation.ReportMarked{Proof: proofOf(1, 1)}, validation.ReportFailed{Proof: proofOf(1, 1)},
	} {
		if _, err := validation.Decide(validation.State{}, c); !errors.Is(err, validation.ErrNotStarted) {
			t.Fatalf("%T: %v", c, err)
		}
	}
}

func TestTheEventSaysWhatTheMarkingBrought(t *testing.T) {
	s, all := told(t, validation.State{}, start(1000),
		validation.ReportMarked{At: now, Proof: proofOf(1, 7), Marking: marking(4000, 33)},
		validation.ReportMarked{At: now, Proof: proofOf(2, 7), Marking: marking(4000, 34)},
		validation.ReportFailed{At: now, Proof: proofOf(3, 7), Reason: "the window closed"})
	m := marking(4000, 33)
	want := &messages.ProofMarked{
		At: events.TimeToMessage(now), RequestId: proofOf(1, 7).Request.String(), SlotId: proofOf(1, 7).Slot.String(),
		SlotIndex: 1, Period: 7, Reward: "4000", Receipt: events.ReceiptToMessage(m.Receipt),
	}
	if diff := cmp.Diff(proto.Message(want), proto.Message(all[1]), protocmp.Transform()); diff != "" {
		t.Fatalf("event (-want +got):\n%s", diff)
	}
	if s.Marked != 2 || s.Failed != 1 || s.Rewards != events.NewAmount(8000) || s.FeesWei != events.NewAmount(67) {
		t.Fatalf("%d marked, %d failed, %s rewards, %s fees", s.Marked, s.Failed, s.Rewards, s.FeesWei)
	}
	if !s.Settled(proofOf(3, 7).Slot, 7) || s.Settled(proofOf(3, 7).Slot, 8) {
		t.Fatal("what is settled is not what was recorded")
	}
}

func TestWhatIsForgottenIsNotRecordedAgain(t *testing.T) {
	s, _ := told(t, validation.State{}, start(0))
	const many = 16_384 + 5
	for period := range uint64(many) {
		s, _ = told(t, s, validation.ReportMarked{At: now, Proof: proofOf(1, period+1), Marking: marking(1, 1)})
	}
	for _, old := range []uint64{1, 5, 6, many} {
		if _, again := told(t, s, validation.ReportMarked{At: now, Proof: proofOf(1, old), Marking: marking(1, 1)}); len(again) > 0 {
			t.Fatalf("period %d was recorded twice", old)
		}
	}
	if s.Marked != many {
		t.Fatalf("%d marked", s.Marked)
	}
	if _, next := told(t, s, validation.ReportMarked{At: now, Proof: proofOf(2, many), Marking: marking(1, 1)}); len(next) != 1 {
		t.Fatal("a new marking was not recorded")
	}
}

func TestGroupsShareAllSlots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slot := events.SlotID(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "slot"))
		groups := rapid.Uint32Range(2, 65_535).Draw(t, "groups")
		owner := uint64(0)
		for _, b := range slot[:8] { // A big-endian number, digit by digit.
			owner = owner<<8 | uint64(b)
		}
		owner %= uint64(groups)
		for _, index := range []uint32{0, 1, uint32(owner), groups - 1} {
			if mine := (validation.Settings{Groups: groups, GroupIndex: index}).Mine(slot); mine != (uint64(index) == owner) {
				t.Fatalf("group %d of %d has the slot: %v, it belongs to %d", index, groups, mine, owner)
			}
		}
	})
	if !(validation.Settings{}).Mine(events.SlotID{1}) {
		t.Fatal("without groups a slot is left out")
	}
}

func TestCommandsInAnyOrderCountEachProofOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := validation.State{}
		for _, e := range must(validation.Decide(s, start(1))) {
			s = validation.Evolve(s, e)
		}
		marked, count := map[events.MissingProof]bool{}, uint64(0)
		for range rapid.IntRange(0, 60).Draw(t, "commands") {
			p := proofOf(rapid.Byte().Draw(t, "slot")%4, rapid.Uint64Range(1, 3).Draw(t, "period"))
			var c validation.Command = validation.ReportMarked{At: now, Proof: p, Marking: marking(10, 1)}
			if rapid.Bool().Draw(t, "fails") {
				c = validation.ReportFailed{At: now, Proof: p, Reason: "late"}
			} else if !marked[p] {
				marked[p] = true
				count++
			}
			for _, e := range must(validation.Decide(s, c)) {
				s = validation.Evolve(s, e)
			}
			if again := must(validation.Decide(s, c)); len(again) > 0 {
				t.Fatalf("%T twice brought %v", c, again)
			}
		}
		if s.Marked != count || s.Rewards != events.NewAmount(10*count) {
			t.Fatalf("%d marked for %s, want %d", s.Marked, s.Rewards, count)
		}
	})
}

func must(e []validation.Event, err error) []validation.Event {
	if err != nil {
		panic(err)
	}
	return e
}
