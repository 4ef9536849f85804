package wire

import (
	"context"
	"errors"

	"github.com/hostnode/hostnode/events"
)

// linked returns the event that a link written by a client names,
// "revision@stream"; nil when it names none that can be read.
func (s *Server) linked(ctx context.Context, link []byte) (*events.Recorded, error) {
	stream, _, ok := events.ParseTarget(string(link))
	if !ok || events.IsVirtual(stream) {
		return nil, nil
	}
	switch err := s.allow(ctx, toRead, stream); {
	case errors.As(err, new(*refusal)) && !errors.Is(err, events.ErrClosed):
		return nil, nil // Who may not read it sees a link to nothing.
	case err != nil:
		return nil, err
	}
	r, found, err := events.Resolve(ctx, s.cfg.Store, string(link))
	if err != nil || !found {
		return nil, err
	}
	return &r, nil
}

// seesLinked reports whether the caller may see a link of an index. Two access
// control lists decide: that of the link's stream, and that of the linked event's
// stream.
func (c *reader) seesLinked(ctx context.Context, r *events.Recorded) (bool, error) {
	for _, stream := range [...]string{r.Stream, r.Link.Origin} {
		if stream == "" {
			continue
		}
		if sees, err := c.sight.sees(ctx, stream); err != nil || !sees {
			return false, err
		}
	}
	return true, nil
}
