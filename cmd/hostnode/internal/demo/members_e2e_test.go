//go:build e2e

package demo

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/internal/localetcd"
)

// members is a host of several processes over one event store and one etcd.
type members struct {
	*rig
	record *recordServer
	etcd   *localetcd.Server
	boxes  map[string]*oneBox
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

// startMembers starts the members with the given names; each has room on offer for all slots.
func startMembers(t *testing.T, beat, period time.Duration, names ...string) (*members, events.Request) {
	t.Helper()
	etcd, err := localetcd.Start(t.TempDir(), free(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(etcd.Close)
	store := free(t)
	settings := func(name string) []string {
		return []string{
			"--store", urlOf(store), "--cluster-name", "home", "--cluster-member", name,
			"--cluster-listen", free(t), "--cluster-etcd-endpoints", "http://" + etcd.Addr(),
			"--cluster-lease", "2s",
		}
	}
	m := &members{rig: newRig(t, beat, period, false, settings(names[0])...), etcd: etcd, boxes: map[string]*oneBox{}}
	m.boxes[names[0]] = m.box
	m.record = m.serveRecord(store)
	req := m.client.request(period, 2)
	req.Expiry, req.Ask.Duration = 4*period, 9*period
	m.offers(1, req)
	for i, name := range names[1:] {
		b := m.beside(name, settings(name))
		m.boxes[name] = b
		m.box = b
		m.offers(byte(i+2), req)
	}
	m.box = m.boxes[names[0]]
	t.Cleanup(func() {
		for name, b := range m.boxes {
			if t.Failed() {
				t.Logf("the last words of %s: %s", name, b.lastComplaints())
			}
		}
	})
	return m, req
}

// beside starts another member on a disk of its own, with the same key.
func (m *members) beside(name string, settings []string) *oneBox {
	m.t.Helper()
	dir := datadir.At(filepath.Join(filepath.Dir(m.box.dir.Root), name))
	m.must(os.MkdirAll(dir.Root, 0o700))
	key, err := os.ReadFile(filepath.Join(m.box.dir.Root, "account.key"))
	m.must(err)
	m.must(os.WriteFile(dir.KeyFile(), key, 0o600))
	args := slices.Clone(m.box.args)
	args[slices.Index(args, "--data-dir")+1] = dir.Root
	for i := 0; i < len(settings); i += 2 {
		args[slices.Index(args, settings[i])+1] = settings[i+1]
	}
	log, err := os.Create(filepath.Join(dir.Root, "host.log"))
	m.must(err)
	m.t.Cleanup(func() { log.Close() })
	b := &oneBox{dir: dir, host: &host{
		binary: m.box.binary, env: m.box.env, logTo: log, lines: make(chan line, 4096), args: args,
	}, api: newAPI(dir)}
	m.must(b.start())
	m.t.Cleanup(func() { _ = b.kill() })
	go b.drain(m.t.Context())
	return b
}

// listed asks any member for all of them.
func (m *members) listed(ctx context.Context, of *oneBox) api.Members {
	all, err := of.api.Members(ctx)
	if err != nil {
		return api.Members{}
	}
	return all
}

// owner waits until a member has the term, other than the one that must not have it.
func (m *members) owner(asked *oneBox, not string) (name string) {
	m.t.Helper()
	m.await("a member to have the term", func(ctx context.Context) bool {
		term := m.listed(ctx, asked).Term
		if term == nil || !term.Ended.IsZero() {
			return false
		}
		name = term.Member
		return name != not
	})
	return name
}

// A request is sold by two members. The owner is killed: the other one takes the term, and what the
// living one hosts is proven. The killed one comes back and goes on.
func TestCIAHostOfTwoMembersIsPaidAlthoughItsOwnerIsKilled(t *testing.T) {
	m, req := startMembers(t, 150*time.Millisecond, 60*time.Second, "north", "south")
	m.must(m.client.enter(t.Context(), m.remote, price(req)))
	var err error
	req.ID, err = m.client.post(t.Context(), req)
	m.must(err)
	m.await("all slots are filled", func(ctx context.Context) bool { return m.logs(ctx, "SlotFilled", 0) >= 3 })
	owner := m.owner(m.boxes["south"], "")
	living := m.boxes["south"]
	if owner == "south" {
		living = m.boxes["north"]
	}
	m.must(m.boxes[owner].kill())
	next := m.owner(living, owner)
	t.Logf("%s had the term, then %s", owner, next)
	m.nextProof()
	m.must(m.boxes[owner].start())
	m.nextPeriod()
	m.nextProof()
	m.box = living
	m.box.settled(t, m.client, req)
	for _, b := range m.boxes {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		m.must(b.stop(ctx))
		cancel()
	}
	m.must(m.record.kill())
	missed := (&oneBox{dir: datadir.At(m.record.dir)}).account(t, 3)
	t.Logf("%d proofs were missed, of what the killed member hosts", missed)
}
