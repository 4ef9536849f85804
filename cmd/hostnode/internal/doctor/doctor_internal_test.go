package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/chain/nodetest"
	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/keys"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/localchain"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/node"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover"
)

// world is a development chain, and the settings of a host on it that lacks nothing.
type world struct {
	t     *testing.T
	chain *localchain.Chain
	c     config.Config
}

func newWorld(t *testing.T) *world {
	t.Helper()
	short, err := os.MkdirTemp("", "hn") // A socket's path is limited.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(short) })
	w := &world{t: t, c: settings(t)}
	provingKeys, err := prover.DevelopmentKeys(t.Context(), node.ProverParams(w.c.Prover), w.c.Prover.KeysDir, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	w.chain, err = localchain.Open(t.Context(), localchain.Config{
		Dir: t.TempDir(), IPCPath: filepath.Join(short, "ipc"), Keys: provingKeys,
		// However slow the machine is, it proves in an hour.
		Proofs: events.ProofConfig{Period: time.Hour, Timeout: time.Minute, Downtime: 64, DowntimeProduct: 67},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.chain.Close() })
	account, err := keys.Create(w.c.Account.KeyFile, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := node.ProvideDevelopmentFunds(t.Context(), w.chain, account); err != nil {
		t.Fatal(err)
	}
	w.c.Chain.Contract, w.c.Chain.BlockTime = w.chain.Marketplace.String(), time.Second
	w.c.Chain.Endpoint = w.serve(func(r nodetest.Request, next func(nodetest.Request) nodetest.Answer) nodetest.Answer {
		return next(r)
	})
	return w
}

// settings are those of a host whose data directory does not exist yet.
func settings(t *testing.T) config.Config {
	c, dir := config.Default(), t.TempDir()
	c.DataDir = filepath.Join(dir, "data", "here")
	c.Account.KeyFile = filepath.Join(dir, "account.key")
	c.Prover.Samples, c.Prover.MaxDepth, c.Prover.MaxLog2Slots, c.Prover.KeysDir = 1, 6, 1, filepath.Join(dir, "keys")
	c.Quota, c.Storage.KeepFree, c.Storage.ScrubBytesPerSecond = 1<<20, 1<<20, 64<<10
	return c
}

// serve is an end point of the chain with a fault.
func (w *world) serve(fault nodetest.Fault) string {
	client := w.chain.Attach()
	server := httptest.NewServer(nodetest.Node(client, fault))
	w.t.Cleanup(func() { server.Close(); client.Close() })
	return server.URL
}

// examined are the findings that are not OK, as "check: RESULT code", without those that depend on the machine's pace.
func (w *world) examined(now func() time.Time) (all []string, r Report) {
	w.t.Helper()
	r, err := Examine(w.t.Context(), Options{Config: w.c, Timeout: patience, Now: now})
	if err != nil {
		w.t.Fatal(err)
	}
	paced := map[string]bool{"disk speed": true, "hash speed": true}
	for _, f := range r.Findings {
		if f.Result != OK && !paced[f.Check] && !strings.Contains(f.Hint, "a node nearby") {
			all = append(all, strings.TrimSpace(fmt.Sprintf("%s: %s %s", f.Check, f.Result, f.Code)))
		}
	}
	return all, r
}

// patience is how long a busy machine may take.
const patience = 4 * time.Minute

func TestOnAHealthyChainAllIsOKAndNothingIsWritten(t *testing.T) {
	w := newWorld(t)
	before := filesIn(t, filepath.Dir(w.c.Account.KeyFile))
	bad, r := w.examined(time.Now)
	if bad != nil {
		t.Errorf("%v in %+v", bad, r)
	}
	var checks []string
	for _, f := range r.Findings {
		checks = append(checks, f.Check)
	}
	want := []string{
		"host", "files", "ports", "disk space", "disk speed", "event store", "account", "end points", "market", "clock",
		"fees", "balance", "balance", "hash speed", "proving keys", "proof time",
	}
	if diff := cmp.Diff(want, checks); diff != "" {
		t.Errorf("what is examined: -want +got\n%s", diff)
	}
	if proof := r.Findings[len(r.Findings)-1].Found; !strings.Contains(proof, "in a period of 1h0m0s") {
		t.Errorf("the proof: %s", proof)
	}
	if diff := cmp.Diff(before, filesIn(t, filepath.Dir(w.c.Account.KeyFile))); diff != "" {
		t.Errorf("files: -before +after\n%s", diff)
	}
}

func filesIn(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		all = append(all, fmt.Sprintf("%s %s", path, info.ModTime()))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all[1:] // The time of the directory itself changes with the test file.
}

func TestEachBrokenThingIsFound(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	w := newWorld(t)
	good := w.c
	foreign := func(r nodetest.Request, next func(nodetest.Request) nodetest.Answer) nodetest.Answer {
		if r.Method == "eth_chainId" {
			return r.Returns(`"0x2"`)
		}
		return next(r)
	}
	if _, err := w.chain.Seal(t.Context(), 8); err != nil {
		t.Fatal(err)
	}
	head := w.chain.Head().Time
	at := func(after time.Duration) func() time.Time { // By the machine's clock, when the chain's time is known.
		return func() time.Time { return head.Add(after) }
	}
	for _, c := range []struct {
		name string
		do   func()
		now  func() time.Time
		want []string
	}{
		{"a lagging end point", func() {
			w.c.Chain.Fallbacks = []string{w.serve(nodetest.Lagging(5, func() bool { return true }))}
		}, time.Now, []string{"end points: WARN"}},
		{
			"an end point that does not answer", func() { w.c.Chain.Fallbacks = []string{"http://127.0.0.1:1"} },
			time.Now,
			[]string{"end points: WARN chain-unavailable"},
		},
		{
			"an end point on another chain", func() { w.c.Chain.Fallbacks = []string{w.serve(foreign)} },
			time.Now,
			[]string{"end points: FAIL chain-other"},
		},
		{
			"no contract", func() { w.c.Chain.Contract = events.Address{7}.String() },
			time.Now,
			[]string{"end points: FAIL contract-missing"},
		},
		{"a right clock", func() { w.c.Chain.Endpoint = w.serve(foreign) }, at(3 * time.Second), nil},
		{"a clock a minute ahead", func() { w.c.Chain.Endpoint = w.serve(foreign) }, at(time.Minute), []string{"clock: WARN"}},
		{
			"a clock a minute behind", func() { w.c.Chain.Endpoint = w.serve(foreign) }, at(-time.Minute),
			[]string{"clock: WARN"},
		},
		{
			"a port that is taken", func() { w.c.API.Listen = taken.Addr().String() }, time.Now,
			[]string{"ports: FAIL port-in-use"},
		},
		{"a full disk", func() { w.c.Storage.KeepFree = 1 << 60 }, time.Now, []string{"disk space: FAIL disk-full"}},
		{"a quota that does not fit", func() { w.c.Quota = 1 << 60 }, time.Now, []string{"disk space: WARN disk-too-small"}},
		{"no key", func() { w.c.Account.KeyFile += ".gone" }, time.Now, []string{"account: FAIL key-missing"}},
		{
			"a token that all can read", func() { w.c.Sectors.Remote.TokenFile = w.file(0o644) }, time.Now,
			[]string{"files: FAIL config-invalid"},
		},
		{"other proving keys", func() {
			w.c.Prover.MaxLog2Slots = 2
			if _, err := prover.DevelopmentKeys(t.Context(), node.ProverParams(w.c.Prover), w.c.Prover.KeysDir, "", nil); err != nil {
				t.Fatal(err)
			}
		}, time.Now, []string{"proving keys: FAIL proving-keys-wrong"}},
		{
			"no proving keys", func() { w.c.Prover.KeysDir = t.TempDir() }, time.Now,
			[]string{"proving keys: WARN proving-keys-missing"},
		},
	} {
		w.c = good
		c.do()
		got, r := w.examined(c.now)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s%+v", c.name, diff, r)
		}
		if lags := strings.Contains(c.name, "lagging"); lags != slices.ContainsFunc(r.Findings, func(f Finding) bool {
			return strings.Contains(f.Found, "lags 5 blocks") && strings.HasPrefix(f.Found, w.c.Chain.Fallbacks[0])
		}) {
			t.Errorf("%s: the one that lags is named: %v", c.name, !lags)
		}
	}
}

func (w *world) file(mode fs.FileMode) string {
	path := filepath.Join(w.t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("secret"), mode); err != nil {
		w.t.Fatal(err)
	}
	return path
}

func TestANewcomersDirectoryIsNotMade(t *testing.T) {
	w := &world{t: t, c: settings(t)}
	if bad, r := w.examined(time.Now); bad != nil {
		t.Errorf("%v in %+v", bad, r)
	}
	if all, err := os.ReadDir(filepath.Dir(w.c.Account.KeyFile)); err != nil || len(all) != 0 {
		t.Errorf("left: %v, %v", all, err)
	}
}

func TestADirectoryWhoseRecordIsLostIsFound(t *testing.T) {
	w := &world{t: t, c: settings(t)}
	outbox := datadir.At(w.c.DataDir).Outbox()
	if err := os.MkdirAll(outbox, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(outbox, "intents"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	want := []string{"event store: FAIL record-elsewhere", "proving keys: FAIL proving-keys-missing"}
	bad, r := w.examined(time.Now)
	if diff := cmp.Diff(want, bad); diff != "" {
		t.Errorf("-want +got\n%s%+v", diff, r)
	}
}

func TestWhatIsLateOrInterruptedIsNotWaitedFor(t *testing.T) {
	never := func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, io.EOF }
	judge := func(int) []Finding { return nil }
	e := &exam{Options: Options{Timeout: 1}, report: Report{Result: OK}}
	if _, measured := examine(t.Context(), e, "late", never, judge); measured || len(e.report.Findings) != 1 ||
		e.report.Findings[0].Code != "timeout" || e.report.Result != Fail {
		t.Errorf("late: %v, %+v", measured, e.report)
	}
	interrupted, cancel := context.WithCancel(t.Context())
	e = &exam{Options: Options{Timeout: time.Hour}}
	_, measured := examine(interrupted, e, "interrupted", func(ctx context.Context) (int, error) {
		cancel()
		return never(ctx)
	}, judge)
	if measured || e.report.Findings != nil {
		t.Errorf("interrupted: %v, %+v", measured, e.report)
	}
	c := settings(t)
	if _, err := Examine(interrupted, Options{Config: c, Timeout: time.Hour, Now: time.Now}); !errors.Is(err, context.Canceled) {
		t.Errorf("the report: %v", err)
	}
	e = &exam{Options: Options{Config: c}, dir: datadir.At(c.DataDir)}
	if _, err := e.measureDisk(interrupted); !errors.Is(err, context.Canceled) {
		t.Errorf("the disk: %v", err)
	}
	if all, err := os.ReadDir(e.there()); err != nil || len(all) != 0 {
		t.Errorf("the test file is left: %v, %v", all, err)
	}
}

func TestEtcdSaysWhetherItIsHealthy(t *testing.T) {
	answer := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if answer != `{"health":"true"}` {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = io.WriteString(w, answer)
	}))
	defer server.Close()
	e := &exam{}
	for _, answer = range []string{`{"health":"true"}`, `{"health":"false"}`, "", "\x00", strings.Repeat("[", 1<<20)} {
		found, err := e.askEtcd(t.Context(), server.URL+"/")
		want := Warn
		if answer == `{"health":"true"}` {
			want = OK
		}
		if err != nil || len(found) != 1 || found[0].Result != want || (want == OK) != (found[0].Hint == "") ||
			len(found[0].Found) > 2*maxHealth {
			t.Errorf("%.20q: %+v, %v", answer, found, err)
		}
	}
	url := "http://user:planted@127.0.0.1:1"
	found, err := e.askEtcd(t.Context(), url)
	if err != nil || len(found) != 1 || found[0].Result != Warn || strings.Contains(found[0].Found, "planted") ||
		!strings.HasPrefix(found[0].Found, rpc.Redact(url)+": ") {
		t.Errorf("away: %+v, %v", found, err)
	}
}
