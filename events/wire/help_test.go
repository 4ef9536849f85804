package wire_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/gossip"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/google/uuid"
	"go.uber.org/goleak"
	"golang.org/x/crypto/bcrypt"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	_ "github.com/hostnode/hostnode/events/protoconflict"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/events/wire"
)

// The client starts a goroutine per Client that lives until it is closed, and
// closing is asynchronous; nothing else may be left.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// password is everybody's, so that hashing is done once.
const password = "correct horse"

var hash = sync.OnceValue(func() string { return bcryptOf(password) })

func bcryptOf(password string) string {
	h, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		panic(err)
	}
	return string(h)
}

func users() []wire.User {
	return []wire.User{
		{Name: "admin", PasswordHash: hash(), Role: wire.RoleAdmin},
		{Name: "operator", PasswordHash: hash(), Role: wire.RoleOperator},
		{Name: "other", PasswordHash: hash(), Role: wire.RoleOperator},
		{Name: "auditor", PasswordHash: hash(), Role: wire.RoleAuditor},
		{Name: "host", PasswordHash: hash(), Role: wire.RoleHost, Account: events.Address{1}},
		{Name: "nobody", PasswordHash: hash(), Role: wire.RoleNone},
	}
}

// served is a server under test.
type served struct {
	*wire.Server
	store   events.Store
	address string
	pool    *x509.CertPool // With TLS.
	caFile  string
}

// serve starts a server over a store in memory, where everybody may do everything unless edit
// changes that.
func serve(t testing.TB, edit func(*wire.Config)) *served {
	t.Helper()
	cfg := wire.Config{Store: storetest.NewMemory(), Streams: catalog.Streams(), Anonymous: wire.RoleAdmin}
	if edit != nil {
		edit(&cfg)
	}
	if cfg.Limits.AppendTime == 0 {
		cfg.Limits.AppendTime = time.Hour // No test may depend on how fast an append is.
	}
	s, err := wire.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
		cfg.Store.Close()
	})
	return &served{Server: s, store: cfg.Store, address: l.Addr().String()}
}

// client is an official client with a user's credentials, or without any if user is empty.
func (s *served) client(t testing.TB, user string) *esdb.Client {
	t.Helper()
	return s.clientWith(t, user, password)
}

func (s *served) clientWith(t testing.TB, user, password string) *esdb.Client {
	t.Helper()
	cfg, err := esdb.ParseConnectionString("esdb://" + s.address + "?maxDiscoverAttempts=1&tls=false")
	if err != nil {
		t.Fatal(err)
	}
	if s.pool != nil {
		cfg.DisableTLS, cfg.RootCAs = false, s.pool
	}
	cfg.Username, cfg.Password = user, password
	// Its own limits are 5 to 10 seconds, which a check of a password may take on a busy machine.
	long := patience
	cfg.DefaultDeadline, cfg.KeepAliveTimeout, cfg.GossipTimeout = &long, long, int(long/time.Second)
	cfg.Logger = esdb.NoopLogging()
	c, err := esdb.NewClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// raw is a connection without a client library.
func (s *served) raw(t testing.TB, options ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	options = append([]grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64 << 20)),
	}, options...)
	conn, err := grpc.NewClient(s.address, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// rawTLS is raw for a server with TLS.
func (s *served) rawTLS(t testing.TB) *grpc.ClientConn {
	t.Helper()
	return s.raw(t, grpc.WithTransportCredentials(credentials.NewClientTLSFromCert(s.pool, "localhost")))
}

// dial is a connection that sends nothing by itself.
func dial(t testing.TB, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func gossipOf(ctx context.Context, conn *grpc.ClientConn) ([]*gossip.MemberInfo, error) {
	info, err := gossip.NewGossipClient(conn).Read(ctx, &shared.Empty{})
	return info.GetMembers(), err
}

func joinAddress(e *gossip.EndPoint) string {
	return net.JoinHostPort(e.GetAddress(), strconv.Itoa(int(e.GetPort())))
}

// authority signs certificates for tests.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{cert, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

// file is the authority's certificate as clients want it.
func (a *authority) file(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(path, a.pem, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// server is a configuration for a server on this machine.
func (a *authority) server(t testing.TB, notAfter time.Time) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "test server"},
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: notAfter,
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
}

// serveTLS is serve with TLS and users, without anonymous callers.
func serveTLS(t testing.TB, edit func(*wire.Config)) *served {
	t.Helper()
	a := newAuthority(t)
	s := serve(t, func(cfg *wire.Config) {
		cfg.TLS, cfg.Users, cfg.Anonymous = a.server(t, time.Now().Add(time.Hour)), users(), wire.RoleNone
		if edit != nil {
			edit(cfg)
		}
	})
	s.caFile = a.file(t)
	s.pool = a.pool()
	return s
}

func event(kind string, data string) esdb.EventData {
	return esdb.EventData{
		EventID: uuid.New(), EventType: kind, ContentType: esdb.ContentTypeJson, Data: []byte(data),
	}
}

func appendTo(t testing.TB, c *esdb.Client, stream string, all ...esdb.EventData) *esdb.WriteResult {
	t.Helper()
	r, err := c.AppendToStream(t.Context(), stream, esdb.AppendToStreamOptions{}, all...)
	if err != nil {
		t.Fatalf("append to %s: %v", stream, err)
	}
	return r
}

// numbers makes n events whose data are their numbers.
func numbers(n int) []esdb.EventData {
	all := make([]esdb.EventData, n)
	for i := range all {
		all[i] = event("counted", string(rune('0'+i%10)))
	}
	return all
}

func readAll(s *esdb.ReadStream, err error) ([]*esdb.ResolvedEvent, error) {
	if err != nil {
		return nil, err
	}
	defer s.Close()
	var all []*esdb.ResolvedEvent
	for {
		e, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, e)
	}
}

func codeOf(err error) esdb.ErrorCode {
	var e *esdb.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return -1
}

// wantCode fails unless err is the client's error with a code.
func wantCode(t testing.TB, err error, code esdb.ErrorCode) {
	t.Helper()
	if got := codeOf(err); got != code {
		t.Fatalf("error %v has code %d, want %d", err, got, code)
	}
}

// until waits for what another goroutine is about to do.
func until(t testing.TB, what string, done func() bool) {
	t.Helper()
	for ctx := soon(t); !done(); runtime.Gosched() {
		if ctx.Err() != nil {
			t.Fatalf("it does not come about that %s", what)
		}
	}
}

// patience is long enough for any machine under any load: it only turns what
// would hang into a failure.
const patience = 4 * time.Minute

// soon is a context for what must happen, and would otherwise hang.
func soon(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}
