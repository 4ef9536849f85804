package slotqueue

import (
	"strings"
	"testing"

	"github.com/hostnode/hostnode/messages"
)

func TestEventsThatContradictTheRecordArePassedOverAndTold(t *testing.T) {
	id := request(1).String()
	tests := []struct {
		name string
		when Event
		says string
	}{
		{"queued twice", &messages.SlotsQueued{RequestId: id, SlotIndices: []uint64{1}, Profitability: "1", Collateral: "1"}, "queued twice"},
		{"queued while taken", &messages.SlotsQueued{RequestId: id, SlotIndices: []uint64{0}, Profitability: "1", Collateral: "1"}, "queued twice"},
		{"taken twice", &messages.SlotTaken{RequestId: id, SlotIndex: 0}, "not queued"},
		{"taken out of nothing", &messages.SlotTaken{RequestId: id, SlotIndex: 9}, "not queued"},
		{"released out of nothing", &messages.SlotReleased{RequestId: id, SlotIndex: 9}, "not taken"},
		{"released while queued", &messages.SlotReleased{RequestId: id, SlotIndex: 1, Requeue: true}, "not taken"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := given(t, Limits{}, queue(1, 5, 0, 1), take)
			before := order(s)
			s = Evolve(s, test.when)
			s = Evolve(s, test.when)
			if got := order(s); got != before || len(s.Taken()) != 1 {
				t.Fatalf("order %s, want it unchanged: %s", got, before)
			}
			err := s.Check()
			if err == nil || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), "2 events") {
				t.Fatalf("check says %v, want 2 events and %q", err, test.says)
			}
		})
	}
}

func TestCheckFindsIndexesThatDisagree(t *testing.T) {
	slot := func(s *State, index uint64) *item { return s.items[key{request(1), index}] }
	tests := []struct {
		name  string
		spoil func(*State)
		says  string
	}{
		{"more than the limit", func(s *State) { s.limits.MaxItems = 1 }, "the limit is 1"},
		{"more refusals than the limit", func(s *State) { s.limits.MaxRefused = -1 }, "refused requests"},
		{"a wrong place", func(s *State) { slot(s, 2).inBest = 7 }, "believes 7"},
		{"a wrong order", func(s *State) { slot(s, 2).seen = true }, "below a worse one"},
		{"a lost slot", func(s *State) { delete(s.items, key{request(1), 2}) }, "4 slots, of which"},
		{"a slot under another's name", func(s *State) { slot(s, 2).index = 0 }, "filed as another"},
		{"a slot in another's place", func(s *State) { slot(s, 2).inRequest = 0 }, "its request believes"},
		{"a slot that nobody has", func(s *State) { s.taken[0] = slot(s, 2) }, "taken by nobody"},
		{"a seen slot that is not listed", func(s *State) { s.seen.by[""][0] = slot(s, 2) }, "not among the seen"},
		{"a slot that is listed as seen", func(s *State) { s.seen.by[""] = append(s.seen.by[""], slot(s, 2)) }, "2 seen slots"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			// Of five slots one is seen and one taken.
			s := given(t, Limits{}, queue(1, 5, 0, 1, 2, 3, 4), take, release(1, 0, true), take)
			test.spoil(&s)
			err := s.Check()
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Fatalf("check says %v, want %q", err, test.says)
			}
		})
	}
}
