package esdb

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/hostnode/hostnode/events"
)

// sent is a stream that keeps what is sent on it.
type sent struct {
	grpc.ClientStream
	all []*streams.BatchAppendReq
}

func (s *sent) Send(r *streams.BatchAppendReq) error {
	s.all = append(s.all, proto.CloneOf(r))
	return nil
}

func (s *sent) Recv() (*streams.BatchAppendResp, error) { return nil, errors.New("not asked") }

func TestAnAppendGoesOutInRequestsOfModerateSize(t *testing.T) {
	for _, c := range []struct {
		name  string
		sizes []int
		want  []int // events per request
	}{
		{"one", []int{1}, []int{1}},
		{"many that fit", []int{1000, 1000, 1000}, []int{3}},
		{"more than fit", []int{chunkBytes / 2, chunkBytes / 2, chunkBytes / 2}, []int{2, 1}},
		{"each too large", []int{chunkBytes + 1, chunkBytes + 1}, []int{1, 1}},
		{"a large one behind a small one", []int{1, 3 * chunkBytes, 1}, []int{1, 1, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &parcel{number: 7, timeout: time.Second}
			p.stream, p.expected = "a-1", events.Exact(4)
			for i, size := range c.sizes {
				p.events = append(p.events, esdb.EventData{
					EventID: uuid.UUID{15: byte(i)}, EventType: "t", Data: make([]byte, size),
				})
			}
			out := &sent{}
			if err := p.send(out); err != nil {
				t.Fatal(err)
			}
			var got []int
			var ids []string
			for i, r := range out.all {
				got = append(got, len(r.GetProposedMessages()))
				if (i == 0) != (r.GetOptions() != nil) || (i == len(out.all)-1) != r.GetIsFinal() {
					t.Errorf("request %d: options %v, final %v", i, r.GetOptions(), r.GetIsFinal())
				}
				if numberOf(r.GetCorrelationId()) != 7 {
					t.Errorf("request %d has the correlation id %v", i, r.GetCorrelationId())
				}
				for _, m := range r.GetProposedMessages() {
					ids = append(ids, m.GetId().String())
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("events per request (-want +got):\n%s", diff)
			}
			for i := range c.sizes {
				if ids[i] != uuidOf(uuid.UUID{15: byte(i)}).String() {
					t.Errorf("event %d is %s", i, ids[i])
				}
			}
			if got := out.all[0].GetOptions().GetStreamPosition(); got != 4 {
				t.Errorf("expected position %d, want 4", got)
			}
		})
	}
}

func TestAnswersOfABatch(t *testing.T) {
	failed := func(code codes.Code, message string, detail protoadapt.MessageV1) *streams.BatchAppendResp {
		s := status.New(code, message).Proto()
		if detail != nil {
			packed, err := anypb.New(protoadapt.MessageV2Of(detail))
			if err != nil {
				t.Fatal(err)
			}
			s.Details = []*anypb.Any{packed}
		}
		return &streams.BatchAppendResp{Result: &streams.BatchAppendResp_Error{Error: s}}
	}
	wrong := &shared.WrongExpectedVersion{
		CurrentStreamRevisionOption: &shared.WrongExpectedVersion_CurrentStreamRevision{CurrentStreamRevision: 5},
	}
	none := &shared.WrongExpectedVersion{
		CurrentStreamRevisionOption: &shared.WrongExpectedVersion_CurrentNoStream{CurrentNoStream: &emptypb.Empty{}},
	}
	for _, c := range []struct {
		name string
		resp *streams.BatchAppendResp
		want error
		text string
	}{
		{"wrong revision", failed(codes.AlreadyExists, "", wrong), events.ErrWrongRevision, "is revision 5"},
		{"no stream", failed(codes.AlreadyExists, "", none), events.ErrWrongRevision, "is no stream"},
		{"deleted", failed(codes.NotFound, "", &shared.StreamDeleted{}), events.ErrStreamDeleted, ""},
		{"deleted without a detail", failed(codes.NotFound, "", nil), events.ErrStreamDeleted, ""},
		{"timeout", failed(codes.DeadlineExceeded, "late", &shared.Timeout{}), events.ErrAway, "late"},
		{"denied", failed(codes.PermissionDenied, "no", &shared.AccessDenied{}), events.ErrDenied, "right"},
		{"too large", failed(codes.InvalidArgument, "big", &shared.MaximumAppendSizeExceeded{}), events.ErrTooLarge, "1 MiB"},
		{"too large without a detail", failed(codes.InvalidArgument, "Maximum Append Size of 1 Exceeded", nil), events.ErrTooLarge, ""},
		{"not ready", failed(codes.Unavailable, "not ready", nil), events.ErrAway, "not ready"},
		{"busy", failed(codes.ResourceExhausted, "busy", nil), events.ErrAway, "busy"},
	} {
		got := answerOf(c.resp)
		if got.err == nil || !errors.Is(got.err, c.want) || !strings.Contains(got.err.Error(), c.text) {
			t.Errorf("%s: %v, want %v that says %q", c.name, got.err, c.want, c.text)
		}
	}
	for _, text := range notReadyTexts {
		// A real server answers like this, with the code of success.
		got := answerOf(failed(codes.OK, text, &shared.Empty{}))
		if !errors.Is(got.err, errNotReady) || !errors.Is(got.err, errNotSent) || !errors.Is(got.err, events.ErrAway) {
			t.Errorf("%s: %v, want that nothing was written, because the node takes nothing", text, got.err)
		}
	}
	for name, resp := range map[string]*streams.BatchAppendResp{
		"an error with the code of success": failed(codes.OK, "", nil),
		"an error that nobody knows":        failed(codes.FailedPrecondition, "odd", nil),
		"a success without a revision":      {Result: &streams.BatchAppendResp_Success_{Success: &streams.BatchAppendResp_Success{}}},
		"neither success nor error":         {},
	} {
		if got := answerOf(resp); !errors.Is(got.err, events.ErrAway) || errors.Is(got.err, errNotSent) {
			t.Errorf("%s: %v, want that nobody knows what became of it", name, got.err)
		}
	}
	bad := answerOf(failed(codes.InvalidArgument, "bad", &shared.BadRequest{}))
	if bad.err == nil || errors.Is(bad.err, events.ErrAway) || !strings.Contains(bad.err.Error(), "bad") {
		t.Errorf("a bad request: %v", bad.err)
	}
}

func TestASuccessSaysWhereTheEventsStand(t *testing.T) {
	at := func(revision uint64) events.AppendResult {
		return events.AppendResult{Revision: revision, Exists: true}
	}
	none := events.AppendResult{}
	for _, c := range []struct {
		name     string
		expected events.Expected
		events   int
		result   events.AppendResult
		ok       bool
	}{
		{"where it belongs", events.Exact(4), 2, at(6), true},
		{"too early", events.Exact(4), 2, at(5), false},
		{"too late", events.Exact(4), 2, at(7), false},
		{"nowhere", events.Exact(4), 2, none, false},
		{"revision 0, as if nothing was done", events.Exact(4), 1, at(0), false},
		{"the first", events.NoStream(), 2, at(1), true},
		{"the first of a stream that was deleted", events.NoStream(), 2, at(9), true},
		{"less than was written", events.NoStream(), 2, at(0), false},
		{"anywhere", events.Any(), 2, at(9), true},
		{"anywhere, and less than was written", events.Any(), 2, at(0), false},
		{"anywhere, and nowhere", events.StreamExists(), 1, none, false},
		{"a check", events.Exact(4), 0, at(4), true},
		{"a check that found more", events.Exact(4), 0, at(5), false},
		{"a check of what is not there", events.NoStream(), 0, none, true},
		{"a check of anything", events.Any(), 0, at(7), true},
	} {
		w := write{stream: "a-1", expected: c.expected, events: make([]esdb.EventData, c.events)}
		err := w.check(c.result)
		if ok := err == nil; ok != c.ok || !ok && !(errors.Is(err, errBroken) && errors.Is(err, events.ErrAway)) {
			t.Errorf("%s: %v, want it taken: %t", c.name, err, c.ok)
		}
	}
}

func TestErrorsOfTheServerAreThoseOfThePort(t *testing.T) {
	trailers := func(keysAndValues ...string) metadata.MD { return metadata.Pairs(keysAndValues...) }
	for _, c := range []struct {
		name     string
		err      error
		trailers metadata.MD
		want     error
		text     string
	}{
		{"nothing", nil, nil, nil, ""},
		{"away", status.Error(codes.Unavailable, "connection refused"), nil, events.ErrAway, "check that the server runs"},
		{"late", status.Error(codes.DeadlineExceeded, "late"), nil, events.ErrAway, ""},
		{"aborted", status.Error(codes.Aborted, "timeout"), nil, events.ErrAway, ""},
		{"the connection closed", status.Error(codes.Canceled, "the client connection is closing"), nil, events.ErrAway, ""},
		{"a reset", status.Error(codes.Internal, "stream terminated by RST_STREAM"), nil, events.ErrAway, ""},
		{"a wrong password", status.Error(codes.Unauthenticated, "no"), nil, events.ErrDenied, "check user and password"},
		{"a missing right", status.Error(codes.PermissionDenied, "no"), nil, events.ErrDenied, "$acl"},
		{"gRPC's limit", status.Error(codes.ResourceExhausted, "received message larger than max (9 vs. 8)"), nil, events.ErrTooLarge, ""},
		{"deleted", status.Error(codes.FailedPrecondition, ""), trailers(exception, exceptionDeleted), events.ErrStreamDeleted, ""},
		{"no stream", status.Error(codes.NotFound, ""), trailers(exception, exceptionNoStream), events.ErrStreamNotFound, ""},
		{"not found", status.Error(codes.NotFound, "x"), nil, events.ErrStreamNotFound, "x"},
		{"too large", status.Error(codes.InvalidArgument, ""), trailers(exception, exceptionTooLarge), events.ErrTooLarge, ""},
		{
			"wrong revision", status.Error(codes.FailedPrecondition, ""),
			trailers(exception, exceptionRevision, trailerActual, "12"), events.ErrWrongRevision, "is revision 12",
		},
		{
			"wrong revision of no stream", status.Error(codes.FailedPrecondition, ""),
			trailers(exception, exceptionRevision, trailerActual, "-1"), events.ErrWrongRevision, "is no stream",
		},
		{"one of the port", events.ErrClosed, nil, events.ErrClosed, ""},
	} {
		got := explain(c.err, c.trailers)
		if c.want == nil {
			if got != nil {
				t.Errorf("%s: %v", c.name, got)
			}
			continue
		}
		if !errors.Is(got, c.want) || !strings.Contains(got.Error(), c.text) {
			t.Errorf("%s: %v, want %v that says %q", c.name, got, c.want, c.text)
		}
	}
	var elsewhere *errNotLeader
	err := explain(status.Error(codes.NotFound, ""), trailers(
		exception, exceptionLeader, trailerLeaderHost, "::1", trailerLeaderPort, "2113"))
	if !errors.As(err, &elsewhere) || elsewhere.leader != "[::1]:2113" {
		t.Errorf("not the leader: %v", err)
	}
}

func TestACallerThatGoesAwayBeforeTheSenderHasSentNothing(t *testing.T) {
	b := &batcher{pending: map[uint64]*parcel{}, done: make(chan struct{})}
	gone := &parcel{answer: make(chan answer, 1)}
	if b.drop(gone) {
		t.Error("an append that was not taken counts as sent")
	}
	if b.claim(gone) {
		t.Error("an append whose caller has gone is sent")
	}
	late := &parcel{answer: make(chan answer, 1)}
	if !b.claim(late) || !b.drop(late) {
		t.Error("an append that was taken does not count as sent")
	}
	if len(b.pending) != 0 {
		t.Errorf("%d appends are kept for callers that have gone", len(b.pending))
	}
}

func FuzzCorrelation(f *testing.F) {
	f.Add(uint64(0), "")
	f.Add(^uint64(0), "00000000-0000-0000-0000-000000000001")
	f.Fuzz(func(t *testing.T, n uint64, text string) {
		if got := numberOf(numbered(n)); got != n {
			t.Errorf("%d comes back as %d", n, got)
		}
		numberOf(&shared.UUID{Value: &shared.UUID_String_{String_: text}})
		numberOf(nil)
	})
}
