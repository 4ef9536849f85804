package cluster_test

import (
	"context"
	"crypto/tls"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostnode/hostnode/actors/cluster"
	"github.com/hostnode/hostnode/events"
)

// copyFile puts a file in the place of another one.
func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to+".new", text, 0o600)
	}
	if err = errors.Join(err, os.Rename(to+".new", to)); err != nil {
		t.Fatal(err)
	}
}

// shown is the serial number of the certificate that a member shows to a new connection.
func shown(t *testing.T, p *process, by cluster.Files) string {
	t.Helper()
	cert, err := tls.LoadX509KeyPair(by.Cert, by.Key)
	if err != nil {
		t.Fatal(err)
	}
	//nolint:gosec // Only the certificate is looked at, not its authority.
	conn, err := tls.Dial("tcp", p.cfg.Listen, &tls.Config{
		InsecureSkipVerify: true, Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.String()
}

// A certificate is renewed on disk, and with it the way to other members and from them, without a restart.
func TestARenewedCertificateIsUsedForNewConnections(t *testing.T) {
	t.Parallel()
	etcd := startEtcd(t)
	ours, others, files := newAuthority(t), newAuthority(t), filesOf(t.TempDir(), "m2")
	ours.make(t, "m1")
	ours.make(t, "m2")
	others.make(t, "m2")
	wrong, right := filesOf(others.dir, "m2"), filesOf(ours.dir, "m2")
	copyFile(t, bundle(t, ours.dir, others.dir), files.CA)
	copyFile(t, wrong.Cert, files.Cert)
	copyFile(t, wrong.Key, files.Key)
	all := map[events.Member]*process{}
	for m, f := range map[events.Member]cluster.Files{"m1": filesOf(ours.dir, "m1"), "m2": files} {
		cfg := config(m, events.Address{1}, etcd.Addr())
		cfg.TLS = f
		all[m] = startProcess(t, cfg).mustOpen()
		all[m].Serve(func(context.Context, events.Member, []byte) ([]byte, error) { return []byte("fine"), nil })
	}
	ways := [][2]events.Member{{"m1", "m2"}, {"m2", "m1"}}
	for _, way := range ways {
		all[way[0]].sees("m1", "m2")
		ctx, cancel := context.WithTimeout(t.Context(), shortLease)
		if _, err := all[way[0]].Call(ctx, way[1], nil); !errors.Is(err, events.ErrMemberAway) {
			t.Errorf("%v with the certificate of another authority: %v", way, err)
		}
		cancel()
	}
	copyFile(t, right.Key, files.Key)
	copyFile(t, right.Cert, files.Cert)
	for _, way := range ways {
		ctx := soon(t)
		for _, err := all[way[0]].Call(ctx, way[1], nil); err != nil; _, err = all[way[0]].Call(ctx, way[1], nil) {
			if ctx.Err() != nil {
				t.Fatalf("%v after it was renewed: %v", way, err)
			}
		}
	}
}

// While a new certificate is not whole, the one before is shown, and the log says why.
func TestTheCertificateBeforeIsUsedUntilTheNewOneIsWhole(t *testing.T) {
	t.Parallel()
	etcd := startEtcd(t)
	a := newAuthority(t)
	a.make(t, "m1")
	a.make(t, "m2")
	cfg := config("m1", events.Address{1}, etcd.Addr())
	cfg.TLS = filesOf(a.dir, "m1")
	p := startProcess(t, cfg).mustOpen()
	other := newAuthority(t)
	other.make(t, "m1")
	of := filesOf(other.dir, "m1")
	by := filesOf(a.dir, "m2")
	first := shown(t, p, by)
	key := filepath.Join(t.TempDir(), "key")
	copyFile(t, cfg.TLS.Key, key)
	for why, spoil := range map[string]func() error{
		"no such file":              func() error { return os.Remove(cfg.TLS.Key) },
		"find any PEM":              func() error { return os.WriteFile(cfg.TLS.Key, []byte("half"), 0o600) },
		"does not match public key": func() error { copyFile(t, by.Key, cfg.TLS.Key); return nil },
		"is for m2.test.hostnode and not for": func() error {
			copyFile(t, by.Key, cfg.TLS.Key)
			copyFile(t, cfg.TLS.Cert, cfg.TLS.Cert+".before")
			copyFile(t, by.Cert, cfg.TLS.Cert)
			return nil
		},
		"is not of the authority in": func() error {
			copyFile(t, of.Key, cfg.TLS.Key)
			copyFile(t, cfg.TLS.Cert, cfg.TLS.Cert+".before")
			copyFile(t, of.Cert, cfg.TLS.Cert)
			return nil
		},
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if now := shown(t, p, by); now != first {
				t.Errorf("%s: another certificate is shown", why)
			}
		}
		p.logs(why)
		if _, err := os.Stat(cfg.TLS.Cert + ".before"); err == nil {
			copyFile(t, cfg.TLS.Cert+".before", cfg.TLS.Cert)
		}
		copyFile(t, key, cfg.TLS.Key)
	}
	if n := strings.Count(p.log.String(), "find any PEM"); n != 1 {
		t.Errorf("the same is told %d times", n)
	}
	a.make(t, "m1")
	if now := shown(t, p, by); now == first {
		t.Error("the new certificate is not shown")
	}
}
