package js_test

import (
	"bufio"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors/sim"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/projections"
	"github.com/hostnode/hostnode/projections/internal/history"
)

var record = flag.String("record", "", "write this history anew, or all; run make golden-projections after it")

var (
	me    = events.Address{0xaa}
	other = events.Address{0xbb}
)

// TestHistoriesAreRecorded writes the histories, if a flag says so. They are never changed,
// because what was recorded once must fold for ever.
func TestHistoriesAreRecorded(t *testing.T) {
	if *record == "" {
		t.Skip("only with -record")
	}
	for name, tell := range map[string]func(*testing.T) []events.Recorded{
		"a_day":       aDay,
		"ends":        ends,
		"again":       owedAgain,
		"damaged":     damaged,
		"sectors":     sectors,
		"pieces":      pieceFiles,
		"lives":       func(t *testing.T) []events.Recorded { return kept(t, "sectors") },
		"aggregation": func(t *testing.T) []events.Recorded { return kept(t, "aggregation") },
		"nodes":       func(t *testing.T) []events.Recorded { return kept(t, "nodes") },
		"withdrawn":   withdrawn,
		"stuck":       stuck,
		"members":     members,
		"complete":    func(t *testing.T) []events.Recorded { return oldHistory(t, "complete") },
		"forfeited":   func(t *testing.T) []events.Recorded { return oldHistory(t, "forfeited") },
		"simulated":   func(t *testing.T) []events.Recorded { return sim.Run(t, 1, all).Record },
		"spoilt":      func(t *testing.T) []events.Recorded { return sim.Run(t, 1, spoilt).Record },
	} {
		if *record == name || *record == "all" {
			writeHistory(t, filepath.Join("testdata", "histories", name+".jsonl"), tell(t))
		}
	}
}

// members is a host of two members.
func members(t *testing.T) []events.Recorded {
	store := storetest.NewMemory()
	history.New(t, store, me).Members()
	return readAll(t, store)
}

// Scenarios of the simulator that were recorded once, as they were then.
var (
	all = sim.Scenario{
		Fail: 30, Lose: 30, Crash: 4, Stop: 1, Reorganize: 2, Repeat: 10, StoreDown: 1, Pause: 2,
		Requests: 4, Slots: 3, BadContent: true,
	}
	spoilt = sim.Scenario{FailEveryNProofs: 3, Fail: 10}
)

// aDay is an ordinary day of two hosts.
func aDay(t *testing.T) []events.Recorded {
	store := storetest.NewMemory()
	w := history.New(t, store, me)
	w.Start()
	w.Offer(10)
	w.Life(1, 3)
	slashed := w.Begin(w.Request(2))
	w.Fill(slashed)
	w.Miss(slashed, 1, 100_000)
	w.Prove(slashed, 2)
	w.Finish(slashed, 100_000)
	w.Stop()
	w.Start()
	hosting := w.Begin(w.Request(3))
	w.Fill(hosting)
	w.Due(hosting, 5)
	w.Enqueue(w.Request(4))
	o := history.New(t, store, other)
	o.Start()
	o.Offer(2)
	o.Life(1, 1) // The same slot at another host.
	return readAll(t, store)
}

// ends are the ways in which a sale can end, and what an operator can do.
func ends(t *testing.T) []events.Recorded {
	store := storetest.NewMemory()
	w := history.New(t, store, me)
	w.Offer(8)
	size, disabled, until := 12*events.BlockSize, false, w.Now.Add(1000*time.Hour)
	second := events.AvailabilityID{0xa2}
	w.MustLedger(
		capacity.SetQuota{At: w.Now, Bytes: 64 * events.BlockSize},
		capacity.Update{At: w.Now, ID: events.AvailabilityID{0xa1}, Size: &size},
		capacity.Create{At: w.Now, ID: second, Now: capacity.Offer{
			Size: events.BlockSize, Duration: time.Hour, MinPrice: events.MaxAmount(),
			Collateral: events.MaxAmount(), Enabled: true, Until: until,
		}},
		capacity.Update{At: w.Now, ID: second, Enabled: &disabled},
		capacity.Delete{At: w.Now, ID: second},
	)
	ignored := w.Begin(w.Request(1))
	w.MustSale(ignored, sale.ReportNotReservable{At: w.Now, Reason: "the reservations are full"})
	w.Settle(ignored)
	w.Begin(w.Request(1)) // The next attempt.

	cancelled := w.Begin(w.Request(2))
	w.Fill(cancelled)
	w.Due(cancelled, 1)
	w.MustSale(cancelled, w.Facts(cancelled, true, events.SlotCancelled, events.RequestCancelled))
	w.MustSale(cancelled, sale.ReportFreed{At: w.Now, Payout: events.PayoutReceipt{
		Receipt: w.Receipt("free"), Paid: events.NewAmount(131072 + 7), Collateral: events.NewAmount(131072),
	}})
	w.Settle(cancelled)

	failed := w.Begin(w.Request(3))
	w.Fill(failed)
	w.Due(failed, 1)
	w.Due(failed, 2)
	w.MustSale(failed, w.Facts(failed, true, events.SlotFailed, events.RequestFailed))
	w.MustSale(failed, sale.ReportFreed{At: w.Now, Payout: events.PayoutReceipt{Receipt: w.Receipt("drop")}})
	w.Settle(failed)

	forfeited := w.Begin(w.Request(4))
	w.Fill(forfeited)
	w.Miss(forfeited, 1, 90_000)
	w.MustSale(forfeited, sale.ReportProofExcused{At: w.Now, Period: w.Due(forfeited, 2), Reason: "the challenge moved"})
	w.MustSale(forfeited, w.Facts(forfeited, false, events.SlotRepair, events.RequestStarted))
	w.Settle(forfeited)

	errored := w.Begin(w.Request(5))
	w.MustSale(errored, sale.GiveUp{At: w.Now, Reason: "the content does not match", Reprocess: true})
	w.Settle(errored)

	reverted := w.Begin(w.Request(6))
	w.Fill(reverted)
	w.Due(reverted, 1)
	w.MustSale(reverted, w.Facts(reverted, false, events.SlotFree, events.RequestNew))
	again := w.Sales[reverted]
	w.MustSale(reverted, sale.ReportFilled{At: w.Now, Fill: events.Fill{
		Receipt: sameFill(t, store, reverted), FilledAt: w.Now, Block: w.Block(), Collateral: again.Committed,
	}}, sale.ReportExtended{At: w.Now, Until: again.EndsAt})
	w.Finish(reverted, 131072)

	r := w.Request(7)
	adopted := events.SlotIDOf(r.ID, 1)
	w.MustSale(adopted, sale.Start{
		At: w.Now, Slot: adopted, Index: 1, Request: r, Adopted: true, Repair: true, FailEvery: 3,
		ExpiresAt: w.Now.Add(r.Expiry), EndsAt: w.Now.Add(r.Ask.Duration),
	})
	if err := w.Reserve(adopted); err != nil {
		t.Fatal(err)
	}
	w.MustSale(adopted, sale.ReportStored{At: w.Now, Bytes: r.Ask.SlotSize, Root: events.Root{9}})
	w.MustSale(adopted, w.Facts(adopted, true, events.SlotFilled, events.RequestStarted))
	w.MustSale(adopted, sale.ReportExtended{At: w.Now, Until: w.Sales[adopted].EndsAt})
	w.MustSale(adopted, w.Facts(adopted, false, events.SlotFree, events.RequestNew))

	w.Life(1<<16, 2)
	return readAll(t, store)
}

// owedAgain has a duty that lapsed with an end, a loss and a fill that were all taken back, was
// excused, and is open again; then a miss that cost something.
func owedAgain(t *testing.T) []events.Recorded {
	store := storetest.NewMemory()
	w := history.New(t, store, me)
	w.Offer(1)
	slot := w.Begin(w.Request(1))
	w.Fill(slot)
	for _, gone := range []sale.Command{
		w.Facts(slot, true, events.SlotFinished, events.RequestFinished),
		w.Facts(slot, false, events.SlotRepair, events.RequestStarted),
		w.Facts(slot, false, events.SlotFree, events.RequestNew),
	} {
		w.Due(slot, 1)
		w.MustSale(slot, gone, w.Facts(slot, true, events.SlotFilled, events.RequestStarted),
			sale.ReportExtended{At: w.Now, Until: w.Sales[slot].EndsAt})
	}
	period := w.Due(slot, 1)
	w.MustSale(slot, sale.ReportProofExcused{At: w.Now, Period: period, Reason: "the challenge moved"})
	w.Due(slot, 1)
	w.Miss(slot, 2, 100_000)
	return readAll(t, store)
}

// damaged is a slot whose data is damaged twice, and deleted while it is damaged.
func damaged(t *testing.T) []events.Recorded {
	store := storetest.NewMemory()
	w := history.New(t, store, me)
	w.Offer(1)
	slot := w.Begin(w.Request(1))
	w.Fill(slot)
	w.MustSale(slot,
		sale.ReportDamaged{At: w.Now, Blocks: []uint64{0}, FoundBy: "the scrub"},
		sale.ReportRepaired{At: w.Now, Blocks: []uint64{0}},
		sale.ReportDamaged{At: w.Now, Blocks: []uint64{0}, FoundBy: "the proof of period 1"},
		sale.ReportDamaged{At: w.Now, Whole: true, FoundBy: "the start"},
		sale.ReportRepaired{At: w.Now, Blocks: []uint64{0}})
	w.Finish(slot, 131072)
	return readAll(t, store)
}

func TestADutyThatIsOwedAgainIsCountedOnceByTheServer(t *testing.T) {
	both := newTwins(t)
	for _, r := range owedAgain(t) {
		both.apply(r)
	}
	want := projections.Proofs{Due: 2, Open: 1, Missed: 1}
	if got := both.views.Sales().Sales[0]; got.Proofs != want || got.Collateral.Slashed != "31072" {
		t.Fatalf("proofs %+v, want %+v; slashed %s", got.Proofs, want, got.Collateral.Slashed)
	}
}

// Here the server's view once differed from ours, for a sale that proves.
func TestTheServerKeepsAProvingSaleWhoseFillMoved(t *testing.T) {
	store := storetest.NewMemory()
	w := history.New(t, store, me)
	w.Offer(1)
	slot := w.Begin(w.Request(1))
	w.Fill(slot)
	moved := w.Facts(slot, true, events.SlotFilled, events.RequestNew)
	moved.Fill, moved.Log = sale.FillGone, events.Head{Number: 301, Hash: events.Hash{0xbb}, Time: w.Now}
	w.MustSale(slot, moved)
	both := newTwins(t)
	for _, r := range readAll(t, store) {
		both.apply(r)
	}
	got := both.views.Sales().Sales[0]
	if got.LastEvent.Type != "SlotFilled" || got.Phase != sale.Proving.String() {
		t.Fatalf("after %s it is %s, want it to prove after its fill moved", got.LastEvent.Type, got.Phase)
	}
}

// adopt begins the sale of a slot that was found on chain.
func adopt(w *history.Writer) events.SlotID {
	r := w.Request(1)
	slot := events.SlotIDOf(r.ID, 1)
	w.MustSale(slot, sale.Start{
		At: w.Now, Slot: slot, Index: 1, Request: r, Adopted: true,
		ExpiresAt: w.Now.Add(r.Expiry), EndsAt: w.Now.Add(r.Ask.Duration),
	})
	return slot
}

// The same for a slot that was found on chain, and is no longer ours before its data is here.
func TestTheServerLapsesWhatAnAdoptedSlotOwedWhenItIsLetGo(t *testing.T) {
	store := storetest.NewMemory()
	w := history.New(t, store, me)
	w.Offer(1)
	slot := adopt(w)
	w.Due(slot, 1)
	w.MustSale(slot, w.Facts(slot, false, events.SlotFree, events.RequestFinished))
	both := newTwins(t)
	for _, r := range readAll(t, store) {
		both.apply(r)
	}
	want := projections.Proofs{Due: 1, Lapsed: 1}
	if got := both.views.Sales().Sales[0]; got.Proofs != want {
		t.Fatalf("%s: proofs %+v, want %+v", got.Phase, got.Proofs, want)
	}
}

// sameFill is the receipt of a slot's fill: mined again in another block, it is
// the same transaction.
func sameFill(t *testing.T, store events.Store, slot events.SlotID) events.Receipt {
	t.Helper()
	var found *messages.SlotFilled
	for _, r := range readAll(t, store) {
		if r.Stream != events.SaleStream(me, slot) || r.Type != "SlotFilled" {
			continue
		}
		m, err := catalog.Codec().Decode(r)
		if err != nil {
			t.Fatal(err)
		}
		found = m.(*messages.SlotFilled)
	}
	m := found.GetReceipt()
	return events.Receipt{
		TxHash: events.Must(events.ParseHash(m.GetTxHash())),
		Block: events.Head{
			Number: m.GetBlock(), Hash: events.Must(events.ParseHash(m.GetBlockHash())),
			Time: events.TimeFromMessage(m.GetTime()),
		},
		Fee: events.Must(events.ParseAmount(m.GetFeeWei())), GasUsed: m.GetGasUsed(),
	}
}

// oldHistory is a history that package sale keeps.
func oldHistory(t *testing.T, name string) []events.Recorded {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "events", "sale", "testdata", "history", name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	var out []events.Recorded
	for lines.Scan() {
		var e struct {
			Type    string
			Version uint32
			Data    json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		out = append(out, events.Recorded{
			Stream: events.SaleStream(me, events.SlotID{0x51, 0x07}), Revision: uint64(len(out)),
			Position: events.Position(len(out) + 1), Type: e.Type, Data: e.Data,
			Meta: events.Metadata{Version: e.Version},
		})
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// An adopted slot may be slashed before its fill is recorded. Until then neither view counts what the
// contract holds.
func TestTheServerReadsWhatAnAdoptedSlotLostBeforeItsFill(t *testing.T) {
	store := storetest.NewMemory()
	w := history.New(t, store, me)
	w.Offer(1)
	slot := adopt(w)
	w.Miss(slot, 1, 20_000)
	both := newTwins(t)
	for _, r := range readAll(t, store) {
		both.apply(r)
	}
	got := both.views.Sales().Sales[0]
	if got.LastEvent.Type != "CollateralSlashed" || got.Collateral.OnChain != "0" || got.Collateral.Slashed != "111072" {
		t.Fatalf("after %s the collateral is %+v, want none on chain and 111072 slashed", got.LastEvent.Type, got.Collateral)
	}
}
