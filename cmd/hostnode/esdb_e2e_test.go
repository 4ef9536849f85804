//go:build e2e

package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/demo"
)

// eventstore is `hostnode eventstore` in a process of its own, always at the
// same address.
type eventstore struct {
	t       *testing.T
	binary  string
	dir     string
	address string
	cmd     *exec.Cmd
}

func startEventstore(t *testing.T) *eventstore {
	t.Helper()
	// The port is free now, and nobody else on a test machine asks for it by number.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &eventstore{t: t, binary: program(t), dir: t.TempDir(), address: l.Addr().String()}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.kill() }) // The process may have ended already.
	return s
}

// url is what clients connect to. Calls are abandoned soon, so that a test need
// not wait.
func (s *eventstore) url() string { return "esdb://" + s.address + "?tls=false" }

// start returns when the server listens.
func (s *eventstore) start() error {
	cmd := exec.Command(s.binary, "eventstore", "--insecure", "--data-dir", s.dir, "--listen", s.address)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	log, err := os.OpenFile(s.dir+"/server.log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	s.cmd = cmd
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.Contains(line, s.address) {
		text, _ := os.ReadFile(s.dir + "/server.log")
		return fmt.Errorf("the event store does not serve: %q, %w\n%s", line, err, text)
	}
	return nil
}

func (s *eventstore) kill() error {
	if err := s.cmd.Process.Kill(); err != nil {
		return err
	}
	_ = s.cmd.Wait() // It was killed.
	return nil
}

// sellOverTheWire runs the demonstration with its record in another process,
// and kills host and store at the given lines of the host's log.
func sellOverTheWire(t *testing.T, s *eventstore, dir string, away time.Duration, hostAt, storeAt map[int]bool) {
	t.Helper()
	out := &tail{}
	c := smallConfig(t, dir)
	c.EventStore.URL = s.url()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	storeKills := 0
	sum, err := demo.Run(ctx, demo.Options{
		Config: c, Slots: 3, Periods: 3, Binary: program(t), Out: out,
		Kill: func(line int) bool {
			if storeAt[line] {
				storeKills++
				if err := s.kill(); err != nil {
					t.Errorf("kill the event store: %v", err)
				}
				// The host must do without its record for a while: an outage has a duration and
				// no event to wait for.
				<-time.After(away)
				if err := s.start(); err != nil {
					t.Errorf("start the event store again: %v", err)
				}
			}
			return hostAt[line]
		},
	})
	if err != nil {
		t.Fatalf("host killed at %v, store at %v: %v\n%s", hostAt, storeAt, err, out)
	}
	t.Logf("host killed %d times, store %d times: %d proofs, %d missed, %.0f s",
		sum.Kills, storeKills, sum.ProofsSubmitted, sum.ProofsMissed, sum.Seconds)
	if !sum.Paid || sum.AuditFindings != 0 || sum.ProofsMissed != 0 {
		t.Fatalf("summary: %+v", sum)
	}
}

func TestCISaleWithItsRecordInAnotherProcessIsPaid(t *testing.T) {
	r := chance(t)
	s := startEventstore(t)
	sellOverTheWire(t, s, t.TempDir(), 10*time.Second,
		map[int]bool{5 + r.IntN(40): true}, map[int]bool{5 + r.IntN(40): true})
}

func TestBothSidesKilledAtRandomSellEachTime(t *testing.T) {
	r := chance(t)
	s := startEventstore(t)
	dir := t.TempDir() // Several sales of one host, one after the other.
	for range 4 {
		host, store := map[int]bool{}, map[int]bool{}
		for range 3 {
			host[3+r.IntN(90)] = true
			store[3+r.IntN(90)] = true
		}
		sellOverTheWire(t, s, dir, time.Duration(r.IntN(20_000))*time.Millisecond, host, store)
	}
}

// HOSTNODE_TEST_ESDB names the EventStoreDB of whoever runs the tests.
func TestSaleWithItsRecordInAnyEventStoreDBIsPaid(t *testing.T) {
	url := os.Getenv("HOSTNODE_TEST_ESDB")
	if url == "" {
		t.Skip("HOSTNODE_TEST_ESDB names no server; docs/eventstore.md says how to give one")
	}
	c := smallConfig(t, t.TempDir())
	c.EventStore.URL = url
	out := &tail{}
	kill := 5 + chance(t).IntN(60)
	sum, err := demo.Run(t.Context(), demo.Options{
		Config: c, Slots: 3, Periods: 3, Binary: program(t), Out: out,
		Kill: func(line int) bool { return line == kill },
	})
	if err != nil || !sum.Paid {
		t.Fatalf("killed at line %d: %+v, %v\n%s", kill, sum, err, out)
	}
}
