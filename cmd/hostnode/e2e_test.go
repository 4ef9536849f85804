//go:build e2e

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/demo"
)

// The tests of this file run the real program, kill it and start it again. A proof samples one
// cell, so that a run takes a minute less; everything else is as for an operator.
// HOSTNODE_TEST_SEED repeats the moments of a run.

var buildOnce = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "hostnode-e2e-")
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, "hostnode")
	out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return binary, nil
})

func program(t *testing.T) string {
	t.Helper()
	binary, err := buildOnce()
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// chance is the seed of a test's random moments.
func chance(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("HOSTNODE_TEST_SEED"); text != "" {
		if _, err := fmt.Sscan(text, &seed); err != nil {
			t.Fatalf("HOSTNODE_TEST_SEED: %v", err)
		}
	}
	t.Logf("repeat with HOSTNODE_TEST_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 7))
}

func smallConfig(t *testing.T, dir string) config.Config {
	t.Helper()
	c := config.Default()
	c.DataDir = dir
	c.Prover.Samples, c.Prover.MaxDepth = 1, 16
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	c.Prover.KeysDir = filepath.Join(cache, "hostnode", "keys")
	return c
}

// sellWithKills runs the demonstration and kills the host at the given lines
// of its log, counted over all starts.
func sellWithKills(t *testing.T, dir, file string, slots int, at ...int) demo.Summary {
	t.Helper()
	when := map[int]bool{}
	for _, n := range at {
		when[n] = true
	}
	out := &tail{}
	sum, err := demo.Run(t.Context(), demo.Options{
		Config: smallConfig(t, dir), File: file, Slots: slots, Periods: 3, Binary: program(t),
		Out: out, Kill: func(line int) bool { return when[line] },
	})
	if err != nil {
		t.Fatalf("killed at lines %v: %v\n%s", at, err, out)
	}
	t.Logf("killed at lines %v: %d proofs, %d missed, %.0f s", at, sum.ProofsSubmitted, sum.ProofsMissed, sum.Seconds)
	return sum
}

// tail keeps the last part of an output, for failures.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

func (w *tail) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf = append(w.buf, b...)
	if most := 16 << 10; len(w.buf) > most {
		w.buf = w.buf[len(w.buf)-most:]
	}
	return len(b), nil
}

func (w *tail) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.buf)
}

func TestCIHostKilledBesideItsChainIsPaid(t *testing.T) {
	r := chance(t)
	sum := sellWithKills(t, t.TempDir(), "", 3, 5+r.IntN(60))
	if sum.Kills != 1 {
		t.Fatalf("the host was killed %d times, want once", sum.Kills)
	}
}

func TestHostKilledAtManyMomentsIsPaidEachTime(t *testing.T) {
	r := chance(t)
	dir := t.TempDir() // Several sales in one data directory, one after the other.
	for range 4 {
		var at []int
		for range 3 {
			at = append(at, 3+r.IntN(90))
		}
		sellWithKills(t, dir, "", 3, at...)
	}
}

func TestFilesOfSeveralSizesAreSold(t *testing.T) {
	for _, size := range []int64{1 << 20, 4 << 20, 64 << 20} {
		t.Run(fmt.Sprintf("%dMiB", size>>20), func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "data")
			f, err := os.Create(file)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.CopyN(f, rand.NewChaCha8([32]byte{byte(size)}), size); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			sellWithKills(t, filepath.Join(dir, "node"), file, 3, 30)
		})
	}
}

// The command itself, as a newcomer runs it.
func TestDemoCommandEndsWithOneJSONObject(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program(t), "demo", "--json", "--data-dir", t.TempDir(),
		"--prover-samples", "1", "--prover-max-depth", "16", "--account-key-file", filepath.Join(t.TempDir(), "of.key"))
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lines := splitLines(out)
	var sum demo.Summary
	if err := json.Unmarshal(lines[len(lines)-1], &sum); err != nil {
		t.Fatalf("the last line is no JSON object: %v\n%s", err, lines[len(lines)-1])
	}
	if !sum.Paid || sum.AuditFindings != 0 || sum.ProofsMissed != 0 || sum.Kills != 1 {
		t.Fatalf("summary: %+v", sum)
	}
}

// The demonstrations that no script runs, because they take minutes (manual_test.go).
func TestTheLongDemonstrationsEndWell(t *testing.T) {
	for _, name := range []string{"downtime", "aggregation"} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), program(t), "demo", name)
			cmd.Dir = t.TempDir()
			cmd.Env = append(os.Environ(), smallConfig(t, filepath.Join(cmd.Dir, "data")).Environ()...)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		})
	}
}

func splitLines(out []byte) [][]byte {
	var lines [][]byte
	start := 0
	for i, b := range out {
		if b == '\n' {
			lines = append(lines, out[start:i])
			start = i + 1
		}
	}
	return lines
}
