package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/keys"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/node"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
)

// silentPort is an address of this machine at which nobody answers.
func silentPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String() + "/?key=planted"
}

// patience is how long a busy machine may take, under the race detector, to make keys and start a host.
const patience = 4 * time.Minute

func TestAHostThatStartsWhileTheChainIsDownSaysSoAndCanBeLookedAt(t *testing.T) {
	dir := t.TempDir()
	c := config.Default()
	c.DataDir = filepath.Join(dir, "data")
	c.Account.KeyFile = filepath.Join(dir, "account.key")
	if _, err := keys.Create(c.Account.KeyFile, ""); err != nil {
		t.Fatal(err)
	}
	c.Prover.Samples, c.Prover.MaxDepth, c.Prover.MaxLog2Slots, c.Prover.KeysDir = 1, 6, 1, filepath.Join(dir, "keys")
	c.Chain.Endpoint, c.Chain.Contract = silentPort(t), "0x00000000000000000000000000000000000000cc"
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, config.Loaded{Config: c}, node.Begin{}, cli.NewLog(c, t.Output())) }()
	client := api.NewClient(datadir.At(c.DataDir).Socket())
	defer client.Close()
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var s api.Status
	for len(s.Readiness) == 0 || s.Readiness[0].Code != "chain-away" {
		var err error
		if s, err = api.ShowStatus.Ask(waiting, client, api.Then{}); err != nil && waiting.Err() != nil {
			t.Fatalf("%v; the last status: %+v", err, s)
		}
		select {
		case err := <-ended:
			t.Fatalf("the host ended: %v", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	if s.Selling || !strings.Contains(s.Reason, "the chain does not answer since 20") ||
		!strings.Contains(s.Reason, "connection refused") || strings.Contains(s.Reason, "planted") ||
		s.Readiness[1].Code != "starting" || s.Account == "" {
		t.Errorf("status: %+v", s)
	}
	if a, err := api.RunAudit.Ask(waiting, client, api.AuditOptions{}); err != nil || !a.Clean || a.Store == nil {
		t.Errorf("audit: %v, %+v", err, a)
	}
	if _, err := api.PauseQueue.Ask(waiting, client, api.Send(api.Why{Reason: "no"})); !errors.Is(err, problem.ErrStandby) {
		t.Errorf("a command: %v", err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("the end: %v", err)
	}
}

// The system accepts connections for a process that is busy or stopped.
func TestAHostThatIsSlowToAnswerIsNotSaidToStartOrStop(t *testing.T) {
	dir, err := os.MkdirTemp("", "slow") // A socket's path is short.
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	owned, err := datadir.Open(dir, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer owned.Close()
	l, err := net.Listen("unix", datadir.At(dir).Socket())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var out strings.Builder
	a := &app{App: &cli.App{Stdout: &out, Stderr: &out, Now: time.Now}}
	if code := a.run(t.Context(), []string{"status", "--data-dir", dir}); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	said := out.String()
	if !strings.Contains(said, fmt.Sprintf("process %d has %s", os.Getpid(), dir)) ||
		!strings.Contains(said, "slow to answer") || strings.Contains(said, "starting") {
		t.Errorf("status says\n%s", said)
	}
}
