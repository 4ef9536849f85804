package cluster_test

import (
	"context"
	"strings"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/remote"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/hostnode/hostnode/events"
)

func TestWhatMembersDoNotSayEndsTheConnectionAndNothingElse(t *testing.T) {
	t.Parallel()
	etcd := startEtcd(t)
	p := startProcess(t, config("m1", events.Address{1}, etcd.Addr())).mustOpen()
	p.Serve(func(context.Context, events.Member, []byte) ([]byte, error) { return []byte("fine"), nil })
	conn, err := grpc.NewClient(p.cfg.Listen, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	client := remote.NewRemotingClient(conn)

	const me, other = "m1.test.hostnode", "m2.test.hostnode"
	connect := func(address string) *remote.RemoteMessage {
		return &remote.RemoteMessage{MessageType: &remote.RemoteMessage_ConnectRequest{ConnectRequest: &remote.ConnectRequest{
			ConnectionType: &remote.ConnectRequest_ServerConnection{
				ServerConnection: &remote.ServerConnection{Address: address, SystemId: "x"},
			},
		}}}
	}
	batch := func(change func(*remote.MessageBatch, *remote.MessageEnvelope)) *remote.RemoteMessage {
		e := &remote.MessageEnvelope{Sender: 1}
		b := &remote.MessageBatch{
			TypeNames: []string{"google.protobuf.BytesValue"}, Envelopes: []*remote.MessageEnvelope{e},
			Targets: []*actor.PID{{Address: me, Id: "member"}}, Senders: []*actor.PID{{Address: other, Id: "asked/m1/1"}},
		}
		change(b, e)
		return &remote.RemoteMessage{MessageType: &remote.RemoteMessage_MessageBatch{MessageBatch: b}}
	}
	for name, messages := range map[string][]*remote.RemoteMessage{
		"nothing":           {{}},
		"unknown name":      {connect("m2.other.hostnode")},
		"its own name":      {connect(me)},
		"a client":          {{MessageType: &remote.RemoteMessage_ConnectRequest{ConnectRequest: &remote.ConnectRequest{}}}},
		"not introduced":    {batch(func(*remote.MessageBatch, *remote.MessageEnvelope) {})},
		"another name then": {connect(other), connect("m3.test.hostnode")},
		"unknown type": {connect(other), batch(func(b *remote.MessageBatch, _ *remote.MessageEnvelope) {
			b.TypeNames[0] = "no.such.Type"
		})},
		"type out of range": {connect(other), batch(func(_ *remote.MessageBatch, e *remote.MessageEnvelope) { e.TypeId = 7 })},
		"negative type":     {connect(other), batch(func(_ *remote.MessageBatch, e *remote.MessageEnvelope) { e.TypeId = -1 })},
		"target out of range": {connect(other), batch(func(_ *remote.MessageBatch, e *remote.MessageEnvelope) {
			e.Target = 7
		})},
		"sender out of range": {connect(other), batch(func(_ *remote.MessageBatch, e *remote.MessageEnvelope) {
			e.Sender = 7
		})},
		"no sender":          {connect(other), batch(func(_ *remote.MessageBatch, e *remote.MessageEnvelope) { e.Sender = 0 })},
		"unknown serializer": {connect(other), batch(func(_ *remote.MessageBatch, e *remote.MessageEnvelope) { e.SerializerId = 9 })},
		"spawn an actor": {connect(other), batch(func(b *remote.MessageBatch, _ *remote.MessageEnvelope) {
			b.TypeNames[0], b.Targets[0].Id = "remote.ActorPidRequest", "activator"
		})},
		"stop the actor": {connect(other), batch(func(b *remote.MessageBatch, _ *remote.MessageEnvelope) {
			b.TypeNames[0] = "actor.Stop"
		})},
		"through to another": {connect(other), batch(func(b *remote.MessageBatch, _ *remote.MessageEnvelope) {
			b.Targets[0].Address = "m3.test.hostnode"
		})},
		"for another": {connect(other), batch(func(b *remote.MessageBatch, _ *remote.MessageEnvelope) {
			b.Senders[0].Address = "m3.test.hostnode"
		})},
		"an answer for another": {connect(other), batch(func(b *remote.MessageBatch, e *remote.MessageEnvelope) {
			b.Targets[0].Id, e.Sender = "asked/m3/1", 0
		})},
		"no bytes of the type": {connect(other), batch(func(_ *remote.MessageBatch, e *remote.MessageEnvelope) {
			e.MessageData = []byte{0xff, 0xff}
		})},
	} {
		stream, err := client.Receive(soon(t))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range messages {
			if err := stream.Send(m); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		for err == nil {
			_, err = stream.Recv()
		}
		if code := status.Code(err); code != codes.InvalidArgument && name != "no bytes of the type" {
			t.Errorf("%s: the connection ended with %v", name, err)
		}
	}
	if _, err := client.ListProcesses(soon(t), &remote.ListProcessesRequest{}); status.Code(err) != codes.Unimplemented {
		t.Errorf("listing actors: %v", err)
	}
	if _, err := client.GetProcessDiagnostics(soon(t), &remote.GetProcessDiagnosticsRequest{}); status.Code(err) != codes.Unimplemented {
		t.Errorf("looking into actors: %v", err)
	}
	if got, err := p.Call(soon(t), "m1", nil); err != nil || string(got) != "fine" {
		t.Errorf("afterwards: %q, %v", got, err)
	}
	if text := p.log.String(); strings.Contains(text, "panicked") {
		t.Error("something panicked: " + text)
	}
}
