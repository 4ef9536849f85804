package projections

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

func TestWhatAValidatorDidIsShownAndKept(t *testing.T) {
	store, w := aDay(t)
	request := events.RequestID{0x77}
	slot := events.SlotIDOf(request, 1)
	receipt := func(n byte) *messages.Receipt {
		return &messages.Receipt{
			TxHash: events.Hash{n}.String(), Block: 9_000, BlockHash: events.Hash{8, n}.String(),
			Time: events.TimeToMessage(w.Now), FeeWei: fmt.Sprint(100 + uint64(n)), GasUsed: 145_000,
		}
	}
	at := events.TimeToMessage(w.Now)
	stream := events.ValidatorStream(w.Me)
	w.Append(stream, "", &messages.ValidationStarted{At: at, MaxSlots: 1000, Groups: 4, GroupIndex: 3})
	for n := range byte(2) {
		key := fmt.Sprintf("mark:%s:%d#1", slot, n)
		w.Append(events.TxStream(w.Me), request.String(),
			&messages.TxIntended{At: at, Key: key, To: w.Me.String(), Data: "0x01"},
			&messages.TxMined{At: at, Key: key, Receipt: receipt(n), Succeeded: n == 0, Error: "refused"})
	}
	w.Append(stream, request.String(),
		&messages.ProofMarked{
			At: at, RequestId: request.String(), SlotId: slot.String(), SlotIndex: 1, Period: 7, Reward: "400", Receipt: receipt(0),
		},
		&messages.MarkingFailed{
			At: at, RequestId: request.String(), SlotId: slot.String(), SlotIndex: 1, Period: 8, Reason: "another was faster",
		})
	v := built(t, store)
	when := events.TimeFromMessage(at)
	want := []Validator{{
		Account: w.Me.String(), Since: when, MaxSlots: 1000, Groups: 4, GroupIndex: 3,
		Marked: 1, Failed: 1, Rewards: "400", FeesWei: "201",
		Newest: []Marking{
			{Slot: slot.String(), Period: 7, At: when, Reward: "400", TxHash: events.Hash{0}.String()},
			{Slot: slot.String(), Period: 8, At: when, Reason: "another was faster"},
		},
	}}
	if diff := cmp.Diff(want, v.Validators().Validators); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	if e := v.Earnings().Earnings[0]; e.ValidatorRewards != "400" || e.Net != "1969328" { // 2000000 for storing, 31072 lost.
		t.Fatalf("marking brought %s, %s net", e.ValidatorRewards, e.Net)
	}
	if diff := cmp.Diff(want, reloaded(t, v).Validators().Validators); diff != "" {
		t.Fatalf("a checkpoint (-want +got):\n%s", diff)
	}
}

func TestOnlyTheNewestMarkingsAreShown(t *testing.T) {
	var h host
	v := &h.validator
	v.fold(&messages.ValidationStarted{})
	for period := range uint64(keptMarkings + 5) {
		v.fold(&messages.MarkingFailed{Period: period, Reason: "late"})
	}
	row := h.validated(nil)[0]
	if len(row.Newest) != keptMarkings || row.Newest[0].Period != 5 || row.Failed != keptMarkings+5 {
		t.Fatalf("%d shown from period %d, %d failed", len(row.Newest), row.Newest[0].Period, row.Failed)
	}
}
