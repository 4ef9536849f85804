package esdb

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/hostnode/hostnode/events"
)

// write is an append on its way.
type write struct {
	stream   string
	expected events.Expected
	// events have their own copies of the bytes: an abandoned attempt may still
	// read them after the caller has gone on.
	events []esdb.EventData
}

// Append implements events.Store. When an attempt fails and it is not known
// whether the events were written, an append at an exact revision is repeated
// with the same ids until the server answers or Config.Patience is over, which
// the rules of Append make safe. Any and StreamExists are repeated only when
// nothing was sent. judge.go decides which answers mean done, and which
// refused.
func (s *Store) Append(
	ctx context.Context, stream string, expected events.Expected, batch []events.NewEvent,
) (events.AppendResult, error) {
	if err := s.ended(ctx); err != nil {
		return events.AppendResult{}, err
	}
	if err := events.CheckAppend(stream, batch); err != nil {
		return events.AppendResult{}, err
	}
	for _, e := range batch {
		if err := harmless(stream, e); err != nil {
			return events.AppendResult{}, err
		}
	}
	w := write{stream: stream, expected: expected, events: proposed(batch)}
	alone := len(batch) == 0 || size(batch) > aloneBytes
	_, exact := expected.Count()
	var result events.AppendResult
	err := s.try(ctx, exact || len(batch) == 0, func(ctx context.Context, h *lease) (err error) {
		defer func() {
			if errors.Is(err, errNotReady) {
				err = &refusedWrite{stream, err}
			}
		}()
		if h.node.batch && !s.cfg.NoBatch && !alone {
			result, err = h.batcher().append(ctx, w, s.cfg.CallTimeout)
		} else {
			result, err = h.appendOne(ctx, w)
		}
		if err == nil {
			err = w.check(result)
		}
		return completed(err, stream, expected)
	}, func(err error) error {
		if wrong, refused := errors.AsType[*events.WrongRevisionError](err); refused {
			return s.judge(ctx, w, wrong)
		}
		if err == nil && w.deleted(result) {
			return s.confirm(ctx, w, result)
		}
		return err
	})
	if err != nil {
		return events.AppendResult{}, wrapWrite("append to", stream, err)
	}
	return result, nil
}

// aloneBytes is the size from which an append is sent by itself: on the shared
// stream it would delay those after it, and if the server finds it too large,
// end the stream for all.
const aloneBytes = 4 << 20

func size(batch []events.NewEvent) (n int) {
	for _, e := range batch {
		n += e.Size()
	}
	return n
}

// wrapWrite adds to an error what was being done, unless it says so.
func wrapWrite(what, stream string, err error) error {
	if errors.Is(err, events.ErrWrongRevision) || errors.Is(err, events.ErrClosed) {
		return err
	}
	return fmt.Errorf("%s %s: %w", what, stream, err)
}

func proposed(batch []events.NewEvent) []esdb.EventData {
	all := make([]esdb.EventData, len(batch))
	for i, e := range batch {
		all[i] = esdb.EventData{
			EventID: [16]byte(e.ID), EventType: e.Type, ContentType: esdb.ContentTypeJson,
			Data: bytes.Clone(e.Data), Metadata: bytes.Clone(events.EncodeMetadata(e.Meta, e.Foreign)),
		}
		if e.Binary {
			all[i].ContentType = esdb.ContentTypeBinary
		}
	}
	return all
}

// try makes attempts until the server has answered. safe says that an attempt
// may be made again although the one before may have been written; judge
// decides what an answer means.
func (s *Store) try(
	ctx context.Context, safe bool, do func(context.Context, *lease) error,
	judge func(error) error,
) error {
	began := time.Now()
	for {
		err := judge(s.attempt(ctx, time.Until(began.Add(s.cfg.Patience)), do))
		if err == nil {
			return nil
		}
		if ended := s.ended(ctx); ended != nil {
			return ended
		}
		_, elsewhere := errors.AsType[*errNotLeader](err)
		if !errors.Is(err, errNotSent) && !elsewhere && (!safe || !errors.Is(err, events.ErrAway)) {
			return err
		}
		if time.Since(began) >= s.cfg.Patience {
			if !errors.Is(err, events.ErrAway) {
				err = away(err)
			}
			return err
		}
		s.backoff(ctx, began)
	}
}

// slowShare is the share of the time that a call may take after which the keeper looks whether
// the node answers at all, while the call goes on.
const slowShare = 5

// attempt makes one attempt, and learns from its outcome whether the server answers.
func (s *Store) attempt(ctx context.Context, patience time.Duration, do func(context.Context, *lease) error) error {
	h, err := s.acquireWithin(ctx, patience)
	if err != nil {
		return err
	}
	defer h.release()
	ctx, cancel := s.scope(ctx)
	defer cancel()
	ctx, cancelCall := context.WithTimeout(ctx, s.cfg.CallTimeout)
	defer cancelCall()
	stop := time.AfterFunc(s.cfg.CallTimeout/slowShare, func() {
		h.suspect()
		select { // What has had no answer for so long is not waited for after the session.
		case <-h.lost:
			cancelCall()
		case <-ctx.Done():
		}
	}).Stop
	err = do(ctx, h)
	stop()
	leader, elsewhere := errors.AsType[*errNotLeader](err)
	switch {
	case elsewhere:
		h.markLost(leader)
	case errors.Is(err, errNotReady), errors.Is(err, errBroken):
		h.markLost(err) // It answers the keeper's questions all the same.
	case errors.Is(err, events.ErrAway), errors.Is(err, events.ErrDenied):
		h.suspect()
	}
	return err
}

// appendOne sends an append by itself. Without events, the server only checks the
// expectation. The client has a call for that, too, but takes an answer that is
// neither yes nor no for a yes.
func (h *lease) appendOne(ctx context.Context, w write) (events.AppendResult, error) {
	var trailers metadata.MD
	ctx, options := h.own(ctx, &trailers)
	call, err := h.streams.Append(ctx, options...)
	if err != nil {
		return events.AppendResult{}, ofAppend(explain(err, trailers))
	}
	o := expect(&streams.AppendReq_Options{StreamIdentifier: identifier(w.stream)}, w.expected)
	// When Send fails the server has answered; CloseAndRecv says what.
	err = call.Send(&streams.AppendReq{Content: &streams.AppendReq_Options_{Options: o}})
	for i := 0; err == nil && i < len(w.events); i++ {
		err = call.Send(&streams.AppendReq{Content: &streams.AppendReq_ProposedMessage_{
			ProposedMessage: proposal(w.events[i]),
		}})
	}
	answer, err := call.CloseAndRecv()
	if err != nil {
		return events.AppendResult{}, ofAppend(explain(err, call.Trailer()))
	}
	if wrong := answer.GetWrongExpectedVersion(); wrong != nil {
		_, exists := wrong.GetCurrentRevisionOption().(*streams.AppendResp_WrongExpectedVersion_CurrentRevision)
		return events.AppendResult{}, &events.WrongRevisionError{Actual: wrong.GetCurrentRevision(), Exists: exists}
	}
	if answer.GetSuccess() == nil {
		return events.AppendResult{}, broken("the server answered an append with neither yes nor no")
	}
	_, exists := answer.GetSuccess().GetCurrentRevisionOption().(*streams.AppendResp_Success_CurrentRevision)
	r := events.AppendResult{Revision: answer.GetSuccess().GetCurrentRevision(), Exists: exists}
	if len(w.events) > 0 {
		r.Position = events.Position(answer.GetSuccess().GetPosition().GetCommitPosition())
	}
	return r, nil
}

func proposal(e esdb.EventData) *streams.AppendReq_ProposedMessage {
	return &streams.AppendReq_ProposedMessage{
		Id: uuidOf(e.EventID), Data: e.Data, CustomMetadata: e.Metadata,
		Metadata: map[string]string{"type": e.EventType, "content-type": contentType(e.ContentType)},
	}
}

// Delete implements events.Store. It is repeated only if nothing was sent.
func (s *Store) Delete(
	ctx context.Context, stream string, expected events.Expected, forever bool,
) (events.Position, error) {
	if err := s.ended(ctx); err != nil {
		return 0, err
	}
	if err := events.CheckAppend(stream, nil); err != nil {
		return 0, err
	}
	var position events.Position
	err := s.try(ctx, false, func(ctx context.Context, h *lease) (err error) {
		position, err = h.delete(ctx, stream, expected, forever)
		return completed(err, stream, expected)
	}, func(err error) error { return err })
	if err != nil {
		return 0, wrapWrite("delete", stream, err)
	}
	return position, nil
}

func (h *lease) delete(
	ctx context.Context, stream string, expected events.Expected, forever bool,
) (_ events.Position, err error) {
	var trailers metadata.MD
	ctx, options := h.own(ctx, &trailers)
	var at interface{ GetCommitPosition() uint64 }
	if forever {
		var answer *streams.TombstoneResp
		o := expect(&streams.TombstoneReq_Options{StreamIdentifier: identifier(stream)}, expected)
		answer, err = h.streams.Tombstone(ctx, &streams.TombstoneReq{Options: o}, options...)
		at = answer.GetPosition()
	} else {
		var answer *streams.DeleteResp
		o := expect(&streams.DeleteReq_Options{StreamIdentifier: identifier(stream)}, expected)
		answer, err = h.streams.Delete(ctx, &streams.DeleteReq{Options: o}, options...)
		at = answer.GetPosition()
	}
	if err != nil {
		return 0, explain(err, trailers)
	}
	return events.Position(at.GetCommitPosition()), nil
}

func identifier(stream string) *shared.StreamIdentifier {
	return &shared.StreamIdentifier{StreamName: []byte(stream)}
}

// expect puts the expectation of a stream into the options of a request. Each request
// has its own types for the cases, with the same field names.
func expect[M proto.Message](options M, expected events.Expected) M {
	m := options.ProtoReflect()
	field := m.Descriptor().Fields().ByName
	n, exact := expected.Count()
	empty := field("no_stream")
	switch {
	case expected.IsExists():
		empty = field("stream_exists")
	case !exact:
		empty = field("any")
	case n > 0:
		m.Set(cmp.Or(field("revision"), field("stream_position")), protoreflect.ValueOfUint64(n-1))
		return options
	}
	m.Set(empty, m.NewField(empty))
	return options
}
