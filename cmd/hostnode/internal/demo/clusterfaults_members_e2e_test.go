//go:build e2e

package demo

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/events"
)

// This file has faults of one member that are not drawn: what it is told, or what its event store does, is wrong.

// The next owner's event store answers whoever reads, and takes nothing that is written: another member owns, and that
// one can be stopped.
func TestACandidateWhoseStoreTakesNothingLetsAnotherOwnAndCanBeStopped(t *testing.T) {
	f := newFaultRig(t, program(t), beatOr(t, faultBeat), memberNames[:3]...)
	f.suffers(course{requests: 1, periods: 6, fills: 4}, []draw{{
		kind: faultKind{name: "the store of the next owner takes nothing", begin: loseNextOwner},
		at:   5 * time.Second, lasts: 10 * time.Second,
	}})
	if len(f.events) == 0 {
		t.Fatal("no owner was killed")
	}
}

// loseNextOwner kills the owner while the store of the next one takes nothing, and stops that one.
func loseNextOwner(f *faultRig, _ draw) (func() error, string) {
	owner, next := f.owner(), f.candidate(1)
	if owner == nil || next == nil || next == owner {
		f.t.Errorf("owner %v, next %v", owner, next)
		return nil, ""
	}
	f.must(next.store.leadsTo(f.takesNothing()))
	heal, _ := f.killed(owner)
	f.await("the third member to own", func(context.Context) bool {
		now := f.owner()
		return now != nil && now != owner && now != next
	})
	f.t.Logf("%s: the third member owns", f.clock())
	began := time.Now()
	f.must(next.stopIt())
	if took := time.Since(began); took > 30*time.Second {
		f.t.Errorf("the stop took %s", took)
	}
	return func() error {
		f.must(next.store.leadsTo(f.storeAt))
		f.must(next.startIt())
		return heal()
	}, string(owner.name) + " is killed, and the store of " + string(next.name) + " takes nothing"
}

// stopIt stops the member, which is not meant to run from now on.
func (m *faulted) stopIt() error {
	m.life.Lock()
	defer m.life.Unlock()
	m.watch.hinder(notThere, true, false)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return m.stop(ctx)
}

// candidate is the member that is so far behind the owner among those that want the term; nil: there is none.
func (f *faultRig) candidate(behind int) *faulted {
	f.t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{f.etcdAt}})
	f.must(err)
	defer client.Close()
	all, err := client.Get(f.t.Context(), "/hostnode/home/"+f.account.String()+"/term/", clientv3.WithPrefix(),
		clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend))
	f.must(err)
	if len(all.Kvs) <= behind {
		return nil
	}
	i := slices.IndexFunc(f.members, func(m *faulted) bool { return string(m.name) == string(all.Kvs[behind].Value) })
	return f.members[i]
}

// takesNothing is the address of a server that passes all calls on to the event store, except appends, which have no
// answer.
func (f *faultRig) takesNothing() string {
	f.t.Helper()
	plain := &http.Protocols{}
	plain.SetUnencryptedHTTP2(true)
	store := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: f.storeAt}) },
		Transport: &http.Transport{Protocols: plain}, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
	}
	server := &http.Server{Protocols: plain, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "Append") {
			<-r.Context().Done()
			return
		}
		store.ServeHTTP(w, r)
	})}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	f.must(err)
	go func() { _ = server.Serve(listener) }()
	f.t.Cleanup(func() { server.Close() })
	return listener.Addr().String()
}

// A member that looks for the others under another name than theirs would take the term from them, and they from it.
func TestAMemberOfAClusterWhoseNameWasMistypedIsRefused(t *testing.T) {
	bin, names := program(t), memberNames[:3]
	f := newFaultRig(t, bin, beatOr(t, faultBeat))
	for _, name := range names {
		f.add(bin, name, names)
	}
	f.refusesLast("[cluster-other]", "--cluster-name", "hmoe")
}

// A member with certificates of another authority could own, and reach nobody.
func TestAMemberWithCertificatesOfAnotherAuthorityIsRefused(t *testing.T) {
	bin, names := program(t), memberNames[:3]
	f := newFaultRig(t, bin, beatOr(t, faultBeat))
	certs := func(name events.Member, authority string) []string {
		dir := filepath.Join(f.dir, authority)
		out, err := exec.CommandContext(t.Context(), bin, "cluster", "certs", "--name", "home", "--dir", dir,
			"--hosts", "127.0.0.1", string(name)).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		own := filepath.Join(dir, string(name))
		return []string{
			"--cluster-tls-ca-file", filepath.Join(dir, "ca.crt"),
			"--cluster-tls-cert-file", own + ".crt", "--cluster-tls-key-file", own + ".key",
		}
	}
	for _, name := range names {
		f.add(bin, name, names, certs(name, "ours")...)
	}
	f.refusesLast("[member-refused]", certs(names[2], "theirs")...)
}

// refusesLast starts all members, the last one with settings that the others do not accept: it ends, and they do not
// mind. With its own settings it then sells with them.
func (f *faultRig) refusesLast(says string, more ...string) {
	f.t.Helper()
	f.began = time.Now()
	m := f.members[len(f.members)-1]
	for _, other := range f.members[:len(f.members)-1] {
		f.must(other.start())
	}
	f.await("an owner", func(context.Context) bool { return f.owner() != nil })
	owner := f.owner()
	m.watch.hinder(notThere, true, false)
	own := m.args
	m.args = slices.Concat(own, more)
	f.must(m.start())
	f.await(string(m.name)+" to be refused", func(context.Context) bool { alive, _ := m.alive(); return !alive })
	if said := m.said(8); !strings.Contains(said, says) {
		f.t.Errorf("its last words, which should have %s:\n%s", says, said)
	}
	all, err := api.ListMembers.Ask(f.t.Context(), owner.api, api.Then{})
	f.must(err)
	if all.Term == nil || all.Term.Number != 1 || all.Term.Member != string(owner.name) {
		f.t.Errorf("the term is now %+v", all.Term)
	}
	m.args = own
	f.must(m.startIt())
	f.suffers(course{requests: 1, periods: 4, fills: 3}, nil)
}
