package standin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/hostnode/hostnode/events"
)

// Append is a single append. It is always done, or refused, by the server behind:
// what goes wrong with appends goes wrong with batches here, and a node that cannot
// write says so.
func (n *node) Append(s streams.Streams_AppendServer) error {
	if trailers, err := n.refusal(wantsLeader(s.Context())); err != nil {
		s.SetTrailer(trailers)
		return err
	}
	if _, election, _, _ := n.c.now(n); election {
		return status.Error(codes.Unavailable, notReady)
	}
	call, err := n.c.backend.streams.Append(s.Context())
	if err != nil {
		return err
	}
	for {
		m, err := s.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if call.Send(m) != nil {
			break // The server has answered.
		}
	}
	answer, err := call.CloseAndRecv()
	if err != nil {
		s.SetTrailer(call.Trailer())
		return err
	}
	return s.SendAndClose(answer)
}

// commitTimeout is after how long a leader that is cut off says that it could not
// commit. A real one takes 2 s or more.
const commitTimeout = 200 * time.Millisecond

// oddRevision is one that no stream of a test comes to.
const oddRevision = 1 << 40

// notReady is what a node says that takes no appends. In a batch it comes with
// code 0.
const notReady = "Server Is Not Ready"

// BatchAppend answers each append by its fate, the others by the server behind.
func (n *node) BatchAppend(s streams.Streams_BatchAppendServer) error {
	ctx, cancel := context.WithCancel(s.Context())
	defer cancel()
	behind, err := n.c.backend.streams.BatchAppend(ctx)
	if err != nil {
		return err
	}
	b := &batches{n: n, out: s, in: map[string][]*streams.BatchAppendReq{}, silent: map[string]bool{}}
	var answers sync.WaitGroup
	answers.Go(func() {
		for {
			m, err := behind.Recv()
			if err != nil {
				return
			}
			b.answer(m)
		}
	})
	defer answers.Wait()
	defer cancel()
	for {
		m, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if trailers, err := n.refusal(wantsLeader(ctx)); err != nil && trailers != nil {
			s.SetTrailer(trailers)
			return err
		}
		id := m.GetCorrelationId().String()
		b.in[id] = append(b.in[id], m)
		if !m.GetIsFinal() {
			continue
		}
		parts := b.in[id]
		delete(b.in, id)
		if !b.deliver(id, parts) {
			continue
		}
		for _, part := range parts {
			if err := behind.Send(part); err != nil {
				return err
			}
		}
	}
}

// batches is one call of BatchAppend.
type batches struct {
	n  *node
	in map[string][]*streams.BatchAppendReq // what has arrived of each append

	mu     sync.Mutex
	out    streams.Streams_BatchAppendServer
	silent map[string]bool // appends whose answers are lost
}

// answer tells the client, unless the answer is lost.
func (b *batches) answer(m *streams.BatchAppendResp) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.silent[m.GetCorrelationId().String()] {
		_ = b.out.Send(m) // A client that has gone wants no answer.
	}
}

func (b *batches) fail(id *shared.UUID, code codes.Code, message string, detail proto.Message) {
	packed, err := anypb.New(detail)
	if err != nil {
		b.n.c.t.Errorf("stand-in: %v", err)
		return
	}
	b.answer(&streams.BatchAppendResp{CorrelationId: id, Result: &streams.BatchAppendResp_Error{
		Error: &spb.Status{Code: int32(code), Message: message, Details: []*anypb.Any{packed}},
	}})
}

// deliver says whether an append goes to the server behind, and answers it if not.
func (b *batches) deliver(id string, parts []*streams.BatchAppendReq) bool {
	options, correlation := parts[0].GetOptions(), parts[0].GetCorrelationId()
	stream := string(options.GetStreamIdentifier().GetStreamName())
	c := b.n.c
	c.mu.Lock()
	fate := c.fate
	if c.cut {
		wrong, repeated := c.judge(proposalOf(stream, parts))
		c.mu.Unlock()
		if wrong == nil && !repeated { // A repetition is never answered.
			time.AfterFunc(commitTimeout, func() {
				b.fail(correlation, codes.DeadlineExceeded, "Operation timed out", &shared.Timeout{})
			})
		}
		if wrong != nil {
			b.fail(correlation, codes.AlreadyExists, "wrong expected version", &shared.WrongExpectedVersion{
				CurrentStreamRevisionOption: &shared.WrongExpectedVersion_CurrentStreamRevision{
					CurrentStreamRevision: wrong.Actual,
				},
			})
		}
		return false
	}
	election := c.leader < 0
	c.mu.Unlock()
	what := Done
	switch {
	case election:
		what = NotReady
	case fate != nil:
		what = fate(stream)
	}
	switch what {
	case NotReady:
		b.fail(correlation, codes.OK, notReady, &emptypb.Empty{})
	case OddError:
		b.fail(correlation, codes.Code(99), "odd", &emptypb.Empty{})
	case OddSuccess:
		b.answer(&streams.BatchAppendResp{CorrelationId: correlation, Result: &streams.BatchAppendResp_Success_{
			Success: &streams.BatchAppendResp_Success{
				CurrentRevisionOption: &streams.BatchAppendResp_Success_CurrentRevision{CurrentRevision: oddRevision},
			},
		}})
	case Lost:
	case Unanswered:
		b.mu.Lock()
		b.silent[id] = true
		b.mu.Unlock()
		return true
	case Done:
		return true
	}
	return false
}

// proposalOf is an append as the store takes it.
func proposalOf(stream string, parts []*streams.BatchAppendReq) proposal {
	p := proposal{stream: stream}
	switch e := parts[0].GetOptions().GetExpectedStreamPosition().(type) {
	case *streams.BatchAppendReq_Options_StreamPosition:
		p.expected = events.Exact(e.StreamPosition)
	case *streams.BatchAppendReq_Options_NoStream:
		p.expected = events.NoStream()
	case *streams.BatchAppendReq_Options_StreamExists:
		p.expected = events.StreamExists()
	}
	for _, part := range parts {
		for _, m := range part.GetProposedMessages() {
			meta, foreign := events.DecodeMetadata(m.GetCustomMetadata())
			p.batch = append(p.batch, events.NewEvent{
				ID: idOf(m.GetId()), Type: m.GetMetadata()["type"], Data: m.GetData(), Meta: meta, Foreign: foreign,
				Binary: m.GetMetadata()["content-type"] != "application/json",
			})
		}
	}
	return p
}

// idOf is an event's id, in either of its forms.
func idOf(id *shared.UUID) events.EventID {
	if s := id.GetStructured(); s != nil {
		text := fmt.Sprintf("%016x%016x", uint64(s.GetMostSignificantBits()), uint64(s.GetLeastSignificantBits()))
		return events.EventID(uuid.MustParse(text))
	}
	return events.EventID(uuid.MustParse(id.GetString_()))
}
