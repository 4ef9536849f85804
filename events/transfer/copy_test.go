package transfer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/embedded"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/events/transfer"
)

// picky is a store that refuses some metadata, as the adapter of a server does.
type picky struct{ events.Store }

func (picky) Harmless(_ string, e events.NewEvent) error {
	if string(e.Foreign) == "{" {
		return events.ErrMalformed
	}
	return nil
}

// TestWhatTheTargetWouldRefuseIsRefusedBeforeAnythingIsWritten: of an event in the middle, half a record would stay.
func TestWhatTheTargetWouldRefuseIsRefusedBeforeAnythingIsWritten(t *testing.T) {
	from, to := storetest.NewMemory(), storetest.NewMemory()
	for i, meta := range []string{"[]", "{"} {
		_, err := from.Append(t.Context(), "theirs-1", events.ExpectNext(uint64(i)), []events.NewEvent{{
			ID: events.NewEventID("theirs-1", "test", i), Type: "x", Data: []byte("{}"), Foreign: []byte(meta),
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := transfer.Copy(t.Context(), from, picky{to}, transfer.Options{})
	head, _ := to.Head(t.Context())
	if !errors.Is(err, events.ErrMalformed) || head != 0 {
		t.Fatalf("%d events were written: %v", head, err)
	}
}

func TestACopyHoldsWhatTheSourceHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from, to := storetest.NewMemory(), storetest.NewMemory()
		history(t, from, "first")
		report := mustCopy(t, from, to, transfer.Options{})
		wantSame(t, from, to)
		if report.Present != 0 || report.Copied != report.Digest.Events {
			t.Fatalf("copied %d, present %d of %d events", report.Copied, report.Present, report.Digest.Events)
		}
		head, err := to.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		again := mustCopy(t, from, to, transfer.Options{})
		if now, err := to.Head(t.Context()); err != nil || now != head || again.Copied != 0 || again.Present != report.Copied {
			t.Fatalf("the second copy wrote up to %d behind %d, %v: %+v", now, head, err, again)
		}
		history(t, from, "second")
		mustCopy(t, from, to, transfer.Options{})
		wantSame(t, from, to)
	})
}

func TestACopyThatIsInterruptedGoesOn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from, to := storetest.NewMemory(), storetest.NewMemory()
		history(t, from, "first")
		for range rapid.IntRange(0, 3).Draw(t, "interruptions") {
			left := atomic.Int64{}
			left.Store(rapid.Int64Range(0, 4).Draw(t, "appends"))
			broken := failing{to, &left, rapid.Bool().Draw(t, "the answer is lost")}
			if _, err := transfer.Copy(t.Context(), from, broken, transfer.Options{}); err != nil && !errors.Is(err, events.ErrAway) {
				t.Fatal(err)
			}
			history(t, from, rapid.StringMatching("[a-z]{12}").Draw(t, "label"))
		}
		mustCopy(t, from, to, transfer.Options{})
		wantSame(t, from, to)
	})
}

func TestCopiesGoBetweenMemoryAndTheEmbeddedStore(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		if n++; n > 20 { // Each opens stores on disk.
			return
		}
		from, to := storetest.NewMemory(), storetest.NewMemory()
		s, _, err := embedded.Open(fmt.Sprint(dir, "/", n), embedded.Config{})
		if err != nil {
			rt.Fatal(err)
		}
		defer func() {
			if err := s.Close(); err != nil {
				rt.Fatal(err)
			}
		}()
		history(rt, from, "first")
		mustCopy(rt, from, s, transfer.Options{})
		wantSame(rt, from, s)
		mustCopy(rt, s, to, transfer.Options{})
		wantSame(rt, from, to)
		history(rt, s, "second")
		mustCopy(rt, s, from, transfer.Options{})
		wantSame(rt, s, from)
	})
}

func TestACopyOfManyEventsKeepsEveryOrder(t *testing.T) {
	from, to := storetest.NewMemory(), storetest.NewMemory()
	var batch []events.NewEvent
	for n := range 30_000 {
		e := events.NewEvent{ID: events.NewEventID("", "many", n), Type: "T", Data: make([]byte, n%7*200), Binary: true}
		if batch = append(batch, e); len(batch) == 50 {
			if _, err := from.Append(t.Context(), fmt.Sprintf("s-%d", n%23), events.Any(), batch); err != nil {
				t.Fatal(err)
			}
			batch = nil
		}
	}
	var steps []transfer.Progress
	report := mustCopy(t, from, to, transfer.Options{Progress: func(p transfer.Progress) { steps = append(steps, p) }})
	if report.Copied != 30_000 || report.Streams != 23 {
		t.Fatalf("report %+v", report)
	}
	if last := steps[len(steps)-1]; last.Step != transfer.StepCopy || last.Position != last.Last || last.Events != 30_000 {
		t.Fatalf("the last progress is %+v", last)
	}
	ids := func(s events.Store) (all []events.EventID) { // cmp takes a minute for so many.
		for r, err := range s.ReadAll(t.Context(), 0, 0) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, r.ID)
		}
		return all
	}
	if !slices.Equal(ids(from), ids(to)) {
		t.Fatal("the copy has another order")
	}
}

func TestNothingIsWrittenWhenTheTargetHasOtherEvents(t *testing.T) {
	for _, c := range []struct {
		name  string
		there func(*testing.T, events.Store)
		says  string
	}{
		{"another event at the beginning", func(t *testing.T, s events.Store) { add(t, s, "sale-b", 7) }, "sale-b: the first 1 events differ"},
		{"another event behind the same", func(t *testing.T, s events.Store) { add(t, s, "sale-b", 0, 1, 7) }, "sale-b: the first 3 events differ"},
		{"more events", func(t *testing.T, s events.Store) { add(t, s, "sale-b", 0, 1, 2, 3) }, "3 events in the source, 4 in the target"},
		{"an end", func(t *testing.T, s events.Store) {
			add(t, s, "sale-b", 0, 1, 2)
			if _, err := s.Delete(t.Context(), "sale-b", events.Any(), true); err != nil {
				t.Fatal(err)
			}
		}, "deleted for good in the target"},
	} {
		t.Run(c.name, func(t *testing.T) {
			from, to := storetest.NewMemory(), storetest.NewMemory()
			add(t, from, "sale-a", 0, 1, 2)
			add(t, from, "sale-b", 0, 1, 2)
			c.there(t, to)
			head, err := to.Head(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			report, err := transfer.Copy(t.Context(), from, to, transfer.Options{})
			if !errors.Is(err, transfer.ErrConflict) || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("%v, want a conflict that says %q", err, c.says)
			}
			if len(report.Conflicts) != 1 || report.Conflicts[0].Stream != "sale-b" {
				t.Fatalf("conflicts %v", report.Conflicts)
			}
			if now, err := to.Head(t.Context()); err != nil || now != head {
				t.Fatalf("the target went on from %d to %d, %v", head, now, err)
			}
		})
	}
}

func TestOtherStreamsOfTheTargetStay(t *testing.T) {
	from, to := storetest.NewMemory(), storetest.NewMemory()
	add(t, from, "sale-a", 0, 1)
	add(t, to, "sale-z", 0, 1)
	setMetadata(t, to, "sale-a", `{"$maxCount":1,"$acl":{"$r":"auditor"},"owner":"x"}`)
	mustCopy(t, from, to, transfer.Options{})
	for name, want := range map[string]int{"sale-a": 2, "sale-z": 2} {
		n := 0
		for _, err := range to.ReadStream(t.Context(), name, events.ReadStream{}) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if n != want {
			t.Errorf("%s shows %d events, want %d", name, n, want)
		}
	}
	for r, err := range to.ReadStream(t.Context(), "$$sale-a", events.ReadStream{}) {
		if err != nil || string(r.Data) != `{"$acl":{"$r":"auditor"},"owner":"x"}` {
			t.Errorf("the metadata is %s, %v", r.Data, err)
		}
	}
}

func TestASourceThatThrewEventsAwayIsRefused(t *testing.T) {
	for name, gone := range map[string][]uint64{"its beginning": {0, 1}, "its midst": {2}} {
		t.Run(name, func(t *testing.T) {
			whole, to := storetest.NewMemory(), storetest.NewMemory()
			add(t, whole, "sale-a", 0, 1, 2, 3, 4)
			add(t, whole, "sale-b", 0)
			setMetadata(t, whole, "sale-a", `{"$tb":3}`)
			from := scavenged{whole, "sale-a", gone}
			report, err := transfer.Copy(t.Context(), from, to, transfer.Options{})
			if !errors.Is(err, transfer.ErrScavenged) || !slices.Equal(report.Scavenged, []string{"sale-a"}) {
				t.Fatalf("%v, streams %v", err, report.Scavenged)
			}
			if head, err := to.Head(t.Context()); err != nil || head != 0 {
				t.Fatalf("the target has %d events, %v", head, err)
			}
			if _, err := transfer.Export(t.Context(), from, &strings.Builder{}, transfer.Options{}); !errors.Is(
				err, transfer.ErrScavenged) {
				t.Fatalf("export: %v", err)
			}
			accept := transfer.Options{AcceptScavenged: true}
			for range 2 { // The second run finds everything there.
				if report = mustCopy(t, from, to, accept); !slices.Equal(report.Scavenged, []string{"sale-a"}) {
					t.Fatalf("streams %v", report.Scavenged)
				}
			}
			if digest(t, from).Sum != digest(t, to).Sum {
				t.Fatal("the digests differ")
			}
			var last []events.EventID
			for r, err := range to.ReadStream(t.Context(), "sale-a", events.ReadStream{}) {
				if err != nil {
					t.Fatal(err)
				}
				last = append(last, r.ID)
			}
			want := []events.EventID{events.NewEventID("sale-a", "number", 3), events.NewEventID("sale-a", "number", 4)}
			if !slices.Equal(last, want) {
				t.Fatalf("the copy shows %v, want the last two events", last)
			}
		})
	}
}

func TestAWriterBesideTheCopyIsAConflict(t *testing.T) {
	from := storetest.NewMemory()
	add(t, from, "sale-a", 0, 1, 2)
	to := &intruded{Memory: storetest.NewMemory()}
	to.intrude = func() { add(t, to.Memory, "sale-a", 99) }
	if _, err := transfer.Copy(t.Context(), from, to, transfer.Options{}); !errors.Is(err, transfer.ErrConflict) {
		t.Fatalf("%v, want a conflict", err)
	}
}

// intruded is a store to which another process writes just before us.
type intruded struct {
	*storetest.Memory
	intrude func()
}

func (i *intruded) Append(
	ctx context.Context, stream string, expected events.Expected, batch []events.NewEvent,
) (events.AppendResult, error) {
	if do := i.intrude; do != nil {
		i.intrude = nil
		do()
	}
	return i.Memory.Append(ctx, stream, expected, batch)
}

func TestACopyThatIsNotTheSourceIsFound(t *testing.T) {
	from, to := storetest.NewMemory(), storetest.NewMemory()
	add(t, from, "sale-a", 0, 1, 2)
	add(t, from, "sale-b", 0)
	report := mustCopy(t, from, to, transfer.Options{})
	other := storetest.NewMemory()
	add(t, other, "sale-a", 0, 7, 2)
	add(t, other, "sale-b", 0)
	err := transfer.Check(t.Context(), report.Digest, from, other)
	if !errors.Is(err, transfer.ErrDiffers) || !strings.Contains(err.Error(), "sale-a") ||
		!strings.Contains(err.Error(), "the first that differs is event 1") {
		t.Fatalf("%v", err)
	}
}
