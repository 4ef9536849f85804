package audit

import (
	"bytes"
	"context"
	"os"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/projections"
	"github.com/hostnode/hostnode/projections/internal/history"
)

// Whatever the cores decide, in any order of commands, the audit finds nothing wrong, and the
// views equal rebuilt ones.
func TestWhateverTheCoresDecideIsClean(t *testing.T) { rapid.Check(t, anyHistory) }

func anyHistory(t *rapid.T) {
	store := storetest.NewMemory()
	w := history.New(t, store, me)
	w.Start()
	w.Offer(4)
	dir, err := os.MkdirTemp("", "views")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for range rapid.IntRange(1, 80).Draw(t, "steps") {
		anyStep(t, w)
		if rapid.IntRange(0, 19).Draw(t, "restart") == 0 {
			views(t, store, dir)
		}
	}
	given := views(t, store, dir)
	report, err := Run(context.Background(), store, Options{Views: &given, filterBits: 1 << 12})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range report.Findings {
		switch f.Rule { // These are about something outside the record.
		case ProofOverdue, ProofUnclosed, SlashUnseen:
		default:
			t.Fatalf("%v", f)
		}
	}
	again := views(t, store, "")
	for i := range given.Tables {
		if !bytes.Equal(given.Tables[i].JSON, again.Tables[i].JSON) {
			t.Fatalf("live and rebuilt differ:\n%s\n%s", given.Tables[i].JSON, again.Tables[i].JSON)
		}
	}
}

// views are those of a projector that starts from the checkpoint of the last.
func views(t *rapid.T, store events.Store, dir string) projections.Snapshot {
	p, err := projections.Open(context.Background(), store, projections.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if s := p.Status(); s.Ignored != "" || s.Skipped > 0 {
		t.Fatalf("status %+v", s)
	}
	seen, err := p.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	return seen
}

func anyStep(t *rapid.T, w *history.Writer) {
	r := w.Request(rapid.Uint64Range(1, 4).Draw(t, "request"))
	slot := events.SlotIDOf(r.ID, 1)
	switch rapid.IntRange(0, 9).Draw(t, "step") {
	case 0:
		anyQueueStep(t, w, r)
	case 1:
		if rapid.Bool().Draw(t, "stops") {
			w.Stop()
		}
		w.Start()
	case 2:
		size := events.Bytes(rapid.Uint64Range(1, 8).Draw(t, "slots")) * events.BlockSize
		_ = w.AskLedger(capacity.Update{At: w.Now, ID: events.AvailabilityID{0xa1}, Size: &size})
	default:
		anySaleStep(t, w, r, slot)
	}
}

func anyQueueStep(t *rapid.T, w *history.Writer, r events.Request) {
	all := []slotqueue.Command{
		slotqueue.Queue{At: w.Now, RequestID: r.ID, SlotIndices: []uint64{0, 2, 1}},
		slotqueue.Queue{
			At: w.Now, RequestID: r.ID, SlotIndices: []uint64{0},
			Refusal: &slotqueue.Refusal{Criterion: "size", Reason: "too large"},
		},
		slotqueue.Take{At: w.Now, MaxWorkers: 3},
		slotqueue.Release{At: w.Now, RequestID: r.ID, SlotIndex: 1, Requeue: true},
		slotqueue.Release{At: w.Now, RequestID: r.ID, SlotIndex: 0},
		slotqueue.Remove{At: w.Now, RequestID: r.ID},
		slotqueue.Remove{At: w.Now, RequestID: r.ID, SlotIndices: []uint64{1}},
		slotqueue.Wake{At: w.Now},
		slotqueue.Pause{At: w.Now},
		slotqueue.Resume{At: w.Now},
	}
	w.AskQueue(rapid.SampledFrom(all).Draw(t, "queue"))
}

// anySaleStep does what a sale waits for, or reports something that the chain might say.
func anySaleStep(t *rapid.T, w *history.Writer, r events.Request, slot events.SlotID) {
	s := w.Sales[slot]
	if rapid.IntRange(0, 3).Draw(t, "chain") == 0 && s.Phase != sale.Unknown {
		ours := rapid.Bool().Draw(t, "ours")
		state := rapid.SampledFrom([]events.SlotState{
			events.SlotFree, events.SlotFilled, events.SlotFinished, events.SlotFailed, events.SlotCancelled,
			events.SlotRepair,
		}).Draw(t, "slot")
		req := rapid.SampledFrom([]events.RequestState{
			events.RequestNew, events.RequestStarted, events.RequestCancelled, events.RequestFailed,
			events.RequestFinished,
		}).Draw(t, "request state")
		_ = w.AskSale(slot, w.Facts(slot, ours, state, req))
		return
	}
	if rapid.IntRange(0, 9).Draw(t, "give up") == 0 {
		_ = w.AskSale(slot, sale.GiveUp{At: w.Now, LetGo: rapid.Bool().Draw(t, "let go"), Reason: "tired"})
		return
	}
	switch {
	case s.Phase == sale.Unknown || s.Settled:
		_ = w.AskSale(slot, sale.Start{
			At: w.Now, Slot: slot, Index: 1, Request: r, ExpiresAt: w.Now.Add(r.Expiry),
			EndsAt: w.Now.Add(r.Ask.Duration), Adopted: rapid.IntRange(0, 4).Draw(t, "adopted") == 0,
			FailEvery: rapid.Uint32Range(0, 1).Draw(t, "fail every"),
		})
	case s.Phase == sale.Preparing:
		_ = w.Reserve(slot)
	case s.BeforeFill():
		anyStepBeforeFill(t, w, slot, s)
	case s.Hosting():
		anyStepOfHosting(t, w, slot, s)
	default:
		anyStepOfTheEnd(t, w, slot, s)
	}
}

func anyStepBeforeFill(t *rapid.T, w *history.Writer, slot events.SlotID, s sale.State) {
	tx := func() events.Receipt { return w.Receipt(slot.String() + s.Phase.String() + w.Now.String()) }
	switch s.Phase {
	case sale.SlotReserving:
		_ = w.AskSale(slot, sale.ReportSlotReserved{At: w.Now, Receipt: tx()})
	case sale.Downloading:
		_ = w.AskLedger(capacity.Release{
			At: w.Now, Reservation: s.Reservation,
			TotalStored: events.Bytes(rapid.Uint64Range(1, uint64(events.BlockSize)).Draw(t, "stored")),
		})
		_ = w.AskSale(slot, sale.ReportStored{At: w.Now, Bytes: events.BlockSize, Root: events.Root{1}})
	case sale.InitialProving:
		_ = w.AskSale(slot, sale.ReportInitialProof{At: w.Now, Challenge: events.Challenge{1}, Proof: events.Proof{{1}}})
	default:
		if rapid.IntRange(0, 3).Draw(t, "outdated") == 0 {
			_ = w.AskSale(slot, sale.ReportProofOutdated{At: w.Now, Challenge: s.Challenge})
			return
		}
		_ = w.AskSale(slot, sale.ReportFilled{At: w.Now, Fill: events.Fill{
			Receipt: tx(), FilledAt: w.Now, Block: w.Block(), Collateral: s.Committed,
		}})
	}
}

func anyStepOfHosting(t *rapid.T, w *history.Writer, slot events.SlotID, s sale.State) {
	if s.Phase == sale.Filled {
		_ = w.AskSale(slot, sale.ReportExtended{At: w.Now, Until: s.EndsAt})
		return
	}
	if len(s.Unchecked) > 0 {
		_ = w.AskSale(slot, sale.ReportCollateral{
			At: w.Now, Period: s.Unchecked[0],
			Collateral: upTo(t, s.Collateral, "holds"),
		})
		return
	}
	period := 1 + rapid.Uint64Range(s.LastPeriod, s.LastPeriod+1).Draw(t, "period")
	if len(s.Duties) > 0 {
		period = s.Duties[0].Period
	}
	deadline := w.Now.Add(time.Minute)
	_ = w.AskSale(slot, rapid.SampledFrom([]sale.Command{
		sale.ReportProofDue{At: w.Now, Period: period, Challenge: events.Challenge{1}, Deadline: deadline},
		sale.ReportProofDue{At: w.Now, Period: period, Challenge: events.Challenge{2}, Deadline: deadline},
		sale.ReportProofSubmitted{At: w.Now, Period: period, Receipt: w.Receipt("p" + w.Now.String())},
		sale.ReportPeriodClosed{At: deadline.Add(time.Second), Period: period, Reason: "late"},
		sale.ReportProofExcused{At: w.Now, Period: period, Reason: "moved"},
	}).Draw(t, "hosting"))
}

func anyStepOfTheEnd(t *rapid.T, w *history.Writer, slot events.SlotID, s sale.State) {
	switch {
	case s.OnChain:
		back := upTo(t, s.Collateral, "back")
		_ = w.AskSale(slot, sale.ReportFreed{At: w.Now, Payout: events.PayoutReceipt{
			Paid: back.Add(events.NewAmount(1000)), Collateral: back,
			Receipt: w.Receipt("f" + w.Now.String()),
		}})
	case !s.Deleted:
		_ = w.AskSale(slot, sale.ReportDeleted{At: w.Now})
	default:
		w.Release(slot)
		_ = w.AskSale(slot, sale.ReportSettled{At: w.Now})
	}
}

// upTo is an amount that the contract can still hold, which never grows.
func upTo(t *rapid.T, held events.Amount, what string) events.Amount {
	return events.NewAmount(rapid.Uint64Range(0, held.Big().Uint64()).Draw(t, what))
}
