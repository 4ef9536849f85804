package chain_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/chain/nodetest"
	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
)

// limiting is a provider in front of a gate. After a number of messages it refuses all for a
// second, and does so a few times.
type limiting struct {
	next   http.Handler
	refuse func(http.ResponseWriter, *http.Request)

	mu        sync.Mutex
	messages  int
	times     int
	until     time.Time
	refused   int // when it began to refuse
	mostTries int
}

const (
	allowedMessages = 40
	limitedTimes    = 4
)

func (l *limiting) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	l.mu.Lock()
	now := time.Now()
	if l.messages++; l.messages > allowedMessages && l.times < limitedTimes && now.After(l.until) {
		l.messages, l.refused = 0, 0
		l.times++
		l.until = now.Add(time.Second)
	}
	refuses := now.Before(l.until)
	if refuses {
		l.refused++
		l.mostTries = max(l.mostTries, l.refused)
	}
	l.mu.Unlock()
	if !refuses {
		l.next.ServeHTTP(out, in)
		return
	}
	out.Header().Set("Retry-After", "1")
	l.refuse(out, in)
}

func (l *limiting) state() (times, mostTries int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.times, l.mostTries
}

// persist is drive for a call that is repeated when the chain does not answer, as a host does.
func (w *world) persist(name string, f func(context.Context) error) {
	w.t.Helper()
	w.drive(name, func(ctx context.Context) error {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			err := f(ctx)
			if !errors.Is(err, rpc.ErrUnavailable) {
				return err
			}
			<-tick.C
		}
	})
}

// A whole sale at a provider that limits requests and names no final block: it goes on, sends
// nothing during the demanded pauses, and tells the operator of each fact once.
func TestProviderWithLimitsAndWithoutFinalBlocksServesAWholeSale(t *testing.T) {
	each := func(code int, words string) func(http.ResponseWriter, *http.Request) {
		return func(out http.ResponseWriter, in *http.Request) {
			nodetest.Serve(out, in, func(r rpcRequest) rpcAnswer { return r.Fails(code, words) }, nil)
		}
	}
	for name, refuse := range map[string]func(http.ResponseWriter, *http.Request){
		"as a status": func(out http.ResponseWriter, _ *http.Request) {
			http.Error(out, "slow down", http.StatusTooManyRequests)
		},
		"as a status with an error of JSON-RPC": func(out http.ResponseWriter, _ *http.Request) {
			out.WriteHeader(http.StatusTooManyRequests)
			_ = json.NewEncoder(out).Encode(rpcRequest{ID: json.RawMessage("1")}.Fails(429, "compute units exceeded"))
		},
		"as answers":         each(-32005, "daily request count exceeded, request rate limited"),
		"as answers by code": each(429, "your app has exceeded its capacity"),
	} {
		if testing.Short() && name != "as answers" { // Each refuses for some seconds.
			continue
		}
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.fund("host")
			w.mint("host", 10_000_000)
			w.gate.has(func(r rpcRequest, node func(rpcRequest) rpcAnswer) rpcAnswer {
				if r.Param(0) == `"finalized"` {
					return r.Fails(-32602, "invalid argument 0: hex string without 0x prefix")
				}
				return node(r)
			})
			provider := &limiting{next: w.gate, refuse: refuse}
			server := httptest.NewServer(provider)
			defer server.Close()
			said := &logLines{}
			cfg := w.config("host")
			cfg.Endpoint, cfg.Finalized, cfg.Log = server.URL, true, said.log()
			m, err := w.dial(cfg, storetest.NewMemory(), t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = m.Close() }()
			d := w.follow(m.Feed(), events.Cursor{})
			call := callFor(w.request(), 0)
			w.persist("host", func(ctx context.Context) error { _, err := m.ReserveSlot(ctx, call); return err })
			w.persist("host", func(ctx context.Context) error { _, err := m.FillSlot(ctx, call, goodProof(1)); return err })
			w.persist("host", func(ctx context.Context) error {
				final, err := m.Final(ctx, w.chain.Head().Number)
				if err == nil && !final {
					t.Error("confirmations do not decide")
				}
				return err
			})
			w.sealUntil(events.Unix((uint64(w.chain.Head().Time.Unix())/periodSeconds + 1) * periodSeconds))
			w.persist("host", func(ctx context.Context) error {
				_, err := m.SubmitProof(ctx, call, uint64(w.chain.Head().Time.Unix())/periodSeconds, goodProof(2))
				return err
			})
			w.await("the provider has refused often enough", func() bool {
				times, _ := provider.state()
				return times == limitedTimes
			})
			w.caughtUp(d)
			want := []string{"StorageRequested", "ProofSubmitted", "SlotFilled", "ProofSubmitted"}
			if diff := cmp.Diff(want, d.read()); diff != "" {
				t.Fatalf("feed (-want +got):\n%s", diff)
			}
			if _, tries := provider.state(); tries > 16 { // Those that were under way when it began.
				t.Fatalf("it was asked %d times in the second in which it refused", tries)
			}
			for _, once := range []string{"limits our requests", "names no final block"} {
				if n := said.count(once); n != 1 {
					t.Fatalf("%q was said %d times:\n%s", once, n, said.lines)
				}
			}
			if said.says("does not answer") {
				t.Fatalf("it is said not to answer:\n%s", said.lines)
			}
		})
	}
}

// count is the number of lines that contain a text.
func (j *logLines) count(what string) (n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, line := range j.lines {
		if strings.Contains(line, what) {
			n++
		}
	}
	return n
}
