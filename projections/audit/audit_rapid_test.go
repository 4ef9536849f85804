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
func TestWhateverTheCoresDecideIsClean(t *testing.T) {
	history.Check(t, anyHistory, sale.Table(), capacity.Table(), slotqueue.Table())
}

func anyHistory(t *rapid.T) *history.Writer {
	store := storetest.NewMemory()
	w := history.New(t, store, me)
	if rapid.IntRange(0, 2).Draw(t, "member") > 0 {
		w.Become("north")
	}
	start(w)
	w.Offer(4)
	dir, err := os.MkdirTemp("", "views")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for range rapid.IntRange(1, 40).Draw(t, "steps") {
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
	return w
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
	switch rapid.IntRange(0, 9).Draw(t, "step") {
	case 0:
		anyQueueStep(t, w, r)
	case 1:
		if rapid.Bool().Draw(t, "stops") {
			w.Stop()
		}
		start(w)
	case 2:
		w.AnyLedgerSteps(t)
	case 3:
		if rapid.Bool().Draw(t, "all goes well") {
			w.AnySectorLife(t)
			return
		}
		for range rapid.IntRange(1, 10).Draw(t, "sector steps") {
			w.AnySectorStep(t, rapid.Uint64Range(1, 2).Draw(t, "sector"))
		}
	default:
		w.AnySaleSteps(t, r)
	}
}

// start is that of the host, or of its only member, which is the owner then.
func start(w *history.Writer) {
	w.Start()
	if w.Member != "" {
		w.TakeTerm()
	}
}

func anyQueueStep(t *rapid.T, w *history.Writer, r events.Request) {
	all := []slotqueue.Command{
		slotqueue.Queue{At: w.Now, RequestID: r.ID, SlotIndices: []uint64{0, 2, 1}},
		slotqueue.Take{At: w.Now, MaxWorkers: 3},
		slotqueue.Release{At: w.Now, RequestID: r.ID, SlotIndex: 1, Requeue: true},
		slotqueue.Queue{
			At: w.Now, RequestID: r.ID, SlotIndices: []uint64{0},
			Refusal: &slotqueue.Refusal{Criterion: "size", Reason: "too large"},
		},
		slotqueue.Remove{At: w.Now, RequestID: r.ID},
		slotqueue.Remove{At: w.Now, RequestID: r.ID, SlotIndices: []uint64{1}},
		slotqueue.Wake{At: w.Now},
		slotqueue.Pause{At: w.Now},
		slotqueue.Resume{At: w.Now},
		slotqueue.Avoid{At: w.Now, Client: r.Client, Until: w.Now.Add(time.Hour), Reason: "wrong data"},
	}
	for range rapid.IntRange(1, 8).Draw(t, "commands") {
		w.AskQueue(rapid.SampledFrom(all).Draw(t, "queue"))
		for _, it := range w.Queue.Taken() {
			anyWork(t, w, it)
		}
	}
}

// anyWork hands a slot that is taken out, if there is a member to have it, or releases it.
func anyWork(t *rapid.T, w *history.Writer, it slotqueue.Item) {
	switch {
	case rapid.Bool().Draw(t, "works on"):
	case w.Member != "" && it.Member == "":
		w.AskQueue(slotqueue.HandOut{
			At: w.Now, RequestID: it.RequestID, SlotIndex: it.SlotIndex, Member: w.Member,
			Collateral: events.NewAmount(131072), Balance: events.MaxAmount(),
		})
	default:
		w.AskQueue(slotqueue.Release{
			At: w.Now, RequestID: it.RequestID, SlotIndex: it.SlotIndex, Requeue: rapid.Bool().Draw(t, "requeue"),
		})
	}
}
