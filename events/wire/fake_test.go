package wire

import (
	"context"
	"io"
	"testing"

	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events/storetest"
)

// fakeStream is a call's stream without a network: what arrives, and what is
// done with what is sent.
type fakeStream struct {
	ctx    context.Context
	arrive [][]byte // Messages as bytes, in order.
	send   func(m any) error
}

func (f *fakeStream) Context() context.Context     { return f.ctx }
func (f *fakeStream) SetHeader(metadata.MD) error  { return nil }
func (f *fakeStream) SendHeader(metadata.MD) error { return nil }
func (f *fakeStream) SetTrailer(metadata.MD)       {}

func (f *fakeStream) SendMsg(m any) error {
	if err := f.ctx.Err(); err != nil {
		return err
	}
	if f.send == nil {
		return nil
	}
	return f.send(m)
}

func (f *fakeStream) RecvMsg(m any) error {
	for len(f.arrive) > 0 {
		b := f.arrive[0]
		f.arrive = f.arrive[1:]
		if proto.Unmarshal(b, m.(proto.Message)) == nil {
			return nil // Messages that do not decode never reach the server.
		}
	}
	return io.EOF
}

// as is a context of a caller with a role.
func as(ctx context.Context, role Role) context.Context {
	return context.WithValue(ctx, callerKey{}, caller{name: "test", role: role})
}

// unserved is a server that listens nowhere.
func unserved(t testing.TB, edit func(*Config)) *Server {
	t.Helper()
	cfg := Config{Store: storetest.NewMemory(), Anonymous: RoleAdmin}
	if edit != nil {
		edit(&cfg)
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		cfg.Store.Close()
	})
	return s
}
