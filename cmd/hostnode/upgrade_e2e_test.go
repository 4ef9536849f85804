//go:build e2e

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
)

// A host that owes proofs is upgraded as the package does it: the program is replaced while it runs, then it is stopped
// and started. The chain is a process of its own, so its time goes on meanwhile. A proof samples one cell.
func TestAnUpgradeOfAHostThatRunsMissesNoProof(t *testing.T) {
	dir := t.TempDir()
	installed := filepath.Join(dir, "hostnode")
	host, market := smallConfig(t, filepath.Join(dir, "host")), smallConfig(t, filepath.Join(dir, "market"))
	install := func(version string) {
		t.Helper()
		out, err := exec.Command("go", "build", "-ldflags", "-X main.version="+version, "-o", installed+".new", ".").CombinedOutput()
		if err == nil {
			err = os.Rename(installed+".new", installed) // As dpkg does: the running program keeps its file.
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	command := func(c config.Config, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), installed, args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), c.Environ()...)
		return cmd
	}
	says := func(c config.Config, args ...string) string {
		t.Helper()
		var complaint strings.Builder
		cmd := command(c, args...)
		cmd.Stderr = &complaint
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v\n%s%s", args, err, out, complaint.String())
		}
		return string(out)
	}
	until := func(what string, out *tail, ok func() bool) {
		t.Helper()
		for range 600 {
			if ok() {
				return
			}
			select {
			case <-time.After(time.Second):
			case <-t.Context().Done():
			}
		}
		t.Fatalf("not yet: %s\n%s", what, out)
	}
	begin := func(c config.Config, args ...string) (*exec.Cmd, *tail) {
		t.Helper()
		out := &tail{}
		cmd := command(c, args...)
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		return cmd, out
	}
	after := func(out *tail, words string) (line string) {
		until(words, out, func() bool {
			_, rest, _ := strings.Cut(out.String(), words)
			line, _, _ = strings.Cut(rest, "\n")
			return strings.Contains(rest, "\n")
		})
		return line
	}
	proofs := func() (submitted, missed uint64) {
		var p api.Periods
		if json.Unmarshal([]byte(says(host, "duties", "periods", "--json")), &p) != nil {
			t.Fatal("duties periods is no JSON")
		}
		submitted, missed = p.Earlier.Submitted, p.Earlier.Missed
		for _, row := range p.Periods {
			submitted, missed = submitted+row.Submitted, missed+row.Missed
		}
		return submitted, missed
	}

	install("v1.0.0")
	account, _, _ := strings.Cut(says(host, "key", "new"), "\n")
	_, chain := begin(market, "devchain", "--fund", account)
	where := strings.Fields(after(chain, "hostnode run "))
	if err := os.WriteFile(filepath.Join(dir, "movie.bin"), make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	says(market, "client", "prepare", "movie.bin")
	_, served := begin(market, "client", "serve", "--listen", "127.0.0.1:0")
	run := append(append([]string{"run"}, where...), strings.Fields(after(served, "hostnode run "))...)
	process, log := begin(host, run...)
	until("the host runs", log, func() bool { return command(host, "status").Run() == nil })
	says(host, "availability", "add", "--size", "1GiB", "--duration", "720h", "--min-price", "1000",
		"--collateral", "5000000000000")
	says(market, "client", "request", "movie.bin", "--expiry", "20m")
	var before uint64
	until("a proof is made", log, func() bool {
		submitted, _ := proofs()
		before = submitted
		return before > 0
	})

	install("v1.0.1")
	stopping := time.Now()
	if err := process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := process.Wait(); err != nil {
		t.Fatalf("the host does not stop well: %v\n%s", err, log)
	}
	_, log = begin(host, run...)
	until("the host runs again", log, func() bool { return command(host, "status", "--exit-code").Run() == nil })
	away := time.Since(stopping)
	const more = 9 // Three slots, some periods.
	until("proofs are made by the new version", log, func() bool {
		submitted, _ := proofs()
		return submitted >= before+more
	})
	submitted, missed := proofs()
	t.Logf("%d proofs before the upgrade, %d after it, %d missed; away for %s, periods of %s",
		before, submitted-before, missed, away, market.Devchain.Period)
	if missed != 0 {
		t.Fatalf("%d proofs were missed\n%s", missed, log)
	}
}
