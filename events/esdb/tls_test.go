package esdb_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/esdb"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/events/wire"
)

// authority signs certificates for one test.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t}
	a.key = newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority of a test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.file = writePEM(t, "CERTIFICATE", der)
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func writePEM(t *testing.T, kind string, der []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), strings.ToLower(strings.ReplaceAll(kind, " ", "-"))+".pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// sign makes a certificate for a host, until a time; its files too.
func (a *authority) sign(host string, until time.Time) (cert tls.Certificate, certFile, keyFile string) {
	a.t.Helper()
	key := newKey(a.t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: host},
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: until, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		writePEM(a.t, "CERTIFICATE", der), writePEM(a.t, "EC PRIVATE KEY", keyDER)
}

const (
	operator = "operator"
	auditor  = "auditor"
	password = "correct horse/battery@staple:?"
)

// hashed is made once, because it is slow on purpose.
var hashed = sync.OnceValues(func() (string, error) { return wire.HashPassword(password) })

func user(t *testing.T, name string, role wire.Role) []wire.User {
	t.Helper()
	hash, err := hashed()
	if err != nil {
		t.Fatal(err)
	}
	return []wire.User{{Name: name, PasswordHash: hash, Role: role}}
}

// secure is the connection string of a server with TLS.
func secure(user, secret, address string, settings ...string) string {
	base := "esdb://" + url.UserPassword(user, secret).String() + "@" + address
	if len(settings) > 0 {
		base += "?" + strings.Join(settings, "&")
	}
	return base
}

func TestTLSWithAnAuthorityOfOurOwn(t *testing.T) {
	a := newAuthority(t)
	cert, _, _ := a.sign("127.0.0.1", time.Now().Add(time.Hour))
	expired, _, _ := a.sign("127.0.0.1", time.Now().Add(-time.Hour))
	named, _, _ := a.sign("elsewhere.example", time.Now().Add(time.Hour))
	_, clientCert, clientKey := a.sign("client.example", time.Now().Add(time.Hour))
	_, oldCert, oldKey := a.sign("client.example", time.Now().Add(-time.Hour))
	strangers := newAuthority(t)
	_, strangeCert, strangeKey := strangers.sign("client.example", time.Now().Add(time.Hour))
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	ours := "tlsCaFile=" + url.QueryEscape(a.file)
	for _, c := range []struct {
		name     string
		cert     tls.Certificate
		plain    bool // the server has no TLS
		mutual   bool // it wants a user certificate
		user     string
		secret   string
		settings []string
		want     error
		hint     string
	}{
		{name: "all is well", cert: cert, settings: []string{ours}},
		{name: "the authority is not checked", cert: named, settings: []string{"tlsVerifyCert=false"}},
		{
			name: "a user certificate", cert: cert, mutual: true,
			settings: []string{ours, "userCertFile=" + clientCert, "userKeyFile=" + clientKey},
		},
		{
			name: "no user certificate", cert: cert, mutual: true, settings: []string{ours},
			want: events.ErrAway, hint: "userCertFile",
		},
		{
			name: "a user certificate that has expired", cert: cert, mutual: true,
			settings: []string{ours, "userCertFile=" + oldCert, "userKeyFile=" + oldKey},
			want:     events.ErrAway, hint: "userCertFile",
		},
		{
			name: "a user certificate of a stranger", cert: cert, mutual: true,
			settings: []string{ours, "userCertFile=" + strangeCert, "userKeyFile=" + strangeKey},
			want:     events.ErrAway, hint: "userCertFile",
		},
		{name: "no authority", cert: cert, want: events.ErrAway, hint: "tlsCaFile"},
		{
			name: "the wrong authority", cert: cert, settings: []string{"tlsCaFile=" + url.QueryEscape(strangers.file)},
			want: events.ErrAway, hint: "tlsCaFile",
		},
		{
			name: "an expired certificate", cert: expired, settings: []string{ours},
			want: events.ErrAway, hint: "validity of the server's certificate",
		},
		{name: "another host's certificate", cert: named, settings: []string{ours}, want: events.ErrAway, hint: "host"},
		{
			name: "a server without TLS", plain: true, settings: []string{ours},
			want: events.ErrAway, hint: "tls=false",
		},
		{
			name: "a wrong password", cert: cert, secret: "wrong horse", settings: []string{ours},
			want: events.ErrDenied, hint: "password",
		},
		{
			name: "an unknown user", cert: cert, user: "nobody", settings: []string{ours},
			want: events.ErrDenied, hint: "user",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			behind := storetest.NewMemory()
			defer behind.Close()
			cfg := wire.Config{Store: behind, Users: user(t, operator, wire.RoleOperator)}
			if !c.plain {
				cfg.TLS = &tls.Config{Certificates: []tls.Certificate{c.cert}, MinVersion: tls.VersionTLS12}
			}
			if c.mutual {
				cfg.TLS.ClientAuth, cfg.TLS.ClientCAs = tls.RequireAndVerifyClientCert, pool
			}
			var log bytes.Buffer
			logger := logrus.New()
			logger.SetOutput(&log)
			logger.SetLevel(logrus.DebugLevel)
			name, secret := operator, password
			if c.user != "" {
				name = c.user
			}
			if c.secret != "" {
				secret = c.secret
			}
			server := serve(t, cfg)
			s, err := esdb.Open(t.Context(), esdb.Config{
				URL: secure(name, secret, server, c.settings...), Log: logrus.NewEntry(logger),
			})
			if err == nil {
				_, err = s.Append(t.Context(), "a-1", events.NoStream(), oneEvent(1))
				s.Close()
			}
			if !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if err != nil && !strings.Contains(err.Error(), c.hint) {
				t.Errorf("%v does not say %q", err, c.hint)
			}
			if shown := log.String(); strings.Contains(shown, secret) || strings.Contains(shown, url.QueryEscape(secret)) ||
				err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("the password is shown: %v\n%s", err, shown)
			}
		})
	}
}

func TestAnAuditorReadsAndDoesNotWrite(t *testing.T) {
	a := newAuthority(t)
	cert, _, _ := a.sign("127.0.0.1", time.Now().Add(time.Hour))
	behind := storetest.NewMemory()
	defer behind.Close()
	if _, err := behind.Append(t.Context(), "a-1", events.NoStream(), oneEvent(1)); err != nil {
		t.Fatal(err)
	}
	server := serve(t, wire.Config{
		Store: behind, Users: user(t, auditor, wire.RoleAuditor),
		TLS: &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12},
	})
	for _, noBatch := range []bool{false, true} {
		s := open(t, esdb.Config{
			URL:     secure(auditor, password, server, "tlsCaFile="+url.QueryEscape(a.file)),
			NoBatch: noBatch,
		})
		defer s.Close()
		for r, err := range s.ReadStream(t.Context(), "a-1", events.ReadStream{}) {
			if err != nil || r.ID != oneEvent(1)[0].ID {
				t.Errorf("read: %+v, %v", r, err)
			}
		}
		_, appended := s.Append(t.Context(), "a-1", events.Exact(0), oneEvent(2))
		large := oneEvent(3)
		large[0].Data, large[0].Binary = make([]byte, 8<<20), true
		_, largeOne := s.Append(t.Context(), "a-1", events.Exact(0), append(large, oneEvent(4)...))
		_, checked := s.Append(t.Context(), "a-1", events.Exact(0), nil)
		_, deleted := s.Delete(t.Context(), "a-1", events.Exact(0), true)
		for what, err := range map[string]error{"append": appended, "large append": largeOne, "check": checked, "delete": deleted} {
			if !errors.Is(err, events.ErrDenied) || !strings.Contains(err.Error(), "right") {
				t.Errorf("%s without batch append %v: %v, want denied, with what right is missing", what, noBatch, err)
			}
		}
		if _, _, away := s.Away(); away {
			t.Error("a refusal counts as a server that is away")
		}
	}
}

// TestAPasswordThatWasChangedIsReadAgain: from some point on the server knows another password.
func TestAPasswordThatWasChangedIsReadAgain(t *testing.T) {
	a := newAuthority(t)
	cert, _, _ := a.sign("127.0.0.1", time.Now().Add(time.Hour))
	behind := storetest.NewMemory()
	defer behind.Close()
	secured := func(name string) string {
		return serve(t, wire.Config{
			Store: behind, Users: user(t, name, wire.RoleOperator),
			TLS: &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12},
		})
	}
	p := newProxy(t, secured("before"))
	now := func(name string) string {
		return secure(name, password, p.address(), "tlsCaFile="+url.QueryEscape(a.file))
	}
	var renewed atomic.Int32
	cfg := eager(now("before"))
	cfg.Renew = func() (string, error) {
		if renewed.Add(1) == 1 {
			return "", errors.New("nobody has written it yet")
		}
		return now("after"), nil
	}
	s := open(t, cfg)
	defer s.Close()
	if _, err := s.Append(t.Context(), "a-1", events.NoStream(), oneEvent(1)); err != nil {
		t.Fatal(err)
	}
	p.lead(secured("after"))
	p.cut()
	for {
		changed := s.Changed()
		_, err := s.Append(t.Context(), "a-1", events.Exact(0), oneEvent(2))
		if err == nil {
			break
		}
		if !errors.Is(err, events.ErrDenied) {
			t.Fatal(err)
		}
		<-changed
	}
	if renewed.Load() < 2 {
		t.Errorf("the connection string was asked for %d times", renewed.Load())
	}
}

func TestAServerThatWantsTLSIsNamedWhenSpokenToWithout(t *testing.T) {
	a := newAuthority(t)
	cert, _, _ := a.sign("127.0.0.1", time.Now().Add(time.Hour))
	behind := storetest.NewMemory()
	defer behind.Close()
	server := serve(t, wire.Config{
		Store: behind, Anonymous: wire.RoleAdmin,
		TLS: &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12},
	})
	cfg := eager(plain(server))
	cfg.OpenTimeout = 10 * time.Second // All of it is used; one attempt must fit.
	_, err := esdb.Open(t.Context(), cfg)
	if !errors.Is(err, events.ErrAway) || !strings.Contains(err.Error(), "tls=false") {
		t.Fatalf("open: %v, want a hint at tls=false", err)
	}
}

func TestAnAddressThatTakesConnectionsAndSaysNothingIsNamed(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // Nobody accepts; the kernel does.
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	cfg := eager(plain(silent.Addr().String()) + "&gossipTimeout=1")
	cfg.OpenTimeout = 10 * time.Second // All of it is used; one attempt must fit.
	_, err = esdb.Open(t.Context(), cfg)
	if !errors.Is(err, events.ErrAway) || errors.Is(err, esdb.ErrSettings) || !strings.Contains(err.Error(), "says nothing") {
		t.Fatalf("open: %v, want a hint at host and port", err)
	}
}

func TestAHostsOwnRecordIsRefusedWithoutAdviceOnRights(t *testing.T) {
	behind := storetest.NewMemory()
	defer behind.Close()
	s := open(t, esdb.Config{URL: plain(serve(t, wire.Config{
		Store: behind, Anonymous: wire.RoleAdmin, Guarded: []string{"host"},
	}))})
	defer s.Close()
	_, err := s.Append(t.Context(), "host-1", events.NoStream(), oneEvent(1))
	if !errors.Is(err, events.ErrDenied) || !strings.Contains(err.Error(), "the host's own record") ||
		strings.Contains(err.Error(), "needs the right") {
		t.Errorf("append: %v, want that it is the host's own, whatever the rights", err)
	}
}
