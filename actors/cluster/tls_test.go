package cluster_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors/cluster"
	"github.com/hostnode/hostnode/events"
)

func filesOf(dir string, m events.Member) cluster.Files {
	return cluster.Files{
		CA: filepath.Join(dir, "ca.crt"), Cert: filepath.Join(dir, string(m)+".crt"), Key: filepath.Join(dir, string(m)+".key"),
	}
}

func TestMembersKnowEachOtherByTheirCertificates(t *testing.T) {
	t.Parallel()
	etcd := startEtcd(t)
	dir, otherDir := certificates(t, "m1", "m2"), certificates(t, "m3")
	next := filesOf(otherDir, "m3")
	next.CA = bundle(t, dir, otherDir)
	all := map[events.Member]*process{}
	for m, files := range map[events.Member]cluster.Files{"m1": filesOf(dir, "m1"), "m2": filesOf(dir, "m2"), "m3": next} {
		cfg := config(m, events.Address{1}, etcd.Addr())
		cfg.TLS = files
		all[m] = startProcess(t, cfg).mustOpen()
		all[m].Serve(func(_ context.Context, from events.Member, q []byte) ([]byte, error) {
			return append([]byte(from+" says "), q...), nil
		})
	}
	for _, p := range all {
		p.sees("m1", "m2", "m3")
	}
	for _, way := range [][2]events.Member{{"m1", "m2"}, {"m2", "m1"}} {
		got, err := all[way[0]].Call(soon(t), way[1], []byte("hello"))
		if want := string(way[0]) + " says hello"; err != nil || string(got) != want {
			t.Fatalf("%v: %q, %v", way, got, err)
		}
	}
	// m3 has a certificate of the next authority already, before all believe it.
	for _, way := range [][2]events.Member{{"m1", "m3"}, {"m3", "m1"}} {
		ctx, cancel := context.WithTimeout(t.Context(), shortLease)
		if _, err := all[way[0]].Call(ctx, way[1], []byte("hello")); !errors.Is(err, events.ErrMemberAway) {
			t.Errorf("%v: %v", way, err)
		} else if way[0] == "m1" && !strings.Contains(err.Error(), "tls: ") { // What m1 said may be lost.
			t.Errorf("%v: the error does not say why: %v", way, err)
		}
		cancel()
	}
	all["m1"].logs("certificate signed by unknown authority")
	for _, m := range []events.Member{"m1", "m3"} {
		all[m].logs("must be of one authority")
	}
}

// Nobody would believe a member of another authority, and it would own and reach nobody. It is refused when it joins,
// before any member talks to it. While an authority is replaced, members believe two.
func TestAMemberOfAnotherAuthorityIsRefused(t *testing.T) {
	t.Parallel()
	etcd := startEtcd(t)
	a, b := newAuthority(t), newAuthority(t)
	for _, m := range []events.Member{"m1", "m2", "m3"} {
		a.make(t, m)
		b.make(t, m)
	}
	with := func(m events.Member, f cluster.Files) *process {
		cfg := config(m, events.Address{1}, etcd.Addr())
		cfg.TLS = f
		return startProcess(t, cfg)
	}
	both := bundle(t, a.dir, b.dir)
	first := with("m1", filesOf(a.dir, "m1")).mustOpen()
	for name, f := range map[string]cluster.Files{"another": filesOf(b.dir, "m2"), "none": {}} {
		err := with("m2", f).opened()
		t.Logf("%s: %v", name, err)
		wantText(t, err, cluster.ErrRefused, "m1 at "+first.cfg.Listen, "the authority of the certificates", "here and")
	}
	change := filesOf(a.dir, "m2")
	change.CA = both
	second := with("m2", change).mustOpen()
	first.sees("m1", "m2")
	second.sees("m1", "m2")
	wantText(t, with("m3", filesOf(b.dir, "m3")).opened(), cluster.ErrRefused, "m1 at ")
	first.kill()
	second.sees("m2")
	with("m3", filesOf(b.dir, "m3")).mustOpen().sees("m2", "m3")
}

func TestAMemberNeedsTheCertificateOfItsName(t *testing.T) {
	dir := certificates(t, "m1", "m2")
	cfg := config("m1", events.Address{1}, "127.0.0.1:1")
	cfg.TLS = filesOf(dir, "m2")
	_, err := cluster.Open(t.Context(), cfg, nil)
	wantText(t, err, cluster.ErrConfig, "is for m2.test.hostnode", "not for m1.test.hostnode")
	cfg.TLS = filesOf(dir, "m1")
	cfg.TLS.CA = filesOf(certificates(t, "m1"), "m1").CA
	_, err = cluster.Open(t.Context(), cfg, nil)
	wantText(t, err, cluster.ErrConfig, "is not of the authority in "+cfg.TLS.CA)
}

func TestASettingThatCannotBeUsedIsNamed(t *testing.T) {
	good := config("m1", events.Address{1}, "127.0.0.1:1")
	for want, change := range map[string]func(*cluster.Config){
		"the cluster's name":                      func(c *cluster.Config) { c.Name = "a.b" },
		"the member's name":                       func(c *cluster.Config) { c.Member = "M 1" },
		"with a port that is not 0":               func(c *cluster.Config) { c.Listen = "127.0.0.1:0" },
		`listen address "127.0.0.1"`:              func(c *cluster.Config) { c.Listen = "127.0.0.1" },
		`cannot reach this member at "0.0.0.0:1"`: func(c *cluster.Config) { c.Listen = "0.0.0.0:1" },
		"plain text on a loopback address only":   func(c *cluster.Config) { c.Listen, c.Advertise = "192.0.2.1:1", "127.0.0.1:1" },
		"`hostnode cluster certs` makes them":     func(c *cluster.Config) { c.Advertise = "box1.example:1" },
		"one is missing":                          func(c *cluster.Config) { c.TLS.CA = "ca.crt" },
		"no end point of etcd":                    func(c *cluster.Config) { c.Etcd = nil },
		"for etcd: the authority's certificate":   func(c *cluster.Config) { c.EtcdTLS.CA = "/nowhere" },
		"write whole seconds":                     func(c *cluster.Config) { c.Lease = 2500 * time.Millisecond },
		"a lease of 1s":                           func(c *cluster.Config) { c.Lease = time.Second },
	} {
		cfg := good
		change(&cfg)
		c, err := cluster.Open(t.Context(), cfg, nil)
		if c != nil {
			c.Close()
		}
		wantText(t, err, cluster.ErrConfig, want)
	}
}
