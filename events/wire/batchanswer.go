package wire

import (
	"errors"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/hostnode/hostnode/events"
)

// batchAnswer is what the client is told about an append.
func batchAnswer(a *batch, result events.AppendResult, err error) *streams.BatchAppendResp {
	resp := &streams.BatchAppendResp{CorrelationId: a.id, StreamIdentifier: a.options.GetStreamIdentifier()}
	options := a.options.ProtoReflect() // What was expected is told again, by the same name.
	if f := options.WhichOneof(options.Descriptor().Oneofs().ByName("expected_stream_position")); f != nil {
		choose(resp, a.options.GetStreamPosition(), f.Name())
	}
	if err != nil {
		resp.Result = &streams.BatchAppendResp_Error{Error: a.error(err)}
	} else {
		resp.Result = &streams.BatchAppendResp_Success_{
			Success: succeeded(&streams.BatchAppendResp_Success{}, result),
		}
	}
	return resp
}

// succeeded puts into an answer of either kind where a stream is now.
func succeeded[M proto.Message](answer M, r events.AppendResult) M {
	if r.Exists {
		choose(answer, r.Revision, "current_revision")
	} else {
		choose(answer, 0, "no_stream")
	}
	if r.Position > 0 {
		choose(answer, uint64(r.Position), "position")
	} else {
		choose(answer, 0, "no_position")
	}
	return answer
}

// error is an error with one detail, by which clients tell errors apart.
func (a *batch) error(err error) *spb.Status {
	err = refuse(err, a.stream)
	r, known := errors.AsType[*refusal](err)
	if !known {
		r = &refusal{code: codes.Unknown, sentence: "unknown error"}
	}
	code, detail := r.code, proto.Message(&shared.Unknown{})
	switch wrong, is := errors.AsType[*events.WrongRevisionError](err); {
	case is:
		code, detail = codes.AlreadyExists, tellWrong(&shared.WrongExpectedVersion{}, wrong)
	case errors.Is(err, events.ErrStreamDeleted):
		code, detail = codes.NotFound, &shared.StreamDeleted{StreamIdentifier: streamID(a.stream)}
	case errors.Is(err, events.ErrTooLarge):
		detail = &shared.MaximumAppendSizeExceeded{MaxAppendSize: uint32(a.s.cfg.Limits.AppendBytes)}
	case r.code == codes.PermissionDenied:
		detail = &shared.AccessDenied{}
	case r.code == codes.DeadlineExceeded:
		detail = &shared.Timeout{}
	case r.code == codes.InvalidArgument:
		detail = &shared.BadRequest{Message: r.sentence}
	}
	status := &spb.Status{Code: int32(code), Message: r.sentence}
	if packed, err := anypb.New(detail); err == nil { // The detail is a few words; encoding it cannot fail.
		status.Details = []*anypb.Any{packed}
	}
	return status
}

// tellWrong puts into an answer where a stream is, and where it was expected. There are two kinds of
// answers, which name the same cases differently, and clients from before 20.10 read other fields than later ones.
func tellWrong[M proto.Message](answer M, e *events.WrongRevisionError) M {
	if e.Exists {
		choose(answer, e.Actual, "current_revision", "current_revision_20_6_0", "current_stream_revision")
	} else {
		choose(answer, 0, "current_no_stream", "no_stream_20_6_0")
	}
	switch n, exact := e.Expected.Count(); {
	case e.Expected.IsAny():
		choose(answer, 0, "expected_any", "any_20_6_0")
	case e.Expected.IsExists():
		choose(answer, 0, "expected_stream_exists", "stream_exists_20_6_0")
	case exact && n > 0:
		choose(answer, n-1, "expected_revision", "expected_revision_20_6_0", "expected_stream_position")
	default: // The old fields cannot say that no stream was expected.
		choose(answer, 0, "expected_no_stream")
	}
	return answer
}

// choose sets those of these fields that a message has: to a number, or to a message of nothing else than that.
func choose(m proto.Message, n uint64, names ...protoreflect.Name) {
	r := m.ProtoReflect()
	for _, name := range names {
		switch f := r.Descriptor().Fields().ByName(name); {
		case f == nil:
		case f.Kind() == protoreflect.Uint64Kind:
			r.Set(f, protoreflect.ValueOfUint64(n))
		default:
			inner := r.NewField(f)
			for i := range f.Message().Fields().Len() {
				inner.Message().Set(f.Message().Fields().Get(i), protoreflect.ValueOfUint64(n))
			}
			r.Set(f, inner)
		}
	}
}
