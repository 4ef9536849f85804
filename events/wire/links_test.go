package wire_test

import (
	"strings"
	"testing"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/hostnode/hostnode/events"
)

func TestVirtualStreamsAreLinks(t *testing.T) {
	s := serve(t, nil)
	c := s.client(t, "")
	appendTo(t, c, "cat-a", event("Purred", `{"n":0}`))
	appendTo(t, c, "dog-a", event("Barked", `{"n":1}`))
	appendTo(t, c, "cat-b", event("Purred", `{"n":2}`))
	read := func(stream string, resolve bool) []*esdb.ResolvedEvent {
		t.Helper()
		all, err := readAll(c.ReadStream(soon(t), stream, esdb.ReadStreamOptions{ResolveLinkTos: resolve}, 10))
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	for _, stream := range []string{"$ce-cat", "$et-Purred"} {
		links := read(stream, false)
		if len(links) != 2 || links[1].Link != nil {
			t.Fatalf("%s has %d links", stream, len(links))
		}
		link := links[1].Event
		if link.EventType != "$>" || string(link.Data) != "0@cat-b" || link.StreamID != stream || link.EventNumber != 1 {
			t.Errorf("%s has the link %+v", stream, link)
		}
		resolved := read(stream, true)
		if len(resolved) != 2 || resolved[1].Event.StreamID != "cat-b" || string(resolved[1].Event.Data) != `{"n":2}` {
			t.Fatalf("%s resolved to %+v", stream, resolved)
		}
		if diff := cmp.Diff(link, resolved[1].Link); diff != "" {
			t.Errorf("the link differs when it is resolved (-unresolved +resolved):\n%s", diff)
		}
		if link.EventID == resolved[1].Event.EventID || link.EventID == links[0].Event.EventID {
			t.Errorf("%s: links have no ids of their own", stream)
		}
	}
	if got := read("$streams", true); len(got) != 3 {
		t.Errorf("$streams has %d events, want 3", len(got))
	}
	if meta := string(read("$ce-cat", false)[1].Event.UserMetadata); !strings.HasPrefix(meta,
		`{"$v":"1:-1:1:4","$c":3,"$p":3,"$o":"cat-b","$causedBy":"`) {
		t.Errorf("the metadata of a link is %s", meta)
	}
	_, err := c.AppendToStream(soon(t), "$ce-cat", esdb.AppendToStreamOptions{}, event("Purred", "{}"))
	wantCode(t, err, esdb.ErrorCodeAccessDenied)
}

// TestIndexesHaveTheMembersOfARealServer compares what the official client sees with
// spec/eventstore.md §11, "Links and indexes".
func TestIndexesHaveTheMembersOfARealServer(t *testing.T) {
	s := serve(t, nil)
	c := s.client(t, "")
	numbered := event("x", "{}")
	numbered.Metadata = []byte(`{"$correlationId":7}`)
	appendTo(t, c, "b-1", event("x", "{}"), numbered)
	appendTo(t, c, "plain", event("x", "{}"))
	appendTo(t, c, "-lead", event("x", "{}"))
	link := event("$>", "1@b-1")
	link.ContentType = esdb.ContentTypeBinary
	appendTo(t, c, "d-1", link)
	if _, err := c.DeleteStream(soon(t), "d-1", esdb.DeleteStreamOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.TombstoneStream(soon(t), "b-1", esdb.TombstoneStreamOptions{}); err != nil {
		t.Fatal(err)
	}
	for stream, want := range map[string]string{
		"$ce-b":    "0@b-1:gone 1@b-1:gone 9223372036854775807@b-1:gone",
		"$ce-d":    "1@b-1:gone 0@$$d-1",
		"$bc-7":    "1@b-1:gone",
		"$streams": "0@b-1:gone 0@plain 0@-lead 0@d-1:gone 0@$$d-1",
	} {
		var got []string
		all, err := readAll(c.ReadStream(soon(t), stream, esdb.ReadStreamOptions{ResolveLinkTos: true}, 10))
		for _, e := range all {
			says := string(e.Link.Data)
			if e.Event == nil {
				says += ":gone"
			}
			got = append(got, says)
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s has %q, %v, want %q", stream, got, err, want)
		}
	}
	for _, stream := range []string{"$ce-plain", "$ce-", "$ce-$$d"} {
		_, err := readAll(c.ReadStream(soon(t), stream, esdb.ReadStreamOptions{}, 10))
		wantCode(t, err, esdb.ErrorCodeResourceNotFound)
	}
}

func TestLinksThatSomebodyWroteAreResolved(t *testing.T) {
	s := serve(t, nil)
	c := s.client(t, "")
	appendTo(t, c, "cat-a", numbers(3)...)
	link := func(data string) esdb.EventData {
		return esdb.EventData{EventID: uuid.New(), EventType: "$>", ContentType: esdb.ContentTypeBinary, Data: []byte(data)}
	}
	appendTo(t, c, "picked-1", link("1@cat-a"), link("9@cat-a"), link("0@gone"), link("nonsense"), event("own", "{}"))
	for _, name := range []string{"picked-1", "$all"} {
		var got []*esdb.ResolvedEvent
		var err error
		if name == "$all" {
			got, err = readAll(c.ReadAll(soon(t), esdb.ReadAllOptions{ResolveLinkTos: true, From: esdb.Position{Commit: 4, Prepare: 4}}, 10))
		} else {
			got, err = readAll(c.ReadStream(soon(t), name, esdb.ReadStreamOptions{ResolveLinkTos: true}, 10))
		}
		if err != nil || len(got) != 5 {
			t.Fatalf("%s: read %d events, %v", name, len(got), err)
		}
		if e := got[0]; e.Link == nil || e.Event == nil || e.Event.StreamID != "cat-a" || e.Event.EventNumber != 1 {
			t.Errorf("%s: the link resolved to %+v", name, e)
		}
		for _, e := range got[1:4] {
			if e.Event != nil || e.Link == nil {
				t.Errorf("%s: a link to nothing resolved to %+v", name, e)
			}
		}
		if e := got[4]; e.Link != nil || e.Event.EventType != "own" {
			t.Errorf("%s: an event became %+v", name, e)
		}
	}
}

// A link in an index is shown to a user who may read both the linked event and the stream that
// holds the link.
func TestALinkSomebodyWroteIsHiddenInTheIndexByTheListOfItsStream(t *testing.T) {
	s := serveTLS(t, nil)
	put(t, s, "open-1", "x", `{"n":1}`)
	put(t, s, "$$picked-1", events.TypeMetadata, `{"$acl":{"$r":"other"}}`)
	put(t, s, "picked-1", events.TypeLink, "0@open-1")
	for user, want := range map[string]int{"operator": 0, "other": 1, "admin": 1} {
		all, err := readAll(s.client(t, user).ReadStream(soon(t), "$ce-picked", esdb.ReadStreamOptions{ResolveLinkTos: true}, 10))
		if err != nil || len(all) != want || want > 0 && all[0].Event.StreamID != "open-1" {
			t.Errorf("%s reads %d links, %v, want %d", user, len(all), err, want)
		}
	}
}
