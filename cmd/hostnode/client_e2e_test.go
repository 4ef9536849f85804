//go:build e2e

package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/requester"
	"github.com/hostnode/hostnode/events"
)

// The commands of README and docs/operating.md, in their order: a host that runs sells to somebody who has nothing but the program.
func TestCIARequestOfTheClientIsSoldByAHostThatRuns(t *testing.T) {
	dir := t.TempDir()
	c := smallConfig(t, filepath.Join(dir, "data"))
	command := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), program(t), args...)
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
		cmd.Dir, cmd.Env = dir, append(os.Environ(), c.Environ()...)
		return cmd
	}
	says := func(args ...string) string {
		t.Helper()
		cmd := command(args...)
		var complaint strings.Builder
		cmd.Stderr = &complaint
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v\n%s%s", args, err, out, complaint.String())
		}
		return string(out)
	}
	begin := func(args ...string) *tail {
		t.Helper()
		out := &tail{}
		cmd := command(args...)
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Signal(os.Interrupt)
			if err := cmd.Wait(); t.Failed() {
				t.Logf("%v ended with %v:\n%s", args, err, out)
			} else if !strings.Contains(out.String(), "stopped") {
				t.Errorf("%v does not say that it has stopped:\n%s", args, out)
			}
		})
		return out
	}
	if err := os.WriteFile(filepath.Join(dir, "movie.bin"), make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	refused := "" // what was last said instead
	patient, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	until := func(what string, ok func() bool) {
		t.Helper()
		look := time.NewTicker(time.Second)
		defer look.Stop()
		for !ok() {
			select {
			case <-look.C:
			case <-patient.Done():
				t.Fatalf("not yet: %s; %s", what, refused)
			}
		}
	}
	says("client", "prepare", "movie.bin")
	served := begin("client", "serve", "--listen", "127.0.0.1:0")
	var printed []string
	until("the blocks are served", func() bool {
		_, says, _ := strings.Cut(served.String(), "hostnode run ")
		printed = strings.Fields(says)
		return strings.HasSuffix(says, "\n")
	})
	begin(append([]string{"run"}, printed...)...)
	until("the host takes the offer", func() bool { // It refuses orders until it runs.
		out, err := command("availability", "add", "--size", "1GiB", "--duration", "720h", "--min-price", "1000",
			"--collateral", "5000000000000").CombinedOutput()
		refused = string(out)
		return err == nil
	})
	says("client", "request", "movie.bin", "--expiry", "20m")
	until("all slots are filled", func() bool {
		var all []requester.Progress
		if err := json.Unmarshal([]byte(says("client", "status", "movie.bin", "--json")), &all); err != nil {
			t.Fatal(err)
		}
		return len(all) == 1 && all[0].State == events.RequestStarted && all[0].Filled == 3
	})
	if said := says("client", "status"); !strings.Contains(said, "movie.bin: stored, 3 of 3 slots filled") {
		t.Fatalf("it says:\n%s", said)
	}
	id, _, _ := strings.Cut(says("client", "status"), " ")
	if said := says("client", "withdraw", id); !strings.Contains(said, "nothing      to collect of request "+id+": stored") {
		t.Fatalf("it says:\n%s", said)
	}
}
