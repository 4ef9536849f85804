package wire_test

import (
	"fmt"
	"testing"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/events/wire"
)

// seen is a subscription and what it has delivered so far, in short form.
type seen struct {
	t   *testing.T
	sub *esdb.Subscription
}

// next is the next thing that a subscription delivers: an event as revision@stream, "live", a
// checkpoint as #position, or "dropped".
func (s seen) next() string {
	s.t.Helper()
	type result struct{ text string }
	got := make(chan result, 1)
	go func() {
		e := s.sub.Recv()
		switch {
		case e.EventAppeared != nil:
			o := e.EventAppeared.OriginalEvent()
			got <- result{fmt.Sprintf("%d@%s", o.EventNumber, o.StreamID)}
		case e.CaughtUp != nil:
			got <- result{"live"}
		case e.CheckPointReached != nil:
			got <- result{fmt.Sprintf("#%d", e.CheckPointReached.Commit)}
		case e.SubscriptionDropped != nil:
			got <- result{"dropped"}
		}
	}()
	select {
	case r := <-got:
		return r.text
	case <-soon(s.t).Done():
		s.t.Fatal("the subscription brings nothing")
		return ""
	}
}

func (s seen) want(all ...string) {
	s.t.Helper()
	for _, want := range all {
		if got := s.next(); got != want {
			s.t.Fatalf("the subscription brought %s, want %s (of %v)", got, want, all)
		}
	}
}

func follow(t *testing.T, c *esdb.Client, stream string, o esdb.SubscribeToStreamOptions) seen {
	t.Helper()
	sub, err := c.SubscribeToStream(t.Context(), stream, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sub.Close() })
	return seen{t, sub}
}

func followAll(t *testing.T, c *esdb.Client, o esdb.SubscribeToAllOptions) seen {
	t.Helper()
	sub, err := c.SubscribeToAll(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sub.Close() })
	return seen{t, sub}
}

func TestSubscriptionsToStreamsCatchUpAndGoOn(t *testing.T) {
	s := serve(t, nil)
	c := s.client(t, "")
	appendTo(t, c, "a-1", numbers(2)...)
	appendTo(t, c, "b-1", numbers(1)...)
	start := follow(t, c, "a-1", esdb.SubscribeToStreamOptions{From: esdb.Start{}})
	after := follow(t, c, "a-1", esdb.SubscribeToStreamOptions{From: esdb.Revision(0)})
	end := follow(t, c, "a-1", esdb.SubscribeToStreamOptions{From: esdb.End{}})
	category := follow(t, c, "$ce-a", esdb.SubscribeToStreamOptions{From: esdb.Start{}, ResolveLinkTos: true})
	none := follow(t, c, "a-2", esdb.SubscribeToStreamOptions{From: esdb.Start{}})
	metadata := follow(t, c, "$$a-1", esdb.SubscribeToStreamOptions{From: esdb.Start{}})
	start.want("0@a-1", "1@a-1", "live")
	after.want("1@a-1", "live")
	end.want("live")
	category.want("0@$ce-a", "1@$ce-a", "live")
	none.want("live")
	metadata.want("live")
	appendTo(t, c, "b-1", numbers(1)...)
	appendTo(t, c, "a-1", numbers(1)...)
	appendTo(t, c, "a-2", numbers(1)...)
	appendTo(t, c, "$$a-1", event("$metadata", "{}"))
	start.want("2@a-1")
	after.want("2@a-1")
	end.want("2@a-1")
	category.want("2@$ce-a", "3@$ce-a")
	none.want("0@a-2")
	metadata.want("0@$$a-1")
}

func TestSubscriptionsSayAgainThatTheyAreLiveAfterFallingBehind(t *testing.T) {
	s := serve(t, func(cfg *wire.Config) { cfg.Limits.SubscriptionEvents = 4 })
	c := s.client(t, "")
	one := follow(t, c, "a-1", esdb.SubscribeToStreamOptions{From: esdb.Start{}})
	all := followAll(t, c, esdb.SubscribeToAllOptions{From: esdb.Start{}})
	one.want("live")
	all.want("live")
	appendTo(t, c, "a-1", numbers(3)...)
	one.want("0@a-1", "1@a-1", "2@a-1")
	all.want("0@a-1", "1@a-1", "2@a-1")
	appendTo(t, c, "a-1", numbers(6)...)
	one.want("3@a-1", "4@a-1", "5@a-1", "6@a-1", "7@a-1", "8@a-1", "live")
	all.want("3@a-1", "4@a-1", "5@a-1", "6@a-1", "7@a-1", "8@a-1", "live")
}

func TestSubscriptionsSurviveDeletionAndEndAtATombstone(t *testing.T) {
	s := serve(t, nil)
	c := s.client(t, "")
	appendTo(t, c, "a-1", numbers(2)...)
	sub := follow(t, c, "a-1", esdb.SubscribeToStreamOptions{From: esdb.Start{}})
	sub.want("0@a-1", "1@a-1", "live")
	if _, err := c.DeleteStream(soon(t), "a-1", esdb.DeleteStreamOptions{}); err != nil {
		t.Fatal(err)
	}
	behind := follow(t, c, "a-1", esdb.SubscribeToStreamOptions{From: esdb.Start{}})
	behind.want("live")
	appendTo(t, c, "a-1", numbers(1)...)
	sub.want("2@a-1")
	behind.want("2@a-1")
	if _, err := c.TombstoneStream(soon(t), "a-1", esdb.TombstoneStreamOptions{}); err != nil {
		t.Fatal(err)
	}
	const tombstone = "9223372036854775807@a-1"
	sub.want(tombstone, "dropped")
	behind.want(tombstone, "dropped")
	follow(t, c, "a-1", esdb.SubscribeToStreamOptions{From: esdb.Start{}}).want("dropped")
}

func TestSubscriptionsToTheLogBeginBehindTheirPosition(t *testing.T) {
	s := serve(t, nil)
	c := s.client(t, "")
	appendTo(t, c, "a-1", numbers(3)...)
	start := followAll(t, c, esdb.SubscribeToAllOptions{From: esdb.Start{}})
	after := followAll(t, c, esdb.SubscribeToAllOptions{From: esdb.Position{Commit: 2, Prepare: 2}})
	end := followAll(t, c, esdb.SubscribeToAllOptions{From: esdb.End{}})
	start.want("0@a-1", "1@a-1", "2@a-1", "live")
	after.want("2@a-1", "live")
	end.want("live")
	appendTo(t, c, "b-1", numbers(1)...)
	start.want("0@b-1")
	after.want("0@b-1")
	end.want("0@b-1")
}

func TestFilteredSubscriptionsSayHowFarTheyLooked(t *testing.T) {
	s := serve(t, nil)
	c := s.client(t, "")
	for i := range 8 {
		appendTo(t, c, fmt.Sprintf("s-%d", i%4), event(fmt.Sprintf("t%d", i%2), "{}"))
	}
	options := func(f esdb.SubscriptionFilter) esdb.SubscribeToAllOptions {
		return esdb.SubscribeToAllOptions{From: esdb.Start{}, MaxSearchWindow: 3, CheckpointInterval: 1, Filter: &f}
	}
	prefix := followAll(t, c, options(esdb.SubscriptionFilter{Type: esdb.StreamFilterType, Prefixes: []string{"s-1", "s-3"}}))
	regex := followAll(t, c, options(esdb.SubscriptionFilter{Type: esdb.EventFilterType, Regex: "^t[1-9]$"}))
	for _, sub := range []seen{prefix, regex} {
		sub.want("0@s-1", "#3", "0@s-3", "1@s-1", "#6", "1@s-3", "#8", "live")
	}
	appendTo(t, c, "s-1", event("t1", "{}"))
	appendTo(t, c, "s-2", event("t2", "{}"))
	prefix.want("2@s-1")
	regex.want("2@s-1", "2@s-2")
	appendTo(t, c, "x-1", event("other", "{}"))
	prefix.want("#11")
	regex.want("#11")
}

func TestSubscribersAreToldWhenTheServerCloses(t *testing.T) {
	store := storetest.NewMemory()
	s := serve(t, func(cfg *wire.Config) { cfg.Store = store })
	c := s.client(t, "")
	sub := follow(t, c, "a-1", esdb.SubscribeToStreamOptions{From: esdb.Start{}})
	sub.want("live")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	sub.want("dropped")
	if _, err := store.Head(t.Context()); err != nil {
		t.Fatalf("the store is not the server's to close: %v", err)
	}
}

func TestSubscribersAreToldWhenTheStoreCloses(t *testing.T) {
	s := serve(t, nil)
	c := s.client(t, "")
	stream := follow(t, c, "a-1", esdb.SubscribeToStreamOptions{From: esdb.Start{}})
	all := followAll(t, c, esdb.SubscribeToAllOptions{From: esdb.Start{}})
	stream.want("live")
	all.want("live")
	s.store.Close()
	stream.want("dropped")
	all.want("dropped")
	_, err := c.AppendToStream(soon(t), "a-1", esdb.AppendToStreamOptions{}, numbers(1)...)
	wantCode(t, err, esdb.ErrorUnavailable)
}

// request is a Read that a client could send, to be changed by the test.
func request(stream string) *streams.ReadReq_Options {
	o := &streams.ReadReq_Options{
		CountOption:  &streams.ReadReq_Options_Count{Count: 10},
		FilterOption: &streams.ReadReq_Options_NoFilter{NoFilter: &shared.Empty{}},
		UuidOption: &streams.ReadReq_Options_UUIDOption{
			Content: &streams.ReadReq_Options_UUIDOption_String_{String_: &shared.Empty{}},
		},
		StreamOption: &streams.ReadReq_Options_Stream{Stream: &streams.ReadReq_Options_StreamOptions{
			StreamIdentifier: &shared.StreamIdentifier{StreamName: []byte(stream)},
			RevisionOption:   &streams.ReadReq_Options_StreamOptions_Start{Start: &shared.Empty{}},
		}},
	}
	if stream == "$all" {
		o.StreamOption = &streams.ReadReq_Options_All{All: &streams.ReadReq_Options_AllOptions{
			AllOption: &streams.ReadReq_Options_AllOptions_Start{Start: &shared.Empty{}},
		}}
	}
	return o
}

// answers returns the answers of a Read, up to n or the end.
func answers(t *testing.T, s *served, o *streams.ReadReq_Options, n int) []*streams.ReadResp {
	t.Helper()
	c, err := streams.NewStreamsClient(s.raw(t)).Read(soon(t), &streams.ReadReq{Options: o})
	if err != nil {
		t.Fatal(err)
	}
	var all []*streams.ReadResp
	for len(all) < n {
		r, err := c.Recv()
		if err != nil {
			break
		}
		all = append(all, r)
	}
	return all
}

func TestTheLogCanBeReadThroughAFilter(t *testing.T) {
	s := serve(t, func(cfg *wire.Config) { cfg.Limits.SubscriptionEvents = 3 })
	c := s.client(t, "")
	for i := range 20 {
		appendTo(t, c, fmt.Sprintf("s-%d", i%5), numbers(1)...)
	}
	o := request("$all")
	o.CountOption = &streams.ReadReq_Options_Count{Count: 3}
	o.FilterOption = &streams.ReadReq_Options_Filter{Filter: &streams.ReadReq_Options_FilterOptions{
		Filter: &streams.ReadReq_Options_FilterOptions_StreamIdentifier{
			StreamIdentifier: &streams.ReadReq_Options_FilterOptions_Expression{Prefix: []string{"s-3"}},
		},
		Window: &streams.ReadReq_Options_FilterOptions_Count{Count: &shared.Empty{}},
	}}
	got := answers(t, s, o, 10)
	if len(got) != 3 {
		t.Fatalf("read %d events, want 3", len(got))
	}
	for i, r := range got {
		e := r.GetEvent().GetEvent()
		if string(e.GetStreamIdentifier().GetStreamName()) != "s-3" || e.GetStreamRevision() != uint64(i) {
			t.Errorf("event %d is %v", i, e)
		}
		if len(e.GetId().GetString_()) != 36 {
			t.Errorf("the id is %v, want text, as asked", e.GetId())
		}
	}
}

func TestTheEdgesOfAStreamAreToldOnlyToThoseWhoAsk(t *testing.T) {
	s := serve(t, nil)
	appendTo(t, s.client(t, ""), "a-1", numbers(3)...)
	o := request("a-1")
	if got := answers(t, s, o, 10); len(got) != 3 {
		t.Fatalf("who does not ask got %d messages, want 3 events", len(got))
	}
	o.ControlOption = &streams.ReadReq_Options_ControlOption{Compatibility: 1}
	got := answers(t, s, o, 10)
	if len(got) != 4 || got[3].GetLastStreamPosition() != 2 {
		t.Fatalf("who asks got %v, want 3 events and the last position", got)
	}
	o.CountOption = &streams.ReadReq_Options_Count{Count: 2}
	got = answers(t, s, o, 10)
	if len(got) != 3 || got[2].GetLastStreamPosition() != 2 {
		t.Fatalf("who asks with a limit got %v, want 2 events and the last position", got)
	}
	o.ReadDirection = streams.ReadReq_Options_Backwards
	o.GetStream().RevisionOption = &streams.ReadReq_Options_StreamOptions_End{End: &shared.Empty{}}
	got = answers(t, s, o, 10)
	if len(got) != 3 || got[2].GetLastStreamPosition() != 2 {
		t.Fatalf("who asks backwards got %v, want 2 events and the last position", got)
	}
}

func TestWhereAStreamBeginsIsToldWhenItsBeginningIsHidden(t *testing.T) {
	s := serve(t, nil)
	appendTo(t, s.client(t, ""), "a-1", numbers(3)...)
	o := request("a-1")
	o.ControlOption = &streams.ReadReq_Options_ControlOption{Compatibility: 1}
	for text, events := range map[string]int{`{"$tb":1}`: 2, `{"$maxCount":2}`: 2, `{"$tb":3}`: 0} {
		put(t, s, "$$a-1", "$metadata", text)
		got := answers(t, s, o, 10)
		if len(got) != events+2 || got[0].GetFirstStreamPosition() != uint64(3-events) ||
			got[events+1].GetLastStreamPosition() != 2 {
			t.Errorf("%s: %v, want the first position, %d events and the last position", text, got, events)
		}
	}
}

func TestCaughtUpAndCheckpointsCarryTheNewerFields(t *testing.T) {
	s := serve(t, nil)
	appendTo(t, s.client(t, ""), "a-1", numbers(3)...)
	fields := func(b []byte) map[protowire.Number]uint64 {
		all := map[protowire.Number]uint64{}
		for len(b) > 0 {
			number, kind, n := protowire.ConsumeTag(b)
			if n < 0 {
				t.Fatal("a field that cannot be read")
			}
			b = b[n:]
			all[number] = 0
			if kind == protowire.VarintType {
				all[number], _ = protowire.ConsumeVarint(b)
			}
			b = b[protowire.ConsumeFieldValue(number, kind, b):]
		}
		return all
	}
	o := request("a-1")
	o.CountOption = &streams.ReadReq_Options_Subscription{Subscription: &streams.ReadReq_Options_SubscriptionOptions{}}
	got := answers(t, s, o, 5)
	caughtUp := got[4].GetCaughtUp()
	if caughtUp == nil {
		t.Fatalf("the fifth message is %v", got[4])
	}
	f := fields(caughtUp.ProtoReflect().GetUnknown())
	if _, timed := f[1]; !timed || f[2] != 2 {
		t.Errorf("caught up has the fields %v, want a time and revision 2", f)
	}
	all := request("$all")
	all.CountOption = o.CountOption
	got = answers(t, s, all, 5)
	f = fields(got[4].GetCaughtUp().ProtoReflect().GetUnknown())
	if _, placed := f[3]; !placed {
		t.Errorf("caught up has the fields %v, want a position", f)
	}
	all.FilterOption = &streams.ReadReq_Options_Filter{Filter: &streams.ReadReq_Options_FilterOptions{
		Filter: &streams.ReadReq_Options_FilterOptions_EventType{
			EventType: &streams.ReadReq_Options_FilterOptions_Expression{Regex: "nothing"},
		},
		Window:                       &streams.ReadReq_Options_FilterOptions_Max{Max: 32},
		CheckpointIntervalMultiplier: 1,
	}}
	got = answers(t, s, all, 2)
	f = fields(got[1].GetCheckpoint().ProtoReflect().GetUnknown())
	if _, timed := f[3]; !timed || got[1].GetCheckpoint().GetCommitPosition() != 3 {
		t.Errorf("the checkpoint is %v with fields %v", got[1], f)
	}
}
