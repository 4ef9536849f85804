package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events"
)

// readRequest is one that is right, to be made wrong by a test.
func readRequest() *streams.ReadReq_Options {
	return &streams.ReadReq_Options{
		CountOption:  &streams.ReadReq_Options_Count{Count: 1},
		FilterOption: &streams.ReadReq_Options_NoFilter{NoFilter: &shared.Empty{}},
		UuidOption: &streams.ReadReq_Options_UUIDOption{
			Content: &streams.ReadReq_Options_UUIDOption_Structured{Structured: &shared.Empty{}},
		},
		StreamOption: allFrom(&streams.ReadReq_Options_AllOptions_Start{Start: &shared.Empty{}}),
	}
}

func allFrom[T interface {
	*streams.ReadReq_Options_AllOptions_Start | *streams.ReadReq_Options_AllOptions_Position
}](from T,
) *streams.ReadReq_Options_All {
	o := &streams.ReadReq_Options_AllOptions{}
	switch f := any(from).(type) {
	case *streams.ReadReq_Options_AllOptions_Start:
		o.AllOption = f
	case *streams.ReadReq_Options_AllOptions_Position:
		o.AllOption = f
	}
	return &streams.ReadReq_Options_All{All: o}
}

func streamFrom(name string) *streams.ReadReq_Options_Stream {
	return &streams.ReadReq_Options_Stream{Stream: &streams.ReadReq_Options_StreamOptions{
		StreamIdentifier: &shared.StreamIdentifier{StreamName: []byte(name)},
		RevisionOption:   &streams.ReadReq_Options_StreamOptions_Start{Start: &shared.Empty{}},
	}}
}

func filtered(e *streams.ReadReq_Options_FilterOptions_Expression) *streams.ReadReq_Options_Filter {
	return &streams.ReadReq_Options_Filter{Filter: &streams.ReadReq_Options_FilterOptions{
		Filter:                       &streams.ReadReq_Options_FilterOptions_EventType{EventType: e},
		Window:                       &streams.ReadReq_Options_FilterOptions_Max{Max: 1},
		CheckpointIntervalMultiplier: 1,
	}}
}

func TestReadsThatMakeNoSenseAreRefusedWithASentence(t *testing.T) {
	type expression = streams.ReadReq_Options_FilterOptions_Expression
	subscribe := &streams.ReadReq_Options_Subscription{}
	for name, c := range map[string]struct {
		edit func(*streams.ReadReq_Options)
		want string
	}{
		"no stream":        {func(o *streams.ReadReq_Options) { o.StreamOption = nil }, "want a stream or $all"},
		"empty all":        {func(o *streams.ReadReq_Options) { o.StreamOption = &streams.ReadReq_Options_All{} }, "position is missing"},
		"empty stream":     {func(o *streams.ReadReq_Options) { o.StreamOption = &streams.ReadReq_Options_Stream{} }, "name is missing"},
		"$all as a stream": {func(o *streams.ReadReq_Options) { o.StreamOption = streamFrom("$all") }, "option of its own"},
		"name not UTF-8":   {func(o *streams.ReadReq_Options) { o.StreamOption = streamFrom("\xff") }, "not UTF-8"},
		"name too long":    {func(o *streams.ReadReq_Options) { o.StreamOption = streamFrom(strings.Repeat("x", 5001)) }, "the limit is 5000"},
		"no revision": {func(o *streams.ReadReq_Options) {
			s := streamFrom("a")
			s.Stream.RevisionOption = nil
			o.StreamOption = s
		}, "revision is missing"},
		"prepare > commit":  {func(o *streams.ReadReq_Options) { o.StreamOption = allFrom(position(1, 2)) }, "behind commit"},
		"unknown direction": {func(o *streams.ReadReq_Options) { o.ReadDirection = 7 }, "direction 7"},
		"no count":          {func(o *streams.ReadReq_Options) { o.CountOption = nil }, "want a count"},
		"back subscription": {func(o *streams.ReadReq_Options) { o.CountOption = subscribe; o.ReadDirection = 1 }, "cannot go backwards"},
		"no filter option":  {func(o *streams.ReadReq_Options) { o.FilterOption = nil }, "want a filter"},
		"filtered stream": {func(o *streams.ReadReq_Options) {
			o.StreamOption = streamFrom("a")
			o.FilterOption = filtered(&expression{Regex: "x"})
		}, "only $all"},
		"empty filter": {func(o *streams.ReadReq_Options) { o.FilterOption = filtered(nil) }, "want prefixes"},
		"filter by both": {func(o *streams.ReadReq_Options) {
			o.FilterOption = filtered(&expression{Regex: "x", Prefix: []string{"x"}})
		}, "not both"},
		"bad regex": {func(o *streams.ReadReq_Options) { o.FilterOption = filtered(&expression{Regex: "(?<!x)y("}) }, "RE2"},
		"long regex": {func(o *streams.ReadReq_Options) {
			o.FilterOption = filtered(&expression{Regex: strings.Repeat("x", 20_000)})
		}, "the limit is"},
		"costly regex": {func(o *streams.ReadReq_Options) {
			o.FilterOption = filtered(&expression{Regex: "((x{1000}){1000}){1000}"})
		}, "RE2"},
		"many prefixes":   {func(o *streams.ReadReq_Options) { o.FilterOption = filtered(&expression{Prefix: make([]string, 1001)}) }, "the limit is 1000"},
		"no filter field": {func(o *streams.ReadReq_Options) { f := filtered(nil); f.Filter.Filter = nil; o.FilterOption = f }, "by stream or by event type"},
		"no window": {func(o *streams.ReadReq_Options) {
			f := filtered(&expression{Regex: "x"})
			f.Filter.Window = nil
			o.FilterOption = f
		}, "window"},
		"no interval": {func(o *streams.ReadReq_Options) {
			f := filtered(&expression{Regex: "x"})
			f.Filter.CheckpointIntervalMultiplier = 0
			o.FilterOption, o.CountOption = f, subscribe
		}, "interval"},
		"no uuid option": {func(o *streams.ReadReq_Options) { o.UuidOption = nil }, "UUIDs"},
	} {
		t.Run(name, func(t *testing.T) {
			o := readRequest()
			c.edit(o)
			_, err := newReading(&streams.ReadReq{Options: o})
			if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want InvalidArgument with %q", err, c.want)
			}
		})
	}
	if _, err := newReading(&streams.ReadReq{}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("a request without options: %v", err)
	}
	if _, err := newReading(&streams.ReadReq{Options: readRequest()}); err != nil {
		t.Errorf("the request that all others were made from: %v", err)
	}
}

func position(commit, prepare uint64) *streams.ReadReq_Options_AllOptions_Position {
	return &streams.ReadReq_Options_AllOptions_Position{Position: &streams.ReadReq_Options_Position{
		CommitPosition: commit, PreparePosition: prepare,
	}}
}

func TestAppendsThatMakeNoSenseAreRefusedWithASentence(t *testing.T) {
	options := func(edit func(*streams.AppendReq_Options)) *streams.AppendReq {
		o := &streams.AppendReq_Options{
			StreamIdentifier:       &shared.StreamIdentifier{StreamName: []byte("a-1")},
			ExpectedStreamRevision: &streams.AppendReq_Options_Any{Any: &shared.Empty{}},
		}
		edit(o)
		return &streams.AppendReq{Content: &streams.AppendReq_Options_{Options: o}}
	}
	right := options(func(*streams.AppendReq_Options) {})
	event := func(edit func(*streams.AppendReq_ProposedMessage)) *streams.AppendReq {
		e := &streams.AppendReq_ProposedMessage{
			Id: structuredID(events.EventID{1}), Metadata: map[string]string{keyType: "x", keyContentType: contentJSON},
		}
		edit(e)
		return &streams.AppendReq{Content: &streams.AppendReq_ProposedMessage_{ProposedMessage: e}}
	}
	for name, c := range map[string]struct {
		messages []*streams.AppendReq
		want     string
	}{
		"nothing":       {nil, "options are missing"},
		"empty message": {[]*streams.AppendReq{{}}, "neither options nor an event"},
		"event first":   {[]*streams.AppendReq{event(func(*streams.AppendReq_ProposedMessage) {}), right}, "before the events"},
		"options twice": {[]*streams.AppendReq{right, right}, "twice"},
		"no revision":   {[]*streams.AppendReq{options(func(o *streams.AppendReq_Options) { o.ExpectedStreamRevision = nil })}, "revision is missing"},
		"huge revision": {[]*streams.AppendReq{options(func(o *streams.AppendReq_Options) {
			o.ExpectedStreamRevision = &streams.AppendReq_Options_Revision{Revision: 1 << 63}
		})}, "larger than any"},
		"no id": {[]*streams.AppendReq{right, event(func(e *streams.AppendReq_ProposedMessage) { e.Id = nil })}, "id is missing"},
		"bad id": {[]*streams.AppendReq{right, event(func(e *streams.AppendReq_ProposedMessage) {
			e.Id = &shared.UUID{Value: &shared.UUID_String_{String_: "x"}}
		})}, "no UUID"},
		"zero id":        {[]*streams.AppendReq{right, event(func(e *streams.AppendReq_ProposedMessage) { e.Id = structuredID(events.EventID{}) })}, "without an id"},
		"no type":        {[]*streams.AppendReq{right, event(func(e *streams.AppendReq_ProposedMessage) { delete(e.Metadata, keyType) })}, "'type' is missing"},
		"empty type":     {[]*streams.AppendReq{right, event(func(e *streams.AppendReq_ProposedMessage) { e.Metadata[keyType] = "" })}, "without a type"},
		"no content":     {[]*streams.AppendReq{right, event(func(e *streams.AppendReq_ProposedMessage) { delete(e.Metadata, keyContentType) })}, "'content-type' is missing"},
		"a tombstone":    {[]*streams.AppendReq{right, event(func(e *streams.AppendReq_ProposedMessage) { e.Metadata[keyType] = events.TypeTombstone })}, "tombstoning"},
		"no event in it": {[]*streams.AppendReq{right, {Content: &streams.AppendReq_ProposedMessage_{}}}, "id is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			s := unserved(t, nil)
			err := callAppend(as(t.Context(), RoleAdmin), s, c.messages)
			if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want InvalidArgument with %q", err, c.want)
			}
			if head, err := s.cfg.Store.Head(t.Context()); err != nil || head != 0 {
				t.Fatalf("something was written: %d, %v", head, err)
			}
		})
	}
}

func callAppend(ctx context.Context, s *Server, messages []*streams.AppendReq) error {
	ss := &fakeStream{ctx: ctx}
	for _, m := range messages {
		b, err := proto.Marshal(m)
		if err != nil {
			return err
		}
		ss.arrive = append(ss.arrive, b)
	}
	return callStream(s, "Append", ss)
}

// callStream runs a method of the service by its name, as grpc would.
func callStream(s *Server, method string, ss grpc.ServerStream) error {
	for _, d := range streams.Streams_ServiceDesc.Streams {
		if d.StreamName == method {
			return d.Handler(&streamsService{s: s}, ss)
		}
	}
	return fmt.Errorf("no method %s", method)
}

func TestErrorsOfTheStoreHaveTheCodesThatClientsKnow(t *testing.T) {
	for _, c := range []struct {
		err       error
		code      codes.Code
		exception string
	}{
		{events.ErrStreamNotFound, codes.NotFound, "stream-not-found"},
		{events.ErrStreamDeleted, codes.FailedPrecondition, "stream-deleted"},
		{&events.WrongRevisionError{Stream: "a"}, codes.FailedPrecondition, "wrong-expected-version"},
		{events.ErrTooLarge, codes.InvalidArgument, "maximum-append-size-exceeded"},
		{events.ErrMalformed, codes.InvalidArgument, ""},
		{events.ErrReadOnly, codes.PermissionDenied, "access-denied"},
		{events.ErrDenied, codes.PermissionDenied, "access-denied"},
		{events.ErrAway, codes.Unavailable, ""},
		{events.ErrClosed, codes.Unavailable, ""},
		{events.ErrStoreFailed, codes.Unavailable, ""},
		{events.ErrDamaged, codes.DataLoss, ""},
		{context.Canceled, codes.Canceled, ""},
		{context.DeadlineExceeded, codes.DeadlineExceeded, ""},
		{io.ErrUnexpectedEOF, codes.Internal, ""},
	} {
		err := refuse(fmt.Errorf("doing something: %w", c.err), "a-1")
		var r *refusal
		if !errors.As(err, &r) || status.Code(err) != c.code || r.sentence == "" {
			t.Errorf("%v became %v", c.err, err)
			continue
		}
		exception := ""
		for i := 0; i+1 < len(r.trailers); i += 2 {
			if r.trailers[i] == trailerException {
				exception = r.trailers[i+1]
			}
		}
		if exception != c.exception {
			t.Errorf("%v has the exception %q, want %q", c.err, exception, c.exception)
		}
		if !errors.Is(err, c.err) {
			t.Errorf("%v is lost in %v", c.err, err)
		}
	}
	if err := refuse(nil, "a-1"); err != nil {
		t.Errorf("no error became %v", err)
	}
}

func TestHeaderTextsAreWhatHTTPAllows(t *testing.T) {
	for in, want := range map[string]string{
		"a-1": "a-1", "a 1": "a 1", "100%": "100%", " a": "%20a", "a\n": "a%0A", "\u00e4%": "%C3%A4%25", "": "",
	} {
		if got := headerText(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}
