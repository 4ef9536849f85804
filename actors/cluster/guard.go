package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/remote"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/hostnode/hostnode/events"
)

// The guard stands between the network and the actor library, and lets through only what members
// say to each other. Whatever else comes ends the connection that it came by.

// The types of messages that members send.
var (
	bytesType      = nameOf(&wrapperspb.BytesValue{}) // a question or an answer
	faultType      = nameOf(&status.Status{})
	deadLetterType = nameOf(&actor.DeadLetterResponse{}) // the member has just been started, or ends
)

func nameOf(m proto.Message) string { return string(proto.MessageName(m)) }

// refuseUnary refuses the calls that the library's server does not implement, which panic.
func refuseUnary(context.Context, any, *grpc.UnaryServerInfo, grpc.UnaryHandler) (any, error) {
	return nil, grpcstatus.Error(codes.Unimplemented, "members do not answer this")
}

func (w *wire) guardStream(
	srv any, s grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler,
) (err error) {
	g := &guarded{ServerStream: s, w: w}
	defer func() {
		if v := recover(); v != nil { // Nothing of what it lets through should do that.
			w.c.log.WithField("member", g.from).Errorf("reading what a member sent panicked: %v", v)
			err = grpcstatus.Error(codes.Internal, "reading a message panicked")
		}
	}()
	return next(srv, g)
}

// guarded is a stream of messages from one member.
type guarded struct {
	grpc.ServerStream
	w    *wire
	from events.Member // empty until it has said who it is
}

// RecvMsg receives the next message, or ends the stream.
func (g *guarded) RecvMsg(m any) error {
	if err := g.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	message, ok := m.(*remote.RemoteMessage)
	if !ok {
		return grpcstatus.Error(codes.InvalidArgument, "not a message of a member")
	}
	if err := g.check(message); err != nil {
		sender := ""
		if p, ok := peer.FromContext(g.Context()); ok {
			sender = p.Addr.String()
		}
		g.w.c.log.WithField("from", sender).WithField("member", g.from).WithError(err).
			Warn("a connection was ended, because what came is not what members say to each other")
		return grpcstatus.Error(codes.InvalidArgument, err.Error())
	}
	return nil
}

func (g *guarded) check(m *remote.RemoteMessage) error {
	switch t := m.MessageType.(type) {
	case *remote.RemoteMessage_ConnectRequest:
		return g.introduced(t.ConnectRequest.GetServerConnection())
	case *remote.RemoteMessage_MessageBatch:
		if g.from == "" {
			return errors.New("a message before it is known who sends it")
		}
		for _, e := range t.MessageBatch.GetEnvelopes() {
			if err := g.checkEnvelope(t.MessageBatch, e); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("a message of the kind %T", m.MessageType)
}

// introduced takes note of who the peer says it is, if its certificate says the same.
func (g *guarded) introduced(c *remote.ServerConnection) error {
	m, ok := memberAt(g.w.c.cfg.Name, c.GetAddress())
	if !ok || m == g.w.c.cfg.Member || g.from != "" && g.from != m {
		return fmt.Errorf("the sender calls itself %q", c.GetAddress())
	}
	if g.w.c.cfg.tls != nil {
		p, _ := peer.FromContext(g.Context())
		info, ok := p.AuthInfo.(credentials.TLSInfo)
		if !ok || len(info.State.VerifiedChains) == 0 {
			return errors.New("no certificate")
		}
		if err := info.State.PeerCertificates[0].VerifyHostname(c.GetAddress()); err != nil {
			return fmt.Errorf("the sender calls itself %q, and its certificate is not of this name", c.GetAddress())
		}
	}
	g.from = m
	return nil
}

// checkEnvelope lets questions of the peer pass, and answers to what the peer was asked.
func (g *guarded) checkEnvelope(b *remote.MessageBatch, e *remote.MessageEnvelope) error {
	kind, okType := at(b.TypeNames, e.GetTypeId())
	target, okTarget := at(b.Targets, e.GetTarget())
	if !okType || !okTarget || e.GetSerializerId() != 0 || e.GetTargetRequestId() != 0 || e.GetSenderRequestId() != 0 {
		return errors.New("a message that does not fit its batch")
	}
	if target.GetAddress() != g.w.system.Address() {
		return fmt.Errorf("a message to %q, which is not this member", target.GetAddress())
	}
	switch {
	case kind == bytesType && target.GetId() == memberActor:
		asker, ok := at(b.Senders, e.GetSender()-1)
		if !ok || asker.GetAddress() != addressOf(g.w.c.cfg.Name, g.from) ||
			!strings.HasPrefix(asker.GetId(), askedPrefix(g.w.c.cfg.Member)) {
			return errors.New("a question that is not of the sender")
		}
		return nil
	case kind == bytesType, kind == faultType, kind == deadLetterType:
		if e.GetSender() == 0 && strings.HasPrefix(target.GetId(), askedPrefix(g.from)) {
			return nil
		}
	}
	return fmt.Errorf("a message of type %q to actor %q", kind, target.GetId())
}

// at is an element of a list that came from outside.
func at[T any](list []T, i int32) (element T, ok bool) {
	if i < 0 || int(i) >= len(list) {
		return element, false
	}
	return list[i], true
}
