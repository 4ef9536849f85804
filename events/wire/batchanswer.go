package wire

import (
	"errors"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/hostnode/hostnode/events"
)

// batchAnswer is what the client is told about an append.
func batchAnswer(a *batch, result events.AppendResult, err error) *streams.BatchAppendResp {
	resp := &streams.BatchAppendResp{CorrelationId: a.id, StreamIdentifier: a.options.GetStreamIdentifier()}
	switch e := a.options.GetExpectedStreamPosition().(type) {
	case *streams.BatchAppendReq_Options_StreamPosition:
		resp.ExpectedStreamPosition = &streams.BatchAppendResp_StreamPosition{StreamPosition: e.StreamPosition}
	case *streams.BatchAppendReq_Options_NoStream:
		resp.ExpectedStreamPosition = &streams.BatchAppendResp_NoStream{NoStream: &emptypb.Empty{}}
	case *streams.BatchAppendReq_Options_Any:
		resp.ExpectedStreamPosition = &streams.BatchAppendResp_Any{Any: &emptypb.Empty{}}
	case *streams.BatchAppendReq_Options_StreamExists:
		resp.ExpectedStreamPosition = &streams.BatchAppendResp_StreamExists{StreamExists: &emptypb.Empty{}}
	}
	if err != nil {
		resp.Result = &streams.BatchAppendResp_Error{Error: batchError(err, a.stream)}
		return resp
	}
	success := &streams.BatchAppendResp_Success{
		CurrentRevisionOption: &streams.BatchAppendResp_Success_NoStream{NoStream: &emptypb.Empty{}},
		PositionOption:        &streams.BatchAppendResp_Success_NoPosition{NoPosition: &emptypb.Empty{}},
	}
	if result.Exists {
		success.CurrentRevisionOption = &streams.BatchAppendResp_Success_CurrentRevision{
			CurrentRevision: result.Revision,
		}
	}
	if result.Position > 0 {
		success.PositionOption = &streams.BatchAppendResp_Success_Position{Position: &shared.AllStreamPosition{
			CommitPosition: uint64(result.Position), PreparePosition: uint64(result.Position),
		}}
	}
	resp.Result = &streams.BatchAppendResp_Success_{Success: success}
	return resp
}

// batchError is an error with one detail, by which clients tell errors apart.
func batchError(err error, stream string) *spb.Status {
	var wrong *events.WrongRevisionError
	err = refuse(err, stream)
	var r *refusal
	if !errors.As(err, &r) {
		r = &refusal{code: codes.Unknown, sentence: "unknown error"}
	}
	code, detail := r.code, proto.Message(&shared.Unknown{})
	switch {
	case errors.As(err, &wrong):
		code, detail = codes.AlreadyExists, wrongDetail(wrong)
	case errors.Is(err, events.ErrStreamDeleted):
		code, detail = codes.NotFound, &shared.StreamDeleted{StreamIdentifier: streamID(stream)}
	case errors.Is(err, events.ErrTooLarge):
		detail = &shared.MaximumAppendSizeExceeded{MaxAppendSize: events.MaxAppendBytes}
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

func wrongDetail(e *events.WrongRevisionError) *shared.WrongExpectedVersion {
	w := &shared.WrongExpectedVersion{
		CurrentStreamRevisionOption: &shared.WrongExpectedVersion_CurrentNoStream{CurrentNoStream: &emptypb.Empty{}},
		ExpectedStreamPositionOption: &shared.WrongExpectedVersion_ExpectedNoStream{
			ExpectedNoStream: &emptypb.Empty{},
		},
	}
	if e.Exists {
		w.CurrentStreamRevisionOption = &shared.WrongExpectedVersion_CurrentStreamRevision{
			CurrentStreamRevision: e.Actual,
		}
	}
	switch n, exact := e.Expected.Count(); {
	case e.Expected.IsAny():
		w.ExpectedStreamPositionOption = &shared.WrongExpectedVersion_ExpectedAny{ExpectedAny: &emptypb.Empty{}}
	case e.Expected.IsExists():
		w.ExpectedStreamPositionOption = &shared.WrongExpectedVersion_ExpectedStreamExists{
			ExpectedStreamExists: &emptypb.Empty{},
		}
	case exact && n > 0:
		w.ExpectedStreamPositionOption = &shared.WrongExpectedVersion_ExpectedStreamPosition{
			ExpectedStreamPosition: n - 1,
		}
	}
	return w
}
