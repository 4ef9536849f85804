package wire

import (
	"context"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/persistent"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/serverfeatures"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"google.golang.org/grpc/codes"
)

// featuresService tells clients which methods there are.
type featuresService struct {
	serverfeatures.UnimplementedServerFeaturesServer
}

// GetSupportedMethods lists the methods, in lower case as clients expect.
func (v *featuresService) GetSupportedMethods(
	context.Context, *shared.Empty,
) (*serverfeatures.SupportedMethods, error) {
	const (
		streamsName  = "event_store.client.streams.streams"
		gossipName   = "event_store.client.gossip.gossip"
		featuresName = "event_store.client.server_features.serverfeatures"
		groupsName   = "event_store.client.persistent_subscriptions.persistentsubscriptions"
	)
	method := func(service, name string, features ...string) *serverfeatures.SupportedMethod {
		return &serverfeatures.SupportedMethod{ServiceName: service, MethodName: name, Features: features}
	}
	all := &serverfeatures.SupportedMethods{
		EventStoreServerVersion: serverVersion,
		Methods: []*serverfeatures.SupportedMethod{
			method(streamsName, "append"),
			method(streamsName, "batchappend"),
			method(streamsName, "delete"),
			method(streamsName, "read", "position", "events"),
			method(streamsName, "tombstone"),
			method(gossipName, "read"),
			method(featuresName, "getsupportedmethods"),
		},
	}
	// These are answered with Unimplemented and a sentence. Clients that do not
	// find them listed look for them over HTTP, or report that the server is too
	// old.
	for _, name := range []string{
		"create", "delete", "getinfo", "list", "read", "replayparked", "restartsubsystem", "update",
	} {
		all.Methods = append(all.Methods, method(groupsName, name, "stream", "all"))
	}
	return all, nil
}

// acceptPersistent accepts every persistent subscription, and does nothing
// (Config.AcceptPersistentSubscriptions).
type acceptPersistent struct {
	persistent.UnimplementedPersistentSubscriptionsServer
}

// Create has no effect.
func (v *acceptPersistent) Create(ctx context.Context, _ *persistent.CreateReq) (*persistent.CreateResp, error) {
	if callerOf(ctx).role != RoleAdmin {
		return nil, refused(codes.PermissionDenied, "only for the client's test suite")
	}
	return &persistent.CreateResp{}, nil
}
