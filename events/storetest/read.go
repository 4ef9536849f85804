package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hostnode/hostnode/events"
)

// reads holds a store to the rules of ReadStream and ReadAll.
func reads(t *testing.T, b bench) {
	t.Run("events come back as they were written", func(t *testing.T) { roundTrip(t, b.open(t)) })
	t.Run("the metadata of others comes back byte for byte", func(t *testing.T) { foreign(t, b) })
	t.Run("streams are read in both directions from any revision", func(t *testing.T) {
		directions(t, b.open(t))
	})
	t.Run("a stream without events is not found", func(t *testing.T) {
		s := b.open(t)
		mustAppend(t, s, "a-1", events.Any(), 1)
		for _, q := range []events.ReadStream{{}, {From: 5}, {From: events.End, Backward: true}} {
			n := 0
			for _, err := range s.ReadStream(t.Context(), "a-2", q) {
				if n++; !errors.Is(err, events.ErrStreamNotFound) {
					t.Fatalf("%+v: %v, want not found", q, err)
				}
			}
			if n != 1 {
				t.Fatalf("%+v: yielded %d times, want once", q, n)
			}
		}
	})
	t.Run("all streams are read in one order without gaps", func(t *testing.T) {
		globalOrder(t, b.open(t))
	})
	t.Run("names are bytes and none is part of another", func(t *testing.T) { names(t, b.open(t)) })
	t.Run("large events and long streams survive", func(t *testing.T) { large(t, b.open(t)) })
	t.Run("a consumer may stop at any event", func(t *testing.T) {
		s := b.open(t)
		mustAppend(t, s, "a-1", events.Any(), 1, 2, 3)
		for range s.ReadAll(t.Context(), 0, 0) {
			break
		}
		for range s.ReadStream(t.Context(), "a-1", events.ReadStream{}) {
			break
		}
		for range s.ReadStream(t.Context(), "none-1", events.ReadStream{}) {
			break
		}
	})
	t.Run("a context that ends in the middle ends the read", func(t *testing.T) {
		s := b.open(t)
		mustAppend(t, s, "a-1", events.Any(), 1, 2, 3)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		n := 0
		for _, err := range s.ReadAll(ctx, 0, 0) {
			if n++; n == 1 {
				cancel()
			} else if !errors.Is(err, context.Canceled) {
				t.Fatalf("after the end of the context: %v", err)
			}
		}
		if n != 2 {
			t.Fatalf("yielded %d times, want one event and one error", n)
		}
		if _, err := collect(s.ReadStream(ctx, "a-1", events.ReadStream{})); !errors.Is(
			err, context.Canceled) {
			t.Fatalf("read with a context that has ended: %v", err)
		}
		if _, err := s.Head(ctx); !errors.Is(err, context.Canceled) {
			t.Fatalf("head with a context that has ended: %v", err)
		}
	})
}

func roundTrip(t *testing.T, s events.Store) {
	before := time.Now()
	plain := events.NewEvent{ID: id(2), Type: "no data, no metadata"}
	binary := events.NewEvent{
		ID: id(3), Type: "a type \x00 \u2028", Binary: true, Data: []byte{0, 1, 0xff, '\n'},
		Meta: events.Metadata{Correlation: "\"<&>\u2028", Version: 1<<32 - 1, Epoch: 1<<64 - 1},
	}
	caused := events.NewEvent{ID: id(4), Type: "only a cause", Meta: events.Metadata{Cause: strings.Repeat("cause:", 50)}}
	batch := []events.NewEvent{event(1), plain, binary, caused, event(6)}
	if _, err := s.Append(t.Context(), "a-1", events.NoStream(), batch); err != nil {
		t.Fatal(err)
	}
	var want []events.Recorded
	for i, e := range batch {
		want = append(want, recorded(e, "a-1", uint64(i), events.Position(i+1)))
	}
	got := stream(t, s, "a-1")
	if d := diff(want, got); d != "" {
		t.Fatalf("stream (-want +got):\n%s", d)
	}
	if d := diff(want, mustRead(t, s.ReadAll(t.Context(), 0, 0))); d != "" {
		t.Fatalf("all (-want +got):\n%s", d)
	}
	for _, r := range got {
		if r.Recorded.Before(before.Add(-time.Minute)) || r.Recorded.After(time.Now().Add(time.Minute)) {
			t.Fatalf("recorded at %v, it is %v", r.Recorded, time.Now())
		}
	}
}

// foreign appends what other programs may write as metadata. An object that
// ends early is left out: it would stop the system projections of a shared
// server for good.
func foreign(t *testing.T, b bench) {
	s := b.open(t)
	var want []events.Recorded
	texts := []string{
		`{"$correlationId":"x","other":[1,2,{"a":null}]}`, ` { "$causationId": "7" } `, `{}`, `[]`, `"x"`, `null`,
		`{"$correlationId":7}`, `{"schemaVersion":1,"schemaVersion":2}`, "no JSON", "\x00\xff\n",
		`{"a":"` + strings.Repeat("long", 10_000) + `"}`, `{"cause":"look","$causationId":"7","by":1}`, `{"cause":{}}`,
	}
	if !b.remote {
		texts = append(texts, `{`, `{"a":1`, `{"$correlationId":{}}`, `{"$correlationId":[]}`)
	}
	for n, text := range texts {
		e := events.NewEvent{ID: id(n), Type: "Foreign", Data: []byte(`{"x": 1.50}`), Binary: n%2 == 1}
		e.Meta, e.Foreign = events.DecodeMetadata([]byte(text))
		if e.Foreign == nil {
			t.Fatalf("metadata %q is taken for ours", text)
		}
		if _, err := s.Append(t.Context(), "a-1", events.ExpectNext(uint64(n)), []events.NewEvent{e}); err != nil {
			t.Fatal(err)
		}
		want = append(want, recorded(e, "a-1", uint64(n), events.Position(n+1)))
	}
	if d := diff(want, stream(t, s, "a-1")); d != "" {
		t.Fatalf("stream (-want +got):\n%s", d)
	}
	if d := diff(want, mustRead(t, s.ReadAll(t.Context(), 0, 0))); d != "" {
		t.Fatalf("all (-want +got):\n%s", d)
	}
}

func directions(t *testing.T, s events.Store) {
	for n := range 5 {
		mustAppend(t, s, "a-1", events.ExpectNext(uint64(n)), n)
		mustAppend(t, s, "b-1", events.ExpectNext(uint64(n)), 10+n)
	}
	for _, c := range []struct {
		q    events.ReadStream
		want []uint64
	}{
		{events.ReadStream{}, []uint64{0, 1, 2, 3, 4}},
		{events.ReadStream{From: 2}, []uint64{2, 3, 4}},
		{events.ReadStream{From: 4}, []uint64{4}},
		{events.ReadStream{From: 5}, []uint64{}},
		{events.ReadStream{From: 1 << 60}, []uint64{}},
		{events.ReadStream{From: events.End}, []uint64{}},
		{events.ReadStream{Limit: 2}, []uint64{0, 1}},
		{events.ReadStream{From: 1, Limit: 3}, []uint64{1, 2, 3}},
		{events.ReadStream{From: 3, Limit: 9}, []uint64{3, 4}},
		{events.ReadStream{From: events.End, Backward: true}, []uint64{4, 3, 2, 1, 0}},
		{events.ReadStream{From: events.End, Backward: true, Limit: 1}, []uint64{4}},
		{events.ReadStream{From: 3, Backward: true}, []uint64{3, 2, 1, 0}},
		{events.ReadStream{From: 3, Backward: true, Limit: 2}, []uint64{3, 2}},
		{events.ReadStream{From: 0, Backward: true}, []uint64{0}},
		{events.ReadStream{From: 9, Backward: true, Limit: 2}, []uint64{4, 3}},
	} {
		got := mustRead(t, s.ReadStream(t.Context(), "a-1", c.q))
		if !slices.Equal(revisions(got), c.want) {
			t.Fatalf("%+v: revisions %v, want %v", c.q, revisions(got), c.want)
		}
		for _, r := range got {
			if r.Stream != "a-1" || r.ID != id(int(r.Revision)) {
				t.Fatalf("%+v: event %v of %s at revision %d", c.q, r.ID, r.Stream, r.Revision)
			}
		}
	}
}

func globalOrder(t *testing.T, s events.Store) {
	const appends = 400 // more than one chunk of any store
	var want []events.Recorded
	counts := map[string]uint64{}
	for n := range appends {
		name := fmt.Sprintf("s-%d", n%7)
		numbers := []int{2 * n, 2*n + 1}[:1+n%2]
		result := mustAppend(t, s, name, events.ExpectNext(counts[name]), numbers...)
		for _, number := range numbers {
			want = append(want, recorded(event(number), name, counts[name], events.Position(len(want)+1)))
			counts[name]++
		}
		if result.Position != events.Position(len(want)) || result.Revision != counts[name]-1 {
			t.Fatalf("append %d: %+v, want position %d", n, result, len(want))
		}
	}
	all := len(want)
	for _, c := range []struct{ after, limit, from, to int }{
		{0, 0, 0, all},
		{0, 1, 0, 1},
		{0, 100, 0, 100},
		{all - 1, 0, all - 1, all},
		{all, 0, all, all},
		{all + 9, 0, all, all},
		{17, 300, 17, 317},
		{17, all, 17, all},
	} {
		got := mustRead(t, s.ReadAll(t.Context(), events.Position(c.after), c.limit))
		if d := diff(want[c.from:c.to], got); d != "" {
			t.Fatalf("after %d, limit %d (-want +got):\n%s", c.after, c.limit, d)
		}
	}
	wantHead(t, s, events.Position(all))
	got := stream(t, s, "s-3")
	for i, r := range got {
		if r.Revision != uint64(i) {
			t.Fatalf("revisions of s-3: %v", revisions(got))
		}
	}
	if uint64(len(got)) != counts["s-3"] {
		t.Fatalf("s-3 has %d events, want %d", len(got), counts["s-3"])
	}
}

func names(t *testing.T, s events.Store) {
	all := []string{
		"a", "a-", "a-1", "a-1-2", "a-11", "a-1\x00", "a-1\x00\x00", "a-1\x00\x01", "a-1\x00ÿ",
		"a-1\x01", "a-1ÿ", "a-1ÿÿ", "\x00", "\x00\x00", "\x00\x01", "\U0010ffff", "-", "--",
		"größe-ß", "銀行-1", "銀行-1\u0301", "A-1", " ", "e", "s", "h", "$a", "ce-a", "a/../b", "%s%d",
		"a-1\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00",
	}
	for round := range 3 {
		for i, name := range all {
			mustAppend(t, s, name, events.ExpectNext(uint64(round)), 100*i+round)
		}
	}
	for i, name := range all {
		want := make([]events.Recorded, 3)
		for round := range want {
			position := events.Position(round*len(all) + i + 1)
			want[round] = recorded(event(100*i+round), name, uint64(round), position)
		}
		if d := diff(want, stream(t, s, name)); d != "" {
			t.Fatalf("stream %q (-want +got):\n%s", name, d)
		}
		back := mustRead(t, s.ReadStream(t.Context(), name, events.ReadStream{
			From: events.End, Backward: true, Limit: 1,
		}))
		if d := diff(want[2:], back); d != "" {
			t.Fatalf("last event of %q (-want +got):\n%s", name, d)
		}
	}
}

func large(t *testing.T, s events.Store) {
	var want []events.Recorded
	for n := range 24 {
		e := event(n)
		e.Binary = true
		e.Data = make([]byte, (n%4)*200<<10+n)
		for i := range e.Data {
			e.Data[i] = byte(i * (n + 1) >> 3)
		}
		if _, err := s.Append(t.Context(), "a-1", events.ExpectNext(uint64(n)),
			[]events.NewEvent{e}); err != nil {
			t.Fatal(err)
		}
		want = append(want, recorded(e, "a-1", uint64(n), events.Position(n+1)))
	}
	if d := diff(want, stream(t, s, "a-1")); d != "" {
		t.Fatal("the stream of large events is not what was written")
	}
	if d := diff(want, mustRead(t, s.ReadAll(t.Context(), 0, 0))); d != "" {
		t.Fatal("the log of large events is not what was written")
	}
	slices.Reverse(want)
	back := mustRead(t, s.ReadStream(t.Context(), "a-1", events.ReadStream{
		From: events.End, Backward: true,
	}))
	if d := diff(want, back); d != "" {
		t.Fatal("the stream of large events read backward is not what was written")
	}
}
