package wire

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"

	"github.com/hostnode/hostnode/events"
)

// streamsService is the service of streams; each file has a method or two.
type streamsService struct {
	streams.UnimplementedStreamsServer
	s *Server
}

// Append takes the options, then events, and writes them together.
func (v *streamsService) Append(ss streams.Streams_AppendServer) error {
	s := v.s
	ctx, cancel := context.WithTimeout(ss.Context(), s.cfg.Limits.AppendTime)
	defer cancel()
	late := ending{ctx.Done(), refuse(context.DeadlineExceeded, "")}
	return s.supervise(ctx, &outlet{}, late, func(ctx context.Context) error {
		a := &appending{s: s, in: intakeOf(ctx)}
		defer a.release()
		if a.in != nil {
			a.in.holds = func() bool { return a.held > 0 }
		}
		for {
			req, err := ss.Recv()
			if errors.Is(err, io.EOF) {
				break
			}
			if err == nil {
				err = a.take(ctx, req)
			}
			if err != nil {
				a.release()
				return s.drain(ss, err)
			}
		}
		resp, err := a.write(ctx)
		if err != nil {
			return err
		}
		return ss.SendAndClose(resp)
	})
}

// appending is an append while it arrives.
type appending struct {
	s        *Server
	in       *intake
	stream   string // Empty until the options are there.
	expected events.Expected
	numbered bool // That no stream is expected was said by a number.
	batch    []events.NewEvent
	bytes    int64 // Of the events.
	held     int64 // Of the server's limit of pending bytes.
}

// take processes one message of an append.
func (a *appending) take(ctx context.Context, req *streams.AppendReq) error {
	switch c := req.GetContent().(type) {
	case *streams.AppendReq_Options_:
		if a.stream != "" {
			return invalid("append: options came twice")
		}
		stream, err := streamName(c.Options.GetStreamIdentifier())
		if err != nil {
			return err
		}
		if a.expected, err = expected("append", c.Options); err != nil {
			return err
		}
		a.stream, a.numbered = stream, c.Options.GetRevision() == noRevision
		return a.s.allow(ctx, toWrite, stream)
	case *streams.AppendReq_ProposedMessage_:
		if a.stream == "" {
			return invalid("append: the options must come before the events")
		}
		e, err := newEvent(c.ProposedMessage)
		if err != nil {
			return err
		}
		return a.add(e)
	}
	return invalid("append: message is neither options nor an event")
}

// add keeps an event until the append is complete, within the limits.
func (a *appending) add(e events.NewEvent) error {
	size := int64(e.Size())
	if most := a.s.cfg.Limits.AppendBytes; a.bytes+size > int64(most) || len(a.batch) >= events.MaxAppendEvents {
		return tooLarge(fmt.Sprintf("append of more than %d bytes or %d events to '%s'",
			most, events.MaxAppendEvents, a.stream), most, events.ErrTooLarge)
	}
	if err := a.hold(cost(e)); err != nil {
		return err
	}
	a.batch, a.bytes = append(a.batch, e), a.bytes+size
	return nil
}

func (a *appending) release() {
	a.s.arriving.give(a.held)
	a.held, a.batch = 0, nil
}

// hold reserves memory for an event: what its message holds already, and more
// if that is not enough. An event that needs more than the whole limit passes
// alone.
func (a *appending) hold(bytes int64) error {
	if a.held == 0 {
		bytes = min(bytes, a.s.arriving.limit)
	}
	has := int64(0)
	if a.in != nil {
		has = min(bytes, a.in.credit)
	}
	if bytes > has {
		if err := a.s.arriving.try(bytes - has); err != nil {
			return err
		}
	}
	if a.in != nil {
		a.in.credit -= has
	}
	a.held += bytes
	return nil
}

// write appends the events that have arrived. A wrong revision is an answer, not an error.
func (a *appending) write(ctx context.Context) (*streams.AppendResp, error) {
	if a.stream == "" {
		return nil, invalid("append: options are missing")
	}
	result, err := a.s.append(ctx, a.stream, a.expected, a.batch)
	switch wrong, is := errors.AsType[*events.WrongRevisionError](err); {
	case is:
		answer := tellWrong(&streams.AppendResp_WrongExpectedVersion{}, wrong)
		if a.numbered {
			choose(answer, noRevision, "expected_revision", "expected_revision_20_6_0")
		}
		return &streams.AppendResp{Result: &streams.AppendResp_WrongExpectedVersion_{WrongExpectedVersion: answer}}, nil
	case err != nil:
		return nil, refuse(err, a.stream)
	}
	return &streams.AppendResp{Result: &streams.AppendResp_Success_{
		Success: succeeded(&streams.AppendResp_Success{}, result),
	}}, nil
}

// append writes to the store, and says once when it has failed.
func (s *Server) append(
	ctx context.Context, stream string, expected events.Expected, batch []events.NewEvent,
) (events.AppendResult, error) {
	result, err := s.cfg.Store.Append(ctx, stream, expected, batch)
	if errors.Is(err, events.ErrStoreFailed) {
		s.failed.Do(func() {
			s.cfg.Log.WithError(err).Error("the event store has failed; it can be read, and takes nothing until " +
				"it is started again")
		})
	}
	return result, err
}
