package esdb

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/gossip"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/serverfeatures"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
)

// maxMessage is the largest answer that is taken, as in the client: an event of
// 16 MiB and what is around it.
const maxMessage = 17 << 20

// node is a server that has answered.
type node struct {
	address string
	conn    *grpc.ClientConn
	// batch says that it offers BatchAppend.
	batch bool
}

// finder looks for nodes as the client does, but gives up when its context
// does.
type finder struct {
	conf    *esdb.Configuration
	options []grpc.DialOption
	debugf  func(format string, args ...any)
}

func newFinder(conf *esdb.Configuration, debugf func(string, ...any)) (*finder, error) {
	transport := insecure.NewCredentials()
	if !conf.DisableTLS {
		config := &tls.Config{
			MinVersion: tls.VersionTLS12,
			//nolint:gosec // the operator has asked for it with tlsVerifyCert=false
			InsecureSkipVerify: conf.SkipCertificateVerification,
			RootCAs:            conf.RootCAs,
		}
		if conf.UserCertFile != "" {
			certificate, err := tls.LoadX509KeyPair(conf.UserCertFile, conf.UserKeyFile)
			if err != nil {
				return nil, refuse("user certificate: %w", err)
			}
			config.Certificates = []tls.Certificate{certificate}
		}
		transport = credentials.NewTLS(config)
	}
	f := &finder{conf: conf, debugf: debugf, options: []grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)),
		// What was not sent is repeated here, where it is known what may be.
		grpc.WithDisableRetry(),
	}}
	if conf.KeepAliveInterval >= 0 {
		f.options = append(f.options, grpc.WithKeepaliveParams(keepalive.ClientParameters{
			Time: conf.KeepAliveInterval, Timeout: conf.KeepAliveTimeout, PermitWithoutStream: true,
		}))
	}
	return f, nil
}

// find is a node that answers: leader, if not empty and reachable, otherwise
// the node of the connection string or the cluster's best by preference. A
// cluster's gossip is also asked for the leader when a single node said that it
// is not (elsewhere).
func (f *finder) find(ctx context.Context, leader string, elsewhere bool) (node, error) {
	candidates, cluster := f.candidates()
	if leader != "" {
		if n, err := f.ask(ctx, leader, false); err == nil {
			return n, nil
		}
	}
	var last error
	for _, candidate := range candidates {
		n, err := f.ask(ctx, candidate, cluster || elsewhere)
		if err == nil {
			return n, nil
		}
		f.debugf("%s does not answer: %v", candidate, err)
		last = fmt.Errorf("%s: %w", candidate, err)
		if ctx.Err() != nil {
			break
		}
	}
	return node{}, last
}

// candidates are the nodes of the connection string in random order, and
// whether they are to be asked for better ones.
func (f *finder) candidates() (all []string, cluster bool) {
	if len(f.conf.GossipSeeds) == 0 || f.conf.DnsDiscover {
		return []string{f.conf.Address}, f.conf.DnsDiscover
	}
	for _, seed := range f.conf.GossipSeeds {
		all = append(all, seed.String())
	}
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all, true
}

// ask connects to a node, follows its gossip to the preferred one, and asks
// that for its features.
func (f *finder) ask(ctx context.Context, address string, byGossip bool) (node, error) {
	conn, err := grpc.NewClient(address, f.options...)
	if err != nil {
		return node{}, refuse("address %s: %w", clip(address), err)
	}
	if byGossip {
		best, err := f.preferred(ctx, conn)
		if err != nil {
			_ = conn.Close() // Nothing was written to it.
			return node{}, err
		}
		if best != address {
			_ = conn.Close() // Nothing was written to it.
			return f.ask(ctx, best, false)
		}
	}
	batch, err := features(ctx, conn, f.timeout())
	if err != nil {
		_ = conn.Close() // Nothing was written to it.
		return node{}, err
	}
	return node{address: address, conn: conn, batch: batch}, nil
}

func (f *finder) timeout() time.Duration { return time.Duration(f.conf.GossipTimeout) * time.Second }

// errNoMember means that a cluster has no node that could be used.
var errNoMember = errors.New("the cluster has no live node that takes clients")

// preferred asks a node for its cluster, and picks.
func (f *finder) preferred(ctx context.Context, conn *grpc.ClientConn) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, f.timeout())
	defer cancel()
	info, err := gossip.NewGossipClient(conn).Read(ctx, &shared.Empty{})
	if err != nil {
		return "", explain(err, nil)
	}
	best := pick(info.GetMembers(), f.conf.NodePreference)
	if best == nil {
		return "", away(errNoMember)
	}
	at := best.GetHttpEndPoint()
	return net.JoinHostPort(at.GetAddress(), strconv.FormatUint(uint64(at.GetPort()), 10)), nil
}

// preferences are the states of nodes that come first, by what the operator
// prefers.
var preferences = map[esdb.NodePreference][]gossip.MemberInfo_VNodeState{
	esdb.NodePreferenceLeader:   {gossip.MemberInfo_Leader},
	esdb.NodePreferenceFollower: {gossip.MemberInfo_Follower},
	esdb.NodePreferenceReadOnlyReplica: {
		gossip.MemberInfo_ReadOnlyLeaderless, gossip.MemberInfo_PreReadOnlyReplica, gossip.MemberInfo_ReadOnlyReplica,
	},
}

// usable are the states in which a node takes clients.
var usable = []gossip.MemberInfo_VNodeState{
	gossip.MemberInfo_Follower, gossip.MemberInfo_Leader, gossip.MemberInfo_ReadOnlyLeaderless,
	gossip.MemberInfo_PreReadOnlyReplica, gossip.MemberInfo_ReadOnlyReplica,
}

// pick chooses a node as the client does: at random among those in the first
// preferred state that has any, otherwise among all; nil when there is none.
func pick(members []*gossip.MemberInfo, preference esdb.NodePreference) *gossip.MemberInfo {
	alive := slices.DeleteFunc(slices.Clone(members), func(m *gossip.MemberInfo) bool {
		return !m.GetIsAlive() || m.GetHttpEndPoint() == nil || !slices.Contains(usable, m.GetState())
	})
	if len(alive) == 0 {
		return nil
	}
	for _, state := range preferences[preference] {
		in := slices.DeleteFunc(slices.Clone(alive), func(m *gossip.MemberInfo) bool { return m.GetState() != state })
		if len(in) > 0 {
			return in[rand.IntN(len(in))]
		}
	}
	return alive[rand.IntN(len(alive))]
}

// features asks a node what it offers, which also shows that it answers. A
// server that does not know the question is an old one.
func features(ctx context.Context, conn *grpc.ClientConn, timeout time.Duration) (batch bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	methods, err := serverfeatures.NewServerFeaturesClient(conn).GetSupportedMethods(ctx, &shared.Empty{})
	if code := status.Code(err); code == codes.Unimplemented || code == codes.NotFound {
		return false, nil
	} else if err != nil {
		return false, explain(err, nil)
	}
	for _, m := range methods.GetMethods() {
		if strings.EqualFold(m.GetServiceName(), "event_store.client.streams.streams") &&
			strings.EqualFold(m.GetMethodName(), "batchappend") {
			return true, nil
		}
	}
	return false, nil
}

// basic is the client's authentication for the own connection.
type basic string

func newBasic(conf *esdb.Configuration) credentials.PerRPCCredentials {
	if conf.Username == "" || conf.DisableTLS {
		return nil
	}
	return basic("Basic " + base64.StdEncoding.EncodeToString([]byte(conf.Username+":"+conf.Password)))
}

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (b basic) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": string(b)}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials.
func (basic) RequireTransportSecurity() bool { return true }
