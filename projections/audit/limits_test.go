package audit

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/messages"
)

// run audits with limits so small that everything is read twice.
func run(t *testing.T, a *auditor, r *record) Report {
	t.Helper()
	report, err := a.run(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestAFullFilterSuspectsAllAndFindsOnlyWhatIsSo(t *testing.T) {
	r := aYear(t)
	a := newAuditor(Options{})
	a.ids = newIDFilter(64, maxSuspects)
	if report := run(t, a, r); len(report.Findings) > 0 || len(a.ids.Suspects) < 50 {
		t.Fatalf("%d suspects, findings %v", len(a.ids.Suspects), report.Findings)
	}
	twice(r)
	a = newAuditor(Options{})
	a.ids = newIDFilter(64, maxSuspects)
	if report := run(t, a, r); len(report.Findings) != 1 || report.Findings[0].Rule != EventIDRepeated {
		t.Fatalf("findings %v", report.Findings)
	}
}

func TestTooManySuspectsAreSaid(t *testing.T) {
	a := newAuditor(Options{})
	a.ids = newIDFilter(64, 3)
	report := run(t, a, aYear(t))
	if len(report.Findings) != 1 || report.Findings[0].Rule != AuditIncomplete || !report.Clean() {
		t.Fatalf("findings %v", report.Findings)
	}
}

func TestAForgottenTransactionIsFoundAgain(t *testing.T) {
	r := aYear(t)
	// The first proof's receipt shows up again at the end of the record, when
	// its transaction has long been forgotten.
	change(r, -1, func(m *messages.SlotFilled) {
		e, _ := newAuditor(Options{}).codec.Decode(r.list[r.at("TxMined", 0)])
		m.Receipt = e.(*messages.TxMined).GetReceipt()
	})
	a := newAuditor(Options{})
	a.txs = newReceipts(1, maxAwaited)
	if report := run(t, a, r); len(report.Findings) > 0 || a.txs.Forgotten == 0 {
		t.Fatalf("%d forgotten, findings %v", a.txs.Forgotten, report.Findings)
	}
}

func TestReceiptsBeyondTheLimitAreSaid(t *testing.T) {
	r := aYear(t)
	for i := range 3 {
		change(r, i, func(m *messages.SlotFilled) { m.Receipt.TxHash = zeros })
	}
	a := newAuditor(Options{})
	a.txs = newReceipts(keptMined, 1)
	report := run(t, a, r)
	rules := map[Rule]int{}
	for _, f := range report.Findings {
		rules[f.Rule]++
	}
	if len(rules) != 2 || rules[ReceiptsUnchecked] != 1 || rules[ReceiptWithoutTransaction] != 1 {
		t.Fatalf("findings %v", report.Findings)
	}
}

func TestReceiptsAreNotHeldToATransactionRecordThatIsNotKept(t *testing.T) {
	r := aYear(t)
	kept := r.list[:0]
	for _, e := range r.list {
		if e.Stream != txStream {
			kept = append(kept, e)
		}
	}
	r.list = kept
	r.renumber()
	if report := audited(t, r, Options{}); len(report.Findings) > 0 {
		t.Fatalf("findings %v", report.Findings)
	}
}

// The audit's own comparison comes first, so only a bug in a core can make the core's check
// fail.
func TestAQueueWhoseIndexesDisagreeIsFound(t *testing.T) {
	a := newAuditor(Options{})
	q := a.host(me.String()).Queue
	q.State.State = slotqueue.Evolve(q.State.State, &messages.SlotTaken{RequestId: zeros})
	a.stream(queueStream)
	q.Last, q.Since = place{Stream: queueStream, Position: 1}, 1
	if err := a.atTheEnd(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(a.report.Findings) != 1 || a.report.Findings[0].Rule != QueueInconsistent || !q.Broken {
		t.Fatalf("findings %v", a.report.Findings)
	}
}

func TestALargeLedgerIsCheckedAtTheEndToo(t *testing.T) {
	a := newAuditor(Options{})
	l := a.host(me.String()).ledger("")
	l.Entries = 2 * smallState
	a.stream(capacityStream)
	l.Last = place{Stream: capacityStream, Position: 1}
	p := place{capacityStream, 0, 1}
	a.judgeLedger(a.host(me.String()), l, p, &messages.QuotaSet{Bytes: 10})
	if l.Since != 1 {
		t.Fatalf("%d events since the last whole check", l.Since)
	}
	if err := a.atTheEnd(t.Context()); err != nil {
		t.Fatal(err)
	}
	if l.Since != 0 || len(a.report.Findings) > 0 {
		t.Fatalf("%d events since the last whole check, findings %v", l.Since, a.report.Findings)
	}
}

// TestForeignStreamsThatAreNamedLikeOursAreNoTrouble: they may have any events, ids and epochs.
func TestForeignStreamsThatAreNamedLikeOursAreNoTrouble(t *testing.T) {
	r := aYear(t)
	loud := strings.ToUpper(events.Address{0xab}.String()[2:])
	names := []string{
		"tx", "tx-", "sale", "sale-x-y", "capacity", "capacity-xyz", "slotqueue-", "host", "host-nobody", "host-0x" + loud,
		"market", "market-1337-0xzz", "market-01337-" + events.Address{2}.String(), "proofs-x", "slotqueueSnapshot-x",
		"validator-me", "capacity-" + events.Address{2}.String() + "-North", "-", "x",
	}
	for _, name := range names {
		for _, epoch := range []uint64{9, 3} {
			r.insert(len(r.list), name, &messages.QuotaSet{Bytes: 10})
			last := &r.list[len(r.list)-1]
			last.Meta.Epoch, last.ID = epoch, events.EventID{1}
		}
		r.insert(len(r.list), name, &messages.HostHeartbeat{Epoch: 7})
	}
	a := newAuditor(Options{Chain: func(context.Context, Market) (Chain, error) { return nil, errors.New("asked") }})
	a.ids = newIDFilter(64, maxSuspects)
	for i, r := range r.list[len(r.list)-3*len(names):] {
		a.event(r)
		if n := len(a.report.Findings); n != i/3+1 {
			t.Fatalf("%s: findings %v", r.Stream, a.report.Findings[i/3:])
		}
	}
	if err := errors.Join(a.atTheEnd(t.Context()), a.endOfMoney(t.Context())); err != nil {
		t.Fatal(err)
	}
	if n := len(a.report.Findings); a.report.Errors != 0 || n != len(names) {
		t.Errorf("%d findings: %v", n, a.report.Findings)
	}
	for _, f := range a.report.Findings {
		if f.Rule != StreamUnknown {
			t.Errorf("%s", f)
		}
	}
}

// TestWhatOthersWriteInTheSameStoreIsNoneOfTheAuditsBusiness: they may number epochs
// differently, and a server writes events of its own.
func TestWhatOthersWriteInTheSameStoreIsNoneOfTheAuditsBusiness(t *testing.T) {
	r := aYear(t)
	own := uint64(len(r.list))
	for _, epoch := range []uint64{9, 3} {
		r.insert(len(r.list), "theirs-1", &messages.QuotaSet{Bytes: 10})
		r.list[len(r.list)-1].Meta.Epoch = epoch
	}
	for range 3 {
		r.insert(len(r.list), "$stats-1", &messages.QuotaSet{Bytes: 10})
	}
	report := audited(t, r, Options{})
	if report.Errors != 0 || report.Warnings != 1 || report.Findings[0].Rule != StreamUnknown {
		t.Errorf("findings %v, want the one that the stream is unknown", report.Findings)
	}
	if report.Events != own+2 {
		t.Errorf("%d events were read, want %d and 2 of others", report.Events, own)
	}
}
