// Package localetcd runs an etcd of one node in this process, for the demonstration and for
// tests. It listens on loopback only, without users and by default without TLS, so it is not for a
// host that is worth something: a client that reaches it may say which members seem to be alive.
package localetcd

import (
	"fmt"
	"net"
	"net/url"
	"sync"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

// readyWithin is how long Start waits; it usually takes a few tenths of a second.
const readyWithin = 30 * time.Second

// Server is a running etcd.
type Server struct {
	etcd  *embed.Etcd
	close func()
}

// TLS are the PEM files of an etcd that answers over TLS, and only clients with a certificate of
// the same authority.
type TLS struct{ CA, Cert, Key string }

// Start runs an etcd that keeps its data in dir and answers clients at listen, a loopback
// address with a port; without files, in plain text. It returns when clients are answered. An etcd that was closed or
// killed goes on with its data when it is started again.
func Start(dir, listen string, files TLS) (*Server, error) {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return nil, fmt.Errorf("start etcd: address %q: %w", listen, err)
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("start etcd: %q is not a loopback address; it has no passwords, use 127.0.0.1", listen)
	}
	cfg := embed.NewConfig()
	cfg.Dir = dir
	client := url.URL{Scheme: "http", Host: listen}
	if files != (TLS{}) {
		client.Scheme = "https"
		of := &cfg.ClientTLSInfo
		of.TrustedCAFile, of.CertFile, of.KeyFile, of.ClientCertAuth = files.CA, files.Cert, files.Key, true
	}
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	// A node alone has no peers. The port of what it would tell them is any free one, and its name for itself, which
	// is part of its data, must not depend on it.
	cfg.ListenPeerUrls = []url.URL{{Scheme: "http", Host: net.JoinHostPort(host, "0")}}
	cfg.AdvertisePeerUrls = []url.URL{{Scheme: "http", Host: net.JoinHostPort(host, "1")}}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	cfg.LogLevel, cfg.LogOutputs = "panic", []string{"/dev/null"}
	cfg.TickMs, cfg.ElectionMs = 50, 500 // It need not wait for others when it elects itself.
	etcd, err := embed.StartEtcd(cfg)
	if err != nil {
		return nil, fmt.Errorf("start etcd in %s at %s: %w", dir, listen, err)
	}
	s := &Server{etcd: etcd, close: sync.OnceFunc(etcd.Close)}
	select {
	case <-etcd.Server.ReadyNotify():
		return s, nil
	case err = <-etcd.Err():
	case <-time.After(readyWithin):
		err = fmt.Errorf("not ready after %s", readyWithin)
	}
	s.close()
	return nil, fmt.Errorf("start etcd in %s at %s: %w", dir, listen, err)
}

// Addr is where it answers clients, also when Start was given port 0.
func (s *Server) Addr() string { return s.etcd.Clients[0].Addr().String() }

// Close ends it; what it was told is kept. Clients that follow it are waited for, up to six
// seconds, in which it answers no more. It may be called again.
func (s *Server) Close() { s.close() }
