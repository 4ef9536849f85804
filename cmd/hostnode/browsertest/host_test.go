//go:build browser

package browsertest

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
)

const root = "../../.."

// limit is how long anything may take that is waited for.
const limit = time.Minute

var build = sync.OnceValues(func() (string, error) {
	binary, err := filepath.Abs(filepath.Join(root, "build", "browsertest", "hostnode"))
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-ldflags", "-s -w", "-o", binary, "./cmd/hostnode")
	cmd.Dir = root
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	return binary, cmd.Run()
})

// host is a host on a development chain of its own, which sells what a client has prepared.
type host struct {
	t           *testing.T
	binary, dir string
	env, args   []string
	url         string
	run         *exec.Cmd
}

// output keeps what a process says. Safe for concurrent use.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// address is one on this machine that nobody uses.
func address(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return l.Addr().String()
}

// nothing is a host that is neither set up nor started.
func nothing(t *testing.T) *host {
	t.Helper()
	binary, err := build()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	c := config.Default()
	c.DataDir, c.API.Listen = filepath.Join(dir, "data"), address(t)
	c.API.RequestsPerSecond, c.API.Burst = 1000, 1000 // One browser is many here.
	c.Prover.Samples, c.Prover.MaxDepth = 1, 16
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	c.Prover.KeysDir = filepath.Join(cache, "hostnode", "keys")
	usual := config.Default().Environ()
	chosen := slices.DeleteFunc(c.Environ(), func(v string) bool { return slices.Contains(usual, v) })
	return &host{
		t: t, binary: binary, dir: dir, env: append(os.Environ(), chosen...), args: []string{"run"},
		url: "http://" + c.API.Listen + "/page/",
	}
}

// newHost starts a host whose first request is being sold.
func newHost(t *testing.T) *host {
	t.Helper()
	h := nothing(t)
	if err := os.WriteFile(filepath.Join(h.dir, "movie.bin"), make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	h.says("client", "prepare", "movie.bin")
	served := &output{}
	h.begin(served, "client", "serve", "--listen", "127.0.0.1:0")
	h.until("the blocks are served", func() bool {
		_, says, _ := strings.Cut(served.String(), "hostnode run ")
		h.args = append([]string{"run"}, strings.Fields(says)...)
		return strings.HasSuffix(says, "\n")
	})
	h.start()
	h.until("space is on offer", func() bool {
		return h.command("availability", "add", "--size", "1GiB", "--duration", "720h", "--min-price", "1000",
			"--collateral", "5000000000000").Run() == nil
	})
	h.says("client", "request", "movie.bin", "--expiry", "20m")
	return h
}

func (h *host) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(h.t.Context(), h.binary, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Dir, cmd.Env = h.dir, h.env
	return cmd
}

// says runs a command, and returns what it says.
func (h *host) says(args ...string) string {
	h.t.Helper()
	cmd := h.command(args...)
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		h.t.Fatalf("%v: %v\n%s%s", args, err, out, complaint.String())
	}
	return string(out)
}

// begin starts a process that ends with the test.
func (h *host) begin(out *output, args ...string) *exec.Cmd {
	h.t.Helper()
	cmd := h.command(args...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt) // If it has ended, there is nobody to tell.
		if err := cmd.Wait(); h.t.Failed() {
			said := out.String() // Its end: what failed is not to be lost above it.
			h.t.Logf("%v ended with %v:\n%s", args, err, said[max(0, len(said)-2000):])
		}
	})
	return cmd
}

// start begins to run the host. Orders are refused for a while.
func (h *host) start() {
	h.t.Helper()
	h.run = h.begin(&output{}, h.args...)
}

func (h *host) kill(p *exec.Cmd) {
	h.t.Helper()
	if err := p.Process.Kill(); err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) until(what string, so func() bool) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), limit)
	defer cancel()
	if !waits(ctx, so) {
		h.t.Fatalf("not within %s: %s", limit, what)
	}
}

// waits looks again and again until something is so; false: the time was over.
func waits(ctx context.Context, so func() bool) bool {
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for !so() {
		select {
		case <-look.C:
		case <-ctx.Done():
			return false
		}
	}
	return true
}
