package wire

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/hostnode/hostnode/events"
)

// clientsFault lists the errors that a client can cause; all others are bugs of ours.
var clientsFault = map[codes.Code]bool{
	codes.InvalidArgument: true, codes.NotFound: true, codes.FailedPrecondition: true,
	codes.PermissionDenied: true, codes.ResourceExhausted: true, codes.Canceled: true,
	codes.DeadlineExceeded: true,
}

func judge(t *testing.T, err error) {
	t.Helper()
	if err == nil || errors.Is(err, errEnough) {
		return
	}
	var r *refusal
	if !errors.As(err, &r) || !clientsFault[r.code] || r.sentence == "" {
		t.Fatalf("a request was answered %v", err)
	}
}

// errEnough ends a subscription of a test.
var errEnough = errors.New("enough")

// fuzzed is a server with a few events, for each input a new one.
func fuzzed(t *testing.T) (*Server, context.Context) {
	s := unserved(t, func(cfg *Config) {
		cfg.Limits = Limits{
			SubscriptionEvents: 3, AppendTime: 10 * time.Second, PendingBytes: 1 << 20, BatchesPerStream: 4,
		}
	})
	for i, stream := range []string{"a-1", "a-2", "b-1"} {
		_, err := s.cfg.Store.Append(t.Context(), stream, events.Any(), []events.NewEvent{
			{ID: events.EventID{1, byte(i)}, Type: "x", Data: []byte("{}")},
			{ID: events.EventID{2, byte(i)}, Type: "$>", Data: []byte("0@a-1")},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(as(t.Context(), RoleAdmin))
	t.Cleanup(cancel)
	return s, ctx
}

func encode(f *testing.F, m proto.Message) []byte {
	b, err := proto.Marshal(m)
	if err != nil {
		f.Fatal(err)
	}
	return b
}

func FuzzRead(f *testing.F) {
	f.Add(encode(f, &streams.ReadReq{Options: readRequest()}))
	o := readRequest()
	o.StreamOption, o.ReadDirection, o.ResolveLinks = streamFrom("$ce-a"), 1, true
	f.Add(encode(f, &streams.ReadReq{Options: o}))
	o = readRequest()
	o.CountOption = &streams.ReadReq_Options_Subscription{}
	o.FilterOption = filtered(&streams.ReadReq_Options_FilterOptions_Expression{Prefix: []string{"x"}})
	f.Add(encode(f, &streams.ReadReq{Options: o}))
	o = readRequest()
	o.StreamOption = allFrom(position(2, 2))
	f.Add(encode(f, &streams.ReadReq{Options: o}))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, ctx := fuzzed(t)
		sent := 0
		ss := &fakeStream{ctx: ctx, arrive: [][]byte{b}, send: func(m any) error {
			r := decoded(t, m)
			if sent++; sent > 100 {
				t.Fatalf("more messages than there can be")
			}
			if r.GetCaughtUp() != nil {
				return errEnough
			}
			_, err := proto.Marshal(r)
			return err
		}}
		if proto.Unmarshal(b, &streams.ReadReq{}) != nil {
			return
		}
		judge(t, unwrapEnough(callStream(s, "Read", ss)))
	})
}

// unwrapEnough finds the end that a test has made.
func unwrapEnough(err error) error {
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

func FuzzAppend(f *testing.F) {
	options := &streams.AppendReq{Content: &streams.AppendReq_Options_{Options: &streams.AppendReq_Options{
		StreamIdentifier:       &shared.StreamIdentifier{StreamName: []byte("a-1")},
		ExpectedStreamRevision: &streams.AppendReq_Options_Revision{Revision: 1},
	}}}
	event := &streams.AppendReq{Content: &streams.AppendReq_ProposedMessage_{
		ProposedMessage: &streams.AppendReq_ProposedMessage{
			Id: structuredID(events.EventID{9}), Metadata: map[string]string{keyType: "x", keyContentType: contentJSON},
			CustomMetadata: []byte(`{"$correlationId":"c"}`), Data: []byte("{}"),
		},
	}}
	f.Add(encode(f, options), encode(f, event))
	f.Add(encode(f, event), encode(f, options))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		s, ctx := fuzzed(t)
		judge(t, callStream(s, "Append", &fakeStream{ctx: ctx, arrive: [][]byte{first, second}}))
		if held := s.Stats().PendingBytes; held != 0 {
			t.Fatalf("%d bytes stay held", held)
		}
	})
}

func FuzzBatchAppend(f *testing.F) {
	part := func(final bool) []byte {
		return encode(f, &streams.BatchAppendReq{
			CorrelationId: structuredID(events.EventID{7}),
			Options: &streams.BatchAppendReq_Options{
				StreamIdentifier:       &shared.StreamIdentifier{StreamName: []byte("a-1")},
				ExpectedStreamPosition: &streams.BatchAppendReq_Options_Any{Any: &emptypb.Empty{}},
			},
			ProposedMessages: []*streams.BatchAppendReq_ProposedMessage{{
				Id: structuredID(events.EventID{9}), Metadata: map[string]string{keyType: "x", keyContentType: contentBinary},
			}},
			IsFinal: final,
		})
	}
	f.Add(part(false), part(true), part(true))
	f.Add(part(true), part(false), []byte{})
	f.Fuzz(func(t *testing.T, first, second, third []byte) {
		s, ctx := fuzzed(t)
		ss := &fakeStream{ctx: ctx, arrive: [][]byte{first, second, third}, send: func(m any) error {
			r := m.(*streams.BatchAppendResp)
			if e := r.GetError(); e != nil && (e.GetMessage() == "" || len(e.GetDetails()) != 1 ||
				!clientsFault[codes.Code(e.GetCode())] && codes.Code(e.GetCode()) != codes.AlreadyExists) {
				t.Errorf("an append was answered %v", e)
			}
			_, err := proto.Marshal(r)
			return err
		}}
		judge(t, callStream(s, "BatchAppend", ss))
		if held := s.Stats().PendingBytes; held != 0 {
			t.Fatalf("%d bytes stay held", held)
		}
	})
}

func FuzzDelete(f *testing.F) {
	f.Add(encode(f, &streams.DeleteReq{Options: &streams.DeleteReq_Options{
		StreamIdentifier:       &shared.StreamIdentifier{StreamName: []byte("a-1")},
		ExpectedStreamRevision: &streams.DeleteReq_Options_Revision{Revision: 1},
	}}))
	f.Add(encode(f, &streams.DeleteReq{}))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, ctx := fuzzed(t)
		v := &streamsService{s: s}
		var soft streams.DeleteReq
		if proto.Unmarshal(b, &soft) == nil {
			_, err := v.Delete(ctx, &soft)
			judge(t, err)
		}
		var hard streams.TombstoneReq
		if proto.Unmarshal(b, &hard) == nil {
			_, err := v.Tombstone(ctx, &hard)
			judge(t, err)
		}
	})
}

func FuzzAuthorization(f *testing.F) {
	f.Add("Basic YWRtaW46Y2hhbmdlaXQ=")
	f.Add("basic Og==")
	f.Add("Bearer x")
	f.Fuzz(func(t *testing.T, header string) {
		name, password, ok := parseBasic([]string{header})
		if !ok {
			return
		}
		if len(password) > MaxPasswordBytes || len(name) > maxAuthorization {
			t.Fatalf("read a name of %d and a password of %d bytes", len(name), len(password))
		}
	})
}
