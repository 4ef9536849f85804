package chain_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/chain/devchain"
	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
)

// logLines collects log lines.
type logLines struct {
	mu    sync.Mutex
	lines []string
}

func (j *logLines) Levels() []logrus.Level { return logrus.AllLevels }

func (j *logLines) Fire(e *logrus.Entry) error {
	text, err := e.String()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, text)
	return err
}

func (j *logLines) says(parts ...string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, line := range j.lines {
		all := true
		for _, part := range parts {
			all = all && strings.Contains(line, part)
		}
		if all {
			return true
		}
	}
	return false
}

func (j *logLines) log() logrus.FieldLogger {
	l := logrus.New()
	l.SetOutput(discard{})
	l.AddHook(j)
	return l
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

// twoGates is a host with two endpoints of one chain.
func twoGates(t *testing.T, change func(*chain.Config)) (*world, *gate, *chain.Market, *logLines) {
	t.Helper()
	w := newWorld(t)
	second := newGate(t, w.chain.Attach())
	said := &logLines{}
	cfg := w.config("host")
	cfg.Endpoint = strings.Replace(cfg.Endpoint, "http://", "http://me:secret0@", 1)
	cfg.Fallbacks = []string{second.server.URL + "/?key=secret1"}
	cfg.ReturnAfter = 20 * time.Millisecond
	cfg.Log = said.log()
	if change != nil {
		change(&cfg)
	}
	m, err := w.dial(cfg, storetest.NewMemory(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = m.Close()
		if said.says("secret") {
			t.Errorf("a secret was logged:\n%s", said.lines)
		}
	})
	return w, second, m, said
}

func (w *world) answers(m *chain.Market) {
	w.t.Helper()
	w.await("the market answers", func() bool { _, err := m.Head(w.t.Context()); return err == nil })
}

// knows makes a node answer as if its chain ended some blocks ago.
func (g *gate) knows(w *world, behind uint64) {
	g.has(func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
		last := w.chain.Head().Number - behind
		if r.Method == "eth_getBlockByNumber" {
			var number hexutil.Uint64
			switch {
			case r.Param(0) == `"latest"`:
				r.Params[0], _ = json.Marshal(hexutil.Uint64(last))
			case json.Unmarshal(r.Params[0], &number) == nil && uint64(number) > last:
				return r.Returns("null")
			}
		}
		return node(r)
	})
}

func TestHostGoesToTheNextEndpointAndComesBack(t *testing.T) {
	w, second, m, said := twoGates(t, nil)
	d := w.follow(m.Feed(), events.Cursor{})
	w.caughtUp(d)
	w.gate.set(true, false)
	w.requestElsewhere()
	w.caughtUp(d)
	if !said.says("another endpoint", "?***") {
		t.Fatalf("nobody was told:\n%s", said.lines)
	}
	w.gate.set(false, false)
	var back atomic.Bool
	w.gate.has(func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
		back.Store(true)
		return node(r)
	})
	w.await("the first endpoint is asked again", back.Load)
	w.await("the host is back", func() bool { return said.says("another endpoint", "me:***@") })
	second.set(true, false)
	w.answers(m)
	w.caughtUp(d)
	if diff := cmp.Diff([]string{"StorageRequested"}, d.read()); diff != "" {
		t.Fatalf("feed (-want +got):\n%s", diff)
	}
}

// requestElsewhere posts a request while the first endpoint, which the client uses too, is closed.
func (w *world) requestElsewhere() {
	w.t.Helper()
	cfg := w.config("client")
	direct := newGate(w.t, w.chain.Attach())
	cfg.Endpoint = direct.server.URL
	r, err := chain.DialRequester(w.t.Context(), cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	defer r.Close()
	usual := w.requester
	w.requester = r
	w.request()
	w.requester = usual
}

func TestEndpointOfAnotherChainIsLeftOutAndNamed(t *testing.T) {
	other, err := devchain.Open(t.Context(), devchain.Config{
		Dir: shortDir(t), Alloc: rich(), GenesisTime: time.Unix(1_600_000_000, 0),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	third := newGate(t, other.Attach())
	w, _, m, said := twoGates(t, func(cfg *chain.Config) {
		cfg.Fallbacks = append([]string{third.server.URL}, cfg.Fallbacks...)
	})
	w.gate.set(true, false)
	w.answers(m)
	if !said.says("not used", third.server.URL, "another chain") {
		t.Fatalf("nobody was told:\n%s", said.lines)
	}
}

func TestHostWithoutAnyRightEndpointSaysSo(t *testing.T) {
	w, _, m, _ := twoGates(t, nil)
	genesis := func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
		if r.Method == "eth_chainId" {
			return r.Returns(`"0x4d"`)
		}
		return node(r)
	}
	cfg := w.config("host")
	cfg.Fallbacks = []string{cfg.Endpoint}
	cfg.ChainID = devchain.ChainID
	w.gate.has(genesis)
	_, err := w.dial(cfg, storetest.NewMemory(), t.TempDir())
	if !errors.Is(err, rpc.ErrWrongChain) {
		t.Fatalf("error %v, want ErrWrongChain", err)
	}
	w.gate.set(true, false) // Now one may be right but does not answer.
	cfg.Fallbacks[0] = "http://127.0.0.1:1"
	_, err = w.dial(cfg, storetest.NewMemory(), t.TempDir())
	if !errors.Is(err, rpc.ErrUnavailable) || errors.Is(err, rpc.ErrWrongChain) {
		t.Fatalf("error %v, want ErrUnavailable", err)
	}
	_ = m
}

func TestNodeThatIsBehindAfterAFailoverIsNoReorganisation(t *testing.T) {
	for name, sparse := range map[string]bool{"all hashes known": false, "few hashes known": true} {
		t.Run(name, func(t *testing.T) {
			w, second, m, _ := twoGates(t, func(cfg *chain.Config) { cfg.ReturnAfter = time.Hour })
			d := w.follow(m.Feed(), events.Cursor{})
			w.seal(5)
			w.caughtUp(d)
			if sparse { // As after a restart.
				d.finish(t)
				from := d.at()
				from.Recent = map[uint64]events.Hash{from.Number: from.Hash}
				d = w.follow(m.Feed(), from)
			}
			asked := make(chan struct{}, 1000)
			second.knows(w, 4)
			behind := second.fault
			second.has(func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
				if r.Param(0) == `"latest"` {
					select {
					case asked <- struct{}{}:
					default:
					}
				}
				return behind(r, node)
			})
			w.gate.set(true, false)
			for range 20 { // Looks at a chain that is too short.
				<-asked
			}
			second.has(nil)
			w.seal(1)
			w.caughtUp(d)
			if diff := cmp.Diff([]string(nil), d.read()); diff != "" {
				t.Fatalf("feed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNodeThatKnowsNoNewBlockIsLeft(t *testing.T) {
	w, _, m, said := twoGates(t, func(cfg *chain.Config) {
		cfg.LeastSilence, cfg.ReturnAfter = 50*time.Millisecond, time.Hour
	})
	d := w.follow(m.Feed(), events.Cursor{})
	w.caughtUp(d)
	frozen := w.chain.Head().Number
	w.gate.has(func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
		if r.Param(0) == `"latest"` && r.Method == "eth_getBlockByNumber" {
			r.Params[0], _ = json.Marshal(hexutil.Uint64(frozen))
		}
		return node(r)
	})
	w.seal(3)
	w.caughtUp(d)
	if !said.says("no new block for") || !said.says("another endpoint") {
		t.Fatalf("nobody was told:\n%s", said.lines)
	}
}

func TestRateLimitedHostAsksTheNextEndpoint(t *testing.T) {
	limits := map[string]func(*gate){
		"as an answer": func(g *gate) {
			g.has(func(r rpcRequest, _ func(rpcRequest) rpcAnswer) rpcAnswer {
				return r.Fails(-32005, "daily request count exceeded, request rate limited")
			})
		},
		"as a status": func(g *gate) { g.refuses(http.StatusTooManyRequests) },
	}
	for name, limit := range limits {
		t.Run(name, func(t *testing.T) {
			w, _, m, said := twoGates(t, nil)
			limit(w.gate)
			w.answers(m)
			if !said.says("another endpoint") {
				t.Fatal("the host waits for its provider")
			}
			failed, messages := 0, uint64(0)
			for _, at := range m.Traffic() {
				messages += at.Messages
				if at.Failed > 0 {
					failed++
				}
			}
			if failed != 1 || messages != m.Requests()[rpc.RequestMessages] {
				t.Errorf("%+v, of %d messages", m.Traffic(), m.Requests()[rpc.RequestMessages])
			}
		})
	}
}

func TestRequestsCountCallsAndMessages(t *testing.T) {
	w := newWorld(t)
	m := w.newHost("host")
	r := w.request()
	if _, err := m.Head(t.Context()); err != nil { // Reads are tried at the newest block that is known.
		t.Fatal(err)
	}
	before := m.Requests()
	if _, err := m.Slot(t.Context(), r.ID, 0); err != nil {
		t.Fatal(err)
	}
	after := m.Requests()
	calls := after["eth_call"] - before["eth_call"]
	if calls != 7 { // In one message, with the question for the newest block.
		t.Fatalf("%d calls", calls)
	}
	if before[rpc.RequestMessages] == 0 || fmt.Sprint(after) == fmt.Sprint(before) {
		t.Fatalf("messages: %d before, %d after", before[rpc.RequestMessages], after[rpc.RequestMessages])
	}
}
