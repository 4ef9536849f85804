package audit

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/snapshot"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/projections"
	"github.com/hostnode/hostnode/projections/internal/history"
)

// interrupted reads n events and is interrupted then.
func interrupted(store events.Store, o Options, n int) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	a := newAuditor(o)
	if b, _ := resume(ctx, store, a.options); b != nil {
		a = b
	}
	a.metadata = func(stream string) (events.StreamMetadata, error) { return readMetadata(ctx, store, stream) }
	errEnough := errors.New("enough")
	err := a.read(ctx, store, a.report.AsOf, func(r events.Recorded) error {
		if n == 0 {
			return errEnough
		}
		n--
		a.event(r)
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	return a.save()
}

// sameReport compares all but where the audit began.
func sameReport(want, got Report) string {
	return cmp.Diff(want, got, cmpopts.IgnoreFields(Report{}, "ContinuedFrom", "CheckpointIgnored"))
}

// kept are options with a checkpoint, and with a small filter, so that a test can write many
// checkpoints.
func kept(path string) Options { return Options{Checkpoint: path, filterBits: 1 << 12} }

func TestAnAuditContinuesWhereItWasInterrupted(t *testing.T) {
	for _, b := range append(breaches(), breach{name: "nothing", forge: func(*record) {}}) {
		t.Run(strings.ReplaceAll(b.name, " ", "_"), func(t *testing.T) {
			r := aYear(t)
			markets(r, requestOf(r))
			b.forge(r)
			want := audited(t, r, Options{})
			interrupts := [][]int{{len(r.list) / 2}}
			if b.rule == "" {
				interrupts = append(interrupts, []int{1, 30, 10}, []int{len(r.list)}, []int{0})
			}
			for _, steps := range interrupts {
				o := kept(filepath.Join(t.TempDir(), "audit.state"))
				for _, n := range steps {
					if err := interrupted(r, o, n); err != nil {
						t.Fatal(err)
					}
				}
				got := audited(t, r, o)
				if diff := sameReport(want, got); diff != "" {
					t.Fatalf("interrupted after %v: ignored %q (-want +got):\n%s", steps, got.CheckpointIgnored, diff)
				}
				if b.rule != StoreDamaged && b.rule != PositionOrder && steps[0] > 0 && got.ContinuedFrom == 0 {
					t.Fatalf("interrupted after %v it began again: %s", steps, got.CheckpointIgnored)
				}
			}
		})
	}
}

// An audit has the same result wherever it is interrupted.
func TestWhereverAnAuditIsInterruptedItEndsTheSame(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		store := storetest.NewMemory()
		w := history.New(t, store, me)
		w.Start()
		w.Offer(4)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			anyStep(t, w)
		}
		given := views(t, store, "")
		o := kept(filepath.Join(dir, "audit.state"))
		o.Views = &given
		_ = os.Remove(o.Checkpoint)
		for range rapid.IntRange(1, 3).Draw(t, "interrupts") {
			if err := interrupted(store, o, rapid.IntRange(0, 80).Draw(t, "after")); err != nil {
				t.Fatal(err)
			}
		}
		want, err := Run(context.Background(), store, Options{Views: &given, filterBits: 1 << 12})
		if err != nil {
			t.Fatal(err)
		}
		got, err := Run(context.Background(), store, o)
		if err != nil {
			t.Fatal(err)
		}
		if diff := sameReport(want, got); diff != "" {
			t.Fatalf("ignored %q (-want +got):\n%s", got.CheckpointIgnored, diff)
		}
	})
}

func TestAnInterruptSavesWhatIsKnown(t *testing.T) {
	store := storetest.NewMemory()
	w := history.New(t, store, me)
	w.Start()
	w.Offer(10)
	w.Life(1, 3)
	ctx, cancel := context.WithCancel(context.Background())
	o := kept(filepath.Join(t.TempDir(), "audit.state"))
	a := newAuditor(o)
	a.options.CheckpointEvery = 10
	a.options.Chain = func(context.Context, Market) (Chain, error) { // Called while events are read.
		cancel()
		return nil, context.Canceled
	}
	a.claims = chainBatch
	if _, err := a.run(ctx, store); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	o.Chain = a.options.Chain
	b, ignored := resume(context.Background(), store, newAuditor(o).options)
	if b == nil || b.report.AsOf == 0 {
		t.Fatalf("nothing was saved: %s", ignored)
	}
}

// A checkpoint keeps what damage, and an end that was taken back, leave open.
func TestACheckpointHoldsAllThatIsKnownOfASale(t *testing.T) {
	r := aYear(t)
	a := newAuditor(kept(filepath.Join(t.TempDir(), "audit.state")))
	if _, err := a.run(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	sales := a.hosts[me.String()].sales
	for _, l := range sales {
		l.account = &account{
			Damaged: true, Lapsed: []uint64{3, 4}, Periods: sale.Periods{}.Open(3, false), Held: events.NewAmount(7),
			Duties: map[uint64]duty{5: {time.Unix(1_750_000_000, 7).UTC(), place{"sale", 6, 7}}},
			Pledge: pledge{Fill: claim{Tx: events.Hash{1}, AtMost: true}, Filled: true},
		}
	}
	if err := a.save(); err != nil || len(sales) == 0 {
		t.Fatal(len(sales), err)
	}
	b, ignored := resume(t.Context(), r, a.options)
	if b == nil {
		t.Fatal(ignored)
	}
	if diff := cmp.Diff(sales, b.hosts[me.String()].sales, cmp.AllowUnexported(life{}, events.Amount{})); diff != "" {
		t.Fatal(diff)
	}
}

func TestTheNextAuditLooksAtWhatIsNewOnly(t *testing.T) {
	store := storetest.NewMemory()
	w := history.New(t, store, me)
	w.Start()
	w.Offer(10)
	w.Life(1, 3)
	o := kept(filepath.Join(t.TempDir(), "audit.state"))
	first := audited(t, store, o)
	w.Life(2, 3)
	given := projections.NewViews(projections.Scope{})
	for _, r := range recorded(t, store) {
		given.Apply(r)
	}
	second := audited(t, store, o)
	if second.ContinuedFrom != first.AsOf || second.SalesFinished != 2 || len(second.Findings) > 0 {
		t.Fatalf("continued from %d of %d; %+v", second.ContinuedFrom, first.AsOf, second)
	}
}

func TestACheckpointOfNoUseIsIgnored(t *testing.T) {
	r := aYear(t)
	other := aYear(t)
	other.list[len(other.list)-1].ID = events.EventID{1}
	given, err := projections.NewViews(projections.Scope{}).Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		store   *record
		options Options
		edit    func(file []byte) []byte
	}{
		"another store":  {other, Options{}, nil},
		"a shorter one":  {&record{list: r.list[:10]}, Options{}, nil},
		"other options":  {r, Options{From: 5}, nil},
		"views":          {r, Options{Views: &given}, nil},
		"damage":         {r, Options{}, func(f []byte) []byte { f[len(f)-1] ^= 1; return f }},
		"torn":           {r, Options{}, func(f []byte) []byte { return f[:len(f)/2] }},
		"longer":         {r, Options{}, func(f []byte) []byte { return append(f, 'x') }},
		"another build":  {r, Options{}, replace("hostnode-audit/", "hostnode-audit/1")},
		"other rules":    {r, Options{}, replace("rules ", "rules x")},
		"another format": {r, Options{}, replace("hostnode-audit", "hostnode-views")},
		"another place":  {r, Options{}, replace(`"position":"`, `"position":"1`)},
		"nothing":        {r, Options{}, func([]byte) []byte { return nil }},
		"no line":        {r, Options{}, func([]byte) []byte { return make([]byte, 1<<20) }},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "audit.state")
			audited(t, r, kept(path))
			if c.edit != nil {
				file, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, c.edit(file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			c.options.Checkpoint, c.options.filterBits = path, 1<<12
			if report := audited(t, c.store, c.options); report.ContinuedFrom != 0 || report.CheckpointIgnored == "" ||
				report.Events != uint64(len(c.store.list)) {
				t.Fatalf("continued from %d, ignored %q", report.ContinuedFrom, report.CheckpointIgnored)
			}
			// It was replaced by a good one.
			if report := audited(t, c.store, c.options); report.ContinuedFrom == 0 {
				t.Fatalf("ignored %q", report.CheckpointIgnored)
			}
		})
	}
}

func replace(from, to string) func([]byte) []byte {
	return func(file []byte) []byte {
		return []byte(strings.Replace(string(file), from, to, 1))
	}
}

func TestACheckpointThatCannotBeWrittenIsAnError(t *testing.T) {
	o := Options{Checkpoint: filepath.Join(t.TempDir(), "nowhere", "audit.state")}
	if _, err := Run(context.Background(), aYear(t), o); err == nil {
		t.Fatal("no error")
	}
}

// A settled sale is stored compactly, and restored with everything known of it.
func TestSettledSalesAreAtRest(t *testing.T) {
	r := aYear(t)
	a := newAuditor(Options{})
	if _, err := a.run(context.Background(), r); err != nil {
		t.Fatal(err)
	}
	if len(a.resting) != 2 || len(a.hosts[me.String()].sales) != 1 {
		t.Fatalf("%d at rest, %d not", len(a.resting), len(a.hosts[me.String()].sales))
	}
	stream := r.list[r.at("SaleStarted", 0)].Stream
	r.insert(len(r.list), stream, &messages.DataDeleted{})
	report := audited(t, r, Options{})
	if len(report.Findings) != 1 || report.Findings[0].Rule != SaleTransition || report.Streams != 9 {
		t.Fatalf("%d streams, findings %v", report.Streams, report.Findings)
	}
}

func FuzzReadCheckpoint(f *testing.F) {
	f.Add([]byte("abc"))
	f.Fuzz(func(_ *testing.T, state []byte) { // The checksum is right, so the state itself must do no harm.
		_ = snapshot.Decode(state, newAuditor(Options{filterBits: 64}).state)
	})
}
