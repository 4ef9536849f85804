package audit

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/projections/internal/history"
)

var marketStream = events.MarketStream(1337, events.Address{2}) // As package history starts its hosts.

// causes gives the n-th event of a type another cause, and the id that follows from it.
func causes(name string, n int, cause func(r *record) string) func(*record) {
	return func(r *record) {
		r.list[r.at(name, n)].Meta.Cause = cause(r)
		r.derive()
	}
}

// caused gives the first event of a type a cause and the id of the event that led to it.
func caused(name, key string, by func(r *record) string) func(*record) {
	return func(r *record) {
		causes(name, 0, func(r *record) string { return strings.ReplaceAll(key, "SLOT", slotOf(r)) })(r)
		r.list[r.at(name, 0)].Meta.Causation = by(r)
	}
}

// idOf is the id of the n-th event of a type.
func idOf(name string, n int) func(r *record) string {
	return func(r *record) string { return r.list[r.at(name, n)].ID.String() }
}

func because(text string) func(*record) string { return func(*record) string { return text } }

// slotOf is the slot of the first sale.
func slotOf(r *record) string {
	_, slot, err := events.ParseSaleStream(r.list[r.at("SaleStarted", 0)].Stream)
	if err != nil {
		panic(err)
	}
	return slot.String()
}

// markets adds a market stream with a request and a block to the record.
func markets(r *record, request string) {
	log := &messages.ChainLog{
		Block: 290, BlockHash: zeros, TxHash: zeros, Index: 4, Time: events.TimeToMessage(history.Begin),
	}
	r.insert(1, marketStream, &messages.ChainRequestFulfilled{RequestId: request, Log: log})
	r.insert(2, marketStream, &messages.BlocksScanned{
		Number: 290, Hash: zeros, Time: events.TimeToMessage(history.Begin),
	})
}

func requestOf(r *record) string { return r.list[r.at("SaleStarted", 0)].Meta.Correlation }

func originBreaches() []breach {
	forged := func(name string) breach {
		return breach{"a forged id of " + name, EventIDUnderived, name, func(r *record) {
			r.list[r.at(name, -1)].ID = events.EventID{1, 2, 3}
		}}
	}
	unresolved := func(what, name string, n int, cause func(r *record) string) breach {
		return breach{what, CauseUnresolved, name, causes(name, n, cause)}
	}
	of := func(suffix string) func(r *record) string {
		return func(r *record) string { return "sale:" + slotOf(r) + suffix }
	}
	return []breach{
		forged("HostStopped"),
		forged("TxMined"),
		forged("BytesReleased"),
		forged("SlotTaken"),
		forged("ProofDue"),
		{"an event of another time", EventIDUnderived, "TxSent", func(r *record) {
			i := r.at("TxSent", -1)
			id := r.list[i].ID
			change(r, -1, func(m *messages.TxSent) { m.GasLimit++ })
			r.list[i].ID = id
		}},
		{"no cause", CauseUnknown, "SlotTaken", causes("SlotTaken", 0, because(""))},
		{"a cause of no form", CauseUnknown, "ProofDue", causes("ProofDue", 0, because("the weather"))},
		unresolved("an attempt that never was", "BytesReleased", 0, of(":7:store")),
		unresolved("another sale's reservation", "BytesReleased", 1, of(":1:store")),
		unresolved("a block in the ledger", "BytesReleased", 0, because("block:7")),
		unresolved("a worker in the ledger", "BytesReleased", 0, because("worker")),
		unresolved("an event that the market never had", "SlotsQueued", 0, because("market@9")),
		unresolved("another slot's work", "SlotReleased", 0, because("work:"+zeros+":1")),
		unresolved("an effect in the queue", "SlotReleased", 0, because("free:1")),
		unresolved("an effect of another attempt", "SlotStored", 0, because("download:2")),
		unresolved("a proof of a period that owed none", "ProofSubmitted", 0,
			because("submit-proof:99999999999:"+zeros)),
		unresolved("a proof of another period", "ProofMissed", 0, because("submit-proof:1:"+zeros)),
		unresolved("a reading without a miss", "ProofDue", 0, because("read-collateral:5")),
		unresolved("the operator in a sale", "SlotStored", 0, because("operator")),
		{"a log that is another", CauseUnresolved, "ChainRequestFulfilled", func(r *record) {
			markets(r, zeros)
			causes("ChainRequestFulfilled", 0, because("log:"+zeros+":5"))(r)
		}},
		{"news about another request", CauseUnresolved, "SlotsQueued", func(r *record) {
			markets(r, zeros)
			change(r, 0, func(m *messages.SlotsQueued) { m.MarketRevision = 1 })
			causes("SlotsQueued", 0, because("market@1"))(r)
		}},
		{"other news than the event says", CauseUnresolved, "SlotsQueued", func(r *record) {
			markets(r, requestOf(r))
			change(r, 0, func(m *messages.SlotsQueued) { m.MarketRevision = 2 })
			causes("SlotsQueued", 0, because("market@1"))(r)
		}},
		{
			"an event that never was led to it", CauseUnresolved, "SlotStored",
			caused("SlotStored", "download:1", because(events.EventID{1}.String())),
		},
		{"an event led to itself", CauseUnresolved, "SlotStored", caused("SlotStored", "download:1", idOf("SlotStored", 0))},
		{"a later event led to it", CauseUnresolved, "SlotStored", caused("SlotStored", "download:1", idOf("SlotFilled", 0))},
		{
			"an event of another sale led to it", CauseUnresolved, "SlotStored",
			caused("SlotStored", "download:1", idOf("SaleStarted", 1)),
		},
		{"no id led to it", CauseUnresolved, "SlotStored", caused("SlotStored", "download:1", because("yesterday"))},
		{"an event led to a block", CauseUnresolved, "SlotStored", caused("SlotStored", "block:7", idOf("SaleStarted", 0))},
		{
			"the ledger's own event led to what a sale asks", CauseUnresolved, "BytesReleased",
			caused("BytesReleased", "sale:SLOT:1:store", idOf("ReservationCreated", 0)),
		},
		correlates("SlotStored"), correlates("ReservationCreated"), correlates("BytesReleased"),
		correlates("SlotTaken"), correlates("SaleStarted"),
		{"a transaction changes its request", CorrelationMismatch, "TxMined", func(r *record) {
			for name, request := range map[string]string{"TxIntended": "a", "TxSent": "a", "TxMined": "b"} {
				r.list[r.at(name, -1)].Meta.Correlation = request
			}
			// The sale itself must have no findings.
			change(r, -1, func(m *messages.SlotFilled) { m.Receipt = nil })
		}},
		{"a transaction of another request", CorrelationMismatch, "SlotFilled", func(r *record) {
			for _, name := range []string{"TxIntended", "TxSent", "TxMined"} {
				r.list[r.at(name, -1)].Meta.Correlation = zeros
			}
		}},
	}
}

func correlates(name string) breach {
	return breach{"a foreign correlation of " + name, CorrelationMismatch, name, func(r *record) {
		r.list[r.at(name, 0)].Meta.Correlation = zeros
	}}
}

func TestCausesThatResolveAreInOrder(t *testing.T) {
	r := aYear(t)
	markets(r, requestOf(r))
	slot := slotOf(r)
	change(r, 0, func(m *messages.SlotsQueued) { m.MarketRevision = 1 })
	for name, cause := range map[string]string{
		"SlotsQueued": "market@1", "SlotTaken": "take", "SlotReleased": "work:" + requestOf(r) + ":1",
		"ReservationCreated": "sale:" + slot + ":1:reserve", "BytesReleased": "sale:" + slot + ":1:store",
		"ReservationDeleted": "sale:" + slot + ":1:settle", "CapacityReserved": "reserve-capacity:1",
		"SlotFilled": "fill:1:" + zeros, "SaleSettled": "settle:1", "DataDeleted": "delete-data:1",
	} {
		causes(name, 0, because(cause))(r)
	}
	for name, by := range map[string]string{
		"SlotsQueued": "ChainRequestFulfilled", "ReservationCreated": "SaleStarted", "CapacityReserved": "SaleStarted",
		"SaleSettled": "DataDeleted", "ReservationDeleted": "DataDeleted", "BytesReleased": "SaleStarted",
	} {
		r.list[r.at(name, 0)].Meta.Causation = idOf(by, 0)(r)
	}
	causes("ReservationDeleted", 1, because("orphan:"+slot))(r)
	report := audited(t, r, Options{})
	if len(report.Findings) > 0 {
		t.Fatalf("findings %v", report.Findings)
	}
}

func TestOlderRecordsHaveTheCauseWhereTheIdOfAnEventIsToday(t *testing.T) {
	r := aYear(t)
	for i := range r.list {
		r.list[i].Meta.Causation, r.list[i].Meta.Cause = r.list[i].Meta.Cause, ""
	}
	if report := audited(t, r, Options{}); len(report.Findings) > 0 {
		t.Fatalf("findings %v", report.Findings)
	}
}

// Every effect of a sale has a key that is a cause.
func TestKeysOfEffectsAreCauses(t *testing.T) {
	for _, e := range []sale.Effect{
		sale.ReserveCapacity{Attempt: 1},
		sale.ReserveSlot{Attempt: 1},
		sale.Download{Attempt: 1, Until: time.Now()},
		sale.ProveInitial{Attempt: 1},
		sale.Fill{Attempt: 1},
		sale.Extend{Attempt: 1},
		sale.SubmitProof{Duty: sale.Duty{Period: 3}},
		sale.Repair{Attempt: 1, Blocks: []uint64{3}, Found: 2},
		sale.Repair{Attempt: 1, Whole: true},
		sale.ReadCollateral{Period: 3},
		sale.Free{Attempt: 1},
		sale.DeleteData{Attempt: 1},
		sale.Settle{Attempt: 1},
	} {
		if c, err := events.ParseCause(e.Key()); err != nil || c.Kind != events.CauseEffect {
			t.Errorf("%s: %+v, %v", e.Key(), c, err)
		}
	}
}

func TestNewsAreRememberedUpToALimit(t *testing.T) {
	var k recent
	for n := range uint64(keptNews + 10) {
		k.note(n, n*7)
	}
	for _, n := range []uint64{10, 11, keptNews, keptNews + 9} {
		if said, known := k.at(n); !known || said != n*7 {
			t.Errorf("news %d are %d, known %t", n, said, known)
		}
	}
	for _, n := range []uint64{0, 9, keptNews + 10} {
		if _, known := k.at(n); known {
			t.Errorf("news %d are known", n)
		}
	}
	k.note(keptNews+20, 1)
	if _, known := k.at(keptNews + 9); known {
		t.Error("news before a gap are known")
	}
}

func TestHostsOfOneMarketWriteItsStreamWithEpochsOfTheirOwn(t *testing.T) {
	r := aYear(t)
	markets(r, requestOf(r))
	// The first of its events is of a later epoch.
	r.list[slices.IndexFunc(r.list, func(e events.Recorded) bool { return e.Stream == marketStream })].Meta.Epoch = 7
	r.derive()
	if report := audited(t, r, Options{}); !report.Clean() {
		t.Fatalf("findings: %v", report.Findings)
	}
}
