package cluster_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/hostnode/hostnode/actors/cluster"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/internal/localetcd"
)

func wantText(t *testing.T, err, kind error, parts ...string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Fatalf("the error is %v, not %v", err, kind)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error %q does not say %q", err, part)
		}
	}
}

func TestAnAddressThatIsInUseIsNamed(t *testing.T) {
	t.Parallel()
	cfg := config("m1", events.Address{1}, "127.0.0.1:1")
	other, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	wantText(t, startProcess(t, cfg).opened(), cluster.ErrListen, cfg.Listen)
}

func TestAMemberWithOtherFactsIsRefusedOnBothSides(t *testing.T) {
	t.Parallel()
	etcd := startEtcd(t)
	first := startProcess(t, config("m1", events.Address{1}, etcd.Addr())).mustOpen()
	other := config("m2", events.Address{1}, etcd.Addr())
	other.Facts = map[string]string{"chain": "2", "key": "a"}
	err := startProcess(t, other).opened()
	wantText(t, err, cluster.ErrRefused, "m1 at "+first.cfg.Listen, `chain is "2" here and "1" there`, `key is "a" here`)
	for !strings.Contains(first.log.String(), "a member is refused") {
		first.Seen() // It is about to be told.
	}
	for _, part := range []string{"m2 at " + other.Listen, `chain is \"1\" here and \"2\" there`} {
		if !strings.Contains(first.log.String(), part) {
			t.Errorf("the first one's log does not say %q: %s", part, first.log.String())
		}
	}
	first.sees("m1")
	if _, err := first.Call(soon(t), "m2", nil); !errors.Is(err, events.ErrMemberAway) {
		t.Errorf("asking who was refused: %v", err)
	}
	// One of another host may have any facts, and is none of ours.
	other.Host = events.Address{2}
	startProcess(t, other).mustOpen().sees("m2")
	first.sees("m1")
}

// What other clusters keep in the same etcd does not matter, and what is in the place of a member and nobody can read is
// named.
func TestAnEtcdWithTheDataOfOthers(t *testing.T) {
	t.Parallel()
	etcd := startEtcd(t)
	elsewhere := config("m1", events.Address{1}, etcd.Addr())
	elsewhere.Name = "other"
	elsewhere.Facts = map[string]string{"chain": "2"}
	other := startProcess(t, elsewhere).mustOpen()
	first := startProcess(t, config("m1", events.Address{1}, etcd.Addr())).mustOpen()
	for _, p := range []*process{other, first} {
		p.sees("m1")
		if held, err := p.Campaign(soon(t)); err != nil || held.Err() != nil {
			t.Fatal(err)
		}
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{etcd.Addr()}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	key := "/hostnode/test/" + events.Address{1}.String() + "/members/m9"
	if _, err := client.Put(t.Context(), key, "not of a member"); err != nil {
		t.Fatal(err)
	}
	err = startProcess(t, config("m2", events.Address{1}, etcd.Addr())).opened()
	wantText(t, err, cluster.ErrRefused, key, "not readable", "etcdctl del")
	first.sees("m1") // Who was there goes on.
	if _, err := client.Delete(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	startProcess(t, config("m2", events.Address{1}, etcd.Addr())).mustOpen()
	first.sees("m1", "m2")
}

func TestASecondProcessWithTheNameOfALivingMemberIsRefused(t *testing.T) {
	t.Parallel()
	etcd := startEtcd(t)
	cfg := config("m1", events.Address{1}, etcd.Addr())
	first := startProcess(t, cfg).mustOpen()
	second := cfg
	second.Listen = freeAddress()
	wantText(t, startProcess(t, second).opened(), cluster.ErrRefused, "another process runs as member m1 at "+cfg.Listen)
	first.sees("m1")
	first.kill()
	startProcess(t, cfg).mustOpen() // It waits until the lease of the dead one has expired.
}

func TestAMemberThatLeavesIsForgottenAtOnce(t *testing.T) {
	t.Parallel()
	etcd := startEtcd(t)
	cfg := config("m1", events.Address{1}, etcd.Addr())
	first := startProcess(t, cfg).mustOpen()
	second := startProcess(t, config("m2", events.Address{1}, etcd.Addr())).mustOpen()
	if _, err := first.Campaign(soon(t)); err != nil {
		t.Fatal(err)
	}
	if err := first.call("Close", 0, new(int)); err != nil {
		t.Fatal(err)
	}
	second.sees("m2")
	if held, err := second.Campaign(soon(t)); err != nil || held.Err() != nil {
		t.Fatal(err)
	}
	startProcess(t, cfg).mustOpen() // At the same address, beside the process that has left.
	second.sees("m1", "m2")
}

func TestAFrozenMemberLosesTheLeaseAndReturns(t *testing.T) {
	t.Parallel()
	etcd := startEtcd(t)
	first := startProcess(t, config("m1", events.Address{1}, etcd.Addr())).mustOpen()
	second := startProcess(t, config("m2", events.Address{1}, etcd.Addr())).mustOpen()
	held, err := first.Campaign(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	signal(t, first, syscall.SIGSTOP)
	other, err := second.Campaign(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	second.sees("m2")
	ctx, cancel := context.WithTimeout(t.Context(), shortLease)
	defer cancel()
	if _, err := second.Call(ctx, "m1", nil); !errors.Is(err, events.ErrMemberAway) {
		t.Errorf("asking a frozen member: %v", err)
	}
	signal(t, first, syscall.SIGCONT)
	<-held.Done()
	second.sees("m1", "m2")
	first.sees("m1", "m2")
	if other.Err() != nil {
		t.Error("the frozen one took the lease back")
	}
	first.Serve(func(context.Context, events.Member, []byte) ([]byte, error) { return nil, nil })
	for _, err := second.Call(soon(t), "m1", nil); err != nil; _, err = second.Call(soon(t), "m1", nil) {
		if t.Context().Err() != nil || !errors.Is(err, events.ErrMemberAway) {
			t.Fatal(err)
		}
	}
}

func TestAMemberWhoseNameWasTakenWhileItWasFrozenIsToldToEnd(t *testing.T) {
	t.Parallel()
	etcd := startEtcd(t)
	cfg := config("m1", events.Address{1}, etcd.Addr())
	first := startProcess(t, cfg).mustOpen()
	signal(t, first, syscall.SIGSTOP)
	cfg.Listen = freeAddress()
	startProcess(t, cfg).mustOpen()
	signal(t, first, syscall.SIGCONT)
	var f Fault
	if err := first.call("Failed", 0, &f); err != nil {
		t.Fatal(err)
	}
	wantText(t, f.err(), cluster.ErrRefused, "another process runs as member m1 at "+cfg.Listen)
}

func signal(t *testing.T, p *process, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

func TestMembersReturnByThemselvesWhenEtcdDoes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		lost bool // Its data is gone.
	}{{"with its data", false}, {"without its data", true}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			etcd, err := localetcd.Start(dir, "127.0.0.1:0", localetcd.TLS{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { etcd.Close() }) // Once the processes have ended, of which it would take leave.
			at := etcd.Addr()
			first := startProcess(t, config("m1", events.Address{1}, at)).mustOpen()
			second := startProcess(t, config("m2", events.Address{1}, at)).mustOpen()
			first.sees("m1", "m2")
			second.sees("m1", "m2")
			held, err := first.Campaign(soon(t))
			if err != nil {
				t.Fatal(err)
			}
			etcd.Close()
			<-held.Done()
			third := startProcess(t, config("m3", events.Address{1}, at)).mustOpen() // It starts all the same.
			third.sees("m3")
			if test.lost {
				dir = t.TempDir()
			}
			if etcd, err = localetcd.Start(dir, at, localetcd.TLS{}); err != nil {
				t.Fatal(err)
			}
			for _, p := range []*process{first, second, third} {
				p.sees("m1", "m2", "m3")
			}
			if held, err := second.Campaign(soon(t)); err != nil || held.Err() != nil {
				t.Fatal(err)
			}
		})
	}
}
