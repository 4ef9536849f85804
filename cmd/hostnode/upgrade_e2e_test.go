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
	type process struct {
		*exec.Cmd
		says  *tail
		ended chan error
	}
	begin := func(c config.Config, args ...string) process {
		t.Helper()
		p := process{command(c, args...), &tail{}, make(chan error, 1)}
		p.Stdout, p.Stderr = p.says, p.says
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		go func() { p.ended <- p.Wait() }()
		t.Cleanup(func() { _ = p.Process.Kill() })
		return p
	}
	until := func(what string, p process, ok func() bool) {
		t.Helper()
		look, patience := time.NewTicker(time.Second), time.After(8*time.Minute)
		defer look.Stop()
		for !ok() {
			select {
			case <-look.C:
			case err := <-p.ended:
				t.Fatalf("it ended before %s: %v\n%s", what, err, p.says)
			case <-patience:
				t.Fatalf("not yet: %s\n%s", what, p.says)
			}
		}
	}
	after := func(p process, words string) (line string) {
		t.Helper()
		until(words, p, func() bool {
			_, rest, _ := strings.Cut(p.says.String(), words)
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
	chain := begin(market, "devchain", "--fund", account)
	where := strings.Fields(after(chain, "hostnode run "))
	if err := os.WriteFile(filepath.Join(dir, "movie.bin"), make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	says(market, "client", "prepare", "movie.bin")
	served := begin(market, "client", "serve", "--listen", "127.0.0.1:0")
	// What it prints before that names the client's data directory.
	source := strings.Fields(after(served, "--content-sources "))[0]
	run := append([]string{"run", "--content-sources", source, "--sales-max-slots-per-request", "3"}, where...)
	running := begin(host, run...)
	after(running, "the host runs")
	says(host, "availability", "add", "--size", "1GiB", "--duration", "720h", "--min-price", "1000",
		"--collateral", "5000000000000")
	says(market, "client", "request", "movie.bin", "--expiry", "20m")
	var before uint64
	until("a proof is made", running, func() bool {
		submitted, _ := proofs()
		before = submitted
		return before > 0
	})

	install("v1.0.1")
	stopping := time.Now()
	if err := running.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-running.ended; err != nil {
		t.Fatalf("the host does not stop well: %v\n%s", err, running.says)
	}
	running = begin(host, run...)
	until("the host runs again", running, func() bool { return command(host, "status", "--exit-code").Run() == nil })
	away := time.Since(stopping)
	const more = 9 // Three slots, some periods.
	until("proofs are made by the new version", running, func() bool {
		submitted, _ := proofs()
		return submitted >= before+more
	})
	submitted, missed := proofs()
	t.Logf("%d proofs before the upgrade, %d after it, %d missed; away for %s, periods of %s",
		before, submitted-before, missed, away, market.Devchain.Period)
	if missed != 0 {
		t.Fatalf("%d proofs were missed\n%s", missed, running.says)
	}
}
