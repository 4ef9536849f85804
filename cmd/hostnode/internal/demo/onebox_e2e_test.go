//go:build e2e

package demo

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/localchain"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/requester"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/embedded"
	"github.com/hostnode/hostnode/projections"
	"github.com/hostnode/hostnode/projections/audit"
)

// blockInterval is the pace of the chain in these tests: a period lasts three
// seconds, in which a machine of two cores makes three proofs of one sample.
const blockInterval = 150 * time.Millisecond

// oneBox is `hostnode run` with everything embedded: when it is killed, host
// and chain die together.
type oneBox struct {
	*host
	dir datadir.Layout
	api *api.Client
}

func startOneBox(t *testing.T, source string) *oneBox {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "hostnode")
	if out, err := exec.Command("go", "build", "-o", bin, "../..").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	dir := datadir.At(t.TempDir())
	logFile, err := os.Create(filepath.Join(dir.Root, "host.log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { logFile.Close() })
	b := &oneBox{dir: dir, host: &host{
		binary: bin, logTo: logFile, lines: make(chan line, 4096), args: []string{
			"run", "--data-dir", dir.Root, "--log-format", "json", "--content-sources", source,
			"--devchain-block-interval", blockInterval.String(), "--prover-samples", "1", "--prover-max-depth", "16",
			"--sales-max-slots-per-request", "8", "--sales-proof-blocks", "8",
		},
	}}
	if err := b.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.kill() })
	b.api = api.NewClient(dir.Socket())
	go b.yields(t.Context(), filepath.Join(dir.Chain(), "devchain.ipc"))
	return b
}

// until waits for something to hold, for as long as the process lives.
func (b *oneBox) until(t *testing.T, what string, ok func(context.Context) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for !ok(ctx) {
		if alive, err := b.alive(); !alive {
			t.Fatalf("waiting for %s: the process ended: %v; last words: %s", what, err, b.lastComplaints())
		}
		select {
		case <-time.After(blockInterval):
		case <-ctx.Done():
			t.Fatalf("waiting for %s: %v; last words: %s", what, ctx.Err(), b.lastComplaints())
		}
	}
}

func (b *oneBox) lastComplaints() string {
	text, _ := os.ReadFile(filepath.Join(b.dir.Root, "host.log"))
	return string(text[max(0, len(text)-4000):])
}

func (b *oneBox) offer(t *testing.T, r events.Request) {
	t.Helper()
	collateral, _ := r.Ask.CollateralPerSlot()
	offer := api.Offer{
		ID: events.AvailabilityID{1}.String(), Size: 4 * r.Ask.SlotSize * events.Bytes(r.Ask.Slots), DurationSeconds: 86_400,
		MinPrice: "1", Collateral: collateral.MulSaturating(4 * r.Ask.Slots).String(),
	}
	b.until(t, "the availability", func(ctx context.Context) bool {
		_, err := api.AddAvailability.Ask(ctx, b.api, api.Send(offer))
		return err == nil
	})
}

// drain discards the parsed log, which is in the file too.
func (b *oneBox) drain(ctx context.Context) {
	for {
		select {
		case <-b.lines:
		case <-ctx.Done():
			return
		}
	}
}

func TestCIHostAndChainKilledTogetherArePaid(t *testing.T) { killTogether(t, 1, 1) }

func TestHostAndChainKilledTogetherAtManyMomentsArePaid(t *testing.T) { killTogether(t, 3, 3) }

// killTogether sells in one process, which is killed several times in each sale, at random
// moments of the sale's life.
func killTogether(t *testing.T, sales, kills int) {
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("HOSTNODE_TEST_SEED"); text != "" {
		if _, err := fmt.Sscan(text, &seed); err != nil {
			t.Fatalf("HOSTNODE_TEST_SEED: %v", err)
		}
	}
	t.Logf("repeat with HOSTNODE_TEST_SEED=%d", seed)
	r := rand.New(rand.NewPCG(seed, 8))
	file := filepath.Join(t.TempDir(), "data")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(f, rand.NewChaCha8([32]byte{1}), 600_000); err != nil {
		t.Fatal(err)
	}
	f.Close()
	c := &client{}
	if c.dataset, err = prepare(t.Context(), file, filepath.Join(t.TempDir(), "client"), 3, nil); err != nil {
		t.Fatal(err)
	}
	defer c.close()
	if err := c.serve(); err != nil {
		t.Fatal(err)
	}
	box := startOneBox(t, c.url)
	go box.drain(t.Context())
	for n := range sales {
		req := c.request(20*time.Second, 2)
		box.offer(t, req)
		remote, err := localchain.Find(box.dir.Chain(), filepath.Join(box.dir.Chain(), "devchain.ipc"))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.enter(t.Context(), remote, requester.Price(req)); err != nil {
			t.Fatal(err)
		}
		if req.ID, err = c.post(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		whole := time.Duration(int64(req.Ask.Duration/time.Second) * int64(blockInterval))
		for range kills {
			pause := time.Duration(r.Int64N(int64(whole) / int64(kills)))
			<-time.After(pause)
			if err := box.kill(); err != nil {
				t.Fatal(err)
			}
			t.Logf("sale %d: killed after %s", n, pause)
			if err := box.start(); err != nil {
				t.Fatal(err)
			}
		}
		box.settled(t, c, req)
		c.account.Close()
		c.account = nil
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := box.stop(ctx); err != nil {
		t.Fatal(err)
	}
	box.account(t, sales*3)
}

// settled waits until the request is over and no sale is open.
func (b *oneBox) settled(t *testing.T, c *client, r events.Request) {
	t.Helper()
	b.until(t, "the end of all sales", func(ctx context.Context) bool {
		state, err := c.account.RequestState(ctx, r.ID)
		if err != nil || state <= events.RequestStarted {
			return false
		}
		s, err := api.ShowStatus.Ask(ctx, b.api, api.Then{})
		open := 0
		for _, n := range s.Phases {
			open += n
		}
		return err == nil && s.Chain.Head > 0 && open == 0
	})
}

func newAPI(dir datadir.Layout) *api.Client { return api.NewClient(dir.Socket()) }

// account audits the record: all slots are finished and paid, nothing is left over, and only
// the expected rules have findings. It returns how many proofs were missed.
func (b *oneBox) account(t *testing.T, slots int, known ...audit.Rule) (missed int) {
	t.Helper()
	store, _, err := embedded.Open(b.dir.Events(), embedded.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	report, err := audit.Run(t.Context(), store, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range report.Findings {
		if !slices.Contains(known, f.Rule) {
			t.Errorf("%s %s revision %d: %s", f.Severity, f.Stream, f.Revision, f.Sentence)
		}
	}
	views, err := projections.Open(t.Context(), store, projections.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer views.Close()
	finished := 0
	for _, row := range views.Sales().Sales {
		if row.Phase == "Finished" && row.Over {
			finished++
		}
		missed += int(row.Proofs.Missed)
		t.Logf("slot %d: %s, %d proofs, %d missed", row.SlotIndex, row.Phase, row.Proofs.Submitted, row.Proofs.Missed)
	}
	if finished != slots {
		t.Errorf("%d slots were paid, want %d", finished, slots)
	}
	return missed
}
