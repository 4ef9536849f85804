package validation_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/validation"
	"github.com/hostnode/hostnode/messages"
)

// at is a log in a block of chain time now+block seconds.
func at(block uint64) *messages.ChainLog {
	return &messages.ChainLog{Block: block, BlockHash: events.Hash{byte(block)}.String(), Time: events.TimeToMessage(inBlock(block))}
}

func inBlock(block uint64) time.Time { return now.Add(time.Duration(block) * time.Second) }

func posted(id byte, block uint64) messages.MarketEvent {
	r := events.Request{
		ID: events.RequestID{id}, Expiry: 100 * time.Second,
		Ask: events.Ask{Slots: 4, Duration: hour, ProofProbability: events.NewAmount(uint64(id))},
	}
	return &messages.ChainStorageRequested{
		RequestId: r.ID.String(), Request: events.RequestToMessage(r), Log: at(block),
		ExpiresAt: events.TimeToMessage(inBlock(block).Add(r.Expiry)),
	}
}

func filled(id byte, index, block uint64) messages.MarketEvent {
	return &messages.ChainSlotFilled{RequestId: events.RequestID{id}.String(), SlotIndex: index, Log: at(block)}
}

func freed(id byte, index, block uint64) messages.MarketEvent {
	return &messages.ChainSlotFreed{RequestId: events.RequestID{id}.String(), SlotIndex: index, Log: at(block)}
}

func fulfilled(id byte, block uint64) messages.MarketEvent {
	return &messages.ChainRequestFulfilled{RequestId: events.RequestID{id}.String(), Log: at(block)}
}

func failed(id byte, block uint64) messages.MarketEvent {
	return &messages.ChainRequestFailed{RequestId: events.RequestID{id}.String(), Log: at(block)}
}

func cancelled(id byte, block uint64) messages.MarketEvent {
	return &messages.ChainRequestCancelled{RequestId: events.RequestID{id}.String(), Log: at(block)}
}

func reorganized(ancestor uint64) messages.MarketEvent {
	return &messages.ChainReorganized{Ancestor: ancestor, AncestorHash: events.Hash{1}.String()}
}

// place is a request and an index.
type place struct {
	Request byte
	Index   uint64
}

func places(slots []validation.Slot) []place {
	list := []place{}
	for _, s := range slots {
		list = append(list, place{s.Request[0], s.Index})
	}
	return list
}

func nobody(events.SlotID) bool { return false }

func TestWhatTheMarketSaysDecidesWhichSlotsAreWatched(t *testing.T) {
	for name, c := range map[string]struct {
		said []messages.MarketEvent
		when uint64 // block
		want []place
	}{
		"a filled slot is watched":           {[]messages.MarketEvent{posted(1, 1), filled(1, 2, 5)}, 6, []place{{1, 2}}},
		"a fill of an unknown request isn't": {[]messages.MarketEvent{filled(1, 2, 5)}, 6, []place{}},
		"a freed slot is left":               {[]messages.MarketEvent{posted(1, 1), filled(1, 2, 5), freed(1, 2, 6)}, 7, []place{}},
		"a repaired slot comes back, last": {
			[]messages.MarketEvent{posted(1, 1), filled(1, 2, 5), filled(1, 3, 5), freed(1, 2, 6), filled(1, 2, 7)},
			8,
			[]place{{1, 3}, {1, 2}},
		},
		"an expired request is left": {[]messages.MarketEvent{posted(1, 1), filled(1, 2, 5)}, 102, []place{}},
		"at its expiry it is not":    {[]messages.MarketEvent{posted(1, 1), filled(1, 2, 5)}, 101, []place{{1, 2}}},
		"a fulfilled request goes on": {
			[]messages.MarketEvent{posted(1, 1), filled(1, 2, 5), fulfilled(1, 6)}, 3600, []place{{1, 2}},
		},
		"until its end":          {[]messages.MarketEvent{posted(1, 1), filled(1, 2, 5), fulfilled(1, 6)}, 3601, []place{}},
		"a failed one is left":   {[]messages.MarketEvent{posted(1, 1), filled(1, 2, 5), failed(1, 9)}, 9, []place{}},
		"so is a cancelled one":  {[]messages.MarketEvent{posted(1, 1), filled(1, 2, 5), cancelled(1, 9)}, 9, []place{}},
		"a dropped fill is left": {[]messages.MarketEvent{posted(1, 1), filled(1, 2, 5), reorganized(4)}, 6, []place{}},
		"a kept fill is not":     {[]messages.MarketEvent{posted(1, 1), filled(1, 2, 5), reorganized(5)}, 6, []place{{1, 2}}},
		"a dropped freeing is taken back": {
			[]messages.MarketEvent{posted(1, 1), filled(1, 2, 5), filled(1, 3, 5), freed(1, 2, 9), reorganized(8)},
			9,
			[]place{{1, 2}, {1, 3}},
		},
		"a dropped failure is taken back": {
			[]messages.MarketEvent{posted(1, 1), filled(1, 2, 5), failed(1, 9), reorganized(8)}, 9, []place{{1, 2}},
		},
		"a dropped request takes its fills along": {
			[]messages.MarketEvent{posted(1, 3), filled(1, 2, 5), reorganized(2), filled(1, 2, 4)}, 9, []place{},
		},
		"a block that comes back counts again": {
			[]messages.MarketEvent{posted(1, 1), filled(1, 2, 5), reorganized(4), filled(1, 2, 5)}, 9, []place{{1, 2}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := validation.NewWatch(validation.Settings{})
			for _, e := range c.said {
				w.Apply(e)
			}
			got, _ := w.Slots(inBlock(c.when), nobody)
			if diff := cmp.Diff(c.want, places(got)); diff != "" {
				t.Fatalf("watched (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSlotsBeyondTheLimitAreSkippedInTheOrderOfTheirFill(t *testing.T) {
	w := validation.NewWatch(validation.Settings{MaxSlots: 2})
	w.Apply(posted(1, 1))
	for i := range uint64(4) {
		w.Apply(filled(1, 3-i, 5+i))
	}
	watched, skipped := w.Slots(inBlock(9), nobody)
	if diff := cmp.Diff([]place{{1, 3}, {1, 2}}, places(watched)); diff != "" || skipped != 2 {
		t.Fatalf("%d skipped, watched (-want +got):\n%s", skipped, diff)
	}
	ours := watched[0].Slot
	watched, skipped = w.Slots(inBlock(9), func(s events.SlotID) bool { return s == ours })
	if diff := cmp.Diff([]place{{1, 2}, {1, 1}}, places(watched)); diff != "" || skipped != 1 {
		t.Fatalf("beside a slot of ours: %d skipped, watched (-want +got):\n%s", skipped, diff)
	}
	w.Apply(freed(1, 3, 9))
	watched, skipped = w.Slots(inBlock(9), nobody)
	if diff := cmp.Diff([]place{{1, 2}, {1, 1}}, places(watched)); diff != "" || skipped != 1 {
		t.Fatalf("after one left: %d skipped, watched (-want +got):\n%s", skipped, diff)
	}
}

func TestASlotHasWhatDecidesItsDuties(t *testing.T) {
	w := validation.NewWatch(validation.Settings{})
	w.Apply(posted(7, 1))
	w.Apply(filled(7, 2, 5))
	got, _ := w.Slots(inBlock(6), nobody)
	want := []validation.Slot{{
		SlotRef: events.SlotRef{
			Request: events.RequestID{7}, Slot: events.SlotIDOf(events.RequestID{7}, 2), Index: 2,
		},
		FilledAt: inBlock(5), ProofProbability: events.NewAmount(7),
	}}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b events.Amount) bool { return a == b })); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
}

func TestWhatIsOverForLongIsForgotten(t *testing.T) {
	w := validation.NewWatch(validation.Settings{})
	w.Apply(posted(1, 1))
	w.Apply(filled(1, 0, 2))
	w.Prune(inBlock(101 + 3600))
	w.Apply(fulfilled(1, 50)) // The request is still known.
	if got, _ := w.Slots(inBlock(50), nobody); len(got) != 1 {
		t.Fatalf("watched %v", got)
	}
	w.Prune(inBlock(1 + 3600 + 3600 + 1))
	if got, _ := w.Slots(inBlock(50), nobody); len(got) != 0 {
		t.Fatalf("watched %v", got)
	}
}

// After a reorganisation the watch is as if the dropped logs had never come.
func TestAReorganisationUndoesExactlyWhatItDropped(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var logs []messages.MarketEvent
		var blocks []uint64
		block := uint64(1)
		for range rapid.IntRange(0, 40).Draw(t, "logs") {
			block += rapid.Uint64Range(0, 2).Draw(t, "later")
			id, index := 1+rapid.Byte().Draw(t, "request")%3, rapid.Uint64Range(0, 2).Draw(t, "slot")
			logs = append(logs, rapid.SampledFrom([]messages.MarketEvent{
				posted(id, block), filled(id, index, block), filled(id, index, block), freed(id, index, block),
				fulfilled(id, block), failed(id, block), cancelled(id, block),
			}).Draw(t, "log"))
			blocks = append(blocks, block)
		}
		ancestor := rapid.Uint64Range(0, block).Draw(t, "ancestor")
		all, kept := validation.NewWatch(validation.Settings{}), validation.NewWatch(validation.Settings{})
		for i, e := range logs {
			all.Apply(e)
			if blocks[i] <= ancestor {
				kept.Apply(e)
			}
		}
		all.Apply(reorganized(ancestor))
		got, _ := all.Slots(inBlock(60), nobody)
		want, _ := kept.Slots(inBlock(60), nobody)
		if diff := cmp.Diff(places(want), places(got)); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}
