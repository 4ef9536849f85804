package wire

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/hostnode/hostnode/events"
)

// Trailers by which clients tell errors apart (spec/eventstore.md §2).
const (
	trailerException = "exception"
	trailerStream    = "stream-name"
	trailerExpected  = "expected-version"
	trailerActual    = "actual-version"
	trailerMaxAppend = "maximum-append-size"
	trailerRequired  = "required-metadata-properties"

	exceptionDenied        = "access-denied"
	exceptionDeleted       = "stream-deleted"
	exceptionNotFound      = "stream-not-found"
	exceptionWrongVersion  = "wrong-expected-version"
	exceptionAppendTooLong = "maximum-append-size-exceeded"
	exceptionNoProperty    = "missing-required-metadata-property"
)

// refusal is an error in the protocol's form: a code, a sentence, and trailers
// for programs.
type refusal struct {
	code     codes.Code
	sentence string
	trailers []string // Keys and values in turn.
	cause    error
}

func (r *refusal) Error() string { return r.sentence }

func (r *refusal) Unwrap() error { return r.cause }

// GRPCStatus makes grpc send the refusal as it is.
func (r *refusal) GRPCStatus() *status.Status { return status.New(r.code, r.sentence) }

// refused is a refusal of which programs need to know no more than the code.
func refused(code codes.Code, format string, args ...any) error {
	return &refusal{code: code, sentence: fmt.Sprintf(format, args...)}
}

// invalid is the error for a request that no server would accept.
func invalid(format string, args ...any) error {
	return refused(codes.InvalidArgument, format, args...)
}

// excepted is a refusal with a trailer that names it, and with more trailers.
func excepted(code codes.Code, sentence string, cause error, name string, more ...string) error {
	return &refusal{code, sentence, append([]string{trailerException, name}, more...), cause}
}

func missingProperty(name string) error {
	return excepted(codes.InvalidArgument, "required metadata property '"+name+"' is missing", nil,
		exceptionNoProperty, trailerRequired, keyType+","+keyContentType)
}

func tooLarge(sentence string, most int, cause error) error {
	return excepted(codes.InvalidArgument, sentence, cause,
		exceptionAppendTooLong, trailerMaxAppend, fmt.Sprint(most))
}

var errShutdown = &refusal{code: codes.Unavailable, sentence: "this server is shutting down; connect again later"}

// refuse translates a store's error about a stream. A refusal is returned as it
// is.
func refuse(err error, stream string) error {
	if _, already := errors.AsType[*refusal](err); err == nil || already {
		return err
	}
	sentence := strings.ToValidUTF8(err.Error(), "\uFFFD")
	switch wrong, is := errors.AsType[*events.WrongRevisionError](err); {
	case is:
		return wrongVersion(wrong, stream)
	case errors.Is(err, events.ErrStreamDeleted):
		return excepted(codes.FailedPrecondition, fmt.Sprintf("event stream '%s' is deleted", stream), err,
			exceptionDeleted, trailerStream, stream)
	case errors.Is(err, events.ErrStreamNotFound):
		return excepted(codes.NotFound, fmt.Sprintf("event stream '%s' is not found", stream), err,
			exceptionNotFound, trailerStream, stream)
	case errors.Is(err, events.ErrTooLarge):
		return tooLarge(sentence, events.MaxAppendBytes, err)
	case errors.Is(err, events.ErrMalformed):
		return &refusal{code: codes.InvalidArgument, sentence: sentence, cause: err}
	case errors.Is(err, events.ErrReadOnly), errors.Is(err, events.ErrDenied):
		return excepted(codes.PermissionDenied, sentence, err, exceptionDenied)
	}
	return refuseBroken(err, sentence)
}

// refuseBroken translates errors that no caller is to blame for.
func refuseBroken(err error, sentence string) error {
	r := &refusal{code: codes.Internal, sentence: sentence, cause: err}
	switch {
	case errors.Is(err, context.Canceled):
		r.code, r.sentence = codes.Canceled, "the call was cancelled"
	case errors.Is(err, context.DeadlineExceeded):
		r.code, r.sentence = codes.DeadlineExceeded, "the call took too long; what it asked may have happened"
	case errors.Is(err, events.ErrAway):
		r.code, r.sentence = codes.Unavailable, "the event store behind this server does not answer; try again later"
	case errors.Is(err, events.ErrClosed):
		r.code, r.sentence = codes.Unavailable, "the event store is closed; connect again when the host is back"
	case errors.Is(err, events.ErrStoreFailed):
		r.code = codes.Unavailable
		r.sentence = "the event store has failed and takes nothing until the host is started again: " + sentence
	case errors.Is(err, events.ErrDamaged):
		r.code = codes.DataLoss
	}
	return r
}

func wrongVersion(wrong *events.WrongRevisionError, stream string) error {
	expected, actual := versionText(wrong.Expected), "-1"
	if wrong.Exists {
		actual = fmt.Sprint(wrong.Actual)
	}
	sentence := fmt.Sprintf("wrong expected version of stream '%s': expected %s, is %s", stream, expected, actual)
	return excepted(codes.FailedPrecondition, sentence, wrong,
		exceptionWrongVersion, trailerStream, stream, trailerExpected, expected, trailerActual, actual)
}

// versionText is an expectation in EventStoreDB's numbers.
func versionText(e events.Expected) string {
	switch n, exact := e.Count(); {
	case e.IsAny():
		return "-2"
	case e.IsExists():
		return "-4"
	case !exact || n == 0:
		return "-1"
	default:
		return fmt.Sprint(n - 1)
	}
}

// setTrailers adds a refusal's trailers to its status.
func setTrailers(ctx context.Context, err error) {
	r, is := errors.AsType[*refusal](err)
	if !is || len(r.trailers) == 0 {
		return
	}
	md := metadata.MD{}
	for i := 0; i+1 < len(r.trailers); i += 2 {
		md.Set(r.trailers[i], headerText(r.trailers[i+1]))
	}
	_ = grpc.SetTrailer(ctx, md) // Fails only outside of a call.
}

// headerText encodes a text for a header: bytes that HTTP does not allow there
// are percent-encoded, as in grpc's own messages.
func headerText(s string) string {
	plain := func(b byte) bool { return b >= ' ' && b <= '~' }
	i := 0
	for i < len(s) && plain(s[i]) {
		i++
	}
	if i == len(s) && strings.TrimSpace(s) == s {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		if plain(s[i]) && s[i] != '%' && s[i] != ' ' {
			b.WriteByte(s[i])
		} else {
			fmt.Fprintf(&b, "%%%02X", s[i])
		}
	}
	return b.String()
}
