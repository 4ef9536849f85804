//go:build !race

package demo

import (
	"bytes"
	"context"

	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/node"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sale"
)

// hosting is a data directory whose host has three slots, and has stopped.
type hosting struct {
	dir    string
	config config.Config
	slot   string // the directory of one of the slots
}

// said is what a host says in its log.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// buildHosting builds the directory: everything is embedded, as `hostnode run` has it.
func buildHosting(t *testing.T) *hosting {
	t.Helper()
	root, err := os.MkdirTemp("", "hn") // Short: a socket's path is limited.
	check(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	c := &client{}
	t.Cleanup(c.close)
	file := filepath.Join(root, "data")
	check(t, makeData(file))
	c.dataset, err = prepare(t.Context(), file, filepath.Join(root, "datasets"), 3, nil)
	check(t, err)
	check(t, c.serve())
	h := &hosting{dir: filepath.Join(root, "host"), config: config.Default()}
	h.config.DataDir = h.dir
	h.config.Prover.Samples, h.config.Prover.MaxDepth = 1, 12
	h.config.Prover.KeysDir = filepath.Join(root, "keys")
	h.config.Devchain.BlockInterval = 50 * time.Millisecond
	h.config.Content.Sources = []string{c.url}
	h.config.Sales.MaxSlotsPerRequest, h.config.Sales.MaxWorkers = 3, 3
	p, err := node.Open(t.Context(), h.config, node.Begin{}, logTo(&said{}))
	check(t, err)
	request := c.request(h.config.Devchain.Period, 1000)
	check(t, c.enter(t.Context(), p.Local, price(request)))
	h.fill(t, p, c, request)
	check(t, p.Close(context.WithoutCancel(t.Context())))
	p, err = node.Open(t.Context(), h.config, node.Begin{}, logTo(&said{})) // So that there are tables.
	check(t, err)
	check(t, p.Close(context.WithoutCancel(t.Context())))
	slots, err := filepath.Glob(filepath.Join(h.dir, "slots", "slots", "*"))
	check(t, err)
	h.slot, err = filepath.Rel(h.dir, slots[0])
	check(t, err)
	h.config.Devchain.BlockInterval = time.Minute
	return h
}

func (h *hosting) fill(t *testing.T, p *node.Process, c *client, request events.Request) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	until := func(done func() bool) {
		for !done() {
			select {
			case <-time.After(idlePace):
			case <-ctx.Done():
				t.Fatal(ctx.Err())
			}
		}
	}
	until(func() bool {
		return p.Host.Ledger(ctx, capacity.Create{At: time.Now(), ID: events.AvailabilityID{1}, Now: capacity.Offer{
			Size: 100 << 20, Duration: 240 * time.Hour, MinPrice: events.NewAmount(1),
			Collateral: events.NewAmount(math.MaxInt64), Enabled: true,
		}}) == nil
	})
	_, err := c.post(ctx, request)
	check(t, err)
	until(func() bool { return hosted(ctx, p) == 3 })
}

// hosted is how many slots the host holds.
func hosted(ctx context.Context, p *node.Process) (n int) {
	st, err := p.Host.Status(ctx)
	if err != nil {
		return 0
	}
	for _, s := range st.Sales {
		if s.State.Phase == sale.Proving {
			n++
		}
	}
	return n
}

func logTo(s *said) *logrus.Entry {
	log := logrus.New()
	log.SetOutput(s)
	return logrus.NewEntry(log)
}

// start starts a host in a copy of the directory that was damaged. What it says is empty when it did not
// start, and why it did not otherwise.
func (h *hosting) start(t *testing.T, hurt func(dir string)) (n int, log string, refused *api.Problem) {
	t.Helper()
	root, err := os.MkdirTemp("", "hn")
	check(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	dir := filepath.Join(root, "host")
	check(t, os.CopyFS(dir, os.DirFS(h.dir)))
	check(t, os.Chmod(filepath.Join(dir, "account.key"), 0o600))
	hurt(dir)
	c := h.config
	c.DataDir = dir
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out := &said{}
	p, err := node.Open(ctx, c, node.Begin{}, logTo(out))
	if err != nil {
		return 0, out.String(), api.Explain(err)
	}
	deadline := time.Now().Add(6 * time.Second)
	for n = hosted(ctx, p); n != 3 && time.Now().Before(deadline); n = hosted(ctx, p) {
		time.Sleep(idlePace)
	}
	check(t, p.Close(context.WithoutCancel(t.Context())))
	return n, out.String(), nil
}


func one(t *testing.T, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	check(t, err)
	if len(files) == 0 {
		t.Fatalf("no %s", pattern)
	}
	return files[len(files)-1]
}

var damages = map[string]func(t *testing.T, path string){
	"flip": func(t *testing.T, path string) {
		b, err := os.ReadFile(path)
		check(t, err)
		if len(b) == 0 {
			t.Skip()
		}
		b[len(b)/2] ^= 1
		check(t, os.WriteFile(path, b, 0o600))
	},
	"cut": func(t *testing.T, path string) {
		info, err := os.Stat(path)
		check(t, err)
		check(t, os.Truncate(path, info.Size()/2))
	},
	"delete": func(t *testing.T, path string) { check(t, os.Remove(path)) },
	"garbage": func(t *testing.T, path string) {
		info, err := os.Stat(path)
		check(t, err)
		b := make([]byte, max(info.Size(), 64))
		for i := range b {
			b[i] = byte(i*i*31 + i*7 + 133)
		}
		check(t, os.WriteFile(path, b, 0o600))
	},
}

func TestExplore(t *testing.T) {
	h := buildHosting(t)
	for _, pattern := range strings.Fields(os.Getenv("FILES")) {
		for name, hurt := range damages {
			t.Run(pattern+" "+name, func(t *testing.T) {
				n, log, refused := h.start(t, func(dir string) {
					hurt(t, one(t, filepath.Join(dir, strings.Replace(pattern, "SLOT", h.slot, 1))))
				})
				if refused != nil {
					t.Logf("REFUSED %s: %s\n%s", refused.Code, refused.Detail, refused.Hint)
				} else {
					t.Logf("HOSTS %d\n%s", n, words(log))
				}
			})
		}
	}
}

func words(log string) string {
	var out []string
	for line := range strings.Lines(log) {
		if !strings.Contains(line, "level=info") {
			out = append(out, line)
		}
	}
	return strings.Join(out, "")
}
