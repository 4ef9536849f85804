//go:build !race

package demo

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/node"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem/rows"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/requester"
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
	check(t, makeBytes(file, madeBytes))
	c.dataset, err = prepare(t.Context(), file, filepath.Join(root, "datasets"), 3, nil)
	check(t, err)
	check(t, c.serve())
	h := &hosting{dir: filepath.Join(root, "host"), config: config.Default()}
	h.config.DataDir = h.dir
	h.config.Prover.Samples, h.config.Prover.MaxDepth = 1, 12
	h.config.Prover.KeysDir = filepath.Join(h.dir, "keys")
	h.config.Devchain.BlockInterval = 50 * time.Millisecond
	h.config.Content.Sources = []string{c.url}
	h.config.Sales.MaxSlotsPerRequest, h.config.Sales.MaxWorkers = 3, 3
	p, err := openHost(t.Context(), h.config, &said{})
	check(t, err)
	request := c.request(h.config.Devchain.Period, 1000)
	request.Expiry = request.Ask.Duration / 2 // However slow this machine is.
	check(t, c.enter(t.Context(), p.Local, requester.Price(request)))
	h.fill(t, p, c, request)
	check(t, closeHost(t.Context(), p))
	p, err = openHost(t.Context(), h.config, &said{}) // So that there are tables.
	check(t, err)
	check(t, closeHost(t.Context(), p))
	slots, err := filepath.Glob(filepath.Join(h.dir, "slots", "slots", "*"))
	check(t, err)
	h.slot, err = filepath.Rel(h.dir, slots[0])
	check(t, err)
	h.config.Devchain.BlockInterval = time.Minute
	return h
}

// openHost starts a host as `hostnode run` does.
func openHost(ctx context.Context, c config.Config, out *said) (*node.Process, error) {
	p, err := node.Take(c, node.Begin{}, logTo(out))
	if err != nil {
		return nil, err
	}
	if err := p.Start(ctx, func() {}); err != nil {
		return nil, errors.Join(err, closeHost(ctx, p))
	}
	return p, nil
}

func closeHost(ctx context.Context, p *node.Process) error {
	return errors.Join(p.Stop(context.WithoutCancel(ctx)), p.Close())
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

// start starts a host in a damaged copy of the directory. It returns how many slots are hosted
// and what was logged, or why the host did not start.
func (h *hosting) start(t *testing.T, hurt func(dir string)) (n int, log string, refused *problem.Problem) {
	t.Helper()
	root, err := os.MkdirTemp("", "hn")
	check(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	dir := filepath.Join(root, "host")
	check(t, os.CopyFS(dir, os.DirFS(h.dir)))
	check(t, os.Chmod(filepath.Join(dir, "account.key"), 0o600))
	hurt(dir)
	c := h.config
	c.DataDir, c.Prover.KeysDir = dir, filepath.Join(dir, "keys")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out := &said{}
	p, err := openHost(ctx, c, out)
	if err != nil {
		return 0, out.String(), rows.All().Explain(err)
	}
	for n = hosted(ctx, p); n != 3 && ctx.Err() == nil; n = hosted(ctx, p) { // It is booting.
		select {
		case <-time.After(idlePace):
		case <-ctx.Done():
		}
	}
	check(t, closeHost(t.Context(), p))
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

// fate is what follows from damage: a refusal with a code, or a start after which the host still has all its slots. Says
// is a part of what the operator reads, about what is damaged and what to do.
type fate struct{ refused, says string }

// fates lists, for each file of a data directory, what follows from each kind of damage, in the
// order of docs/restart.md. SLOT is the directory of a slot.
var fates = []struct {
	file string
	flip fate
	cut  fate
	gone fate
	junk fate
}{
	{
		"format",
		fate{"data-dir-format", "echo 'hostnode 1'"},
		fate{"data-dir-format", "echo 'hostnode 1'"},
		fate{"data-dir-format", "format is missing"},
		fate{"data-dir-format", "echo 'hostnode 1'"},
	},
	{"hostnode.lock", fate{}, fate{}, fate{}, fate{}},
	{
		"account.key",
		fate{"*", "hostnode key import"},
		fate{"key-malformed", "hostnode key import"},
		fate{"account-key-lost", "hostnode key import"},
		fate{"key-malformed", "hostnode key import"},
	},
	{
		"account",
		fate{"*", "account"},
		fate{"account-illegible", "hostnode key show"},
		fate{},
		fate{"account-illegible", "hostnode key show"},
	},
	{
		"events/FORMAT",
		fate{"store-damaged", "hostnode repair"},
		fate{"store-damaged", "hostnode repair"},
		fate{"store-damaged", "hostnode repair"},
		fate{"store-damaged", "hostnode repair"},
	},
	{"events/MARK", fate{"", unmarked}, fate{"", unmarked}, fate{"", unmarked}, fate{"", unmarked}},
	{
		"events/pebble/*.log",
		fate{"store-damaged", "events are gone"},
		fate{"store-damaged", "events are gone"},
		fate{"store-damaged", "events are gone"},
		fate{"store-damaged", "events are gone"},
	},
	{
		"events/pebble/*.sst",
		fate{"*", "hostnode repair"},
		fate{"store-damaged", "hostnode repair"},
		fate{"store-damaged", "hostnode repair"},
		fate{"store-damaged", "hostnode repair"},
	},
	{
		"outbox/*",
		fate{"outbox-damaged", "hostnode repair"},
		fate{"", "was completed from the event store"},
		fate{"", "was completed from the event store"},
		fate{"outbox-damaged", "hostnode repair"},
	},
	{
		"slots/FORMAT", fate{}, fate{}, // Its number is untouched.
		fate{"", "written again"}, fate{"", "written again"},
	},
	{
		"slots/IDENTITY", fate{}, fate{}, // One of its two lines is whole.
		fate{"", "the disk with the data is away"}, fate{"", "the disk with the data is away"},
	},
	{"slots.id", fate{}, fate{}, fate{}, fate{"", "the disk with the data is away"}},
	{"SLOT/slot.json", fate{}, fate{}, fate{}, fate{}},
	{"SLOT/manifest", fate{}, fate{}, fate{}, fate{}},
	{"SLOT/blocks", fate{}, fate{}, fate{}, fate{}},
	{"SLOT/roots", fate{}, fate{}, fate{}, fate{}},
	{"SLOT/tree", fate{}, fate{}, fate{}, fate{}},
	{"SLOT/names", fate{}, fate{}, fate{}, fate{}},
	{
		"keys/*/proving.key",
		fate{"proving-keys-damaged", "proving.key"},
		fate{"proving-keys-damaged", "proving.key"},
		fate{"proving-keys-damaged", "proving.key"},
		fate{"proving-keys-damaged", "proving.key"},
	},
	{"keys/circuit-*", fate{}, fate{}, fate{}, fate{}},
	{"views/views.json", fate{}, fate{}, fate{}, fate{}},
	{
		"chain/genesis.json",
		fate{"devchain-damaged", "chain"},
		fate{"devchain-damaged", "genesis.json"},
		fate{"devchain-damaged", "genesis.json"},
		fate{"devchain-damaged", "genesis.json"},
	},
	{
		"chain/deployment.json",
		fate{"devchain-damaged", "deployment.json"},
		fate{"devchain-damaged", "deployment.json"},
		fate{"devchain-damaged", "deployment.json"},
		fate{"devchain-damaged", "deployment.json"},
	},
	{
		"chain/devchain/chaindata/CURRENT",
		fate{"devchain-damaged", "empty data directory"},
		fate{"devchain-damaged", "empty data directory"},
		fate{},
		fate{"devchain-damaged", "empty data directory"},
	},
	{"chain/devchain/chaindata/MANIFEST-*", fate{}, fate{}, fate{}, fate{}}, // Mended by the chain itself.
	{"chain/devchain/chaindata/*.log", fate{}, fate{}, fate{}, fate{}},
}

const unmarked = "nothing proves that none is missing behind log position"

func TestEveryDamageToADirectoryWithHostedSlotsHasANamedCure(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a host some eighty times")
	}
	h := buildHosting(t)
	for _, row := range fates {
		for damage, want := range map[string]fate{"flip": row.flip, "cut": row.cut, "delete": row.gone, "garbage": row.junk} {
			t.Run(row.file+" "+damage, func(t *testing.T) {
				h.suffers(t, want, func(dir string) {
					damages[damage](t, one(t, filepath.Join(dir, strings.Replace(row.file, "SLOT", h.slot, 1))))
				})
			})
		}
	}
	for name, want := range map[string]fate{
		"events": {"record-elsewhere", "missing or empty"},
		"outbox": {"", "was completed from the event store"},
		"slots":  {"", "the disk with the data is away"},
		"views":  {},
		"keys":   {"proving-keys-missing", "another host of the same contract"},
		"chain":  {"devchain-damaged", "empty data directory"},
	} {
		t.Run(name+" emptied", func(t *testing.T) {
			h.suffers(t, want, func(dir string) {
				check(t, os.RemoveAll(filepath.Join(dir, name)))
				check(t, os.Mkdir(filepath.Join(dir, name), 0o700))
			})
		})
	}
}

// Nothing is written to a mount point, and what is hosted is proven from where it was when the disk is back.
func TestAStartWithoutTheDiskOfTheSlotsWritesNothingAndGoesOnWhenItIsBack(t *testing.T) {
	if testing.Short() {
		t.Skip("makes a data directory with hosted slots")
	}
	h := buildHosting(t)
	dir, elsewhere := filepath.Join(h.dir, "slots"), filepath.Join(h.dir, "elsewhere")
	check(t, os.Rename(dir, elsewhere))
	check(t, os.Mkdir(dir, 0o700))
	p, err := openHost(t.Context(), h.config, &said{})
	check(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	until := func(away bool) {
		for {
			var st actors.Status
			if st, err = p.Host.Status(ctx); err == nil && st.Booted && st.Disk.Known != away && st.Disk.Away == away {
				return
			}
			select {
			case <-time.After(idlePace):
			case <-ctx.Done():
				t.Fatalf("away: %t is never told: %+v, %v", away, st.Disk, err)
			}
		}
	}
	until(true)
	if written, err := os.ReadDir(dir); err != nil || len(written) > 0 || hosted(ctx, p) != 3 {
		t.Errorf("%d slots are hosted; written to the mount point: %v, %v", hosted(ctx, p), written, err)
	}
	check(t, os.Remove(dir))
	check(t, os.Rename(elsewhere, dir))
	until(false)
	st, err := p.Host.Status(ctx)
	check(t, err)
	for _, s := range st.Sales {
		if s.State.Damaged() {
			t.Errorf("the slot counts as damaged: %+v", s.State.Damage)
		}
	}
	check(t, closeHost(t.Context(), p))
}

func (h *hosting) suffers(t *testing.T, want fate, hurt func(dir string)) {
	t.Helper()
	n, log, refused := h.start(t, hurt)
	switch {
	case refused != nil:
		said := refused.Detail + "\n" + refused.Hint
		if want.refused != refused.Code && want.refused != "*" || !strings.Contains(said, want.says) {
			t.Errorf("refused as %s: %s", refused.Code, said)
		}
	case want.refused != "" && want.refused != "*":
		t.Errorf("the host started with %d slots, want %s:\n%.3000s", n, want.refused, log)
	case want.refused == "" && n != 3:
		t.Errorf("%d slots are hosted, want 3", n)
	case !strings.Contains(log, want.says):
		t.Errorf("nothing says %q in:\n%.4000s", want.says, log)
	}
}
