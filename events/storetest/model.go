package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/events"
)

// oracle is the port in a few lines: the whole log, searched from the start.
type oracle struct{ log []events.Recorded }

func (o *oracle) stream(name string) []events.Recorded {
	var all []events.Recorded
	for _, r := range o.log {
		if r.Stream == name {
			all = append(all, r)
		}
	}
	return all
}

// append returns what a store must answer; ok is false for a wrong revision.
func (o *oracle) append(
	name string, expected events.Expected, batch []events.NewEvent,
) (result events.AppendResult, ok bool) {
	there := o.stream(name)
	count := uint64(len(there))
	n, exact := expected.Count()
	if !exact {
		n = count
	}
	switch {
	case n > count, len(batch) == 0 && n != count:
		return result, false
	case len(batch) == 0:
		return events.AppendResult{Revision: max(count, 1) - 1, Exists: count > 0}, true
	case n < count:
		if uint64(len(batch)) > count-n {
			return result, false
		}
		for i, e := range batch {
			if there[n+uint64(i)].ID != e.ID {
				return result, false
			}
		}
		last := there[n+uint64(len(batch))-1]
		return events.AppendResult{
			Revision: last.Revision, Exists: true, Position: last.Position, Repeated: true,
		}, true
	}
	for i, e := range batch {
		o.log = append(o.log, recorded(e, name, count+uint64(i), events.Position(len(o.log)+1)))
	}
	return events.AppendResult{
		Revision: count + uint64(len(batch)) - 1, Exists: true, Position: events.Position(len(o.log)),
	}, true
}

// model compares a store with the oracle under random operations. All of
// rapid's runs use one store, each with streams of its own, because opening a
// durable store takes longer than a run.
func model(t *testing.T, open func(*testing.T) events.Store) {
	s := open(t)
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		compare(rt, s, fmt.Sprintf("run%d", run))
	})
}

// compare runs one random history in streams of its own.
func compare(t *rapid.T, s events.Store, run string) {
	streams := []string{run + "-a", run + "-a-b", run + "-c"}
	base, err := s.Head(t.Context())
	if err != nil {
		t.Fatalf("head: %v", err)
	}
	o := &oracle{}
	fresh := 0
	t.Repeat(map[string]func(*rapid.T){
		"append": func(t *rapid.T) {
			name := rapid.SampledFrom(streams).Draw(t, "stream")
			expected := expectation(t, uint64(len(o.stream(name))))
			batch := make([]events.NewEvent, rapid.IntRange(0, 4).Draw(t, "events"))
			for i := range batch {
				number := rapid.IntRange(0, 12).Draw(t, "id")
				if expected.IsAny() {
					// What Any remembers is bounded and not part of the model.
					fresh++
					number = 1000 + fresh
				}
				batch[i] = event(number)
			}
			checkAppend(t, s, o, base, name, expected, batch)
		},
		"read": func(t *rapid.T) {
			name := rapid.SampledFrom(streams).Draw(t, "stream")
			q := events.ReadStream{
				From:     rapid.OneOf(rapid.Uint64Range(0, 8), rapid.Just(events.End)).Draw(t, "from"),
				Backward: rapid.Bool().Draw(t, "backward"),
				Limit:    rapid.IntRange(0, 5).Draw(t, "limit"),
			}
			checkRead(t, s, o, base, name, q)
		},
		"": func(t *rapid.T) {
			got, err := collect(s.ReadAll(t.Context(), base, 0))
			if err != nil {
				t.Fatalf("read all: %v", err)
			}
			if d := diff(o.log, shift(got, base)); d != "" {
				t.Fatalf("all (-model +store):\n%s", d)
			}
		},
	})
}

func expectation(t *rapid.T, count uint64) events.Expected {
	switch rapid.IntRange(0, 5).Draw(t, "expectation") {
	case 0:
		return events.Any()
	case 1:
		return events.ExpectNext(rapid.Uint64Range(0, 6).Draw(t, "count"))
	case 2:
		return events.NoStream()
	}
	return events.ExpectNext(count)
}

// shift moves positions back to those of a store that began empty.
func shift(all []events.Recorded, base events.Position) []events.Recorded {
	for i := range all {
		all[i].Position -= base
	}
	return all
}

func checkAppend(
	t *rapid.T, s events.Store, o *oracle, base events.Position,
	name string, expected events.Expected, batch []events.NewEvent,
) {
	count := uint64(len(o.stream(name)))
	want, ok := o.append(name, expected, batch)
	got, err := s.Append(t.Context(), name, expected, batch)
	if got.Position > 0 {
		got.Position -= base
	}
	var wrong *events.WrongRevisionError
	switch {
	case ok && (err != nil || got != want):
		t.Fatalf("append %d to %s expecting %v: %+v, %v, want %+v",
			len(batch), name, expected, got, err, want)
	case !ok && !errors.As(err, &wrong):
		t.Fatalf("append %d to %s expecting %v: %+v, %v, want a wrong revision",
			len(batch), name, expected, got, err)
	case !ok && (wrong.Exists != (count > 0) || wrong.Exists && wrong.Actual != count-1):
		t.Fatalf("append to %s expecting %v: %+v, the stream has %d", name, expected, wrong, count)
	}
}

func checkRead(
	t *rapid.T, s events.Store, o *oracle, base events.Position, name string, q events.ReadStream,
) {
	got, err := collect(s.ReadStream(t.Context(), name, q))
	want := o.stream(name)
	if len(want) == 0 {
		if !errors.Is(err, events.ErrStreamNotFound) {
			t.Fatalf("read %s: %v, want not found", name, err)
		}
		return
	}
	if err != nil {
		t.Fatalf("read %s %+v: %v", name, q, err)
	}
	if q.Backward {
		want = want[:min(q.From, uint64(len(want)-1))+1]
		slices.Reverse(want)
	} else {
		want = want[min(q.From, uint64(len(want))):]
	}
	if q.Limit > 0 {
		want = want[:min(q.Limit, len(want))]
	}
	if d := diff(want, shift(got, base)); d != "" {
		t.Fatalf("read %s %+v (-model +store):\n%s", name, q, d)
	}
}
