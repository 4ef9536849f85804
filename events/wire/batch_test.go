package wire_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/events/wire"
)

// batcher is one BatchAppend call.
type batcher struct {
	t      testing.TB
	stream streams.Streams_BatchAppendClient
}

func openBatch(t testing.TB, s *served) batcher {
	t.Helper()
	stream, err := streams.NewStreamsClient(s.raw(t)).BatchAppend(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return batcher{t, stream}
}

func uuidOf(name string) *shared.UUID {
	return &shared.UUID{Value: &shared.UUID_String_{String_: uuid.NewSHA1(uuid.Nil, []byte(name)).String()}}
}

func batchEvents(correlation string, n int) []*streams.BatchAppendReq_ProposedMessage {
	all := make([]*streams.BatchAppendReq_ProposedMessage, n)
	for i := range all {
		all[i] = &streams.BatchAppendReq_ProposedMessage{
			Id:       uuidOf(fmt.Sprint(correlation, i)),
			Metadata: map[string]string{"type": "counted", "content-type": "application/json"},
			Data:     fmt.Append(nil, i),
		}
	}
	return all
}

func batchOptions(stream string) *streams.BatchAppendReq_Options {
	return &streams.BatchAppendReq_Options{
		StreamIdentifier:       &shared.StreamIdentifier{StreamName: []byte(stream)},
		ExpectedStreamPosition: &streams.BatchAppendReq_Options_Any{Any: &emptypb.Empty{}},
		DeadlineOption:         &streams.BatchAppendReq_Options_Deadline{Deadline: durationpb.New(time.Hour)},
	}
}

func (b batcher) send(correlation string, o *streams.BatchAppendReq_Options, n int, final bool) {
	b.t.Helper()
	err := b.stream.Send(&streams.BatchAppendReq{
		CorrelationId: uuidOf(correlation), Options: o, ProposedMessages: batchEvents(correlation, n), IsFinal: final,
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b batcher) recv() *streams.BatchAppendResp {
	b.t.Helper()
	r, err := b.stream.Recv()
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

// code is the status of the next answered append.
func (b batcher) code() codes.Code {
	b.t.Helper()
	return codes.Code(b.recv().GetError().GetCode())
}

func TestBatchesComeInPartsAndAreWrittenWhenComplete(t *testing.T) {
	s := serve(t, nil)
	b := openBatch(t, s)
	b.send("one", batchOptions("a-1"), 2, false)
	b.send("two", batchOptions("a-2"), 1, true)
	r := b.recv()
	if r.GetCorrelationId().GetString_() != uuidOf("two").GetString_() || r.GetSuccess().GetCurrentRevision() != 0 ||
		r.GetSuccess().GetPosition().GetCommitPosition() != 1 || string(r.GetStreamIdentifier().GetStreamName()) != "a-2" {
		t.Fatalf("the complete one was answered %v", r)
	}
	b.send("one", nil, 1, false)
	b.send("one", nil, 0, true)
	if r := b.recv(); r.GetSuccess().GetCurrentRevision() != 2 || r.GetAny() == nil {
		t.Fatalf("the one in parts was answered %v", r)
	}
	if err := b.stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.stream.Recv(); !errors.Is(err, io.EOF) {
		t.Fatalf("the end is %v", err)
	}
	if held := s.Stats().PendingBytes; held != 0 {
		t.Errorf("%d bytes are held for appends that are done", held)
	}
}

func TestBatchesForOneStreamAreWrittenInOrder(t *testing.T) {
	s := serve(t, nil)
	b := openBatch(t, s)
	const n = 500
	for i := range n {
		o := batchOptions("a-1")
		o.ExpectedStreamPosition = &streams.BatchAppendReq_Options_NoStream{NoStream: &emptypb.Empty{}}
		if i > 0 {
			o.ExpectedStreamPosition = &streams.BatchAppendReq_Options_StreamPosition{StreamPosition: uint64(i - 1)}
		}
		b.send(fmt.Sprint(i), o, 1, true)
	}
	for range n {
		if r := b.recv(); r.GetSuccess() == nil {
			t.Fatalf("an append with the right revision was answered %v", r)
		}
	}
}

func TestBatchesThatCannotBeWrittenAreAnsweredOneByOne(t *testing.T) {
	s := serve(t, func(cfg *wire.Config) { cfg.Guarded = []string{"sale"} })
	if _, err := s.store.Append(t.Context(), "ended-1", events.Any(), []events.NewEvent{
		{ID: events.EventID{1}, Type: "x"},
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.store.Delete(t.Context(), "ended-1", events.Any(), true); err != nil {
		t.Fatal(err)
	}
	wrong := batchOptions("a-1")
	wrong.ExpectedStreamPosition = &streams.BatchAppendReq_Options_StreamPosition{StreamPosition: 7}
	late := batchOptions("a-1")
	late.DeadlineOption = &streams.BatchAppendReq_Options_Deadline{Deadline: durationpb.New(-time.Second)}
	past := batchOptions("a-1")
	past.DeadlineOption = &streams.BatchAppendReq_Options_Deadline_21_10_0{Deadline_21_10_0: timestamppb.New(time.Unix(1, 0))}
	badDeadline := batchOptions("a-1")
	badDeadline.DeadlineOption = &streams.BatchAppendReq_Options_Deadline{
		Deadline: &durationpb.Duration{Seconds: -1, Nanos: 1},
	}
	noRevision := batchOptions("a-1")
	noRevision.ExpectedStreamPosition = nil
	hugeRevision := batchOptions("a-1")
	hugeRevision.ExpectedStreamPosition = &streams.BatchAppendReq_Options_StreamPosition{StreamPosition: 1 << 63}
	b := openBatch(t, s)
	for _, c := range []struct {
		name   string
		o      *streams.BatchAppendReq_Options
		code   codes.Code
		detail string
	}{
		{"wrong revision", wrong, codes.AlreadyExists, "event_store.client.WrongExpectedVersion"},
		{"tombstoned", batchOptions("ended-1"), codes.NotFound, "event_store.client.StreamDeleted"},
		{"the host's own", batchOptions("sale-1"), codes.PermissionDenied, "event_store.client.AccessDenied"},
		{"an index", batchOptions("$ce-a"), codes.PermissionDenied, "event_store.client.AccessDenied"},
		{"too late", late, codes.DeadlineExceeded, "event_store.client.Timeout"},
		{"too late by the clock", past, codes.DeadlineExceeded, "event_store.client.Timeout"},
		{"bad deadline", badDeadline, codes.InvalidArgument, "event_store.client.BadRequest"},
		{"no name", batchOptions(""), codes.InvalidArgument, "event_store.client.BadRequest"},
		{"no revision", noRevision, codes.InvalidArgument, "event_store.client.BadRequest"},
		{"huge revision", hugeRevision, codes.InvalidArgument, "event_store.client.BadRequest"},
	} {
		b.send(c.name, c.o, 1, true)
		e := b.recv().GetError()
		if e.GetCode() != int32(c.code) || len(e.GetDetails()) != 1 ||
			string(e.GetDetails()[0].MessageName()) != c.detail {
			t.Errorf("%s: %v, want %v with %s", c.name, e, c.code, c.detail)
		}
	}
	b.send("after all that", batchOptions("a-1"), 1, true)
	if r := b.recv(); r.GetSuccess() == nil {
		t.Errorf("an append after those that failed: %v", r)
	}
}

func TestABadPartEndsItsBatchAndNoOther(t *testing.T) {
	s := serve(t, nil)
	b := openBatch(t, s)
	b.send("good", batchOptions("a-1"), 1, false)
	b.send("bad", batchOptions("a-2"), 1, false)
	events := batchEvents("bad", 1)
	delete(events[0].Metadata, "type")
	if err := b.stream.Send(&streams.BatchAppendReq{CorrelationId: uuidOf("bad"), ProposedMessages: events}); err != nil {
		t.Fatal(err)
	}
	if got := b.code(); got != codes.InvalidArgument {
		t.Fatalf("the bad one was answered %v", got)
	}
	b.send("bad", nil, 1, true) // The rest of it is skipped.
	b.send("good", nil, 1, true)
	if r := b.recv(); r.GetSuccess().GetCurrentRevision() != 1 {
		t.Fatalf("the good one was answered %v", r)
	}
	until(t, "nothing is held", func() bool { return s.Stats().PendingBytes == 0 })
}

// TestAnAppendIsAnsweredOnceWhateverComesAfterIt: the client for Node forgets an append at its
// first answer, and ends its process at a second one.
func TestAnAppendIsAnsweredOnceWhateverComesAfterIt(t *testing.T) {
	late := batchOptions("a-1")
	late.DeadlineOption = &streams.BatchAppendReq_Options_Deadline{Deadline: durationpb.New(time.Millisecond)}
	badDeadline := batchOptions("a-1")
	badDeadline.DeadlineOption = &streams.BatchAppendReq_Options_Deadline{Deadline: &durationpb.Duration{Seconds: -1, Nanos: 1}}
	noRevision := batchOptions("a-1")
	noRevision.ExpectedStreamPosition = nil
	for _, c := range []struct {
		name  string
		o     *streams.BatchAppendReq_Options
		first int
		code  codes.Code
	}{
		{"denied", batchOptions("sale-1"), 1, codes.PermissionDenied},
		{"an index", batchOptions("$ce-a"), 1, codes.PermissionDenied},
		{"no name", batchOptions(""), 1, codes.InvalidArgument},
		{"no revision", noRevision, 1, codes.InvalidArgument},
		{"bad deadline", badDeadline, 1, codes.InvalidArgument},
		{"too late", late, 1, codes.DeadlineExceeded},
		{"more than its call may hold", batchOptions("a-1"), 100, codes.InvalidArgument},
		{"more events than an append may have", batchOptions("a-1"), events.MaxAppendEvents + 1, codes.InvalidArgument},
	} {
		for _, repeated := range []bool{false, true} {
			t.Run(fmt.Sprint(c.name, ", options in each part ", repeated), func(t *testing.T) {
				s := serve(t, func(cfg *wire.Config) {
					cfg.Guarded, cfg.Limits.BatchBytes = []string{"sale"}, 20_000
				})
				b := openBatch(t, s)
				b.send("other", batchOptions("a-2"), 1, false)
				b.send("refused", c.o, c.first, false)
				if got := b.code(); got != c.code {
					t.Fatalf("answered %v, want %v", got, c.code)
				}
				rest := c.o
				if !repeated {
					rest = nil
				}
				for range 3 {
					b.send("refused", rest, 1, false)
				}
				b.send("refused", rest, 1, true)
				b.send("never was", nil, 1, false)
				b.send("never was", nil, 1, true)
				b.send("other", nil, 1, true)
				r := b.recv()
				if r.GetCorrelationId().GetString_() != uuidOf("other").GetString_() || r.GetSuccess().GetCurrentRevision() != 1 {
					t.Fatalf("then came %v, want the answer to the other append", r)
				}
				if head, err := s.store.Head(t.Context()); head != 2 || err != nil {
					t.Fatalf("%d events were written, %v, want those of the other append", head, err)
				}
				b.send("refused", batchOptions("a-3"), 1, true)
				if r := b.recv(); r.GetSuccess() == nil {
					t.Fatalf("a later append with the id was answered %v", r)
				}
				until(t, "nothing is held", func() bool { return s.Stats().PendingBytes == 0 })
			})
		}
	}
}

// TestAnAppendBeyondTheLimitsLeavesTheOthersOfItsCall: what is too much for one message or append
// is answered as such, with the limit.
func TestAnAppendBeyondTheLimitsLeavesTheOthersOfItsCall(t *testing.T) {
	const limit = 1 << 20
	s := serve(t, func(cfg *wire.Config) { cfg.Limits.AppendBytes = limit })
	b := openBatch(t, s)
	b.send("other", batchOptions("a-1"), 1, false)
	many := batchEvents("entries", 1)
	for i := range 4*events.MaxAppendEvents + 1 {
		many[0].Metadata[fmt.Sprint(i)] = ""
	}
	large := batchEvents("large", 1)
	large[0].Data = make([]byte, limit)
	for name, c := range map[string]struct {
		batch    []*streams.BatchAppendReq_ProposedMessage
		tooLarge bool
	}{
		"events":  {batchEvents("events", events.MaxAppendEvents+1), true},
		"bytes":   {large, true},
		"entries": {many, false},
	} {
		if err := b.stream.Send(&streams.BatchAppendReq{
			CorrelationId: uuidOf(name), Options: batchOptions("a-2"), ProposedMessages: c.batch, IsFinal: true,
		}); err != nil {
			t.Fatal(err)
		}
		r := b.recv()
		var detail shared.MaximumAppendSizeExceeded
		err := r.GetError().GetDetails()[0].UnmarshalTo(&detail)
		if codes.Code(r.GetError().GetCode()) != codes.InvalidArgument || (err == nil) != c.tooLarge ||
			c.tooLarge && detail.GetMaxAppendSize() != limit {
			t.Errorf("too many %s: %v, %v", name, r, err)
		}
	}
	b.send("other", nil, 1, true)
	if r := b.recv(); r.GetSuccess().GetCurrentRevision() != 1 {
		t.Errorf("the other append was answered %v", r)
	}
}

func TestUnfinishedBatchesAreLimitedInNumberBytesAndTime(t *testing.T) {
	s := serve(t, func(cfg *wire.Config) {
		cfg.Limits = wire.Limits{BatchesPerStream: 3, BatchBytes: 10_000, AppendTime: time.Hour}
	})
	b := openBatch(t, s)
	for i := range 3 {
		b.send(fmt.Sprint(i), batchOptions("a-1"), 1, false)
	}
	b.send("one too many", batchOptions("a-1"), 1, true)
	if got := b.code(); got != codes.ResourceExhausted {
		t.Fatalf("one too many was answered %v", got)
	}
	b.send("0", nil, 100, false)
	if got := b.code(); got != codes.InvalidArgument {
		t.Fatalf("too many bytes were answered %v", got)
	}
	b.send("1", nil, 0, true)
	if r := b.recv(); r.GetSuccess() == nil {
		t.Fatalf("one within the limits was answered %v", r)
	}
	o := batchOptions("a-1")
	o.DeadlineOption = &streams.BatchAppendReq_Options_Deadline{Deadline: durationpb.New(time.Millisecond)}
	b.send("never finished", o, 1, false)
	if got := b.code(); got != codes.DeadlineExceeded {
		t.Fatalf("one that never ends was answered %v", got)
	}
	if err := b.stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	until(t, "nothing is held", func() bool { return s.Stats().PendingBytes == 0 })
}

func TestUnfinishedAppendsOfAllClientsAreLimitedTogether(t *testing.T) {
	s := serve(t, func(cfg *wire.Config) {
		cfg.Limits.PendingBytes, cfg.Limits.BusyTime = 10_000, 10*time.Millisecond
	})
	one, two := openBatch(t, s), openBatch(t, s)
	one.send("one", batchOptions("a-1"), 30, false)
	until(t, "the first is held", func() bool { return s.Stats().PendingBytes > 5000 })
	two.send("two", batchOptions("a-1"), 30, true)
	_, err := two.stream.Recv()
	wantStatus(t, err, codes.ResourceExhausted)
	one.send("one", nil, 0, true)
	if r := one.recv(); r.GetSuccess() == nil {
		t.Fatalf("what was held was answered %v", r)
	}
	until(t, "nothing is held", func() bool { return s.Stats().PendingBytes == 0 })
	two = openBatch(t, s)
	two.send("two", batchOptions("a-1"), 30, true)
	if r := two.recv(); r.GetSuccess() == nil {
		t.Fatalf("the same again was answered %v", r)
	}
}

func TestAnUnknownCorrelationEndsTheCall(t *testing.T) {
	s := serve(t, nil)
	b := openBatch(t, s)
	if err := b.stream.Send(&streams.BatchAppendReq{Options: batchOptions("a-1"), IsFinal: true}); err != nil {
		t.Fatal(err)
	}
	_, err := b.stream.Recv()
	wantStatus(t, err, codes.InvalidArgument)
}

func TestBatchesUnderWayAreAnsweredWhenTheServerCloses(t *testing.T) {
	gate := &gated{Store: storetest.NewMemory(), entered: make(chan struct{}, 1), open: make(chan struct{})}
	s := serve(t, func(cfg *wire.Config) { cfg.Store, cfg.Limits.CloseTime = gate, patience })
	b := openBatch(t, s)
	b.send("one", batchOptions("a-1"), 1, true)
	<-gate.entered
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	close(gate.open)
	if r := b.recv(); r.GetSuccess() == nil {
		t.Fatalf("what was under way was answered %v", r)
	}
	_, err := b.stream.Recv()
	wantStatus(t, err, codes.Unavailable)
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
}

// gated is a store whose appends wait.
type gated struct {
	events.Store
	entered chan struct{}
	open    chan struct{}
}

func (g *gated) Append(
	ctx context.Context, stream string, expected events.Expected, batch []events.NewEvent,
) (events.AppendResult, error) {
	g.entered <- struct{}{}
	select {
	case <-g.open:
		return g.Store.Append(ctx, stream, expected, batch)
	case <-ctx.Done():
		return events.AppendResult{}, ctx.Err()
	}
}
