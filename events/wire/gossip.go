package wire

import (
	"context"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/gossip"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/hostnode/hostnode/events"
)

// gossipService tells clients that look for a cluster that this node is all of it.
type gossipService struct {
	gossip.UnimplementedGossipServer
	s *Server
}

// Read names one node: this one, as the leader.
func (v *gossipService) Read(ctx context.Context, _ *shared.Empty) (*gossip.ClusterInfo, error) {
	host, port, err := splitAddress(v.address(ctx))
	if err != nil {
		return nil, refused(codes.FailedPrecondition,
			"this server does not know by which address you reach it; its owner can set the advertised one")
	}
	return &gossip.ClusterInfo{Members: []*gossip.MemberInfo{{
		InstanceId:   structuredID(events.EventID(v.s.id)),
		TimeStamp:    time.Now().UnixNano() / nanosPerTick,
		State:        gossip.MemberInfo_Leader,
		IsAlive:      true,
		HttpEndPoint: &gossip.EndPoint{Address: host, Port: port},
	}}}, nil
}

// address is how the client reaches this server: by the name it connected to,
// which is also in the certificate.
func (v *gossipService) address(ctx context.Context) string {
	if v.s.cfg.Advertise != "" {
		return v.s.cfg.Advertise
	}
	md, _ := metadata.FromIncomingContext(ctx)
	for _, name := range md.Get(":authority") {
		if _, _, err := splitAddress(name); err == nil {
			return name
		}
	}
	if p, ok := peer.FromContext(ctx); ok && p.LocalAddr != nil {
		return p.LocalAddr.String()
	}
	return ""
}
