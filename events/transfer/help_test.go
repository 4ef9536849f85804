package transfer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/transfer"
)

// failer is a test, or a run of rapid.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
	Context() context.Context
}

var streams = []string{"sale-a-1", "sale-a-2", "tx-1", "slotqueue-1", "plain"}

// history writes a random history: everything that a store can hold.
func history(t *rapid.T, s events.Store, label string) {
	ctx := t.Context()
	n := 0
	for range rapid.IntRange(0, 25).Draw(t, label) {
		n++
		name := rapid.SampledFrom(streams).Draw(t, "stream")
		cause := fmt.Sprintf("%s %d", label, n)
		var err error
		switch rapid.IntRange(0, 11).Draw(t, "what") {
		case 0:
			_, err = s.Delete(ctx, name, events.Any(), false)
		case 1:
			if rapid.IntRange(0, 5).Draw(t, "really") == 0 {
				_, err = s.Delete(ctx, name, events.Any(), true)
			}
		case 2, 3:
			err = put(ctx, s, events.MetadataStream(name), metadata(t, cause))
		case 4:
			err = put(ctx, s, "$stats-1", event(t, cause))
		case 5:
			err = put(ctx, s, "slotqueueSnapshot-1", event(t, cause))
		default:
			for i := range rapid.IntRange(1, 4).Draw(t, "events") {
				if err = put(ctx, s, name, event(t, fmt.Sprint(cause, "/", i))); err != nil {
					break
				}
			}
		}
		if err != nil && !errors.Is(err, events.ErrWrongRevision) && !errors.Is(err, events.ErrStreamDeleted) {
			t.Fatalf("%s: %v", name, err)
		}
	}
}

func put(ctx context.Context, s events.Store, stream string, e events.NewEvent) error {
	_, err := s.Append(ctx, stream, events.Any(), []events.NewEvent{e})
	return err
}

func metadata(t *rapid.T, cause string) events.NewEvent {
	text := rapid.SampledFrom([]string{
		`{}`, `{"$tb":1}`, `{"$maxCount":2}`, `{"$maxAge":3600}`, `{"$tb":2,"owner":{"b":1,"a":[1.50]}}`,
		`{"$acl":{"$r":"auditor","$w":[]}}`, `{"$maxCount":2,"$tb":-1}`,
	}).Draw(t, "metadata")
	return events.NewEvent{ID: events.NewEventID("metadata", cause, 0), Type: events.TypeMetadata, Data: []byte(text)}
}

func event(t *rapid.T, cause string) events.NewEvent {
	e := events.NewEvent{
		ID: events.NewEventID("event", cause, 0), Type: rapid.SampledFrom([]string{"A", "B \"<&>\"", "Ü\x00"}).Draw(t, "type"),
		Binary: rapid.Bool().Draw(t, "binary"),
	}
	e.Data = rapid.OneOf(
		rapid.SampledFrom([][]byte{
			nil, []byte(`{}`), []byte(`{"b":1.50,"a":"\u2028<"}`), []byte("{\"a\":\n1}"), []byte(` {"a": 1 } `),
			[]byte(`null`), []byte(`{} {}`), []byte("\xff"), []byte(`"x"`), []byte(`{"a":1,"a":2}`),
		}),
		rapid.SliceOfN(rapid.Byte(), 0, 20),
	).Draw(t, "data")
	if len(e.Data) == 0 {
		e.Data = nil
	}
	e.Meta, e.Foreign = events.DecodeMetadata(rapid.SampledFrom([][]byte{
		nil, events.Metadata{Correlation: "r", Causation: "c", Cause: "k", Version: 2, Epoch: 1 << 60, Node: "n"}.Marshal(),
		[]byte(`{"$correlationId":"x", "more":1}`), []byte("no JSON\n"), []byte(`null`), []byte(` {} `),
	}).Draw(t, "metadata of the event"))
	return e
}

// contents is everything that a store holds of the transferred streams: their events in the
// order of the log, and what reads of them return.
func contents(t failer, s events.Store) (
	all []events.Recorded, visible map[string][]events.Recorded, about map[string]string,
) {
	t.Helper()
	visible, about = map[string][]events.Recorded{}, map[string]string{}
	for r, err := range s.ReadAll(t.Context(), 0, 0) {
		if err != nil {
			t.Fatalf("read: %v", err)
		}
		if catalog.Streams().InRecord(r.Stream) && r.Type != events.TypeTombstone {
			all = append(all, plain(r))
		}
	}
	for _, name := range streams {
		for r, err := range s.ReadStream(t.Context(), name, events.ReadStream{}) {
			if err != nil {
				about[name] = err.Error()
				break
			}
			// The queue's truncation is not copied.
			if !catalog.Streams().MayTruncate(name) {
				visible[name] = append(visible[name], plain(r))
			}
		}
	}
	return all, visible, about
}

// plain leaves out what the target assigns.
func plain(r events.Recorded) events.Recorded {
	r.Position = 0
	return r
}

// wantSame demands that the second store holds what the first does.
func wantSame(t failer, a, b events.Store) {
	t.Helper()
	allA, visibleA, aboutA := contents(t, a)
	allB, visibleB, aboutB := contents(t, b)
	options := cmp.Options{cmpopts.EquateEmpty(), cmpopts.IgnoreFields(events.Recorded{}, "Recorded")}
	if d := cmp.Diff(allA, allB, options); d != "" {
		t.Fatalf("events (-source +target):\n%s", d)
	}
	if d := cmp.Diff(visibleA, visibleB, options); d != "" {
		t.Fatalf("what can be read (-source +target):\n%s", d)
	}
	for _, name := range streams {
		if aboutA[name] != aboutB[name] && !catalog.Streams().MayTruncate(name) {
			t.Fatalf("%s: %q in the source, %q in the target", name, aboutA[name], aboutB[name])
		}
	}
	digestA, digestB := digest(t, a), digest(t, b)
	if digestA.Sum != digestB.Sum {
		differences, err := transfer.Compare(t.Context(), digestA, a, b, false)
		t.Fatalf("the digests differ, in %v, %v", differences, err)
	}
	if len(digestA.Streams) != len(digestB.Streams) {
		t.Fatalf("streams: %d, %d", len(digestA.Streams), len(digestB.Streams))
	}
}

func digest(t failer, s events.Store) transfer.Digest {
	t.Helper()
	d, err := transfer.DigestOf(t.Context(), s)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return d
}

func mustCopy(t failer, from, to events.Store, o transfer.Options) transfer.Report {
	t.Helper()
	report, err := transfer.Copy(t.Context(), from, to, o)
	if err != nil {
		t.Fatalf("%v", err)
	}
	if err := transfer.Check(t.Context(), report.Digest, from, to); err != nil {
		t.Fatalf("%v", err)
	}
	return report
}

func mustExport(t failer, from events.Store) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := transfer.Export(t.Context(), from, &b, transfer.Options{}); err != nil {
		t.Fatalf("%v", err)
	}
	return b.Bytes()
}

// add appends small events with the given numbers.
func add(t failer, s events.Store, stream string, numbers ...int) {
	t.Helper()
	for _, n := range numbers {
		e := events.NewEvent{
			ID: events.NewEventID(stream, "number", n), Type: "T", Data: fmt.Appendf(nil, `{"n":%d}`, n),
			Meta: events.Metadata{Correlation: "r"},
		}
		if err := put(t.Context(), s, stream, e); err != nil {
			t.Fatalf("%v", err)
		}
	}
}

func setMetadata(t failer, s events.Store, stream, text string) {
	t.Helper()
	head, err := s.Head(t.Context())
	if err != nil {
		t.Fatalf("%v", err)
	}
	e := events.NewEvent{
		ID: events.NewEventID(stream, "set", int(head)), Type: events.TypeMetadata, Data: []byte(text),
	}
	if err := put(t.Context(), s, events.MetadataStream(stream), e); err != nil {
		t.Fatalf("%v", err)
	}
}

// scavenged is a store that has removed a part of a stream.
type scavenged struct {
	events.Store
	stream string
	gone   []uint64
}

func (s scavenged) ReadAll(ctx context.Context, after events.Position, _ int) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		for r, err := range s.Store.ReadAll(ctx, after, 0) {
			if r.Stream == s.stream && slices.Contains(s.gone, r.Revision) {
				continue
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// failing is a store that does not answer any more after a number of appends.
type failing struct {
	events.Store
	left *atomic.Int64
	// lost: the last append was written all the same.
	lost bool
}

func (f failing) Append(
	ctx context.Context, stream string, expected events.Expected, batch []events.NewEvent,
) (events.AppendResult, error) {
	if left := f.left.Add(-1); left < 0 {
		if left == -1 && f.lost {
			_, _ = f.Store.Append(ctx, stream, expected, batch)
		}
		return events.AppendResult{}, events.ErrAway
	}
	return f.Store.Append(ctx, stream, expected, batch)
}

// clock gives each event a second of its own.
func clock() func() time.Time {
	at := time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC)
	return func() time.Time {
		at = at.Add(time.Second)
		return at
	}
}
