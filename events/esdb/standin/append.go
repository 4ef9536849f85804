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

// Append is a single append. There, a node that cannot write answers with a code of its own.
func (n *node) Append(s streams.Streams_AppendServer) error {
	if trailers, err := n.refusal(wantsLeader(s.Context())); err != nil {
		s.SetTrailer(trailers)
		return err
	}
	var parts []*streams.AppendReq
	for {
		m, err := s.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		parts = append(parts, m)
	}
	if len(parts) == 0 {
		return status.Error(codes.InvalidArgument, "an append without options")
	}
	fate, wrong := n.c.rule(n, proposalOfOne(parts))
	switch fate {
	case Done:
		return n.hand(s, parts)
	case Unanswered:
		if err := n.hand(silently{s}, parts); err != nil {
			return err
		}
	case NotReady:
		return status.Error(codes.Unavailable, notReady)
	case OddError:
		return status.Error(codes.Unknown, "odd")
	case NoResult:
		return s.SendAndClose(&streams.AppendResp{})
	case OddSuccess:
		success := &streams.AppendResp_Success{
			CurrentRevisionOption: &streams.AppendResp_Success_CurrentRevision{CurrentRevision: oddRevision},
		}
		return s.SendAndClose(&streams.AppendResp{Result: &streams.AppendResp_Success_{Success: success}})
	case refused:
		answer := &streams.AppendResp_WrongExpectedVersion{}
		if wrong.Exists {
			answer.CurrentRevisionOption = &streams.AppendResp_WrongExpectedVersion_CurrentRevision{
				CurrentRevision: wrong.Actual,
			}
		}
		return s.SendAndClose(&streams.AppendResp{
			Result: &streams.AppendResp_WrongExpectedVersion_{WrongExpectedVersion: answer},
		})
	case kept:
		select {
		case <-time.After(commitTimeout):
			return status.Error(codes.Aborted, "Operation timed out")
		case <-s.Context().Done():
		}
	case Lost:
	}
	<-s.Context().Done()
	return s.Context().Err()
}

// silently is a stream whose answer is lost.
type silently struct{ streams.Streams_AppendServer }

func (silently) SendAndClose(*streams.AppendResp) error { return nil }

// hand passes an append to the server behind, and its answer to the client.
func (n *node) hand(s streams.Streams_AppendServer, parts []*streams.AppendReq) error {
	call, err := n.c.backend.streams.Append(s.Context())
	if err != nil {
		return err
	}
	for _, m := range parts {
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

// commitTimeout is after how long a leader that is cut off answers that it could
// not commit. A real one takes 2 s or more.
const commitTimeout = 200 * time.Millisecond

// oddRevision is higher than any that a test's streams reach.
const oddRevision = 1 << 40

// notReady is the text of a node that accepts no appends. In a batch it comes
// with code 0.
const notReady = "Server Is Not Ready"

// BatchAppend answers each append by its fate; those that are to be done go to the server behind.
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

// answer sends an answer to the client, unless it is to be lost.
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

// deliver reports whether an append goes to the server behind, and answers it if not.
func (b *batches) deliver(id string, parts []*streams.BatchAppendReq) bool {
	correlation := parts[0].GetCorrelationId()
	fate, wrong := b.n.c.rule(b.n, proposalOf(parts))
	switch fate {
	case NotReady:
		b.fail(correlation, codes.OK, notReady, &emptypb.Empty{})
	case OddError:
		b.fail(correlation, codes.Code(99), "odd", &emptypb.Empty{})
	case NoResult:
		b.answer(&streams.BatchAppendResp{CorrelationId: correlation})
	case OddSuccess:
		b.answer(&streams.BatchAppendResp{CorrelationId: correlation, Result: &streams.BatchAppendResp_Success_{
			Success: &streams.BatchAppendResp_Success{
				CurrentRevisionOption: &streams.BatchAppendResp_Success_CurrentRevision{CurrentRevision: oddRevision},
			},
		}})
	case refused:
		answer := &shared.WrongExpectedVersion{}
		if wrong.Exists {
			answer.CurrentStreamRevisionOption = &shared.WrongExpectedVersion_CurrentStreamRevision{
				CurrentStreamRevision: wrong.Actual,
			}
		}
		b.fail(correlation, codes.AlreadyExists, "wrong expected version", answer)
	case kept:
		time.AfterFunc(commitTimeout, func() {
			b.fail(correlation, codes.DeadlineExceeded, "Operation timed out", &shared.Timeout{})
		})
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

// proposalOf converts an append for the store.
func proposalOf(parts []*streams.BatchAppendReq) proposal {
	p := proposal{stream: string(parts[0].GetOptions().GetStreamIdentifier().GetStreamName())}
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
			p.add(m)
		}
	}
	return p
}

// proposalOfOne converts a single append for the store.
func proposalOfOne(parts []*streams.AppendReq) proposal {
	options := parts[0].GetOptions()
	p := proposal{stream: string(options.GetStreamIdentifier().GetStreamName())}
	switch e := options.GetExpectedStreamRevision().(type) {
	case *streams.AppendReq_Options_Revision:
		p.expected = events.Exact(e.Revision)
	case *streams.AppendReq_Options_NoStream:
		p.expected = events.NoStream()
	case *streams.AppendReq_Options_StreamExists:
		p.expected = events.StreamExists()
	}
	for _, part := range parts[1:] {
		p.add(part.GetProposedMessage())
	}
	return p
}

// proposed is an event in either kind of append.
type proposed interface {
	GetId() *shared.UUID
	GetMetadata() map[string]string
	GetCustomMetadata() []byte
	GetData() []byte
}

func (p *proposal) add(m proposed) {
	meta, foreign := events.DecodeMetadata(m.GetCustomMetadata())
	p.batch = append(p.batch, events.NewEvent{
		ID: idOf(m.GetId()), Type: m.GetMetadata()["type"], Data: m.GetData(), Meta: meta, Foreign: foreign,
		Binary: m.GetMetadata()["content-type"] != "application/json",
	})
}

// idOf parses an event's id, in either of its forms.
func idOf(id *shared.UUID) events.EventID {
	if s := id.GetStructured(); s != nil {
		text := fmt.Sprintf("%016x%016x", uint64(s.GetMostSignificantBits()), uint64(s.GetLeastSignificantBits()))
		return events.EventID(uuid.MustParse(text))
	}
	return events.EventID(uuid.MustParse(id.GetString_()))
}
