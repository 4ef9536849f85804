package cluster_test

import (
	"testing"

	"github.com/hostnode/hostnode/actors/cluster"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/internal/localetcd"
)

// An etcd that answers over TLS, and only who has a certificate.
func TestAnEtcdWithTLSWantsTheCertificatesOfItsAuthority(t *testing.T) {
	t.Parallel()
	a, other := newAuthority(t), newAuthority(t)
	for _, m := range []events.Member{"etcd", "m1", "m2"} {
		a.make(t, m)
		other.make(t, m)
	}
	of := filesOf(a.dir, "etcd")
	etcd, err := localetcd.Start(t.TempDir(), "127.0.0.1:0", localetcd.TLS(of))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(etcd.Close)
	withFiles := func(m events.Member, f cluster.Files) cluster.Config {
		cfg := config(m, events.Address{1}, "https://"+etcd.Addr())
		cfg.EtcdTLS = f
		return cfg
	}
	first := startProcess(t, withFiles("m1", filesOf(a.dir, "m1"))).mustOpen()
	second := startProcess(t, withFiles("m2", filesOf(a.dir, "m2"))).mustOpen()
	first.sees("m1", "m2")
	if held, err := second.Campaign(soon(t)); err != nil || held.Err() != nil {
		t.Fatal(err)
	}
	wrongCA, wrongCert := filesOf(other.dir, "m2"), filesOf(other.dir, "m2")
	wrongCert.CA = of.CA
	for name, c := range map[string]struct {
		files cluster.Files
		says  string
	}{
		"an authority that etcd is not of":   {wrongCA, "certificate signed by unknown authority"},
		"a certificate of another authority": {wrongCert, "unknown certificate authority"},
		"no certificate":                     {cluster.Files{CA: of.CA}, "certificate required"},
		"the authorities of the system":      {cluster.Files{}, "certificate signed by unknown authority"},
	} {
		cfg := withFiles("m3", c.files)
		p := startProcess(t, cfg).mustOpen() // It goes on trying.
		p.sees("m3")
		t.Logf("with %s it logs %q", name, c.says)
		p.logs(c.says)
		p.logs("cluster.etcd.caFile")
		p.kill()
	}
	first.sees("m1", "m2")
}
