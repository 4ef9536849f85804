package wire_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/events/wire"
)

func TestWhatIsAppendedIsReadBack(t *testing.T) {
	s := serve(t, nil)
	c := s.client(t, "")
	json := esdb.EventData{
		EventID: uuid.New(), EventType: "Said", ContentType: esdb.ContentTypeJson,
		Data: []byte(`{"a":1}`), Metadata: []byte(`{"$correlationId":"x","own":[1]}`),
	}
	binary := esdb.EventData{
		EventID: uuid.New(), EventType: "Drawn", ContentType: esdb.ContentTypeBinary,
		Data: []byte{0, 1, 255}, Metadata: []byte{9, 0},
	}
	before := time.Now()
	r := appendTo(t, c, "talk-1", json, binary)
	if r.NextExpectedVersion != 1 || r.CommitPosition != 2 || r.PreparePosition != 2 {
		t.Fatalf("append answered %+v, want revision 1 at position 2", r)
	}
	got, err := readAll(c.ReadStream(soon(t), "talk-1", esdb.ReadStreamOptions{}, 10))
	if err != nil || len(got) != 2 {
		t.Fatalf("read %d events, %v; want 2", len(got), err)
	}
	for i, want := range []esdb.EventData{json, binary} {
		e := got[i].Event
		if e.EventID != want.EventID || e.EventType != want.EventType || e.StreamID != "talk-1" ||
			e.EventNumber != uint64(i) || string(e.Data) != string(want.Data) ||
			string(e.UserMetadata) != string(want.Metadata) || e.Position.Commit != uint64(i+1) {
			t.Errorf("event %d is %+v, want %+v", i, e, want)
		}
		if age := e.CreatedDate.Sub(before.Truncate(100)); age < 0 || age > time.Minute {
			t.Errorf("event %d was created at %v, want just now", i, e.CreatedDate)
		}
	}
	if got[0].Event.ContentType != "application/json" || got[1].Event.ContentType != "application/octet-stream" {
		t.Errorf("content types are %q and %q", got[0].Event.ContentType, got[1].Event.ContentType)
	}
}

func TestExpectedRevisionsAreHeld(t *testing.T) {
	s := serve(t, nil)
	c := s.client(t, "")
	first := event("counted", "0")
	try := func(expected esdb.ExpectedRevision, all ...esdb.EventData) (*esdb.WriteResult, error) {
		return c.AppendToStream(soon(t), "count-1", esdb.AppendToStreamOptions{ExpectedRevision: expected}, all...)
	}
	_, err := try(esdb.StreamExists{}, first)
	wantCode(t, err, esdb.ErrorCodeWrongExpectedVersion)
	_, err = try(esdb.Revision(0), first)
	wantCode(t, err, esdb.ErrorCodeWrongExpectedVersion)
	if !strings.Contains(err.Error(), "expecting '0' but got 'no_stream'") {
		t.Errorf("the error is %q, and does not say what was expected and is", err)
	}
	if _, err = try(esdb.NoStream{}, first); err != nil {
		t.Fatal(err)
	}
	if r, err := try(esdb.NoStream{}, first); err != nil || r.NextExpectedVersion != 0 || r.CommitPosition != 1 {
		t.Fatalf("the same again gave %+v, %v; want the first answer", r, err)
	}
	_, err = try(esdb.NoStream{}, event("counted", "1"))
	wantCode(t, err, esdb.ErrorCodeWrongExpectedVersion)
	if !strings.Contains(err.Error(), "expecting 'no_stream' but got '0'") {
		t.Errorf("the error is %q, and does not say what was expected and is", err)
	}
	if r, err := try(esdb.StreamExists{}, event("counted", "1")); err != nil || r.NextExpectedVersion != 1 {
		t.Fatalf("append to what exists gave %+v, %v", r, err)
	}
	if r, err := try(esdb.Revision(1)); err != nil || r.NextExpectedVersion != 1 || r.CommitPosition != 0 {
		t.Fatalf("append of nothing gave %+v, %v; want only the check", r, err)
	}
}

func TestReadsBeginAndEndWhereAsked(t *testing.T) {
	s := serve(t, nil)
	c := s.client(t, "")
	const n = 1300 // More than two pages.
	for range 13 {
		appendTo(t, c, "count-1", numbers(n/13)...)
	}
	all := make([]uint64, n)
	for i := range all {
		all[i] = uint64(i)
	}
	back := slices.Clone(all)
	slices.Reverse(back)
	for _, q := range []struct {
		name  string
		o     esdb.ReadStreamOptions
		count uint64
		want  []uint64
	}{
		{"all", esdb.ReadStreamOptions{}, 1 << 40, all},
		{"all backwards", esdb.ReadStreamOptions{From: esdb.End{}, Direction: esdb.Backwards}, 1 << 40, back},
		{"some", esdb.ReadStreamOptions{From: esdb.Revision(500)}, 700, all[500:1200]},
		{"some backwards", esdb.ReadStreamOptions{From: esdb.Revision(700), Direction: esdb.Backwards}, 600, back[599:1199]},
		{"a page", esdb.ReadStreamOptions{}, 512, all[:512]},
		{"one", esdb.ReadStreamOptions{From: esdb.Revision(3)}, 1, all[3:4]},
		{"the last", esdb.ReadStreamOptions{From: esdb.End{}, Direction: esdb.Backwards}, 1, back[:1]},
		{"the first, backwards", esdb.ReadStreamOptions{From: esdb.Start{}, Direction: esdb.Backwards}, 5, all[:1]},
		{"nothing", esdb.ReadStreamOptions{}, 0, nil},
		{"behind the end", esdb.ReadStreamOptions{From: esdb.Revision(n)}, 5, nil},
		{"from the end", esdb.ReadStreamOptions{From: esdb.End{}}, 5, nil},
	} {
		t.Run(q.name, func(t *testing.T) {
			got, err := readAll(c.ReadStream(soon(t), "count-1", q.o, q.count))
			if err != nil {
				t.Fatal(err)
			}
			var revisions []uint64
			for _, e := range got {
				revisions = append(revisions, e.Event.EventNumber)
			}
			if diff := cmp.Diff(q.want, revisions); diff != "" {
				t.Fatalf("revisions (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadsOfTheLogBeginAndEndWhereAsked(t *testing.T) {
	s := serve(t, nil)
	c := s.client(t, "")
	for i := range 4 {
		appendTo(t, c, fmt.Sprintf("count-%d", i%2), numbers(200)...)
	}
	at := func(p uint64) esdb.Position { return esdb.Position{Commit: p, Prepare: p} }
	for _, q := range []struct {
		name        string
		o           esdb.ReadAllOptions
		count       uint64
		first, last uint64 // Positions; 0 for nothing.
	}{
		{"all", esdb.ReadAllOptions{}, 1 << 40, 1, 800},
		{"from a position, with it", esdb.ReadAllOptions{From: at(7)}, 3, 7, 9},
		{"backwards", esdb.ReadAllOptions{From: esdb.End{}, Direction: esdb.Backwards}, 1 << 40, 800, 1},
		{"backwards from a position, without it", esdb.ReadAllOptions{From: at(7), Direction: esdb.Backwards}, 3, 6, 4},
		{"from the end", esdb.ReadAllOptions{From: esdb.End{}}, 3, 0, 0},
		{"backwards from the start", esdb.ReadAllOptions{From: esdb.Start{}, Direction: esdb.Backwards}, 3, 0, 0},
	} {
		t.Run(q.name, func(t *testing.T) {
			got, err := readAll(c.ReadAll(soon(t), q.o, q.count))
			if err != nil {
				t.Fatal(err)
			}
			var first, last uint64
			if len(got) > 0 {
				first, last = got[0].Event.Position.Commit, got[len(got)-1].Event.Position.Commit
			}
			if first != q.first || last != q.last {
				t.Fatalf("read positions %d to %d, want %d to %d", first, last, q.first, q.last)
			}
		})
	}
}

func TestDeletedStreamsAreGoneUntilWrittenAndTombstonedOnesForEver(t *testing.T) {
	s := serve(t, nil)
	c := s.client(t, "")
	read := func(stream string) error {
		_, err := readAll(c.ReadStream(soon(t), stream, esdb.ReadStreamOptions{}, 10))
		return err
	}
	appendTo(t, c, "life-1", numbers(3)...)
	_, err := c.DeleteStream(soon(t), "life-1", esdb.DeleteStreamOptions{ExpectedRevision: esdb.Revision(9)})
	wantCode(t, err, esdb.ErrorCodeUnknown) // The client has no code for it.
	if !strings.Contains(err.Error(), "expected 9, is 2") {
		t.Errorf("deleting at a wrong revision gave %v", err)
	}
	d, err := c.DeleteStream(soon(t), "life-1", esdb.DeleteStreamOptions{ExpectedRevision: esdb.Revision(2)})
	if err != nil || d.Position.Commit == 0 {
		t.Fatalf("delete gave %+v, %v", d, err)
	}
	wantCode(t, read("life-1"), esdb.ErrorCodeResourceNotFound)
	if _, err = c.DeleteStream(soon(t), "life-1", esdb.DeleteStreamOptions{}); err != nil {
		t.Fatalf("deleting again: %v", err)
	}
	exists := esdb.AppendToStreamOptions{ExpectedRevision: esdb.StreamExists{}}
	_, err = c.AppendToStream(soon(t), "life-1", exists, event("again", "{}"))
	wantCode(t, err, esdb.ErrorCodeStreamDeleted)
	_, err = c.DeleteStream(soon(t), "never-1", esdb.DeleteStreamOptions{})
	if err == nil || !strings.Contains(err.Error(), "expected -2, is -1") {
		t.Errorf("deleting what never was gave %v", err)
	}
	if r := appendTo(t, c, "life-1", event("again", "{}")); r.NextExpectedVersion != 3 {
		t.Fatalf("a stream that begins again has revision %d, want 3", r.NextExpectedVersion)
	}
	if _, err = c.TombstoneStream(soon(t), "life-1", esdb.TombstoneStreamOptions{}); err != nil {
		t.Fatal(err)
	}
	wantCode(t, read("life-1"), esdb.ErrorCodeStreamDeleted)
	_, err = c.AppendToStream(soon(t), "life-1", esdb.AppendToStreamOptions{}, event("again", "{}"))
	wantCode(t, err, esdb.ErrorCodeStreamDeleted)
	_, err = c.TombstoneStream(soon(t), "life-1", esdb.TombstoneStreamOptions{})
	wantCode(t, err, esdb.ErrorCodeStreamDeleted)
	wantCode(t, read("never-1"), esdb.ErrorCodeResourceNotFound)
}

func TestStreamNamesOutsideOfASCIIComeThroughInErrors(t *testing.T) {
	s := serve(t, nil)
	c := s.client(t, "")
	const stream = "ключ-100% \u00e4\n"
	appendTo(t, c, stream, event("a", "1"))
	if _, err := c.TombstoneStream(soon(t), stream, esdb.TombstoneStreamOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err := readAll(c.ReadStream(soon(t), stream, esdb.ReadStreamOptions{}, 1))
	wantCode(t, err, esdb.ErrorCodeStreamDeleted)
}

func TestMetadataHidesEventsOfStreams(t *testing.T) {
	s := serve(t, nil)
	c := s.client(t, "")
	appendTo(t, c, "long-1", numbers(10)...)
	var meta esdb.StreamMetadata
	meta.SetMaxCount(3)
	meta.AddCustomProperty("owner", "me")
	if _, err := c.SetStreamMetadata(soon(t), "long-1", esdb.AppendToStreamOptions{}, meta); err != nil {
		t.Fatal(err)
	}
	got, err := c.GetStreamMetadata(soon(t), "long-1", esdb.ReadStreamOptions{})
	if err != nil || got.MaxCount() == nil || *got.MaxCount() != 3 || got.CustomProperty("owner") != "me" {
		t.Fatalf("metadata read back is %+v, %v", got, err)
	}
	all, err := readAll(c.ReadStream(soon(t), "long-1", esdb.ReadStreamOptions{}, 10))
	if err != nil || len(all) != 3 || all[0].Event.EventNumber != 7 {
		t.Fatalf("read %d events, %v; want the last 3", len(all), err)
	}
	_, err = c.AppendToStream(soon(t), "$$long-1", esdb.AppendToStreamOptions{}, event("$metadata", `{"$acl":7}`))
	if err == nil || !strings.Contains(err.Error(), "$acl") {
		t.Fatalf("metadata that makes no sense was answered %v", err)
	}
}

func TestAStreamWhoseEventsAreAllTooOldIsEmpty(t *testing.T) {
	now := time.Now()
	store := storetest.NewMemory()
	store.Clock = func() time.Time { return now }
	s := serve(t, func(cfg *wire.Config) { cfg.Store = store })
	c := s.client(t, "")
	appendTo(t, c, "old-1", numbers(3)...)
	var meta esdb.StreamMetadata
	meta.SetMaxAge(time.Minute)
	if _, err := c.SetStreamMetadata(soon(t), "old-1", esdb.AppendToStreamOptions{}, meta); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Hour)
	if all, err := readAll(c.ReadStream(soon(t), "old-1", esdb.ReadStreamOptions{}, 10)); err != nil || len(all) != 0 {
		t.Fatalf("read %d events, %v; want none, and no error", len(all), err)
	}
}

func TestAnEndedContextEndsTheCall(t *testing.T) {
	s := serve(t, nil)
	c := s.client(t, "")
	appendTo(t, c, "count-1", numbers(1)...)
	ctx, cancel := context.WithCancel(t.Context())
	sub, err := c.SubscribeToStream(ctx, "count-1", esdb.SubscribeToStreamOptions{From: esdb.Start{}})
	if err != nil {
		t.Fatal(err)
	}
	if e := sub.Recv(); e.EventAppeared == nil {
		t.Fatalf("got %+v, want an event", e)
	}
	cancel()
	for e := sub.Recv(); e.SubscriptionDropped == nil; e = sub.Recv() {
		if e.CaughtUp == nil {
			t.Fatalf("got %+v, want the end", e)
		}
	}
	until(t, "the subscription ends in the server", func() bool { return s.Stats().Streams == 0 })
}
