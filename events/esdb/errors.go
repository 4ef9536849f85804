package esdb

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/hostnode/hostnode/events"
)

// What the server writes into the trailer "exception".
const (
	exception          = "exception"
	exceptionLeader    = "not-leader"
	exceptionDeleted   = "stream-deleted"
	exceptionRevision  = "wrong-expected-version"
	exceptionDenied    = "access-denied"
	exceptionTooLarge  = "maximum-append-size-exceeded"
	exceptionNoStream  = "stream-not-found"
	trailerLeaderHost  = "leader-endpoint-host"
	trailerLeaderPort  = "leader-endpoint-port"
	trailerActual      = "actual-version"
	messageTooLarge    = "larger than max" // gRPC's own limit
	messageAppendLarge = "append size"     // "Maximum Append Size of … Exceeded."
	// messageGuarded is what events/wire says of streams that only their host writes.
	messageGuarded = "read-only over the wire"
)

// errNotSent means that a call ended before any part of it was sent, so that
// any call can be repeated.
var errNotSent = errors.New("nothing was sent")

// errNotReady means that a node cannot write now (it is starting, has lost its
// followers, or is busy) and has written nothing. It may still serve reads, so
// reads do not reveal it.
var errNotReady = errors.New("the node accepts no appends now")

// refusedWrite ends a session whose node did not take an append.
type refusedWrite struct {
	stream string
	error
}

func (e *refusedWrite) Unwrap() error { return e.error }

// notReadyTexts are the servers' texts for it. The code beside them does not
// help: in a batch append it is 0, which gRPC's helpers take for OK.
var notReadyTexts = []string{"Server Is Not Ready", "Server Is Busy", "No leader info available"}

// notReady returns errNotReady for such a text, and nil for any other.
func notReady(text string) error {
	if containsOne(text, notReadyTexts...) {
		return fmt.Errorf("%w: %w: %w", errNotReady, errNotSent, away(errors.New(text)))
	}
	return nil
}

// errBroken is an answer that cannot be true: what it reports is not what was
// asked for.
var errBroken = errors.New("the answer of the event store cannot be true")

// broken makes an errBroken, which leaves open whether the call took effect.
func broken(format string, args ...any) error {
	return fmt.Errorf("%w: %w", errBroken, away(fmt.Errorf(format, args...)))
}

// errNotLeader means that the node did nothing because it is not the leader.
type errNotLeader struct {
	leader string // host:port, empty when the node did not say
}

func (e *errNotLeader) Error() string {
	if e.leader == "" {
		return "the node is not the leader of its cluster"
	}
	return "the node is not the leader of its cluster, " + e.leader + " is"
}

// errMissing: a deletion did not find the stream.
var errMissing = errors.New("the server does not know it")

// away marks an error of a server that does not answer. The call may have taken
// effect.
func away(cause error) error { return fmt.Errorf("%w: %w", events.ErrAway, cause) }

// Explain translates an error of the client, or of gRPC, to one of the port,
// with a hint where an operator can do something about it. Errors of contexts
// and of the port are returned as they are.
func Explain(err error) error {
	return explain(err, nil)
}

// explain is Explain with the trailers of a call that was made without the
// client.
func explain(err error, trailers metadata.MD) error {
	switch {
	case err == nil:
		return nil
	case ofThePort(err):
		return err
	}
	if e := (*esdb.Error)(nil); errors.As(err, &e) {
		if mapped := explainCode(e); mapped != nil {
			return mapped
		}
	}
	return explainStatus(err, trailers)
}

func ofThePort(err error) bool {
	_, leader := errors.AsType[*errNotLeader](err)
	return leader || slices.ContainsFunc([]error{
		events.ErrAway, events.ErrDenied, events.ErrStreamNotFound, events.ErrStreamDeleted, events.ErrTooLarge,
		events.ErrClosed, events.ErrWrongRevision, errNotSent, errMissing,
	}, func(known error) bool { return errors.Is(err, known) })
}

// explainCode translates the errors that the client itself finds; nil for those
// of the status that it wraps.
func explainCode(e *esdb.Error) error {
	switch e.Code() { //nolint:exhaustive // the others say no more than the status inside
	case esdb.ErrorCodeNotLeader:
		return &errNotLeader{}
	case esdb.ErrorCodeStreamDeleted:
		return events.ErrStreamDeleted
	case esdb.ErrorCodeResourceNotFound:
		return events.ErrStreamNotFound
	case esdb.ErrorCodeConnectionClosed:
		return fmt.Errorf("%w: %w", errNotSent, away(e))
	}
	return nil
}

// explainStatus maps the answer of a gRPC call.
func explainStatus(err error, trailers metadata.MD) error {
	if mapped := explainException(err, trailers); mapped != nil {
		return mapped
	}
	s, ok := status.FromError(err)
	if !ok {
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return away(err)
		}
		return fmt.Errorf("event store: %w", err)
	}
	text := s.Message()
	if refused := notReady(text); refused != nil {
		return refused
	}
	switch s.Code() { //nolint:exhaustive // the others are handed on as they are
	case codes.Unauthenticated, codes.PermissionDenied:
		return denied(s.Code(), text)
	// All but the first: the server gave up on the call, or the connection ended during it.
	case codes.Unavailable, codes.DeadlineExceeded, codes.Aborted, codes.Canceled:
		return away(errors.New(withHint(text)))
	case codes.ResourceExhausted:
		if strings.Contains(text, messageTooLarge) {
			return tooLarge(text)
		}
		return away(errors.New(text))
	case codes.Internal:
		// Grpc calls these internal although only the connection ended during the call.
		if containsOne(text, "RST_STREAM", "unexpected EOF", "server closed the stream", "transport") {
			return away(errors.New(text))
		}
	case codes.NotFound:
		return fmt.Errorf("%w: %s", events.ErrStreamNotFound, text)
	}
	if strings.Contains(strings.ToLower(text), messageAppendLarge) {
		return tooLarge(text)
	}
	return fmt.Errorf("event store: %w", err)
}

func tooLarge(text string) error {
	return fmt.Errorf("%w: %s (older releases of EventStoreDB take 1 MiB an append)", events.ErrTooLarge, text)
}

func containsOne(text string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
}

// denied tells the two cases apart: the server does not know who we are, or we lack the right.
func denied(code codes.Code, text string) error {
	if code == codes.Unauthenticated {
		return fmt.Errorf("%w: %s; check user and password of eventStore.url (or the user certificate)",
			events.ErrDenied, text)
	}
	if strings.Contains(text, messageGuarded) {
		return fmt.Errorf("%w: %s", events.ErrDenied, text) // No right would help.
	}
	return fmt.Errorf("%w: %s; the user needs the right to read $all and to write the host's streams "+
		"($admins have it; others by an $acl)", events.ErrDenied, text)
}

// explainException translates what a server says in the trailers of a call.
func explainException(err error, trailers metadata.MD) error {
	switch first(trailers, exception) {
	case exceptionLeader:
		host, port := first(trailers, trailerLeaderHost), first(trailers, trailerLeaderPort)
		if host == "" || port == "" {
			return &errNotLeader{}
		}
		return &errNotLeader{leader: net.JoinHostPort(host, port)}
	case exceptionDeleted:
		return events.ErrStreamDeleted
	case exceptionNoStream:
		return fmt.Errorf("%w: %w", events.ErrStreamNotFound, errMissing)
	case exceptionDenied:
		return denied(codes.PermissionDenied, status.Convert(err).Message())
	case exceptionTooLarge:
		return tooLarge(status.Convert(err).Message())
	case exceptionRevision:
		wrong := &events.WrongRevisionError{}
		wrong.Actual, wrong.Exists = revisionOf(first(trailers, trailerActual))
		return wrong
	}
	return nil
}

func first(trailers metadata.MD, key string) string {
	if all := trailers.Get(key); len(all) > 0 {
		return all[0]
	}
	return ""
}

// revisionOf parses a revision as servers write it: a number; or, for a stream
// without events, a word or a negative number.
func revisionOf(text string) (revision uint64, exists bool) {
	n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 64)
	return n, err == nil && n <= math.MaxInt64
}

// ofAppend translates the error of an append. It never means that a stream is
// missing: "not found" is the code of a node that does not lead and does not
// say who does. And unless it is known to be a refusal, the append may have
// been written.
func ofAppend(err error) error {
	switch {
	case errors.Is(err, events.ErrStreamNotFound):
		return &errNotLeader{}
	case ofThePort(err), status.Code(err) == codes.InvalidArgument:
		return err
	}
	return away(err)
}

// explainRead is explain for reads and subscriptions. A missing stream is
// reported by a message of the answer; the status "not found" comes from a node
// that does not lead, and proves nothing about the stream.
func explainRead(err error) error {
	if status.Code(err) == codes.NotFound {
		return &errNotLeader{}
	}
	return explain(err, nil)
}

// completed adds what only the caller knows.
func completed(err error, stream string, expected events.Expected) error {
	if wrong, ok := errors.AsType[*events.WrongRevisionError](err); ok {
		wrong.Stream, wrong.Expected = stream, expected
		return wrong
	}
	return err
}
