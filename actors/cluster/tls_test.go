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
	all := map[events.Member]*process{}
	for m, files := range map[events.Member]cluster.Files{
		"m1": filesOf(dir, "m1"), "m2": filesOf(dir, "m2"), "m3": filesOf(otherDir, "m3"), "m4": {},
	} {
		cfg := config(m, events.Address{1}, etcd.Addr())
		cfg.TLS = files
		all[m] = startProcess(t, cfg).mustOpen()
		all[m].Serve(func(_ context.Context, from events.Member, q []byte) ([]byte, error) {
			return append([]byte(from+" says "), q...), nil
		})
	}
	for _, p := range all {
		p.sees("m1", "m2", "m3", "m4")
	}
	for _, way := range [][2]events.Member{{"m1", "m2"}, {"m2", "m1"}} {
		got, err := all[way[0]].Call(soon(t), way[1], []byte("hello"))
		if want := string(way[0]) + " says hello"; err != nil || string(got) != want {
			t.Fatalf("%v: %q, %v", way, got, err)
		}
	}
	// m3 has a certificate of another authority, m4 speaks in plain text.
	for _, way := range [][2]events.Member{{"m1", "m3"}, {"m3", "m1"}, {"m1", "m4"}, {"m4", "m1"}} {
		ctx, cancel := context.WithTimeout(t.Context(), shortLease)
		if _, err := all[way[0]].Call(ctx, way[1], []byte("hello")); !errors.Is(err, events.ErrMemberAway) {
			t.Errorf("%v: %v", way, err)
		} else if way[0] != "m4" && !strings.Contains(err.Error(), "tls: ") {
			t.Errorf("%v: the error does not say why: %v", way, err)
		}
		cancel()
	}
	for _, m := range []events.Member{"m1", "m3"} {
		all[m].logs("certificate signed by unknown authority")
		all[m].logs("must be of one authority")
	}
}

func TestAMemberNeedsTheCertificateOfItsName(t *testing.T) {
	dir := certificates(t, "m1", "m2")
	cfg := config("m1", events.Address{1}, "127.0.0.1:1")
	cfg.TLS = filesOf(dir, "m2")
	_, err := cluster.Open(t.Context(), cfg, nil)
	wantText(t, err, cluster.ErrConfig, "is for m2.test.hostnode", "not for m1.test.hostnode")
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
