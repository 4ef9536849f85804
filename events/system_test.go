package events

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func TestNamesOfTheSystemAreToldFromOurs(t *testing.T) {
	for _, c := range []struct {
		stream          string
		system, virtual bool
		of              string
		meta            bool
	}{
		{"sale-1", false, false, "", false},
		{"", false, false, "", false},
		{"ce-$", false, false, "", false},
		{"$stats", true, false, "", false},
		{"$", true, false, "", false},
		{"$$sale-1", true, false, "sale-1", true},
		{"$$$stats", true, false, "$stats", true},
		{"$$", true, false, "", true},
		{"$ce-sale", true, true, "", false},
		{"$ce-", true, true, "", false},
		{"$et-SaleStarted", true, true, "", false},
		{"$bc-1", true, true, "", false},
		{"$streams", true, true, "", false},
		{"$streams-1", true, false, "", false},
		{"$category-sale", true, false, "", false},
		{"$$$ce-sale", true, false, "$ce-sale", true},
	} {
		of, meta := MetadataOf(c.stream)
		if IsSystem(c.stream) != c.system || IsVirtual(c.stream) != c.virtual || of != c.of || meta != c.meta {
			t.Errorf("%q: system %v, virtual %v, metadata of %q %v, want %+v",
				c.stream, IsSystem(c.stream), IsVirtual(c.stream), of, meta, c)
		}
		if meta && MetadataStream(of) != c.stream {
			t.Errorf("the metadata stream of %q is %q, want %q", of, MetadataStream(of), c.stream)
		}
	}
}

func TestAnEventBelongsToItsVirtualStreams(t *testing.T) {
	const deletes, keeps = `{"$tb":9223372036854775807}`, `{"$tb":3}`
	for _, c := range []struct {
		why  string
		r    Recorded
		want []string
	}{
		{
			"all four",
			Recorded{Stream: "sale-1-2", Type: "T", Meta: Metadata{Correlation: "r1"}},
			[]string{"$ce-sale", "$et-T", "$bc-r1", "$streams"},
		},
		{"not the first", Recorded{Stream: "sale-1-2", Type: "T", Revision: 1}, []string{"$ce-sale", "$et-T"}},
		{"no dash", Recorded{Stream: "plain", Type: "T"}, []string{"$et-T", "$streams"}},
		{"a dash that leads", Recorded{Stream: "-a-b", Type: "T", Revision: 1}, []string{"$et-T"}},
		{"a dash at the end", Recorded{Stream: "a-", Type: "T", Revision: 1}, []string{"$ce-a", "$et-T"}},
		{"a type of the system", Recorded{Stream: "a-1", Type: "$T", Revision: 1}, []string{"$ce-a", "$et-$T"}},
		{"a stream of the system", Recorded{Stream: "$stats-a", Type: "T", Meta: Metadata{Correlation: "r1"}}, nil},
		{"metadata of the system", Recorded{Stream: "$$$stats-a", Type: TypeMetadata, Data: []byte(deletes)}, nil},
		{"metadata", Recorded{Stream: "$$a-1", Type: TypeMetadata, Data: []byte(keeps)}, []string{"$et-$metadata", "$streams"}},
		{
			"metadata that deletes",
			Recorded{Stream: "$$a-1", Type: TypeMetadata, Data: []byte(deletes), Revision: 4},
			[]string{"$ce-a", "$et-$deleted"},
		},
		{
			"metadata that deletes what has no dash",
			Recorded{Stream: "$$a", Type: TypeMetadata, Data: []byte(deletes)},
			[]string{"$et-$deleted", "$streams"},
		},
		{"another type there", Recorded{Stream: "$$a-1", Type: "T", Data: []byte(deletes), Revision: 4}, []string{"$et-T"}},
		{"metadata that is none", Recorded{Stream: "$$a-1", Type: TypeMetadata, Data: []byte("{"), Revision: 4}, []string{"$et-$metadata"}},
		{"a tombstone", Recorded{Stream: "a-1", Type: TypeTombstone, Revision: 4}, []string{"$ce-a", "$et-$deleted"}},
		{"a tombstone of what never was", Recorded{Stream: "a-1", Type: TypeTombstone}, []string{"$ce-a", "$et-$deleted"}},
		{
			"a link",
			Recorded{Stream: "a-1", Type: TypeLink, Meta: Metadata{Correlation: "r1"}, Data: []byte("0@b-1")},
			[]string{"$ce-a", "$streams"},
		},
	} {
		got := VirtualOf(&c.r)
		if d := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.why, d)
		}
		for _, name := range got {
			if !IsVirtual(name) || !errors.Is(CheckAppend(name, nil), ErrReadOnly) {
				t.Errorf("%s: %s is not virtual, or not read-only", c.why, name)
			}
		}
	}
}

func TestBelongsSaysWhatVirtualOfSays(t *testing.T) {
	part := rapid.SampledFrom([]string{"", "a", "b", "a-b", "$", "$a", "$$a", "ce-a", "-", "streams"})
	prefix := rapid.SampledFrom([]string{"", "$ce-", "$et-", "$bc-", "$streams", "$x-"})
	rapid.Check(t, func(t *rapid.T) {
		e := Recorded{
			Stream:   part.Draw(t, "category") + rapid.SampledFrom([]string{"", "-1", "-2-a"}).Draw(t, "id"),
			Type:     rapid.OneOf(part, rapid.SampledFrom([]string{TypeLink, TypeMetadata, TypeTombstone})).Draw(t, "type"),
			Data:     []byte(rapid.SampledFrom([]string{`{}`, `{"$tb":9223372036854775807}`}).Draw(t, "data")),
			Revision: rapid.Uint64Range(0, 2).Draw(t, "revision"),
			Meta:     Metadata{Correlation: part.Draw(t, "correlation")},
		}
		names := VirtualOf(&e)
		for _, name := range names {
			if !Belongs(name, &e) {
				t.Fatalf("%+v does not belong to %q", e, name)
			}
		}
		virtual := prefix.Draw(t, "prefix") + part.Draw(t, "name")
		if IsVirtual(virtual) && Belongs(virtual, &e) != slices.Contains(names, virtual) {
			t.Fatalf("%+v belongs to %q: %v, VirtualOf has %q", e, virtual, Belongs(virtual, &e), names)
		}
	})
}

func TestConversationsOfOthersAreNamedByTextOrNumber(t *testing.T) {
	for meta, want := range map[string]string{
		`{"$correlationId":"text","own":1}`:             "$bc-text",
		`{"$correlationId":"text","schemaVersion":"x"}`: "$bc-text",
		`{"$correlationId":7}`:                          "$bc-7",
		`{"$correlationId":-1.5}`:                       "$bc--1.5",
		`{"$correlationId":true}`:                       "$bc-True",
		`{"$correlationId":null}`:                       "",
		`{"$correlationId":""}`:                         "",
		`{"$correlationId":{}}`:                         "",
		`{"$correlationId":[1]}`:                        "",
		`{"own":1}`:                                     "",
		`[7]`:                                           "",
		`{"$correlationId":7`:                           "",
		`nonsense`:                                      "",
	} {
		r := Recorded{Stream: "plain", Type: TypeTombstone, Revision: 1}
		r.Meta, r.Foreign = DecodeMetadata([]byte(meta))
		got := VirtualOf(&r)[1:]
		if want == "" && len(got) != 0 || want != "" && (len(got) != 1 || got[0] != want) {
			t.Errorf("%s: %q, want %q", meta, got, want)
		}
	}
}

func TestALinkSaysWhatItNamesAndWhatItWasMadeFor(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 678_900_000, time.UTC)
	id := EventID{0: 1, 15: 2}
	const caused, place = `"$causedBy":"01000000-0000-0000-0000-000000000002"`, `{"$v":"1:-1:1:4","$c":9,"$p":9,`
	deletes := []byte(`{"$tb":9223372036854775807}`)
	for _, c := range []struct {
		virtual             string
		r                   Recorded
		target, meta        string
		follows, unreadable bool
	}{
		{"$ce-a", Recorded{Stream: "a-1", Revision: 7, Type: "T"}, "7@a-1", `"$o":"a-1",` + caused, false, false},
		{
			"$et-T",
			Recorded{Stream: "a-1", Revision: 7, Type: "T", Meta: Metadata{Correlation: "c"}},
			"7@a-1",
			caused + `,"$correlationId":"c"`, false, false,
		},
		{
			"$bc-7",
			Recorded{Stream: "a-1", Revision: 7, Type: "T", Foreign: []byte(`{"$correlationId":7}`)},
			"7@a-1",
			`"$eventTimestamp":"2026-01-02T03:04:05.678900Z",` + caused + `,"$correlationId":"7"`, false, false,
		},
		{"$streams", Recorded{Stream: "a-1", Type: TypeLink, Data: []byte("3@b-1")}, "0@a-1", caused, false, false},
		{"$ce-a", Recorded{Stream: "a-1", Type: TypeLink, Data: []byte("3@b-1")}, "3@b-1", `"$o":"a-1",` + caused, true, false},
		{"$ce-a", Recorded{Stream: "a-1", Type: TypeLink, Data: []byte("b-1")}, "b-1", `"$o":"a-1",` + caused, true, true},
		{"$ce-a", Recorded{Stream: "a-1", Type: TypeLink, Data: make([]byte, 1<<20)}, "", `"$o":"a-1",` + caused, true, true},
		{
			"$ce-a",
			Recorded{Stream: "a-1", Revision: 3, Type: TypeTombstone},
			"9223372036854775807@a-1",
			`"$o":"a-1","$deleted":-1,` + caused, false, false,
		},
		{
			"$ce-a",
			Recorded{Stream: "$$a-1", Revision: 2, Type: TypeMetadata, Data: deletes},
			"2@$$a-1",
			`"$o":"a-1","$deleted":-1,` + caused, false, false,
		},
		{"$et-$deleted", Recorded{Stream: "$$a-1", Type: TypeMetadata, Data: deletes}, "0@$$a-1", `"$deleted":-1,` + caused, false, false},
	} {
		c.r.ID, c.r.Position, c.r.Recorded = id, 9, at
		got := LinkTo(&c.r, c.virtual, 5)
		want := &Link{Stream: c.virtual, Revision: 5, Target: c.target, Origin: c.r.Stream, Meta: got.Meta}
		if d := cmp.Diff(want, got); d != "" || got.Follows(&c.r) != c.follows {
			t.Errorf("%s of %s, follows %v (-want +got):\n%s", c.virtual, c.r.Stream, got.Follows(&c.r), d)
		}
		if d := cmp.Diff(place+c.meta+"}", got.Metadata()); d != "" {
			t.Errorf("metadata in %s of %s (-want +got):\n%s", c.virtual, c.r.Stream, d)
		}
		gone := Unresolved(got, 9, at)
		if stream, revision, ok := ParseTarget(c.target); !gone.Gone() || ok == c.unreadable ||
			gone.Stream != stream || gone.Revision != revision {
			t.Errorf("%s names %q revision %d, %v; unresolved it is %+v", c.target, stream, revision, ok, gone)
		}
	}
}
