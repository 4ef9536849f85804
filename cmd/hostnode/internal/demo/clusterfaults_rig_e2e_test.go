//go:build e2e

package demo

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/keys"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/internal/localetcd"
)

// The pace of fault runs. Chain time waits for nobody: a block comes at each beat, and a period is long
// enough that a member proves all its slots in it. A machine with much other work needs a longer beat.
const (
	faultBeat   = 250 * time.Millisecond
	faultPeriod = 60 * time.Second // in chain time, as all periods
	faultLease  = 3 * time.Second
	// faultGiveWay is how long an owner lets the event store be away from it.
	faultGiveWay = 8 * time.Second
)

// Where the etcd of a fault run keeps its data, and where it answers.
const (
	etcdDir = "HOSTNODE_TEST_ETCD_DIR"
	etcdAt  = "HOSTNODE_TEST_ETCD_AT"
)

// TestMain runs the tests; or, as a process of its own that can be killed, the etcd of a fault run.
func TestMain(m *testing.M) {
	dir := os.Getenv(etcdDir)
	if dir == "" {
		os.Exit(m.Run())
	}
	if _, err := localetcd.Start(dir, os.Getenv(etcdAt), localetcd.TLS{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	select {}
}

// free is an address that nobody listens on now.
func free(t *testing.T) string {
	t.Helper()
	address, err := freeAddress()
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// faulted is a member of a host to which faults happen.
type faulted struct {
	*oneBox
	name               events.Member
	others             *crossing // where the other members reach it
	store, etcd, chain *link
	watch              watch
	life               sync.Mutex // guards that it is killed and started, and what watch says of that
	// ended is how often it ended by itself.
	ended int
}

// faultRig is a host of several members: each is a process, and so are etcd, event store and chain. All
// links but those to the client's data go through proxies.
type faultRig struct {
	*rig
	lease    time.Duration
	links    *links
	members  []*faulted
	record   *host // the event store's process
	etcd     *host
	storeDir string
	storeAt  string // without a proxy
	etcdAt   string
	dir      string
	account  events.Address
	began    time.Time
	claimed  map[string]string // what is under a fault, and which
	events   map[string]int    // how often each fault happened
	// lossIsKnown: the record lost events, which audits tell.
	lossIsKnown bool
}

// process makes a child process that is not started yet.
func (f *faultRig) process(binary, log string, env []string, args ...string) *host {
	f.t.Helper()
	file, err := os.Create(log)
	f.must(err)
	f.t.Cleanup(func() { file.Close() })
	h := &host{
		binary: binary, args: args, logTo: file, lines: make(chan line, 4096),
		env: append(config.Foreign(os.Environ()), env...),
	}
	f.t.Cleanup(func() { _ = h.kill() })
	go (&oneBox{host: h}).drain(f.t.Context())
	return h
}

// newFaultRig starts a host with the program and members of these names.
func newFaultRig(t *testing.T, bin string, beat time.Duration, names ...events.Member) *faultRig {
	t.Helper()
	return newFaultRigWith(t, bin, beat, faultLease, names...)
}

// newFaultRigWith is newFaultRig with a lease of another length.
func newFaultRigWith(t *testing.T, bin string, beat, lease time.Duration, names ...events.Member) *faultRig {
	t.Helper()
	dir, err := os.MkdirTemp(os.Getenv("HOSTNODE_TEST_DIR"), "hn") // Short, because of the sockets in it.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() && os.Getenv("HOSTNODE_TEST_DIR") != "" {
			t.Logf("everything is kept in %s", dir)
			return
		}
		_ = os.RemoveAll(dir)
	})
	f := &faultRig{
		rig:   &rig{t: t, period: faultPeriod, beat: beat, client: &client{}},
		lease: lease, links: newLinks(t), dir: dir, etcdAt: free(t),
		storeDir: filepath.Join(dir, "eventstore"), storeAt: free(t),
		claimed: map[string]string{}, events: map[string]int{},
	}
	f.account, err = keys.Create(filepath.Join(dir, "account.key"), "")
	f.must(err)
	f.key, err = keys.Load(filepath.Join(dir, "account.key"), "")
	f.must(err)
	f.startNode(bin, filepath.Join(dir, "node"), f.account)
	f.store(filepath.Join(dir, "client"))
	f.record = f.process(bin, filepath.Join(dir, "eventstore.log"), nil,
		"eventstore", "--insecure", "--data-dir", f.storeDir, "--listen", f.storeAt)
	f.must(f.record.start())
	itself, err := os.Executable()
	f.must(err)
	f.etcd = f.process(itself, filepath.Join(dir, "etcd.log"),
		[]string{etcdDir + "=" + filepath.Join(dir, "etcd"), etcdAt + "=" + f.etcdAt})
	f.must(f.etcd.start())
	for _, name := range names {
		f.add(bin, name, names)
	}
	for _, m := range f.members {
		f.must(m.start())
	}
	return f
}

// add makes a member that is not started yet, with further settings.
func (f *faultRig) add(bin string, name events.Member, names []events.Member, more ...string) *faulted {
	f.t.Helper()
	dir := f.dir
	listen, at := free(f.t), datadir.At(filepath.Join(dir, string(name)))
	way := func(to, address string) *link { return f.links.to(string(name)+" to "+to, address) }
	m := &faulted{
		name: name, others: f.crossTo(name, listen, names),
		store: way("event store", f.storeAt), etcd: way("etcd", f.etcdAt), chain: way("chain", f.wire.node),
	}
	m.oneBox = &oneBox{dir: at, api: newAPI(at), host: f.process(bin, filepath.Join(dir, string(name)+".log"), nil,
		"run", "--data-dir", at.Root, "--log-format", "json", "--content-sources", f.client.url,
		"--account-key-file", filepath.Join(dir, "account.key"),
		"--chain-endpoint", "ws://"+m.chain.at(), "--chain-contract", f.remote.Marketplace.String(),
		"--prover-samples", "1", "--prover-max-depth", "16", "--sales-max-slots-per-request", "8",
		"--store", urlOf(m.store.at()), "--cluster-name", "home", "--cluster-member", string(name),
		"--cluster-listen", listen, "--cluster-advertise", m.others.Addr().String(),
		"--cluster-etcd-endpoints", "http://"+m.etcd.at(), "--cluster-lease", f.lease.String(),
		"--cluster-give-way-after", faultGiveWay.String(),
	)}
	m.args = append(m.args, more...)
	f.members = append(f.members, m)
	go f.serve(m.others)
	f.box = m.oneBox // Its words are the last ones when something does not come.
	return m
}

// killIt kills the member, which is not meant to run from now on.
func (m *faulted) killIt() error {
	m.life.Lock()
	defer m.life.Unlock()
	m.watch.hinder(notThere, true, false)
	return m.kill()
}

// startIt starts it again.
func (m *faulted) startIt() error {
	m.life.Lock()
	defer m.life.Unlock()
	defer m.watch.hinder(notThere, false, true)
	return m.start()
}

// log is where a process writes what it says.
func (m *faulted) log() string { return m.logTo.(*os.File).Name() }

// said are the last lines of a member's log.
func (m *faulted) said(lines int) string {
	text, _ := os.ReadFile(m.log())
	all := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// offer puts room of each member on offer.
func (f *faultRig) offer(req events.Request) {
	f.t.Helper()
	for i, m := range f.members {
		f.box = m.oneBox
		f.offers(byte(i+1), req)
	}
}

// owner is the member that has the term, as far as any one knows that answers; nil: none answers.
func (f *faultRig) owner() (owner *faulted) {
	ctx, cancel := context.WithTimeout(f.t.Context(), 2*time.Second)
	defer cancel()
	var since time.Time
	for _, m := range f.members {
		if f.claimed[f.processOf(m)] != "" {
			continue
		}
		s, err := api.ShowStatus.Ask(ctx, m.api, api.Then{}) // One whose event store does not answer knows the former owner.
		i := slices.IndexFunc(f.members, func(o *faulted) bool { return o.name == s.Owner })
		if err == nil && i >= 0 && s.OwnerSince.After(since) {
			owner, since = f.members[i], s.OwnerSince
		}
	}
	return owner
}

func (f *faultRig) processOf(m *faulted) string { return "member " + string(m.name) }
