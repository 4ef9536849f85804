package wire

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/hostnode/hostnode/events"
)

// linked is the event that somebody's link names, "revision@stream"; nil when
// it names none that can be read.
func (s *Server) linked(ctx context.Context, link []byte) (*events.Recorded, error) {
	if len(link) > events.MaxStreamNameBytes+len("18446744073709551615@") {
		return nil, nil
	}
	number, stream, ok := strings.Cut(string(link), "@")
	revision, err := strconv.ParseUint(number, 10, 63)
	if !ok || err != nil || stream == "" || events.IsVirtual(stream) {
		return nil, nil
	}
	switch err := s.allow(ctx, toRead, stream); {
	case errors.As(err, new(*refusal)) && !errors.Is(err, events.ErrClosed):
		return nil, nil // Who may not read it sees a link to nothing.
	case err != nil:
		return nil, err
	}
	for r, err := range s.cfg.Store.ReadStream(ctx, stream, events.ReadStream{From: revision, Limit: 1}) {
		switch {
		case errors.Is(err, events.ErrStreamNotFound), errors.Is(err, events.ErrStreamDeleted):
			return nil, nil
		case err != nil:
			return nil, err
		case r.Revision != revision:
			return nil, nil // It is hidden; this is a later one.
		}
		return &r, nil
	}
	return nil, nil
}
