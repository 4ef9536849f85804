package serverviews

import (
	"context"
	"time"
)

// Hurry makes a server ask at once whether a projection has stopped.
func Hurry(s *Server) {
	s.pause = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
}

// Call runs a call that does not need a server.
func Call(ctx context.Context, f func(context.Context) error) error {
	return (&Server{}).do(ctx, "test", f)
}
