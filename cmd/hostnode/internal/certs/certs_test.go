package certs_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/certs"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
)

var now = time.Date(2031, 4, 5, 6, 7, 8, 0, time.UTC)

func order(dir string, members ...string) certs.Order {
	return certs.Order{Dir: dir, Cluster: "home", Members: members, Hosts: []string{"127.0.0.1", "north.example.org"}}
}

func made(t *testing.T, o certs.Order) certs.Made {
	t.Helper()
	m, err := certs.Make(o, now)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// settings are those of a member for connections to others, as of a point in time.
func settings(t *testing.T, ca string, m certs.Member, at time.Time) *tls.Config {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(m.Cert, m.Key)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(ca)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		t.Fatalf("%s has no certificate", ca)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{pair}, RootCAs: roots, ClientCAs: roots, Time: func() time.Time { return at },
		ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS13,
	}
}

// greet lets a client and a server shake hands; the server's error counts first.
func greet(t *testing.T, server, client *tls.Config, name string) error {
	t.Helper()
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	served := make(chan error, 1)
	go func() {
		err := tls.Server(a, server).Handshake()
		a.Close() // A client that waits learns it.
		served <- err
	}()
	client = client.Clone()
	client.ServerName = name
	err := tls.Client(b, client).Handshake()
	b.Close()
	return errors.Join(<-served, err)
}

func TestMembersOfOneAuthorityTrustEachOther(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "certs")
	first := made(t, order(dir, "north", "south"))
	later := made(t, order(dir, "west"))
	if !first.NewCA || later.NewCA || first.CA != later.CA {
		t.Fatalf("%+v, then %+v", first, later)
	}
	north, west := settings(t, first.CA, first.Members[0], now), settings(t, first.CA, later.Members[0], now)
	for _, name := range []string{certs.ServerName("home", "north"), "127.0.0.1", "north.example.org"} {
		if err := greet(t, north, west, name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := greet(t, north, west, certs.ServerName("home", "south")); err == nil {
		t.Error("north counts as south")
	}
	other := made(t, order(filepath.Join(t.TempDir(), "other"), "north"))
	stranger := settings(t, other.CA, other.Members[0], now)
	stranger.RootCAs = north.RootCAs
	if err := greet(t, north, stranger, certs.ServerName("home", "north")); err == nil {
		t.Error("a member of another authority is trusted")
	}
	late := now.AddDate(2, 0, 1)
	if err := greet(t, settings(t, first.CA, first.Members[0], late), settings(t, first.CA, later.Members[0], late),
		certs.ServerName("home", "north")); err == nil {
		t.Error("a certificate lasts for ever")
	}
}

func TestOnlyTheOwnerCanReadTheFiles(t *testing.T) {
	m := made(t, order(t.TempDir(), "north"))
	for _, path := range []string{m.CA, m.CAKey, m.Members[0].Cert, m.Members[0].Key} {
		if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

func TestACertificateEndsWithItsAuthority(t *testing.T) {
	dir := t.TempDir()
	made(t, order(dir, "north"))
	late := now.AddDate(9, 0, 0)
	m, err := certs.Make(order(dir, "south"), late)
	if err != nil || !m.Members[0].Expires.Equal(now.AddDate(10, 0, 0)) {
		t.Fatalf("%+v, %v", m, err)
	}
	if _, err := certs.Make(order(dir, "west"), now.AddDate(10, 0, 0)); !errors.Is(err, certs.ErrAuthority) ||
		!strings.Contains(err.Error(), "expired at 2041-04-05T06:07:08Z") {
		t.Fatal(err)
	}
}

func TestNothingIsReplacedAndNothingIsHalfMade(t *testing.T) {
	dir := t.TempDir()
	m := made(t, order(dir, "north"))
	before, err := os.ReadFile(m.Members[0].Key)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := certs.Make(order(dir, "south", "north"), now); !errors.Is(err, certs.ErrExists) {
		t.Fatal(err)
	}
	if after, err := os.ReadFile(m.Members[0].Key); err != nil || string(after) != string(before) {
		t.Errorf("the key has changed: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "south.key")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("south has a key: %v", err)
	}
}

func TestAnAuthorityThatDoesNotFitIsRefused(t *testing.T) {
	replace := func(name, text string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		cluster string
		change  func(t *testing.T, dir string)
		want    error
		says    string
	}{
		"of another cluster": {"office", func(*testing.T, string) {}, certs.ErrAuthority, `of "hostnode cluster home"`},
		"without its key": {"home", func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, "ca.key")); err != nil {
				t.Fatal(err)
			}
		}, certs.ErrAuthority, "one is missing"},
		"with another key": {"home", func(t *testing.T, dir string) {
			other := made(t, order(t.TempDir(), "north"))
			text, err := os.ReadFile(other.CAKey)
			if err != nil {
				t.Fatal(err)
			}
			replace("ca.key", string(text))(t, dir)
		}, certs.ErrAuthority, "is not the key of"},
		"with a damaged certificate": {"home", replace("ca.crt", "nonsense"), certs.ErrAuthority, "no CERTIFICATE in PEM"},
		"with a damaged key": {
			"home", replace("ca.key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"), certs.ErrAuthority, "ca.key",
		},
		"that others can read": {"home", func(t *testing.T, dir string) {
			if err := os.Chmod(filepath.Join(dir, "ca.key"), 0o644); err != nil {
				t.Fatal(err)
			}
		}, config.ErrInvalid, "chmod 600"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			made(t, order(dir, "north"))
			c.change(t, dir)
			o := order(dir, "south")
			o.Cluster = c.cluster
			if _, err := certs.Make(o, now); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("got %v, want %v with %q", err, c.want, c.says)
			}
		})
	}
}

func TestNamesThatMakeNoSenseAreRefused(t *testing.T) {
	for want, o := range map[string]certs.Order{
		"is no name of a cluster": {Cluster: "My home", Members: []string{"north"}},
		"at least one member":     {Cluster: "home"},
		"is no name of a member":  {Cluster: "home", Members: []string{"North"}},
		"files of the authority":  {Cluster: "home", Members: []string{"ca"}},
		"named twice":             {Cluster: "home", Members: []string{"north", "south", "north"}},
		"without scheme and port": {Cluster: "home", Members: []string{"north"}, Hosts: []string{"https://a:1"}},
	} {
		o.Dir = filepath.Join(t.TempDir(), "certs")
		if _, err := certs.Make(o, now); !errors.Is(err, config.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if _, err := os.Stat(o.Dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the directory was made", want)
		}
	}
}
