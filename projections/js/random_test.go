package js_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/projections/internal/history"
)

// TestTheServersViewsAreOursWhateverTheCoresDecide compares them over random commands.
func TestTheServersViewsAreOursWhateverTheCoresDecide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		store := storetest.NewMemory()
		w := history.New(t, store, me)
		w.Offer(4)
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			anyStep(t, w)
		}
		both := newTwins(t)
		for r, err := range store.ReadAll(t.Context(), 0, 0) {
			if err != nil {
				t.Fatalf("%v", err)
			}
			both.apply(r)
		}
	})
}

// TestTheServersViewsOfSectorsAreOursWhateverTheyDecide is the same of two sectors, whose
// steps take any time.
func TestTheServersViewsOfSectorsAreOursWhateverTheyDecide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		store := storetest.NewMemory()
		w := history.New(t, store, me)
		w.MustLedger(capacity.SetQuota{At: w.Now, Bytes: 1 << 20})
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			w.Now = w.Now.Add(time.Duration(rapid.Int64Range(-1, 5_000_000_001).Draw(t, "later")))
			w.AnySectorStep(t, rapid.Uint64Range(1, 2).Draw(t, "sector"))
		}
		both := newTwins(t)
		for r, err := range store.ReadAll(t.Context(), 0, 0) {
			if err != nil {
				t.Fatalf("%v", err)
			}
			both.apply(r)
		}
	})
}

// anyStep advances one of two sales, or does something else that may happen to it.
func anyStep(t *rapid.T, w *history.Writer) {
	r := w.Request(rapid.Uint64Range(1, 2).Draw(t, "request"))
	slot := events.SlotIDOf(r.ID, 1)
	s := w.Sales[slot]
	if rapid.IntRange(0, 5).Draw(t, "operator") == 0 {
		size := events.Bytes(rapid.Uint64Range(1, 6).Draw(t, "slots")) * events.BlockSize
		enabled := rapid.Bool().Draw(t, "enabled")
		_ = w.AskLedger(capacity.Update{At: w.Now, ID: events.AvailabilityID{0xa1}, Size: &size, Enabled: &enabled})
	}
	if rapid.IntRange(0, 5).Draw(t, "sector") == 0 {
		anyStepOfASector(t, w)
	}
	if s.Phase != sale.Unknown && rapid.IntRange(0, 3).Draw(t, "chain") == 0 {
		_ = w.AskSale(slot, anyReport(t, w, slot))
		return
	}
	n := rapid.Uint64Range(1, 6).Draw(t, "n")
	switch {
	case s.Phase == sale.Unknown || s.Settled:
		_ = w.AskSale(slot, sale.Start{
			At: w.Now, Slot: slot, Index: 1, Request: r, ExpiresAt: w.Now.Add(r.Expiry), EndsAt: w.Now.Add(r.Ask.Duration),
			Adopted: n == 1, Repair: n == 2, FailEvery: uint32(n / 6),
		})
	case s.Owes() && !s.Hosting() && n > 3: // Adopted: it owes proofs before its data is here.
		anyStepOfHosting(t, w, slot, s, n-3)
	case s.Phase == sale.Preparing:
		_ = w.Reserve(slot)
	case s.BeforeFill() && n == 6:
		_ = w.AskSale(slot, sale.GiveUp{At: w.Now, LetGo: rapid.Bool().Draw(t, "let go"), Reason: "tired"})
	case s.BeforeFill():
		anyStepBeforeFill(w, slot, s, n)
	case s.Hosting():
		anyStepOfHosting(t, w, slot, s, n)
	case s.OnChain:
		_ = w.AskSale(slot, sale.ReportFreed{At: w.Now, Payout: events.PayoutReceipt{
			Receipt: w.Receipt("free"), Paid: events.NewAmount(n * 50_000), Collateral: events.NewAmount(n * 30_000),
		}})
	case !s.Deleted:
		_ = w.AskSale(slot, sale.ReportDeleted{At: w.Now})
	default:
		returned, lost := s.Settlement()
		_ = w.AskLedger(capacity.Settle{
			At: w.Now, Slot: slot, Attempt: s.Attempt, CollateralReturned: returned, CollateralLost: lost,
		})
		_ = w.AskSale(slot, sale.ReportSettled{At: w.Now})
	}
}

// anyStepOfASector does a step of one of two sectors; what the ledger refuses leaves no trace.
func anyStepOfASector(t *rapid.T, w *history.Writer) {
	number := rapid.Uint64Range(1, 2).Draw(t, "number")
	tokens := func(name string) events.Amount { return events.NewAmount(rapid.Uint64Range(0, 3).Draw(t, name) * 100) }
	_ = w.AskLedger(rapid.SampledFrom([]capacity.Command{
		capacity.Hold{At: w.Now, Sector: number, Space: capacity.Space{Sealed: 4096, Tree: 1}, Deposit: tokens("deposit")},
		capacity.ReleasePart{At: w.Now, Sector: number, Part: capacity.PartTree},
		capacity.ReleasePart{At: w.Now, Sector: number, Part: capacity.PartSealed},
		capacity.SettleDeposit{At: w.Now, Sector: number, Held: tokens("held"), Lost: tokens("lost")},
	}).Draw(t, "sector command"))
}

// anyReport is anything that the chain may say of a slot, including that its fill is in another
// block than before, or that the contract holds less for it.
func anyReport(t *rapid.T, w *history.Writer, slot events.SlotID) sale.ReportChain {
	c := w.Facts(slot, rapid.Bool().Draw(t, "ours"),
		rapid.SampledFrom([]events.SlotState{
			events.SlotFree, events.SlotFilled, events.SlotFinished, events.SlotFailed, events.SlotCancelled, events.SlotRepair,
		}).Draw(t, "slot"),
		rapid.SampledFrom([]events.RequestState{
			events.RequestNew, events.RequestStarted, events.RequestCancelled, events.RequestFailed, events.RequestFinished,
		}).Draw(t, "state"))
	c.Fill = rapid.SampledFrom([]sale.FillStatus{sale.FillUnasked, sale.FillStands, sale.FillGone}).Draw(t, "fill")
	if n := rapid.Uint64Range(0, 3).Draw(t, "log"); n > 0 {
		c.Log = events.Head{Number: 300 + n, Hash: events.Hash{byte(n)}, Time: w.Now}
	}
	c.Facts.Collateral = c.Facts.Collateral.SubFloor(events.NewAmount(rapid.Uint64Range(0, 1).Draw(t, "slashed") * 30_000))
	return c
}

func anyStepBeforeFill(w *history.Writer, slot events.SlotID, s sale.State, n uint64) {
	switch s.Phase {
	case sale.SlotReserving:
		_ = w.AskSale(slot, sale.ReportSlotReserved{At: w.Now, Receipt: w.Receipt("reserve")})
	case sale.Downloading:
		_ = w.AskLedger(capacity.Release{
			At: w.Now, Reservation: s.Reservation, TotalStored: s.Request.Ask.SlotSize / events.Bytes(n),
		})
		if n == 1 {
			_ = w.AskSale(slot, sale.ReportStored{At: w.Now, Bytes: s.Request.Ask.SlotSize, Root: events.Root{9}})
		}
	case sale.InitialProving:
		_ = w.AskSale(slot, sale.ReportInitialProof{At: w.Now, Challenge: events.Challenge{1}, Proof: events.Proof{{1}}})
	case sale.Filling:
		if n == 1 {
			_ = w.AskSale(slot, sale.ReportProofOutdated{At: w.Now, Challenge: s.Challenge, Reason: "it moved"})
			return
		}
		receipt := w.Receipt("fill")
		_ = w.AskSale(slot, sale.ReportFilled{At: w.Now, Fill: events.Fill{
			Receipt: receipt, FilledAt: w.Now, Block: receipt.Block.Number, Collateral: s.Committed,
			RepairReward: events.NewAmount(n - 2),
		}})
	}
}

func anyStepOfHosting(t *rapid.T, w *history.Writer, slot events.SlotID, s sale.State, n uint64) {
	period := uint64(history.Begin.Unix())/uint64(history.Period/time.Second) + n
	after := events.Unix((period + 1) * uint64(history.Period/time.Second))
	_ = w.AskSale(slot, rapid.SampledFrom([]sale.Command{
		sale.ReportExtended{At: w.Now, Until: s.EndsAt},
		sale.ReportProofDue{At: w.Now, Period: period, Challenge: events.Challenge{byte(n)}, Deadline: after.Add(-time.Second)},
		sale.ReportProofSubmitted{At: w.Now, Period: period, Receipt: w.Receipt("proof"), Took: time.Second},
		sale.ReportProofExcused{At: w.Now, Period: period, Reason: "moved"},
		sale.ReportDamaged{At: w.Now, Blocks: []uint64{n % 2}, Whole: n == 6, FoundBy: "the scrub"},
		sale.ReportRepaired{At: w.Now, Blocks: []uint64{n % 2}, Whole: n > 3},
		sale.ReportPeriodClosed{At: after, Period: period, Reason: "the host was down"},
		sale.ReportCollateral{At: after, Period: period, Collateral: events.NewAmount(20_000 * n)},
	}).Draw(t, "hosting"))
}
