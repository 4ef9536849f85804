package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/events"
)

// model compares a store with the oracle under random operations. All of
// rapid's runs use one store, each with streams of its own, because opening a
// durable store takes longer than a run.
func model(t *testing.T, b bench) {
	s := b.open(t)
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		compare(rt, b, s, fmt.Sprintf("run%d", run))
	})
}

// trial is one random history in streams of its own.
type trial struct {
	bench
	store   events.Store
	oracle  *oracle
	base    events.Position // the head when it began
	streams []string
	fresh   int // ids used up for what the model does not remember
	// places are the positions that the log gave.
	places map[place]bool
}

func compare(t *rapid.T, b bench, s events.Store, run string) {
	base, err := s.Head(t.Context())
	if err != nil {
		t.Fatalf("head: %v", err)
	}
	m := &trial{
		bench: b, store: s, base: base, streams: []string{run + "-a", run + "-a-b", run + "-c"},
		oracle: &oracle{streams: map[string]*told{}, forgets: b.DeleteForgets}, places: map[place]bool{},
	}
	actions := map[string]func(*rapid.T){
		"append": m.append, "read": m.read, "metadata": m.metadata, "delete": m.delete, "": m.logged,
	}
	if !b.NoVirtual && !b.Late {
		actions["category"] = func(t *rapid.T) {
			q := query(t)
			m.category(t, events.VirtualCategory+run, q)
		}
	}
	t.Repeat(actions)
}

func expectation(t *rapid.T, count uint64) events.Expected {
	switch rapid.IntRange(0, 7).Draw(t, "expectation") {
	case 0:
		return events.Any()
	case 1:
		return events.ExpectNext(rapid.Uint64Range(0, 6).Draw(t, "count"))
	case 2:
		return events.NoStream()
	case 3:
		return events.StreamExists()
	}
	return events.ExpectNext(count)
}

func query(t *rapid.T) events.ReadStream {
	return events.ReadStream{
		From:     rapid.OneOf(rapid.Uint64Range(0, 8), rapid.Just(events.End)).Draw(t, "from"),
		Backward: rapid.Bool().Draw(t, "backward"),
		Limit:    rapid.IntRange(0, 5).Draw(t, "limit"),
	}
}

func (m *trial) append(t *rapid.T) {
	name := rapid.SampledFrom(m.streams).Draw(t, "stream")
	count := uint64(len(m.oracle.stream(name)))
	expected := expectation(t, count)
	_, exact := expected.Count()
	batch := make([]events.NewEvent, rapid.IntRange(0, 4).Draw(t, "events"))
	for i := range batch {
		number := rapid.IntRange(0, 12).Draw(t, "id")
		if !exact {
			// What Any remembers is bounded and not part of the model.
			m.fresh++
			number = 1000 + m.fresh
		}
		batch[i] = event(number)
	}
	want, failure := m.oracle.append(name, expected, batch)
	hidden := want.Repeated && want.Revision < m.oracle.told(name).meta.TruncateBefore
	got, err := m.store.Append(t.Context(), name, expected, batch)
	m.failed(t, "append", name, expected, failure, err, count)
	if failure != nil {
		return
	}
	position := got.Position
	got.Position, want.Repeated = 0, want.Repeated && !m.remote
	if got != want {
		t.Fatalf("append %d to %s expecting %v: %+v, want %+v", len(batch), name, expected, got, want)
	}
	m.settle(t, name)
	m.logged(t)
	if len(batch) == 0 || hidden {
		if position != 0 {
			t.Fatalf("append %d to %s: position %d of an event that is hidden or none", len(batch), name, position)
		}
	} else if !m.places[place{position, name, want.Revision}] {
		t.Fatalf("append to %s: revision %d is not at position %d", name, want.Revision, position)
	}
}

// failed demands the same kind of outcome from oracle and store.
func (m *trial) failed(
	t *rapid.T, what, name string, expected events.Expected, want, got error, count uint64,
) {
	if !errors.Is(got, want) {
		t.Fatalf("%s %s expecting %v: %v, want %v", what, name, expected, got, want)
	}
	var wrong *events.WrongRevisionError
	if !errors.As(got, &wrong) {
		return
	}
	if wrong.Stream != name || wrong.Expected != expected || wrong.Exists != (count > 0) ||
		wrong.Exists && wrong.Actual != count-1 {
		t.Fatalf("%s %s expecting %v: %+v, the stream has %d", what, name, expected, wrong, count)
	}
}

func (m *trial) delete(t *rapid.T) {
	name := rapid.SampledFrom(m.streams).Draw(t, "stream")
	count := uint64(len(m.oracle.stream(name)))
	expected := expectation(t, count)
	forever := rapid.IntRange(0, 9).Draw(t, "for ever") == 0
	failure := m.oracle.delete(name, expected, forever)
	position, err := m.store.Delete(t.Context(), name, expected, forever)
	m.failed(t, "delete", name, expected, failure, err, count)
	if head, err := m.store.Head(t.Context()); failure == nil && !m.Shared && (err != nil || head != position) {
		t.Fatalf("delete %s: position %d, the head is %d, %v", name, position, head, err)
	}
}

// metadata sets the metadata of a stream.
func (m *trial) metadata(t *rapid.T) {
	name := rapid.SampledFrom(m.streams).Draw(t, "stream")
	meta := events.StreamMetadata{
		TruncateBefore: rapid.Uint64Range(0, 6).Draw(t, "$tb"),
		MaxCount:       rapid.Uint64Range(0, 4).Draw(t, "$maxCount"),
	}
	writes := m.oracle.told(name).writes
	e := events.NewEvent{
		ID: events.NewEventID(name, "metadata", int(writes)), Type: events.TypeMetadata, Data: meta.Marshal(),
	}
	failure := m.oracle.set(name, meta)
	result, err := m.store.Append(t.Context(), events.MetadataStream(name), events.ExpectNext(writes),
		[]events.NewEvent{e})
	if !errors.Is(err, failure) || failure == nil && result.Revision != writes {
		t.Fatalf("set the metadata of %s: %+v, %v, want revision %d, %v", name, result, err, writes, failure)
	}
	m.settle(t, name)
}

// settle waits until the store has written the metadata that makes a deleted stream readable again.
func (m *trial) settle(t *rapid.T, name string) {
	about := m.oracle.told(name)
	if !m.Late || about.writes == 0 {
		return
	}
	await(t, m.store, "the metadata of "+name, func() bool {
		writes := uint64(0)
		for r, err := range m.store.ReadAll(t.Context(), m.base, 0) { // When the stream has ended, only the log has it.
			if err != nil {
				t.Fatal(err)
			}
			if r.Stream == events.MetadataStream(name) {
				writes = r.Revision + 1
			}
		}
		return writes == about.writes
	})
}

func (m *trial) read(t *rapid.T) {
	name, q := rapid.SampledFrom(m.streams).Draw(t, "stream"), query(t)
	want, failure := m.oracle.read(name, q)
	m.same(t, name, q, want, failure)
}

// same demands that a read yields the same from both, at the positions of the log.
func (m *trial) same(t *rapid.T, name string, q events.ReadStream, want []events.Recorded, failure error) {
	got, err := collect(m.store.ReadStream(t.Context(), name, q))
	if !errors.Is(err, failure) {
		t.Fatalf("read %s %+v: %v, want %v", name, q, err, failure)
	}
	for i, r := range got {
		if !m.places[place{r.Position, r.Stream, r.Revision}] {
			t.Fatalf("read %s %+v: %s revision %d is not at position %d", name, q, r.Stream, r.Revision, r.Position)
		}
		got[i].Position = 0
	}
	if d := diff(want, got); d != "" {
		t.Fatalf("read %s %+v (-model +store):\n%s", name, q, d)
	}
}

// category compares an index.
func (m *trial) category(t *rapid.T, virtual string, q events.ReadStream) {
	want, ids, failure := m.oracle.category(q)
	all, err := collect(m.store.ReadStream(t.Context(), virtual, q))
	if !errors.Is(err, failure) {
		t.Fatalf("read %s %+v: %v, want %v", virtual, q, err, failure)
	}
	var got []link
	var have []events.EventID
	for _, r := range all {
		got = append(got, link{r.Stream, r.Revision, r.Link.Revision, r.Gone()})
		if !r.Gone() && !events.IsSystem(r.Stream) {
			have = append(have, r.ID)
		}
	}
	if !slices.Equal(want, got) || !slices.Equal(ids, have) {
		t.Fatalf("read %s %+v: %+v with %v, want %+v with %v", virtual, q, got, have, want, ids)
	}
}

// logged compares the log, in both directions.
func (m *trial) logged(t *rapid.T) {
	all, err := collect(m.store.ReadAll(t.Context(), m.base, 0))
	if err != nil {
		t.Fatalf("read all: %v", err)
	}
	if len(all) > 0 && !m.Shared { // Shared, others may have written in between.
		back, err := collect(m.store.ReadBack(t.Context(), events.EndPosition, len(all)))
		if err != nil {
			t.Fatalf("read back: %v", err)
		}
		slices.Reverse(back)
		if d := diff(all, back); d != "" {
			t.Fatalf("the log read backward (-forward +backward):\n%s", d)
		}
	}
	var got []events.Recorded
	about := map[string]*told{}
	at := m.base
	for _, r := range all {
		if r.Position <= at {
			t.Fatalf("the log has position %d behind %d", r.Position, at)
		}
		at = r.Position
		m.places[place{r.Position, r.Stream, r.Revision}] = true
		r.Position = 0
		of, meta := events.MetadataOf(r.Stream)
		switch {
		case meta:
			m.heard(t, about, of, r)
			continue
		case r.Type == events.TypeTombstone: // How a tombstone is numbered is up to the store.
			r = events.Recorded{Stream: r.Stream, Type: r.Type}
		}
		got = append(got, r)
	}
	if d := diff(m.oracle.log, got); d != "" {
		t.Fatalf("all (-model +store):\n%s", d)
	}
	for _, name := range m.streams {
		want, have := *m.oracle.told(name), told{}
		if about[name] != nil {
			have = *about[name]
		}
		have.ended = want.ended
		if want.ended && m.Late {
			// What such a server writes to make a deleted stream readable again is of no use here: it
			// counts on from the tombstone, and overflows.
			have.meta, want.meta = events.StreamMetadata{}, events.StreamMetadata{}
		}
		if d := cmp.Diff(want, have, cmp.AllowUnexported(told{}), cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("metadata of %s in the log (-model +store):\n%s", name, d)
		}
	}
}

// heard handles an event of a metadata stream in the log.
func (m *trial) heard(t *rapid.T, about map[string]*told, of string, r events.Recorded) {
	if about[of] == nil {
		about[of] = &told{}
	}
	if r.Revision != about[of].writes {
		t.Fatalf("%s has revision %d where %d is due", r.Stream, r.Revision, about[of].writes)
	}
	about[of].writes++
	var err error
	if about[of].meta, err = events.ParseStreamMetadata(r.Data); err != nil {
		t.Fatalf("%s revision %d: %v", r.Stream, r.Revision, err)
	}
}
