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
	"sync"
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

// maxMessage is the largest answer that is accepted, the same as the client's:
// an event of 16 MiB and what is around it.
const maxMessage = 17 << 20

// node is a server that has answered.
type node struct {
	address string
	conn    *grpc.ClientConn
	// batch says that it offers BatchAppend.
	batch bool
}

// finder looks for nodes as the client does, but stops when its context ends.
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
		// We repeat calls ourselves, because we know which may be repeated.
		grpc.WithDisableRetry(),
	}}
	if conf.KeepAliveInterval >= 0 {
		f.options = append(f.options, grpc.WithKeepaliveParams(keepalive.ClientParameters{
			Time: conf.KeepAliveInterval, Timeout: conf.KeepAliveTimeout, PermitWithoutStream: true,
		}))
	}
	return f, nil
}

// find returns a node that answers: the last known leader, or one that a node of
// the connection string leads to, whichever comes first. All are asked at once,
// because a missing node may take long to fail. A node that was configured alone
// is asked for its cluster if it said that it does not lead (elsewhere).
func (f *finder) find(ctx context.Context, leader string, elsewhere bool) (node, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	candidates, cluster := f.candidates()
	type found struct {
		node
		err error
	}
	answers := make(chan found)
	var asking sync.WaitGroup
	ask := func(address string, byGossip bool) {
		asking.Go(func() {
			n, err := f.ask(ctx, address, byGossip)
			if err != nil {
				f.debugf("%s does not lead to the event store: %v", address, err)
				err = fmt.Errorf("%s: %w", address, err)
			}
			answers <- found{n, err}
		})
	}
	if leader != "" {
		ask(leader, false)
	}
	for _, candidate := range candidates {
		ask(candidate, cluster || elsewhere)
	}
	go func() { asking.Wait(); close(answers) }()
	var first *node
	var last error
	for a := range answers {
		switch {
		case a.err != nil && first == nil:
			last = a.err
		case a.err == nil && first == nil:
			first = &a.node
			cancel()
		case a.err == nil:
			_ = a.conn.Close() // Nothing was written to it.
		}
	}
	if first == nil {
		return node{}, last
	}
	return *first, nil
}

// candidates returns the nodes of the connection string, and whether they are
// to be asked for the leader of their cluster.
func (f *finder) candidates() (all []string, cluster bool) {
	if len(f.conf.GossipSeeds) == 0 || f.conf.DnsDiscover {
		return []string{f.conf.Address}, f.conf.DnsDiscover
	}
	for _, seed := range f.conf.GossipSeeds {
		all = append(all, seed.String())
	}
	return all, true
}

// ask connects to a node, follows its gossip to the leader, and asks the leader
// for its features.
func (f *finder) ask(ctx context.Context, address string, byGossip bool) (found node, err error) {
	conn, err := grpc.NewClient(address, f.options...)
	if err != nil {
		return node{}, refuse("address %s: %w", clip(address), err)
	}
	defer func() {
		if found.conn != conn {
			_ = conn.Close() // Nothing was written to it.
		}
	}()
	if byGossip {
		best, err := f.leader(ctx, conn)
		if err != nil {
			return node{}, err
		}
		if best != address {
			return f.ask(ctx, best, false)
		}
	}
	batch, err := features(ctx, conn, f.timeout())
	if err != nil {
		return node{}, err
	}
	return node{address: address, conn: conn, batch: batch}, nil
}

func (f *finder) timeout() time.Duration { return time.Duration(f.conf.GossipTimeout) * time.Second }

// errNoLeader means that a cluster is electing a leader, or has lost too many nodes to elect one.
var errNoLeader = errors.New("the cluster has no leader now")

// leader asks a node for its cluster, and picks the leader.
func (f *finder) leader(ctx context.Context, conn *grpc.ClientConn) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, f.timeout())
	defer cancel()
	info, err := gossip.NewGossipClient(conn).Read(ctx, &shared.Empty{})
	if err != nil {
		return "", explain(err, nil)
	}
	best := pick(info.GetMembers())
	if best == nil {
		return "", away(errNoLeader)
	}
	at := best.GetHttpEndPoint()
	return net.JoinHostPort(at.GetAddress(), strconv.FormatUint(uint64(at.GetPort()), 10)), nil
}

// pick returns the leader that a cluster's gossip names; nil when it names
// none: then an election is under way, and any node may lag. Of several
// leaders, one of which was cut off and does not know yet, one is picked by
// chance; the next try may pick another.
func pick(members []*gossip.MemberInfo) *gossip.MemberInfo {
	leaders := slices.DeleteFunc(slices.Clone(members), func(m *gossip.MemberInfo) bool {
		return !m.GetIsAlive() || m.GetHttpEndPoint() == nil || m.GetState() != gossip.MemberInfo_Leader
	})
	if len(leaders) == 0 {
		return nil
	}
	return leaders[rand.IntN(len(leaders))]
}

// features asks a node what it offers, which also shows that it answers. A
// server that does not know this call is an old one.
func features(ctx context.Context, conn *grpc.ClientConn, timeout time.Duration) (batch bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	methods, err := serverfeatures.NewServerFeaturesClient(conn).GetSupportedMethods(ctx, &shared.Empty{})
	if code := status.Code(err); code == codes.Unimplemented || code == codes.NotFound {
		return false, nil
	} else if err != nil {
		return false, explain(err, nil)
	}
	if v := methods.GetEventStoreServerVersion(); !readable(v) { // Each call of the client would fail.
		return false, fmt.Errorf("%w: %w", ErrSettings, away(fmt.Errorf("the server has version %q, and the client "+
			"reads only numbers with dots between them: use an official build of the server", clip(v))))
	}
	for _, m := range methods.GetMethods() {
		if strings.EqualFold(m.GetServiceName(), "event_store.client.streams.streams") &&
			strings.EqualFold(m.GetMethodName(), "batchappend") {
			return true, nil
		}
	}
	return false, nil
}

// readable reports whether the client can read a version.
func readable(version string) bool {
	parts := strings.SplitN(version, ".", 4)
	return !slices.ContainsFunc(parts[:min(3, len(parts))], func(part string) bool {
		_, err := strconv.Atoi(part)
		return err != nil
	})
}

// basic is the client's authentication, for our own connection.
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
